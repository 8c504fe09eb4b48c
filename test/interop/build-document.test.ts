import { readFileSync, realpathSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Block, blocks, documentBlocks, preparation, promised } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, type RunningRegistry, root, startRegistry } from '../running.js';
import { BuildUser, missingOracles } from './build-user.js';
import { CONFIG_MAP, catalogText, configText, setting } from './function-catalog.js';
import { registryHost, titleWithReason } from './oci-tools.js';
import { ScriptRegistry } from './script-registry.js';

/** The pages about builds and plugins, and the examples of `krmhub build --help`; the functions are executables. */

const why = missingOracles();
const SCRIPTS = { 'set.sh': setting('set', 'it') };
const examples = readFileSync(path.join(root, 'docs/commands.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('  krmhub build '))
  .map((line) => line.trim().replace(/ {2,}\S.*$/, ''));

function kustomizeBlocks(document: string): Block[] {
  return blocks(readFileSync(path.join(root, document), 'utf8')).filter(({ needs }) => needs === 'kustomize');
}

/** The sections of docs/build.md that the page about plugins begins with. */
const prepared = kustomizeBlocks('docs/build.md').filter(({ script }) =>
  /krmhub (push|publish|catalog apply) /.test(script),
);

describe.skipIf(why !== undefined)(titleWithReason('the pages that need kustomize', why), () => {
  let folder: string;
  let registry: RunningRegistry;
  beforeEach(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-build-document-')));
    registry = await startRegistry(path.join(folder, 'data'));
  });
  afterEach(async () => {
    await registry?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    { document: 'docs/build.md', scripts: documentBlocks('docs/build.md', 'kustomize'), before: [] },
    {
      document: 'docs/plugins.md',
      scripts: documentBlocks('docs/plugins.md', 'kustomize'),
      before: prepared,
    },
    { document: 'docs/starlark.md', scripts: documentBlocks('docs/starlark.md', 'kustomize'), before: [] },
  ])('$document works as written', ({ document, scripts, before }) => {
    const own = kustomizeBlocks(document);
    expect(own.map(({ script }) => script)).toEqual(scripts);
    const found = [...before, ...own];
    const host = registryHost(registry);
    const end = '--end-of-block--';
    const session = found.map(
      ({ script }) => `${script.replaceAll('localhost:8080', host)}\necho; echo ${end}\n`,
    );
    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', preparation() + session.join('')],
      {
        cwd: folder,
        encoding: 'utf8',
        env: cleanEnvironment(folder, {
          HOME: folder,
          KRMHUB_REGISTRY: registry.url,
          PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
        }),
      },
    );
    expect(status, stderr).toBe(0);
    const outputs = stdout.replaceAll(host, 'localhost:8080').split(`\n${end}\n`);
    for (const [index, { line, output }] of found.entries()) {
      if (output !== undefined) expect(outputs[index], `${document}:${line}`).toMatch(promised(output));
    }
  });
});

describe.skipIf(why !== undefined)(titleWithReason('the examples of krmhub build', why), () => {
  let folder: string;
  let user: BuildUser;
  let scripts: ScriptRegistry;
  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-examples-')));
    user = new BuildUser(folder);
    scripts = await ScriptRegistry.start(path.join(folder, 'registry'), SCRIPTS);
    const catalog = catalogText(scripts.entry('SetIt', 'set.sh', SCRIPTS['set.sh']));
    user.write({
      'app/kustomization.yaml':
        'catalogs: [../catalog.yaml]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'app/settings.yaml': CONFIG_MAP,
      'app/set.yaml': configText('SetIt'),
      'catalog.yaml': catalog,
    });
    const locked = await user.krmhub('lock', 'app', '-c', 'catalog.yaml');
    expect(locked).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await scripts?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are found', () => expect(examples.length).toBeGreaterThan(3));

  it.each(examples)('%s', async (example) => {
    const [, ...args] = example
      .replace('https://krm.example.com/catalogs/default', 'catalog.yaml')
      .split(' ');
    // The function of the test is an executable.
    args.splice(2, 0, '--allow-exec');
    const built = await user.krmhub(...args);
    expect(built).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('  set: it\n') });
  });
});
