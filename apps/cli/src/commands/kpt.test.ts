import { lstatSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, type TestIo } from '../testing/command-line.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';

let pack: TestPackage;
afterEach(() => pack.remove());

const digest = (digit: string) => digit.repeat(64);
const image = (name: string, digit: string) => `registry.example.com/fn/${name}@sha256:${digest(digit)}`;

const entry = (kind: string, runtime: string) => `  - group: example.com
    names: {kind: ${kind}}
    description: A function of the test.
    publisher: example.com
    versions:
    - name: v1
      schema: {openAPIV3Schema: {type: object}}
      idempotent: true
      usage: https://example.com/README.md
      examples: [https://example.com/EXAMPLE.md]
      license: Apache-2.0
      runtime: ${runtime}
`;
const container = (name: string, digit: string, more = '') =>
  `{container: {image: "registry.example.com/fn/${name}:v1.0.0", sha256: "${digest(digit)}"${more}}}`;
const exec = `{exec: {platforms: [
        {os: linux, arch: amd64, bin: run, uri: "https://example.com/run", sha256: "${digest('c')}"},
        {os: darwin, arch: arm64, bin: bin/run, uri: "https://example.com/mac.tar.gz", sha256: "${digest('d')}"}]}}`;
const catalog = (...entries: string[]) =>
  `apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: test}\nspec:\n  krmFunctions:\n${entries.join('')}`;

const CATALOG = catalog(
  entry('SetOwner', container('set-owner', 'a')),
  entry('Fetch', container('fetch', 'b', ', requireNetwork: true, requireStorageMount: true')),
  entry('Run', exec),
  entry('Script', '{starlark: "https://example.com/script.star"}'),
  entry('Pinned', `{starlark: "https://example.com/script.star#sha256=${digest('e')}"}`),
);

const kptfile = (pipeline: string, catalogs = '') =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n${
    catalogs === '' ? '' : `  annotations:\n    krmhub.dev/catalogs: ${catalogs}\n`
  }pipeline:\n${pipeline}`;

const sync = (...args: string[]): Promise<TestIo> =>
  runTest(['kpt', 'sync', ...args], {
    cwd: pack.folder,
    env: { KRMHUB_CACHE: path.join(pack.folder, 'cache') },
  });
const read = (name: string) => readFileSync(path.join(pack.folder, name), 'utf8');

async function open(files: Record<string, string>): Promise<void> {
  pack = await testPackage({ 'catalog.yaml': CATALOG, 'app/owner.yaml': config('SetOwner'), ...files });
}

describe('krmhub kpt sync', () => {
  it('fills in images of a package and its subpackages, and changes nothing the second time', async () => {
    await open({
      'app/Kptfile': kptfile(
        '  mutators:\n    # first\n    - configPath: owner.yaml # ours\n    - image: mine:v1\n      configMap: {a: b}\n',
      ),
      'app/sub/Kptfile': kptfile('  validators: [{configPath: check.yaml}]\n'),
      'app/sub/check.yaml': config('SetOwner'),
    });
    const io = await sync('app', '-c', 'catalog.yaml');
    expect([io.exitCode, io.out()]).toEqual([0, '']);
    expect(read('app/Kptfile')).toBe(
      kptfile(
        `  mutators:\n    # first\n    - image: ${image('set-owner', 'a')}\n      configPath: owner.yaml # ours\n    - image: mine:v1\n      configMap: {a: b}\n`,
      ),
    );
    expect(read('app/sub/Kptfile')).toBe(
      kptfile(`  validators: [{image: '${image('set-owner', 'a')}', configPath: check.yaml}]\n`),
    );
    expect(io.err()).toContain('updated 2 functions in 2 Kptfiles');
    expect(io.err()).toContain(
      'Kptfile: pipeline.mutators[1]: unchanged (mine:v1): it has no configPath, so its kind is unknown',
    );
    const before = statSync(path.join(pack.folder, 'app/Kptfile'));
    expectEnd(await sync('app', '-c', 'catalog.yaml'), 0, '2 functions are up to date');
    const after = statSync(path.join(pack.folder, 'app/Kptfile'));
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  });

  it('writes through a link, and refuses two texts for one file', async () => {
    const text = kptfile('  mutators:\n    - configPath: owner.yaml\n');
    await open({ 'app/kptfile.txt': text, 'app/Kptfile': '→ kptfile.txt' });
    expectEnd(await sync('app', '-c', 'catalog.yaml'), 0);
    expect(read('app/kptfile.txt')).toContain(image('set-owner', 'a'));
    expect(lstatSync(path.join(pack.folder, 'app/Kptfile')).isSymbolicLink()).toBe(true);
    await pack.write({
      'two/Kptfile': text,
      'two/owner.yaml': config('SetOwner'),
      'two/sub/Kptfile': '→ ../Kptfile',
      'two/sub/owner.yaml': config('Fetch'),
    });
    const refused = await sync('two', '-c', 'catalog.yaml');
    expect(refused.err()).toContain('cannot write sub/Kptfile: it is the same file as another Kptfile');
    expect(read('two/Kptfile')).toBe(text);
  });

  it('checks without writing: a diff, and exit code 1', async () => {
    const text = kptfile('  mutators:\n    - configPath: owner.yaml\n      image: old:v1\n');
    await open({ 'app/Kptfile': text });
    const io = await sync('app', '--check', '-c', 'catalog.yaml');
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain(
      `--- a/Kptfile\n+++ b/Kptfile\n@@ -5,4 +5,4 @@\n pipeline:\n   mutators:\n     - configPath: owner.yaml\n-      image: old:v1\n+      image: ${image('set-owner', 'a')}\n`,
    );
    expect(io.err()).toContain('1 function is out of date');
    expect(io.err()).toContain('krmhub kpt sync app');
    expect(read('app/Kptfile')).toBe(text);
    await sync('app', '-c', 'catalog.yaml');
    const done = await sync('app', '--check', '-c', 'catalog.yaml');
    expect([done.exitCode, done.out()]).toEqual([0, '']);
  });

  it('checks without the passwords of URLs, and writes the file with them', async () => {
    const upstream = "upstream: {type: git, git: {repo: 'https://user:hunter2@git.example.com/r.git'}}\n";
    const text = `${kptfile('  mutators:\n    - configPath: owner.yaml\n')}${upstream}`;
    await open({ 'app/Kptfile': text });
    const io = await sync('app', '--check', '-c', 'catalog.yaml');
    expect(io.out()).toContain("\n upstream: {type: git, git: {repo: 'https://…@git.example.com/r.git'}}\n");
    expect(io.out() + io.err()).not.toContain('hunter2');
    expectEnd(io, 1, 'the patch cannot be applied');
    await sync('app', '-c', 'catalog.yaml');
    expect(read('app/Kptfile')).toContain(upstream);
  });

  it('uses the catalogs that each Kptfile names, if they are trusted', async () => {
    await open({
      'app/Kptfile': kptfile('  mutators: [{configPath: owner.yaml}]\n', '../catalog.yaml'),
      'app/sub/Kptfile': kptfile('  mutators: [{image: old, configPath: a.yaml}]\n', '|\n      other.yaml\n'),
      'app/sub/a.yaml': config('SetOwner'),
      'app/sub/other.yaml': catalog(entry('SetOwner', container('other', 'e'))),
    });
    expectEnd(await sync('app'), 4, '--trusted-catalog');
    expect(read('app/Kptfile')).not.toContain('image');
    const trusted = ['--trusted-catalog', 'catalog.yaml', '--trusted-catalog', 'app/sub/other.yaml'];
    expectEnd(await sync('app', ...trusted), 0);
    expect(read('app/Kptfile')).toContain(image('set-owner', 'a'));
    expect(read('app/sub/Kptfile')).toContain(image('other', 'e'));
  });

  it('writes a command line for executables, for every platform', async () => {
    await open({
      'app/Kptfile': kptfile('  mutators:\n    - image: old:v1\n      configPath: run.yaml\n'),
      'app/run.yaml': config('Run'),
    });
    expectEnd(await sync('app', '-c', 'catalog.yaml'), 0);
    const line =
      `krmhub kpt exec linux/amd64=https://example.com/run#sha256=${digest('c')}` +
      ` darwin/arm64=https://example.com/mac.tar.gz#sha256=${digest('d')}&bin=bin%2Frun`;
    expect(read('app/Kptfile')).toBe(
      kptfile(`  mutators:\n    - exec: ${line}\n      configPath: run.yaml\n`),
    );
    expect((await sync('app', '-c', 'catalog.yaml')).err()).toContain('1 function is up to date');
  });

  it('writes a command line for a Starlark script', async () => {
    await open({
      'app/Kptfile': kptfile('  mutators:\n    - configPath: script.yaml\n'),
      'app/script.yaml': config('Pinned'),
    });
    expectEnd(await sync('app', '-c', 'catalog.yaml'), 0);
    expect(read('app/Kptfile')).toContain(
      `- exec: krmhub kpt exec starlark=https://example.com/script.star#sha256=${digest('e')}\n`,
    );
    expect((await sync('app', '-c', 'catalog.yaml')).err()).toContain('1 function is up to date');
  });

  it('warns of what kpt does not do by itself', async () => {
    await open({
      'app/Kptfile': kptfile('  mutators: [{configPath: fetch.yaml}]\n'),
      'app/fetch.yaml': config('Fetch'),
    });
    const io = await sync('app', '-c', 'catalog.yaml', '-o', 'json');
    expect(io.exitCode, io.err()).toBe(0);
    const { packages } = JSON.parse(io.out());
    expect(packages).toMatchObject([
      {
        file: 'Kptfile',
        changed: true,
        functions: [
          {
            entry: 'pipeline.mutators[0]',
            apiVersion: 'example.com/v1',
            kind: 'Fetch',
            outcome: 'filled',
            image: image('fetch', 'b'),
            catalog: 'catalog.yaml',
          },
        ],
      },
    ]);
    const warnings = packages[0].functions[0].warnings.join('\n');
    expect(warnings).toContain('run kpt fn render with --allow-network');
    expect(warnings).toContain('requires mounts, which kpt fn render does not support');
  });

  it('leaves an image alone whose kind no catalog has', async () => {
    const text = kptfile('  mutators:\n    - image: mine:v1\n      configPath: mine.yaml\n');
    await open({ 'app/Kptfile': text, 'app/mine.yaml': config('Mine') });
    const io = await sync('app', '-c', 'catalog.yaml');
    expectEnd(io, 0, 'pipeline.mutators[0]: unchanged (mine:v1): no catalog has example.com/v1 Mine');
    expect(read('app/Kptfile')).toBe(text);
    expectEnd(await sync('app'), 0, 'unchanged (mine:v1): its Kptfile has no catalog');
  });

  it('fills in the image that a functionConfig names itself, whatever the catalog has', async () => {
    const entry = (image: string) => `  mutators:\n    - ${image}configPath: owner.yaml # pinned\n`;
    const own = (runtime: string) => `${config('SetOwner')}runtime: ${runtime}\n`;
    await open({
      'app/Kptfile': kptfile(entry(`image: ${image('set-owner', 'a')}\n      `)),
      'app/owner.yaml': own('{container: {image: registry.example.com/fn/set-owner:v0.9.0}}'),
    });
    const pinned = kptfile(entry('image: registry.example.com/fn/set-owner:v0.9.0\n      '));
    for (const said of [/1 function/, /1 function is up to date/]) {
      const io = await sync('app', '-c', 'catalog.yaml');
      expect([io.exitCode, io.err()]).toEqual([0, expect.stringMatching(said)]);
      expect(read('app/Kptfile')).toBe(pinned);
    }
    await pack.write({ 'app/Kptfile': kptfile(entry('')), 'app/owner.yaml': own('{exec: {path: ./run}}') });
    expectEnd(await sync('app', '-c', 'catalog.yaml'), 3, 'has its own runtime, which is not an image');
    // A field of the function itself.
    await pack.write({ 'app/owner.yaml': own('java') });
    expect((await sync('app', '-c', 'catalog.yaml')).exitCode).toBe(0);
    expect(read('app/Kptfile')).toContain(image('set-owner', 'a'));
  });

  it.each<[string, Record<string, string>, string[], number, RegExp]>([
    [
      'a kind that no catalog has, without an image',
      { 'app/Kptfile': kptfile('  mutators:\n    - configPath: mine.yaml\n') },
      ['-c', 'catalog.yaml'],
      3,
      /Kptfile:7: pipeline\.mutators\[0\]: .*example\.com\/v1 Mine/,
    ],
    [
      'no catalog, without an image',
      { 'app/Kptfile': kptfile('  mutators:\n    - configPath: mine.yaml\n') },
      [],
      3,
      /its Kptfile has no catalog\n.*krmhub\.dev\/catalogs/,
    ],
    [
      'a catalog that does not exist, also with an image',
      { 'app/Kptfile': kptfile('  mutators:\n    - image: a\n      configPath: mine.yaml\n') },
      ['-c', 'missing.yaml'],
      3,
      /missing\.yaml/,
    ],
    [
      'neither an image nor a configPath',
      { 'app/Kptfile': kptfile('  mutators:\n    - configMap: {a: b}\n') },
      ['-c', 'catalog.yaml'],
      1,
      /pipeline\.mutators\[0\]/,
    ],
    [
      'a Starlark script without a digest',
      { 'app/Kptfile': kptfile('  mutators:\n    - configPath: script.yaml\n') },
      ['-c', 'catalog.yaml'],
      4,
      /the script https:\/\/example\.com\/script\.star has no digest/,
    ],
    [
      'a notation that cannot be edited',
      {
        'app/Kptfile': `info: &m {name: app}\n${kptfile('  mutators: [{configPath: owner.yaml}]\n').replace('\n  name: app', ' *m')}`,
      },
      ['-c', 'catalog.yaml'],
      1,
      /cannot read Kptfile:4:1: `metadata` is an alias/,
    ],
    ['no Kptfile', { 'app/kustomization.yaml': 'resources: []\n' }, [], 3, /it has no Kptfile/],
  ])('refuses %s, and writes nothing', async (_, files, args, code, message) => {
    const other = kptfile('  mutators: [{configPath: a.yaml}]\n');
    await open({
      'app/mine.yaml': config('Mine'),
      'app/script.yaml': config('Script'),
      'app/z/Kptfile': other,
      'app/z/a.yaml': config('SetOwner'),
      ...files,
    });
    const io = await sync('app', ...args);
    expect([io.exitCode, io.err()]).toEqual([code, expect.stringMatching(message)]);
    expect(read('app/z/Kptfile')).toBe(other);
    const [name, text] = Object.entries(files)[0]!;
    expect(read(name)).toBe(text);
  });

  it('uses the versions and the catalogs of the lock file', async () => {
    await open({ 'app/Kptfile': kptfile('  mutators: [{configPath: owner.yaml}]\n') });
    const options = {
      cwd: pack.folder,
      env: { KRMHUB_CACHE: path.join(pack.folder, 'cache') },
    };
    expectEnd(await runTest(['lock', 'app', '-c', 'catalog.yaml'], options), 0);
    // Another version of the function: it is used only after an upgrade.
    await pack.write({ 'catalog.yaml': CATALOG.replaceAll(digest('a'), digest('f')) });
    expectEnd(await sync('app'), 4, '--trusted-catalog');
    for (const more of [[], ['--frozen']]) {
      expectEnd(await sync('app', '--trusted-catalog', 'catalog.yaml', ...more), 0);
      expect(read('app/Kptfile')).toContain(image('set-owner', 'a'));
    }
    expectEnd(await runTest(['lock', 'app', '--upgrade', '-c', 'catalog.yaml'], options), 0);
    const check = await sync('app', '--check', '--trusted-catalog', 'catalog.yaml');
    expect([check.exitCode, check.out()]).toEqual([1, expect.stringContaining(`+++ b/Kptfile`)]);
  });

  it('requires a lock file for --frozen', async () => {
    await open({ 'app/Kptfile': kptfile('  mutators: [{configPath: owner.yaml}]\n', '../catalog.yaml') });
    expectEnd(await sync('app', '--frozen', '--trusted-catalog', 'catalog.yaml'), 3, 'krmhub lock app');
  });

  it('reports every function that cannot be filled', async () => {
    await open({
      'app/Kptfile': kptfile('  mutators:\n    - configPath: mine.yaml\n    - configPath: script.yaml\n'),
      'app/mine.yaml': config('Mine'),
      'app/script.yaml': config('Script'),
    });
    const io = await sync('app', '-c', 'catalog.yaml');
    expectEnd(io, 3, 'pipeline.mutators[0]: ');
    expect(io.err()).toContain('pipeline.mutators[1]: cannot resolve');
  });
});
