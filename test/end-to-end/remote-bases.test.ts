import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listFunctions } from '../../apps/cli/src/function-configs/layers.js';
import { openRemoteBases, type RemoteBases } from '../../apps/cli/src/function-configs/open-remote-bases.js';
import { displayListed } from '../../apps/cli/src/lock/display-path.js';
import { testIo } from '../../apps/cli/src/testing/command-line.js';
import { config, type TestPackage, testPackage } from '../../apps/cli/src/testing/package-files.js';
import { TestRepositories } from '../../packages/sources/src/testing/repositories.js';
import { temporaryFolder } from '../running.js';

/** Bases in git repositories and files on the web, as kustomizations name them. */

const repositories = new TestRepositories();
const temporary = temporaryFolder();
let pack: TestPackage;
let remote: RemoteBases;

function put(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(repositories.work, file)), { recursive: true });
  writeFileSync(path.join(repositories.work, file), text);
}

/** What the server gives for a path, besides repositories. */
const served = new Map<string, string>();

beforeAll(async () => {
  await repositories.start();
  put(
    'base/kustomization.yaml',
    'transformers: [a.yaml]\nresources: [../shared]\ncatalogs: [../catalog.yaml, https://example.com/c.yaml]\n',
  );
  put('base/a.yaml', config('Base'));
  put('shared/kustomization.yaml', 'generators: [b.yaml]\ncatalogs: [catalog.yaml]\n');
  put('shared/b.yaml', config('Shared'));
  put('out/kustomization.yaml', 'resources: [../../escape]\n');
  put('links/kustomization.yaml', 'transformers: [a.yaml]\nresources: [shared]\n');
  put('links/b.yaml', config('Linked'));
  put('broken/kustomization.yaml', 'resources: [gone.yaml, ../none]\n');
  put('none/readme', '');
  for (const [name, to] of [
    ['links/a.yaml', 'b.yaml'],
    ['links/shared', '../shared'],
    ['linked', 'links'],
    ['broken/gone.yaml', '/etc/hostname'],
  ] as const)
    symlinkSync(to, path.join(repositories.work, name));
  put('away/kustomization.yaml', 'catalogs: [../../catalog.yaml]\n');
  repositories.commit('one');
  repositories.git('tag', 'v1');
  put('base/a.yaml', config('Changed'));
  repositories.commit('two');
  repositories.publish('org/bases.git');
  repositories.instead = (request, response) => {
    const text = served.get(request.url ?? '');
    if (text === undefined) return false;
    response.end(text);
    return true;
  };
});
afterAll(async () => {
  temporary.remove();
  await repositories.stop();
});

beforeEach(async () => {
  remote = await openRemoteBases(testIo(), { temporaryFolder: temporary.folder });
});
afterEach(async () => {
  await remote.close();
  await pack.remove();
  served.clear();
});

async function read(kustomization: string, files: Record<string, string> = {}, bases = remote) {
  pack = await testPackage({ 'app/kustomization.yaml': kustomization, ...files });
  return pack.inspect('app', { fetchRemote: bases.fetch });
}
const at = (target: string) => `${repositories.server.origin}/org/bases.git//${target}`;
const left = () => readdirSync(temporary.folder);

describe('a remote base', () => {
  it('is read at its ref, with the bases beside it, and its catalogs by their addresses', async () => {
    const { layer, functions, problems } = await read(`resources: ["${at('base?ref=v1')}"]\n`);
    expect(problems).toEqual([]);
    expect(functions.map((line) => line.split(' ').slice(0, 2))).toEqual([
      ['generators', 'Shared'],
      ['transformers', 'Base'],
    ]);
    const [base] = layer!.layers;
    const git = `git::${repositories.server.origin}/org/bases.git`;
    expect([base!.remote, base!.catalogs.map(({ text }) => text)]).toEqual([
      at('base?ref=v1'),
      [`${git}//catalog.yaml?ref=v1`, 'https://example.com/c.yaml'],
    ]);
    expect(base!.layers[0]!.catalogs.map(({ text }) => text)).toEqual([`${git}//shared/catalog.yaml?ref=v1`]);
  });

  it('is fetched once, and removed at the end', async () => {
    const before = repositories.server.asked.length;
    const { functions } = await read(`resources: ["${at('base')}"]\ntransformers: ["${at('base')}"]\n`);
    const once = repositories.server.asked.length - before;
    expect(functions).toHaveLength(4);
    const again = await read(`resources: ["${at('base')}"]\n`);
    expect([again.problems, repositories.server.asked.length - before]).toEqual([[], once]);
    expect(left()).toHaveLength(1);
    await remote.close();
    expect(left()).toEqual([]);
  });

  it.each([
    ['a base outside of its repository', 'out', /^config\/(?:not-found|outside) .*escape/],
    [
      'a catalog outside of its repository',
      'away',
      /^config\/outside .* the catalog ..\/..\/catalog.yaml is outside the repository of /,
    ],
    ['no folder', 'nothing', /^config\/remote .*cannot read/],
  ])('cannot have %s', async (_, folder, problem) => {
    const { problems } = await read(`resources: ["${at(folder)}"]\n`);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it('is found through links that stay in its repository', async () => {
    const { functions, problems } = await read(`resources: ["${at('linked?ref=main')}"]\n`);
    expect(problems).toEqual([]);
    expect(functions.map((line) => line.split(' ')[1])).toEqual(['Shared', 'Linked']);
  });

  it('is named by its address, with the path in it', async () => {
    const { problems } = await read(`resources: ["${at('broken?ref=main')}"]\n`);
    expect(problems).toEqual([
      `config/not-found ${at('broken/kustomization.yaml?ref=main')}:1:13 cannot read gone.yaml: no such file or folder`,
      `config/no-kustomization ${at('broken/kustomization.yaml?ref=main')}:1:24 ${at('none?ref=main')} has no kustomization`,
    ]);
    const { layer } = await read(`resources: ["${at('base?ref=v1')}"]\n`);
    expect(listFunctions(layer!).map((one) => displayListed({ cwd: pack.folder }, one))).toEqual([
      { file: at('shared/b.yaml?ref=v1'), layer: at('shared?ref=v1') },
      { file: at('base/a.yaml?ref=v1'), layer: at('base?ref=v1') },
    ]);
  });

  it('that cannot be fetched is a problem, with the reason', async () => {
    const { problems } = await read(`resources: ["${at('base?ref=v9')}"]\n`);
    expect(problems).toEqual([
      expect.stringMatching(
        /^config\/remote app\/kustomization.yaml:1:13 cannot read .* has no branch or tag "v9"/,
      ),
    ]);
  });

  it('is not fetched without a network', async () => {
    const before = repositories.server.asked.length;
    const offline = await openRemoteBases(testIo(), { offline: true });
    const { problems } = await read(`resources: ["${at('base')}"]\n`, {}, offline);
    expect(problems).toEqual([expect.stringMatching(/^config\/remote .* network access is disabled/)]);
    expect(repositories.server.asked).toHaveLength(before);
  });
});

describe('a URL without a mark of a repository', () => {
  it('is a file where the server has YAML', async () => {
    served.set('/org/fn.yaml', config('Remote'));
    const { functions, problems } = await read(
      `transformers: ["${repositories.server.origin}/org/fn.yaml"]\n`,
    );
    expect(problems).toEqual([]);
    expect(functions.map((line) => line.split(' ')[1])).toEqual(['Remote']);
  });

  it('is a repository where the server has something else', async () => {
    repositories.publish('org/plain');
    served.set('/org/plain/base', '<html>not YAML</html>');
    const { functions, problems } = await read(
      `resources: ["${repositories.server.origin}/org/plain/base"]\n`,
    );
    expect(problems).toEqual([]);
    expect(functions.map((line) => line.split(' ')[1])).toEqual(['Shared', 'Changed']);
  });

  it('that is neither is a problem', async () => {
    const { problems } = await read(`resources: ["${repositories.server.origin}/none"]\n`);
    expect(problems).toEqual([
      expect.stringMatching(/^config\/remote app\/kustomization.yaml:1:13 cannot read/),
    ]);
  });
});
