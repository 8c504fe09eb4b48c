import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CatalogServer, catalogServer, catalogText } from '../testing/catalog-build.js';
import { expectEnd, runTest, type TestIo, type TestIoOptions } from '../testing/command-line.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';

/** `krmhub explain` of whole packages, with catalogs in files and on a server. */

const DIGEST = `sha256:${'a'.repeat(64)}`;
let server: CatalogServer;
let pack: TestPackage;

beforeAll(async () => {
  server = await catalogServer();
});
afterAll(() => server.close());
afterEach(async () => {
  await pack.remove();
  server.served.clear();
});

async function explain(
  files: Record<string, string>,
  args: string[] = [],
  options: TestIoOptions = {},
): Promise<TestIo> {
  pack = await testPackage(files);
  return run('app', args, options);
}

function run(target: string, args: string[] = [], options: TestIoOptions = {}): Promise<TestIo> {
  const env = { KRMHUB_CACHE: path.join(pack.folder, '.cache') };
  return runTest(['explain', target, ...args], { cwd: pack.folder, env, ...options });
}

const ours = (...kinds: string[]) => catalogText('example.com', kinds);
const json = (io: TestIo) => JSON.parse(io.out());

const files = {
  'app/kustomization.yaml': `catalogs:
- ../catalog.yaml
resources: [../base]
transformers: [labels.yaml, own.yaml]
`,
  'app/labels.yaml': config('SetLabels'),
  'app/own.yaml': config('Own', 'runtime: {container: {image: localhost:9/own:v1}}\n'),
  'base/kustomization.yaml': 'catalogs: [../other.yaml]\ngenerators: [names.yaml]\n',
  'base/names.yaml': `# comment\n${config('MakeNames')}`,
  'catalog.yaml': ours('SetLabels'),
  'other.yaml': ours('MakeNames'),
};
const trusted = ['--trusted-catalog', 'catalog.yaml', '--trusted-catalog', 'other.yaml'];

describe('krmhub explain', () => {
  it('says what runs for each functionConfig, and why', async () => {
    const io = await explain(files, [...trusted, '-o', 'json']);
    expect([io.exitCode, io.err()]).toEqual([0, '']);
    const { path: target, functions, problems } = json(io);
    expect([target, problems]).toEqual(['app', []]);
    expect(functions).toEqual([
      {
        apiVersion: 'example.com/v1',
        kind: 'MakeNames',
        name: 'makenames',
        file: 'base/names.yaml',
        line: 2,
        column: 1,
        field: 'generators',
        layer: 'base',
        state: 'resolved',
        reason: 'the only catalog, from base/kustomization.yaml:1:12; trusted by --trusted-catalog',
        catalog: {
          reference: '../other.yaml',
          digest: expect.stringMatching(/^sha256:/),
          trustedBy: '--trusted-catalog',
        },
        searched: [],
        definition: expect.stringMatching(/^sha256:/),
        runtime: {
          type: 'container',
          image: `registry.example.com/makenames@${DIGEST}`,
          network: false,
          storage: false,
        },
        isLocked: false,
        warnings: [],
      },
      expect.objectContaining({
        kind: 'SetLabels',
        state: 'resolved',
        layer: 'app',
        file: 'app/labels.yaml',
      }),
      {
        apiVersion: 'example.com/v1',
        kind: 'Own',
        name: 'own',
        file: 'app/own.yaml',
        line: 1,
        column: 1,
        field: 'transformers',
        layer: 'app',
        state: 'inline',
        reason: 'it is from the functionConfig, so no catalog was searched',
        searched: [],
        runtime: { type: 'container', image: 'localhost:9/own:v1', network: false, mounts: [], envs: [] },
        isLocked: false,
        warnings: [
          expect.stringMatching(
            /^the image localhost:9\/own:v1 is not pinned by digest, and its digest is unknown: .*connection refused/,
          ),
        ],
      },
    ]);
  });

  it('prints blocks at a terminal, and a line for each function in a pipe', async () => {
    const io = await explain(files, trusted, { tty: true, columns: 100 });
    expect(io.out()).toContain('example.com/v1 MakeNames makenames');
    expect(io.out()).toContain('  base/names.yaml:2:1 (generators)');
    expect(io.out()).toMatch(/ {2}container {3}registry.example.com\/setlabels@sha256:a+\n/);
    expect(io.out()).toMatch(/ {2}warning {5}the image localhost:9\/own:v1 is not pinned/);
    expect(io.err()).toContain('3 functions\n');
    const piped = await run('app', trusted);
    const rows = piped
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(rows.map((row) => row.slice(0, 6))).toEqual([
      ['base/names.yaml:2:1', 'generators', 'example.com/v1', 'MakeNames', 'resolved', '../other.yaml'],
      ['app/labels.yaml:1:1', 'transformers', 'example.com/v1', 'SetLabels', 'resolved', '../catalog.yaml'],
      ['app/own.yaml:1:1', 'transformers', 'example.com/v1', 'Own', 'inline', ''],
    ]);
    expect(rows[1]!.slice(6)).toEqual([
      '',
      'container',
      `registry.example.com/setlabels@${DIGEST}`,
      expect.stringMatching(/^sha256:/),
      '',
      expect.stringContaining('trusted by --trusted-catalog'),
    ]);
  });

  it('prints the option that would trust a catalog on one line of the terminal', async () => {
    const io = await explain(files, [], { tty: true, columns: 80 });
    expect(io.out()).toMatch(/ {2}hint {8}.*--trusted-catalog \.\/other\.yaml@sha256:[0-9a-f]{64}\n/);
  });

  it('lets a layer see only the catalogs that it names, and those of the command line', async () => {
    const swapped = {
      ...files,
      'app/kustomization.yaml': files['app/kustomization.yaml'].replace('catalog.yaml', 'other.yaml'),
    };
    const io = await explain(swapped, [...trusted, '-o', 'json']);
    const states = json(io).functions.map(({ kind, state }: { kind: string; state: string }) => [
      kind,
      state,
    ]);
    expect([io.exitCode, states]).toEqual([
      3,
      [
        ['MakeNames', 'resolved'],
        ['SetLabels', 'not-found'],
        ['Own', 'inline'],
      ],
    ]);
    const all = await run('app', ['-c', 'catalog.yaml', ...trusted, '-o', 'json']);
    expect(all.exitCode).toBe(0);
    const [names, labels] = json(all).functions;
    expect([names.searched.length, names.reason]).toEqual([
      1,
      'catalog 2 of 2, from base/kustomization.yaml:1:12; trusted by --trusted-catalog',
    ]);
    expect(labels.reason).toBe('catalog 1 of 2; trusted by --catalog');
  });

  it('reports every problem with its position, and goes on', async () => {
    const io = await explain({
      ...files,
      'app/kustomization.yaml': `${files['app/kustomization.yaml']}validators: [missing.yaml]\n`,
      'base/names.yaml': `${config('MakeNames')}---\nkind: Half\n`,
      'other.yaml': ours('Another'),
    });
    // Not trusted, not found and two problems: the worst decides.
    expectEnd(io, 4, 'error[config/not-found]: cannot read missing.yaml: no such file or folder');
    expect(io.err()).toContain(' --> app/kustomization.yaml:5:14');
    expect(io.err()).toContain('error[config/not-a-config]: the document has no apiVersion');
    expect(io.err()).toContain('3 functions, 2 not resolved, 2 problems\n');
    const rows = io
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(rows.map((row) => [row[3], row[4]])).toEqual([
      ['MakeNames', 'not-trusted'],
      ['SetLabels', 'not-trusted'],
      ['Own', 'inline'],
    ]);
    expect(rows[0]!.at(-1)).toMatch(/is not trusted/);
    expect(io.err()).toMatch(
      /error: base\/names.yaml:1:1: .* is not trusted: .*\n {2}hint: .*--trusted-catalog .*other.yaml@sha256:[0-9a-f]{64}/,
    );
  });

  it.each<[code: number, what: string, change: Record<string, string>, args: string[]]>([
    [3, 'no catalog has it', { 'catalog.yaml': ours('Else') }, trusted],
    [4, 'no one trusts the catalog', {}, ['--trusted-catalog', 'other.yaml']],
    [1, 'a file has a problem', { 'app/labels.yaml': 'kind: [\n' }, trusted],
    [0, 'everything is resolved', {}, trusted],
  ])('ends with %i where %s', async (code, _, change, args) => {
    const io = await explain({ ...files, ...change }, args);
    expect(io.exitCode).toBe(code);
  });

  it('ends with 5 only where trying again could help', async () => {
    const unreachable = {
      ...files,
      'app/kustomization.yaml': 'catalogs: [http://127.0.0.1:9/catalog.yaml]\ntransformers: [labels.yaml]\n',
    };
    const args = ['--trusted-catalog', 'http://127.0.0.1:9/catalog.yaml'];
    const io = await explain(unreachable, args);
    expect([io.exitCode, io.out()]).toEqual([5, expect.stringContaining('\tunreachable\t')]);
    await pack.write({
      'app/kustomization.yaml': `${unreachable['app/kustomization.yaml']}validators: [x.yaml]\n`,
    });
    expect((await run('app', args)).exitCode).toBe(1);
  });

  it('reads a catalog that several functions need once', async () => {
    server.served.set('/catalog.yaml', ours('SetLabels', 'SetNames'));
    let asked = 0;
    const get = server.served.get.bind(server.served);
    server.served.get = (key) => {
      asked += 1;
      return get(key);
    };
    const url = `${server.origin}/catalog.yaml`;
    const io = await explain(
      {
        'app/kustomization.yaml': `catalogs: ["${url}"]\ntransformers: [a.yaml, b.yaml]\n`,
        'app/a.yaml': `${config('SetLabels')}---\n${config('SetNames')}`,
        'app/b.yaml': config('SetLabels').replace('name: s', 'name: other-s'),
      },
      ['--trusted-catalog', url],
    );
    expect([io.exitCode, asked]).toEqual([0, 1]);
  });

  it('explains a Composition, a Kptfile, a file and a folder', async () => {
    const io = await explain(
      {
        'app/composition.yaml':
          'kind: Composition\nmodules:\n- apiVersion: example.com/v1\n  kind: SetLabels\n',
        'kpt/Kptfile': `apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: kpt, annotations: {krmhub.dev/catalogs: ../catalog.yaml}}
pipeline:
  mutators:
  - {image: "localhost:9/example/old:v1", configPath: labels.yaml}
  - {image: "localhost:9/example/other:v1", configPath: other.yaml}
  - {image: "localhost:9/example/map:v1", configMap: {a: b}}
`,
        'kpt/labels.yaml': config('SetLabels'),
        'kpt/other.yaml': config('Other'),
        'plain/all.yaml': `${config('SetLabels')}---\n${config('Deployment')}`,
        'catalog.yaml': ours('SetLabels'),
      },
      ['-c', 'catalog.yaml', '-o', 'json'],
    );
    const kinds = (one: TestIo) =>
      json(one).functions.map(({ kind, state }: { kind: string; state: string }) => `${kind} ${state}`);
    expect(kinds(io)).toEqual(['SetLabels resolved']);
    const kpt = await run('kpt', ['--trusted-catalog', 'catalog.yaml', '-o', 'json']);
    expect([kpt.exitCode, kinds(kpt)]).toEqual([0, ['SetLabels inline', 'Other inline', 'ConfigMap inline']]);
    const [labels, other] = json(kpt).functions;
    expect([labels.reason, labels.runtime.image]).toEqual([
      'it is from the Kptfile',
      'localhost:9/example/old:v1',
    ]);
    expect(other.reason).toBe('it is from the Kptfile');
    expect(kinds(await run('plain', ['-c', 'catalog.yaml', '-o', 'json']))).toEqual([]);
    expect(kinds(await run('plain', ['-c', 'catalog.yaml', '--all', '-o', 'json']))).toEqual([
      'SetLabels resolved',
    ]);
    const file = await run('plain/all.yaml', ['-c', 'catalog.yaml', '-o', 'json']);
    expect([file.exitCode, kinds(file)]).toEqual([3, ['SetLabels resolved', 'Deployment not-found']]);
  });

  it('lets nothing of a package act on the terminal', async () => {
    const io = await explain(
      { ...files, 'app/own.yaml': config('Own').replace('name: own', 'name: "\\e]0;x\\a"') },
      trusted,
      { tty: true, env: { NO_COLOR: '1' } },
    );
    expect(io.out().replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f]/);
  });

  it('of a path that does not exist ends with 3', async () => {
    const io = await explain(files);
    expect(io.exitCode).not.toBe(0);
    const none = await run('none');
    expect([none.exitCode, none.err()]).toEqual([3, 'error: cannot read none: no such file or folder\n']);
  });
});
