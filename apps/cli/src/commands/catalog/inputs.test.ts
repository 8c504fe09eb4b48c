import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type CatalogServer,
  catalogServer,
  catalogText,
  definitionText,
  OUR_FUNCTIONS,
  publishOurs,
  recipeText,
  sourceText,
} from '../../testing/catalog-build.js';
import { expectEnd, fileRegistry, runTest, temporaryFolder } from '../../testing/command-line.js';
import { writeKeyFiles } from '../../testing/key-files.js';

const folder = temporaryFolder();
const registry = fileRegistry({ KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
let client: RegistryClient;
let server: CatalogServer;
/** When the source of `ageing` had been synced. */
let oldSyncedAt: number;
/** Nothing answers there. */
const OFFLINE = { KRMHUB_REGISTRY: 'http://127.0.0.1:9' };

beforeAll(async () => {
  server = await catalogServer();
  client = new RegistryClient(registry);
  await publishOurs(client);
  await client.yank('example.com', 'SetLabels', '1.1.0', 'bad');
  const { served, origin } = server;
  served.set(
    '/banana.yaml',
    catalogText('banana.co', ['Split', 'Peel', 'split'], { more: '  - group: 1\n' }),
  );
  served.set('/melon.yaml', catalogText('banana.co', ['Split', 'Slice']));
  served.set('/young.yaml', catalogText('young.co', ['Split']));
  served.set('/old.yaml', catalogText('old.co', ['Split'], { description: 'The old one.' }));
  expect((await run('apply', await ageing('1h'))).exitCode).toBe(0);
  oldSyncedAt = Date.now();
  const rewrite = '    rewrite: [{from: registry.example.com/, to: mirror.example.com/}]\n';
  const recipe = recipeText(
    [
      OUR_FUNCTIONS,
      sourceText('banana', `${origin}/banana.yaml`, '', rewrite),
      sourceText('melon', `${origin}/melon.yaml`),
      sourceText('young', `${origin}/young.yaml`, ', minimumAge: 72h'),
      sourceText('gone', `${origin}/gone.yaml`),
    ].join(''),
    '  policy: {deny: [{kind: Peel}]}\n',
  );
  await writeFile(path.join(folder, 'recipe.yaml'), recipe);
  expectEnd(await run('apply', 'recipe.yaml'), 0);
});
afterAll(async () => {
  server.close();
});

/** Writes a recipe of a source that was synced before all tests, and returns its file. */
async function ageing(minimumAge: string): Promise<string> {
  const old = sourceText('old', `${server.origin}/old.yaml`, `, minimumAge: ${minimumAge}`);
  await writeFile(path.join(folder, 'ageing.yaml'), recipeText(old, '', 'ageing'));
  return 'ageing.yaml';
}

const run = (...args: string[]) => runTest(['catalog', ...args], { cwd: folder, env: registry.env });
const offline = (...args: string[]) =>
  runTest(['catalog', 'build', '--inputs', ...args], { cwd: folder, env: OFFLINE });
const read = (name: string) => readFile(path.join(folder, name));

it('exports inputs that build the same bytes without network access', async () => {
  const exported = await run('inputs', 'platform', '--out', 'platform', '-o', 'json');
  expect(exported.exitCode, exported.err()).toBe(0);
  const { newest } = await client.catalog('platform');
  expect(JSON.parse(exported.out())).toMatchObject({
    catalog: 'platform',
    serial: newest!.serial,
    digest: newest!.digest,
    functions: 2,
    sources: [
      { source: 'banana', state: 'current', entries: 2, former: 0 },
      { source: 'gone', state: 'missing', entries: 0 },
      { source: 'melon', state: 'current', entries: 2 },
      { source: 'young', state: 'current', entries: 1 },
    ],
  });
  expect((await readdir(path.join(folder, 'platform'))).sort()).toEqual([
    'entries.jsonl',
    'functions.jsonl',
    'inputs.json',
    'recipe.yaml',
    'snapshot.json',
    'sources',
  ]);
  expect((await read('platform/sources/melon')).toString()).toBe(server.served.get('/melon.yaml'));
  for (const kind of ['Catalog', 'KRMFunctionCatalog'] as const) {
    for (const format of ['yaml', 'json'] as const) {
      const built = await offline('platform', '--out', `c.${format}`, '--kind', kind, '--format', format);
      expect(built.exitCode, built.err()).toBe(0);
      expect(built.err()).toContain(
        `the build matches snapshot ${newest!.serial} of platform in every format`,
      );
      const { bytes } = await client.catalogDocument('platform', { kind, format });
      expect(sha256(await read(`c.${format}`))).toBe(sha256(bytes));
    }
  }
  const built = await offline(
    'platform',
    '--out',
    'c.yaml',
    '--snapshot-file',
    's.json',
    '--report',
    'r.json',
  );
  expect(built.exitCode, built.err()).toBe(0);
  const serial = String(newest!.serial);
  expect(await read('s.json')).toEqual(
    Buffer.from((await client.snapshotDocument('platform', serial)).bytes),
  );
  expect(JSON.parse((await read('r.json')).toString())).toEqual(
    await client.snapshotReport('platform', serial),
  );
});

it('completes the entries of a source as the registry did', async () => {
  const lacking = catalogText('lacking.co', ['Peel']).replace(/^ *license: .*\n/gm, '');
  server.served.set('/lacking.yaml', lacking);
  const source = sourceText('lacking', `${server.origin}/lacking.yaml`, '', '    defaults: {license: MIT}\n');
  await writeFile(path.join(folder, 'completed.yaml'), recipeText(source, '', 'completed'));
  expectEnd(await run('apply', 'completed.yaml'), 0);
  expectEnd(await run('inputs', 'completed', '--out', 'completed'), 0);
  expectEnd(await offline('completed', '--out', 'completed-catalog.yaml', '--report', 'completed.json'), 0);
  const report = await client.snapshotReport('completed', '1');
  expect(report.sources![0]).toMatchObject({ completed: [{ kind: 'Peel', fields: ['license'] }] });
  expect(JSON.parse((await read('completed.json')).toString())).toEqual(report);
});

it('builds the same snapshot after a yank of one of two identical releases', async () => {
  await writeFile(path.join(folder, 'twins.yaml'), recipeText(OUR_FUNCTIONS, '', 'twins'));
  expect((await run('apply', 'twins.yaml')).exitCode).toBe(0);
  const definition = new TextEncoder().encode(definitionText({ kind: 'Twin' }));
  for (const release of ['1.0.0', '1.1.0']) {
    const name = { group: 'example.com', kind: 'Twin', release, mediaType: 'application/yaml' as const };
    await client.publish({ ...name, definition, wait: true });
  }
  await client.yank('example.com', 'Twin', '1.0.0', 'bad');
  expectEnd(await run('inputs', 'twins', '--out', 'twins'), 0);
  const built = await offline('twins', '--out', 'twins-catalog.yaml');
  expect(built.exitCode, built.out() + built.err()).toBe(0);
});

it('also exports earlier entries of a source', async () => {
  server.served.set('/young.yaml', catalogText('young.co', ['Split'], { description: 'Another one.' }));
  await client.refreshSource('platform', 'young');
  server.served.set('/melon.yaml', catalogText('banana.co', ['Split'], { description: 'Another one.' }));
  await client.refreshSource('platform', 'melon');
  const exported = await run('inputs', 'platform', '--out', 'platform');
  expect(exported.exitCode, exported.err()).toBe(0);
  expect(exported.out()).toMatch(/^young\tcurrent\t1\t1\tsha256:/m);
  expectEnd(await offline('platform', '--out', 'c.yaml'), 0);
  expect(sha256(await read('c.yaml'))).toBe((await client.catalog('platform')).newest!.digest);
});

it('exports the signing policies that a recipe requires, and builds with them', async () => {
  await writeKeyFiles(folder, 'team');
  const pem = (await read('team.pub')).toString().trimEnd().replace(/^/gm, '      ');
  const policies = `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: team}
spec:
  groups: [example.com]
  releases: ">=1.0.0"
  signers:
  - key: |
${pem}
`;
  await client.applyPolicies(Buffer.from(policies), {});
  const follows = '  policy: {requireSignature: {policies: true}}\n';
  await writeFile(path.join(folder, 'followed.yaml'), recipeText(OUR_FUNCTIONS, follows, 'followed'));
  expect((await run('apply', 'followed.yaml')).exitCode).toBe(0);
  expectEnd(await run('inputs', 'followed', '--out', 'followed'), 0);
  expect(JSON.parse((await read('followed/inputs.json')).toString())).toMatchObject({ policies });
  expectEnd(await offline('followed', '--out', 'followed.out', '--report', 'followed.json'), 0);
  expect(sha256(await read('followed.out'))).toBe((await client.catalog('followed')).newest!.digest);
  expect((await read('followed.json')).toString()).toContain('but the policy team requires a signature');
  const online = await run('build', 'followed.yaml', '--out', 'online.yaml');
  expect(online.exitCode, online.err()).toBe(0);
  expect(await read('online.yaml')).toEqual(await read('followed.out'));
  await client.applyPolicies(Buffer.from(''), { remove: true });
});

it('uses the previous entry while the current one is too young, by the clock of the registry', async () => {
  expect((await client.catalog('ageing')).newest?.functions).toBe(0);
  // The old entry is old enough now, and the new one is not for as long as the tests before took.
  const seconds = Math.max(4, Math.floor((Date.now() - oldSyncedAt) / 1_000));
  await run('apply', await ageing(`${seconds}s`));
  await expect.poll(async () => (await client.catalog('ageing')).newest?.functions, { interval: 50 }).toBe(1);
  server.served.set('/old.yaml', catalogText('old.co', ['Split'], { description: 'The new one.' }));
  await client.refreshSource('ageing', 'old');
  const exported = await run('inputs', 'ageing', '--out', 'ageing');
  expect(exported.exitCode, exported.err()).toBe(0);
  expect(exported.out()).toMatch(/^old\tcurrent\t1\t1\t/m);
  // However late it is built.
  const later = new Date(Date.now() + 3_600_000);
  const built = await runTest(['catalog', 'build', '--inputs', 'ageing', '--out', 'ageing.out.yaml'], {
    cwd: folder,
    env: OFFLINE,
    now: () => later,
  });
  expect(built.exitCode, built.err()).toBe(0);
  expect((await read('ageing.out.yaml')).toString()).toContain('The old one.');
});

it('gives the same result as the incremental builds of the registry', async () => {
  const { served, origin } = server;
  const put = (name: string, group: string, kinds: string[], description?: string) =>
    served.set(`/${name}.yaml`, catalogText(group, kinds, description === undefined ? {} : { description }));
  put('first', 'fruit.co', ['Split', 'Peel']);
  put('second', 'fruit.co', ['SPLIT', 'Slice']);
  const sources = ['first', 'second'].map((name) => sourceText(name, `${origin}/${name}.yaml`)).join('');
  const policy = '  policy: {deny: [{kind: SPLIT}, {kind: Slice}, {kind: slice}]}\n';
  await writeFile(path.join(folder, 'pieces.yaml'), recipeText(sources + OUR_FUNCTIONS, policy, 'pieces'));
  expect((await run('apply', 'pieces.yaml')).exitCode).toBe(0);
  const publish = (kind: string) =>
    client.publish({
      ...{ group: 'fruit.co', kind, release: '1.0.0', mediaType: 'application/yaml', wait: true },
      definition: new TextEncoder().encode(definitionText({ group: 'fruit.co', kind })),
    });
  const changes: [string, () => unknown][] = [
    ['nothing', () => undefined],
    ['an entry that was in the way is gone', () => put('first', 'fruit.co', ['Peel'])],
    ['the same in another spelling', () => put('first', 'fruit.co', ['Peel', 'slice'])],
    ['another text', () => put('second', 'fruit.co', ['SPLIT', 'Slice', 'Peel'], 'Another text.')],
    ['source sync failed', () => served.delete('/second.yaml')],
    ['the registry holds the group', () => publish('Chop')],
    ['and a function that a source has', () => publish('Peel')],
    ['which it takes back', () => client.yank('fruit.co', 'Peel', '1.0.0', 'bad')],
    ['the source recovered with less', () => put('second', 'fruit.co', ['Slice'])],
    ['and the other has nothing', () => put('first', 'fruit.co', [])],
  ];
  for (const [what, change] of changes) {
    await change();
    for (const source of ['first', 'second']) await client.refreshSource('pieces', source);
    const exported = await run('inputs', 'pieces', '--out', 'pieces');
    expect(exported.exitCode, `${what}: ${exported.err()}`).toBe(0);
    const built = await offline('pieces', '--out', 'c.yaml', '--report', 'r.json');
    expect(built.exitCode, `${what}: ${built.err()}`).toBe(0);
    const report = JSON.parse((await read('r.json')).toString());
    expect(report, what).toEqual(await client.catalogReport('pieces'));
  }
});

it('reports differing entries, and writes nothing', async () => {
  await run('inputs', 'platform', '--out', 'changed');
  const functions = path.join(folder, 'changed/functions.jsonl');
  const text = await readFile(functions, 'utf8');
  await writeFile(functions, text.split('\n').slice(1).join('\n'));
  const built = await offline('changed', '--out', 'other.yaml');
  expectEnd(built, 1, 'nothing was written:\n  catalog.yaml: built sha256:');
  expect(built.err()).toContain('example.com/Apply: only in the registry');
  await expect(read('other.yaml')).rejects.toThrow();
});

it('rejects corrupt or missing inputs', async () => {
  await run('inputs', 'platform', '--out', 'damaged');
  await appendFile(path.join(folder, 'damaged/sources/melon'), '\n');
  const changed = await offline('damaged', '--out', 'no.yaml');
  expectEnd(changed, 1, 'source melon: its copy does not match the digest sha256:');
  await run('inputs', 'platform', '--out', 'damaged');
  await appendFile(path.join(folder, 'damaged/recipe.yaml'), '# more\n');
  expect((await offline('damaged')).err()).toContain('recipe.yaml differs from the exported recipe');
  expect((await offline('damaged')).err()).toContain('krmhub catalog inputs platform --out damaged\n');
  await run('inputs', 'platform', '--out', 'damaged');
  const entries = (await read('damaged/entries.jsonl')).toString();
  await writeFile(path.join(folder, 'damaged/entries.jsonl'), entries.split('\n').slice(1).join('\n'));
  expect((await offline('damaged')).err()).toContain('differs from the entry that the registry exported');
  await writeFile(path.join(folder, 'damaged/inputs.json'), '{"catalog":1}');
  expect((await offline('damaged')).err()).toContain('missing or of the wrong type: "catalog"');
  expectEnd(await offline('nowhere'), 3, 'cannot read inputs from nowhere: no inputs.json');
  const both = await runTest(['catalog', 'build', 'recipe.yaml', '--inputs', 'platform'], { cwd: folder });
  expect(both.exitCode).toBe(2);
});

it('requires an administrator', async () => {
  const anonymous = await runTest(['catalog', 'inputs', 'platform', '--out', 'x'], {
    cwd: folder,
    env: { KRMHUB_REGISTRY: registry.url },
  });
  expectEnd(anonymous, 6, 'requires a token');
  const unknown = await run('inputs', 'nothing', '--out', 'x');
  expect(unknown.exitCode).toBe(3);
});
