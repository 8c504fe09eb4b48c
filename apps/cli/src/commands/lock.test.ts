import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { catalogText, definitionText } from '../testing/catalog-build.js';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIo,
  type TestIoOptions,
} from '../testing/command-line.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';
import { type RecordingProxy, recordingProxy } from '../testing/recording-proxy.js';

/** `krmhub lock` of packages with catalogs in files, and with one of a real registry behind a proxy. */

let pack: TestPackage;
afterEach(() => pack.remove());

function run(args: string[], options: TestIoOptions = {}): Promise<TestIo> {
  const env = { KRMHUB_CACHE: path.join(pack.folder, '.cache') };
  return runTest(args, { cwd: pack.folder, env, ...options });
}
const lock = (...args: string[]) => run(['lock', 'app', ...args]);
/** Messages without warnings that the registry of an image was not reached. */
const said = (io: TestIo) =>
  io.err().replace(/^warning: .* is locked without the platforms of its image: .*\n/gm, '');
const lockText = () => readFile(path.join(pack.folder, 'app/krmhub.lock'), 'utf8');
const rows = (io: TestIo) =>
  io
    .out()
    .trimEnd()
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'));

/** Nothing listens there: images whose digest is known are locked without their registry. */
const IMAGES = 'localhost:9';
const local = (text: string) => text.replaceAll('registry.example.com', IMAGES);
const ours = (kinds: string[], more: { release?: string; description?: string } = {}) =>
  local(catalogText('example.com', kinds, more)).replaceAll('v1.0.0', `v${more.release ?? '1.0.0'}`);
const trusted = ['--trusted-catalog', 'catalog.yaml', '--trusted-catalog', 'other.yaml'];
const files = {
  'app/kustomization.yaml':
    'catalogs: [../other.yaml, ../catalog.yaml]\nresources: [../base]\ntransformers: [labels.yaml]\n',
  'app/labels.yaml': config('SetLabels'),
  'base/kustomization.yaml': 'catalogs: [../catalog.yaml]\ntransformers: [names.yaml]\n',
  'base/names.yaml': `${config('SetNames')}---\n${config('Own', 'runtime: {exec: {path: ./own}}\n')}`,
  'catalog.yaml': ours(['SetLabels', 'SetNames']),
  'other.yaml': ours(['Another']),
};

describe('krmhub lock', () => {
  it('writes what the package runs, and of each catalog that was searched its state', async () => {
    pack = await testPackage(files);
    const io = await lock(...trusted);
    expect([io.exitCode, said(io)]).toEqual([
      0,
      'wrote app/krmhub.lock: 2 functions of 2 catalogs; 1 program of the package not locked\n',
    ]);
    expect(rows(io).map((row) => row.slice(0, 5))).toEqual([
      ['added', 'example.com/v1 SetLabels', '', '', '../catalog.yaml'],
      ['added', 'example.com/v1 SetNames', '', '', '../catalog.yaml'],
    ]);
    expect(
      (await lockText()).replace(/sha256:[0-9a-f]{64}/g, 'sha256:…'),
    ).toBe(`# \`krmhub lock\` writes this file. To upgrade functions: krmhub lock --upgrade
apiVersion: krmhub.dev/v1alpha1
kind: Lock
catalogs:
- reference: "../catalog.yaml"
  digest: sha256:…
- reference: "../other.yaml"
  digest: sha256:…
functions:
- catalog: "../catalog.yaml"
  apiVersion: example.com/v1
  kind: SetLabels
  definition: sha256:…
  notIn:
  - "../other.yaml"
  container:
    image: localhost:9/setlabels@sha256:…
- catalog: "../catalog.yaml"
  apiVersion: example.com/v1
  kind: SetNames
  definition: sha256:…
  container:
    image: localhost:9/setnames@sha256:…
`);
  });

  it('changes nothing the second time, and leaves nothing else behind', async () => {
    pack = await testPackage(files);
    await lock(...trusted);
    const text = await lockText();
    const again = await lock(...trusted);
    expect([again.exitCode, again.out(), again.err()]).toEqual([
      0,
      '',
      'app/krmhub.lock is up to date: 2 functions of 2 catalogs; 1 program of the package not locked\n',
    ]);
    expect(await lockText()).toBe(text);
    expect((await readdir(path.join(pack.folder, 'app'))).sort()).toEqual([
      'krmhub.lock',
      'kustomization.yaml',
      'labels.yaml',
    ]);
  });

  it('keeps what is locked where the catalog moves on, until it is upgraded', async () => {
    pack = await testPackage(files);
    await lock(...trusted);
    const text = await lockText();
    const other = ours(['SetLabels', 'SetNames'], { release: '2.0.0' }).replaceAll(
      'a'.repeat(64),
      'b'.repeat(64),
    );
    await pack.write({ 'catalog.yaml': other });
    expect((await lock(...trusted)).err()).toContain('is up to date');
    expect((await lock('--check', ...trusted)).exitCode).toBe(0);
    expect(await lockText()).toBe(text);
    const one = await lock('--upgrade', 'SetNames', ...trusted);
    expect(rows(one).map((row) => [row[0], row[1], row[5], row[6]])).toEqual([
      ['changed', 'example.com/v1 SetNames', 'quiet', 'rebuilt'],
    ]);
    expect(await lockText()).toContain(`setnames@sha256:${'b'.repeat(64)}`);
    expect(await lockText()).toContain(`setlabels@sha256:${'a'.repeat(64)}`);
    const all = await lock('--upgrade', ...trusted);
    expect(rows(all).map((row) => [row[0], row[1]])).toEqual([['changed', 'example.com/v1 SetLabels']]);
    expect(await lockText()).not.toContain('a'.repeat(64));
  });

  it('adds and removes what the package needs, and only that', async () => {
    pack = await testPackage(files);
    await lock(...trusted);
    await pack.write({
      'app/labels.yaml': config('Another'),
      'catalog.yaml': ours(['SetLabels', 'SetNames']).replaceAll('a'.repeat(64), 'b'.repeat(64)),
    });
    const io = await lock(...trusted);
    expect(rows(io).map((row) => [row[0], row[1], row[4]])).toEqual([
      ['removed', 'example.com/v1 SetLabels', '../catalog.yaml'],
      ['added', 'example.com/v1 Another', '../other.yaml'],
    ]);
    // What stays is as it was, though its catalog has other bytes now.
    expect(await lockText()).toContain(`setnames@sha256:${'a'.repeat(64)}`);
  });

  it('says that the catalogs of an overlay do not apply to its bases', async () => {
    pack = await testPackage({
      ...files,
      'base/kustomization.yaml': 'transformers: [names.yaml]\n',
      'base/names.yaml': config('SetNames'),
    });
    const io = await lock(...trusted);
    expect([io.exitCode, said(io)]).toEqual([
      3,
      'error: base/names.yaml:1:1: cannot resolve example.com/v1 SetNames: its kustomization sets no catalog, and those of an overlay do not apply to its bases\n  hint: Add `catalogs:` to that kustomization, or set a catalog of your registry, a URL, or a file, for example: --catalog default\n',
    ]);
    await pack.write({ 'app/kustomization.yaml': 'resources: [../base]\n' });
    expect(said(await lock(...trusted))).toContain('SetNames: no catalog is set\n');
  });

  it('with --check shows the difference, and changes nothing', async () => {
    pack = await testPackage(files);
    const missing = await lock('--check', ...trusted);
    expect([missing.exitCode, said(missing)]).toEqual([
      1,
      'app/krmhub.lock is out of date; update it: krmhub lock app\n',
    ]);
    expect(missing.out()).toContain('+  kind: SetLabels\n');
    await expect(lockText()).rejects.toThrow('ENOENT');
    await lock(...trusted);
    const text = await lockText();
    await pack.write({ 'base/names.yaml': config('SetLabels') });
    const io = await lock('--check', ...trusted);
    expect(io.exitCode).toBe(1);
    expect(io.out().replace(/sha256:[0-9a-f]{64}/g, 'sha256:…')).toBe(`@@ -15,9 +15,3 @@
   - "../other.yaml"
   container:
     image: localhost:9/setlabels@sha256:…
-- catalog: "../catalog.yaml"
-  apiVersion: example.com/v1
-  kind: SetNames
-  definition: sha256:…
-  container:
-    image: localhost:9/setnames@sha256:…
`);
    expect(await lockText()).toBe(text);
  });

  it('writes nothing if anything cannot be resolved, and says where and why of everything', async () => {
    pack = await testPackage({ ...files, 'app/labels.yaml': config('Unknown') });
    const io = await lock('--trusted-catalog', 'other.yaml');
    expect([io.exitCode, io.out()]).toEqual([4, '']);
    expect(io.err()).toMatch(
      /^error: cannot lock 2 functions; nothing was written\n {2}base\/names.yaml:1:1: .*\n {2}app\/labels.yaml:1:1: .*\n {2}hint: .*--trusted-catalog/,
    );
    await expect(lockText()).rejects.toThrow('ENOENT');
    const problem = await run(['lock', 'base', ...trusted]);
    expect(problem.exitCode).toBe(0);
    await pack.write({ 'base/kustomization.yaml': 'transformers: [none.yaml]\n' });
    expectEnd(await run(['lock', 'base', ...trusted]), 1, 'config/not-found');
  });

  it('does not upgrade a kind that the package does not use', async () => {
    pack = await testPackage(files);
    const io = await lock('--upgrade', 'SetLabel', ...trusted);
    expect([io.exitCode, io.err()]).toEqual([
      2,
      'error: cannot upgrade SetLabel: the package has no functionConfig of this kind, and not this image\n  hint: It has: SetLabels, SetNames\n',
    ]);
  });

  it('refuses a lock file that is not understood, with every problem', async () => {
    pack = await testPackage(files);
    await lock(...trusted);
    await pack.write({
      'app/krmhub.lock': (await lockText()).replaceAll('  definition:', '  later: 1\n  definition:'),
    });
    const io = await lock(...trusted);
    expect(io.exitCode).toBe(1);
    expect(io.err().match(/lock\/unknown-field/g)).toHaveLength(2);
    expect(io.err()).toContain('app/krmhub.lock:13:3');
  });

  it('is written to another file with --lock, with the catalogs relative to that', async () => {
    pack = await testPackage({ ...files, 'locks/x': '' });
    const io = await lock('--lock', 'locks/app.lock', ...trusted);
    expect(said(io)).toBe(
      'wrote locks/app.lock: 2 functions of 2 catalogs; 1 program of the package not locked\n',
    );
    expect(await readFile(path.join(pack.folder, 'locks/app.lock'), 'utf8')).toContain(
      'reference: "../catalog.yaml"',
    );
    await pack.write({ 'catalog.yaml': 'moved on' });
    const frozen = await run([
      'explain',
      'app',
      '--lock',
      'locks/app.lock',
      '--frozen',
      ...trusted,
      '-o',
      'json',
    ]);
    expect(frozen.exitCode).toBe(0);
  });

  it('gives the same as JSON', async () => {
    pack = await testPackage(files);
    const io = await lock(...trusted, '-o', 'json');
    expect(JSON.parse(io.out())).toEqual({
      file: 'app/krmhub.lock',
      isChanged: true,
      catalogs: 2,
      functions: 2,
      images: 0,
      unlocked: 1,
      imageChanges: [],
      changes: [
        expect.objectContaining({
          type: 'added',
          apiVersion: 'example.com/v1',
          kind: 'SetLabels',
          changes: [],
        }),
        expect.objectContaining({ type: 'added', kind: 'SetNames' }),
      ],
    });
    const check = await lock('--check', ...trusted, '-o', 'json');
    expect(JSON.parse(check.out())).toMatchObject({ isChanged: false, changes: [], difference: [] });
  });
});

describe('a locked package', () => {
  it('frozen is not found where it is not locked', async () => {
    pack = await testPackage(files);
    const none = await run(['explain', 'app', '--frozen', ...trusted]);
    expect([none.exitCode, none.err()]).toEqual([
      3,
      expect.stringMatching(
        /cannot resolve \S+ SetLabels: it is not locked\n {2}hint: Lock it: krmhub lock app\n/,
      ),
    ]);
    const named = await run(['explain', 'app', '--lock', 'none.lock', '--frozen', ...trusted]);
    expect([named.exitCode, named.err()]).toEqual([
      3,
      'error: the lock file none.lock does not exist\n  hint: Create it: krmhub lock app --lock none.lock\n',
    ]);
    await lock(...trusted);
    await pack.write({ 'app/labels.yaml': config('Another') });
    const other = await run(['explain', 'app', '--frozen', ...trusted, '-o', 'json']);
    const { functions } = JSON.parse(other.out());
    expect([other.exitCode, functions[2]]).toMatchObject([
      3,
      { kind: 'Another', state: 'not-found', hint: expect.stringContaining('krmhub lock') },
    ]);
  });

  it('is not used for a catalog before that was not searched when it was locked', async () => {
    pack = await testPackage({
      ...files,
      'new.yaml': ours(['SetLabels']).replaceAll('a'.repeat(64), 'c'.repeat(64)),
    });
    await lock(...trusted);
    const first = ['-c', 'new.yaml', ...trusted];
    const io = await run(['explain', 'app', ...first, '-o', 'json']);
    const images = (one: TestIo) =>
      JSON.parse(one.out()).functions.map(({ runtime }: { runtime?: { image?: string } }) =>
        runtime?.image?.at(-1),
      );
    expect([io.exitCode, images(io)]).toEqual([0, ['a', undefined, 'c']]);
    const frozen = await run(['explain', 'app', '--frozen', ...first]);
    expect(frozen.exitCode).toBe(3);
    expect(rows(await lock(...first)).map((row) => row.slice(0, 2))).toEqual([
      ['removed', 'example.com/v1 SetLabels'],
      ['added', 'example.com/v1 SetLabels'],
    ]);
    expect((await run(['explain', 'app', '--frozen', ...first])).exitCode).toBe(0);
  });
});

describe('a locked snapshot of a registry', () => {
  const registry = fileRegistry();
  let client: RegistryClient;
  let proxy: RecordingProxy;
  const publish = async (kind: string, release: string, more: { description?: string } = {}) => {
    const definition = new TextEncoder().encode(local(definitionText({ kind, release, ...more })));
    const name = { group: 'example.com', kind, release, mediaType: 'application/yaml' as const };
    await client.publish({ ...name, definition, wait: true });
  };
  beforeAll(async () => {
    client = new RegistryClient(registry);
    proxy = await recordingProxy(registry.url);
    await publish('SetLabels', '1.0.0');
    await publish('SetNames', '1.0.0');
  });
  afterAll(async () => {
    proxy.close();
  });

  it('stays, is upgraded in the classes of a catalog diff, and says at which snapshot it was found', async () => {
    const url = `${proxy.url}/catalogs/default`;
    pack = await testPackage({
      'app/kustomization.yaml': `catalogs: ["${url}"]\ntransformers: [a.yaml]\n`,
      'app/a.yaml': `${config('SetLabels')}---\n${config('SetNames')}`,
    });
    const args = ['--trusted-catalog', url];
    expect((await lock(...args)).exitCode).toBe(0);
    const { newest } = await client.catalog('default');
    expect(await lockText()).toContain(`- reference: ${url}\n  name: default\n  serial: ${newest!.serial}\n`);
    await publish('SetLabels', '1.1.0', { description: 'Sets labels, better.' });
    await publish('SetNames', '2.0.0');
    expect((await lock('--check', ...args)).exitCode).toBe(0);
    const io = await lock('--upgrade', 'SetLabels', ...args);
    expect([io.exitCode, said(io)]).toEqual([0, 'wrote app/krmhub.lock: 2 functions of 1 catalog\n']);
    expect(
      rows(io).map(([type, , before, after, , weight, name]) => [type, before, after, weight, name]),
    ).toEqual([
      ['changed', '1.0.0', '1.1.0', 'quiet', 'upgraded'],
      ['changed', '1.0.0', '1.1.0', 'quiet', 'texts-changed'],
    ]);
    const text = await lockText();
    expect(text).toContain(`kind: SetNames\n  serial: ${newest!.serial}\n  release: "1.0.0"`);
    expect((await lock('--check', ...args)).exitCode).toBe(0);
    const tty = await run(['lock', 'app', '--upgrade', ...args], {
      tty: true,
      columns: 100,
      env: { NO_COLOR: '1', KRMHUB_CACHE: path.join(pack.folder, '.cache') },
    });
    expect(tty.out()).toMatch(/~ example.com\/v1 SetNames 1.0.0 → 2.0.0 from http/);
    expect(tty.out()).toMatch(/ {2}compatible {2}the release changed from 1.0.0 to 2.0.0 \(upgraded\)/);
    expect(await lockText()).not.toMatch(/kind: SetNames\n {2}serial/);
  });

  it('is compared only by what is locked where its definition is no longer served', async () => {
    const url = `${proxy.url}/catalogs/default`;
    pack = await testPackage({
      'app/kustomization.yaml': `catalogs: ["${url}"]\ntransformers: [a.yaml]\n`,
      'app/a.yaml': config('SetNames'),
    });
    const args = ['--trusted-catalog', url];
    await lock(...args);
    await publish('SetNames', '3.0.0', { description: 'Other.' });
    proxy.intercept = (request, response) => {
      if (!request.url!.includes('/snapshots/')) return false;
      response.writeHead(404).end();
      return true;
    };
    const io = await lock('--upgrade', ...args);
    proxy.intercept = () => false;
    expect(rows(io).map((row) => row[6])).toEqual(['upgraded']);
    expect(io.err()).toContain(
      'warning: the locked definition of example.com/v1 SetNames is not available, so its schema was not compared\n',
    );
  });

  it('of a deleted catalog is refused with the reason, except with --frozen', async () => {
    const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: team}\nspec: {sources: [{name: ours, functions: {}}]}\n`;
    await client.applyCatalog('team', new TextEncoder().encode(recipe));
    await client.cutCatalog('team');
    const url = `${proxy.url}/catalogs/team`;
    pack = await testPackage({
      'app/kustomization.yaml': `catalogs: ["${url}"]\ntransformers: [a.yaml]\n`,
      'app/a.yaml': config('SetNames'),
    });
    const args = ['--trusted-catalog', url];
    expect((await lock(...args)).exitCode).toBe(0);
    await client.deleteCatalog('team', 'merged into default');
    for (const io of [await lock('--check', ...args), await run(['explain', 'app', ...args])]) {
      expect([io.exitCode, io.err()]).toEqual([
        3,
        expect.stringMatching(
          /catalog team was deleted at .* by .*: merged into default[\s\S]*\n {2}hint: The server removed it\. /,
        ),
      ]);
    }
    expect((await run(['explain', 'app', '--frozen', ...args])).exitCode).toBe(0);
  });
});
