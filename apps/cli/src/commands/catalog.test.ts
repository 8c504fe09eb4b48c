import { generateKeyPairSync } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { readYaml, sha256 } from '@krmhub/schema';
import { beforeAll, expect, it } from 'vitest';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../testing/command-line.js';

const GROUP = 'functions.example.com';
const FIXTURES = new URL('../../../../test/fixtures/functions/set-labels/', import.meta.url);

const folder = temporaryFolder();
const registry = fileRegistry();
let client: RegistryClient;
beforeAll(async () => {
  client = new RegistryClient(registry);
  for (const release of ['1.0.0', '2.0.0']) {
    const definition = await readFile(new URL(`${release}.yaml`, FIXTURES));
    const name = { group: GROUP, kind: 'SetLabels', release };
    const mediaType = 'application/yaml';
    await client.publish({ ...name, definition, mediaType, allowBreaking: true, wait: true });
  }
});

const run = (args: string[], options: TestIoOptions = {}) =>
  runTest(['catalog', ...args], { cwd: folder, env: registry.env, ...options });
const json = async (...args: string[]) => JSON.parse((await run([...args, '-o', 'json'])).out());

const recipe = (name: string, release = '>=1.0.0') => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
  - name: ours
    functions: {release: "${release}"}
`;

it('applies a recipe and waits for its snapshot', async () => {
  await writeFile(path.join(folder, 'recipe.yaml'), recipe('ours'));
  const applied = await run(['apply', 'recipe.yaml']);
  expect(applied.exitCode, applied.err()).toBe(0);
  const { newest } = await client.catalog('ours');
  expect(applied.out()).toBe(`ours\tcreated\t1\t1\t${newest!.digest}\n`);
  expect(applied.err()).toContain(`${registry.url}/catalogs/ours/catalog.yaml`);

  const changed = await run(['apply', '-', '-o', 'json'], { stdin: recipe('ours', '<2.0.0') });
  expect(JSON.parse(changed.out())).toMatchObject({ outcome: 'changed', catalog: { newest: { serial: 2 } } });
  expect((await client.catalog('ours')).recipe).toBe(recipe('ours', '<2.0.0'));
  const same = await run(['apply', '-', '-o', 'json'], { stdin: recipe('ours', '<2.0.0') });
  expect(JSON.parse(same.out())).toMatchObject({ outcome: 'unchanged', catalog: { newest: { serial: 2 } } });
});

it('warns that a recipe matches no release', async () => {
  const empty = await run(['apply', '-'], { stdin: recipe('empty', '>=9') });
  expect([empty.exitCode, empty.err().includes('no release')]).toEqual([0, true]);
});

it('prints every problem of a recipe, and does not apply it', async () => {
  const bad = recipe('broken').replace('functions:', 'function:').replace('v1alpha1', 'v9');
  await writeFile(path.join(folder, 'bad.yaml'), bad);
  const io = await run(['apply', 'bad.yaml']);
  expect([io.exitCode, io.out()]).toEqual([1, '']);
  expect(io.err()).toContain('bad.yaml:1:');
  expect(io.err()).toContain('bad.yaml:7:');
  expect(io.err()).toContain('function:');
  expect(io.err()).toMatch(/error: cannot apply bad.yaml: \d+ errors/);
  await expect(client.catalog('broken')).rejects.toMatchObject({ code: 'not-found' });
});

it('sends a public key from a file next to the recipe, and rejects a private key', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = String(publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(path.join(folder, 'banana.pub'), pem);
  await writeFile(path.join(folder, 'banana.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const text = (key: string) =>
    `${recipe('keyed')}  policy:\n    requireSignature: [{groups: [banana.co], key: ${key}}] # theirs\n`;
  await writeFile(path.join(folder, 'keyed.yaml'), text('banana.pub'));
  expectEnd(await run(['apply', 'keyed.yaml']), 0);
  expect((await client.catalog('keyed')).recipe).toBe(text(JSON.stringify(pem)));

  await writeFile(path.join(folder, 'keyed.yaml'), text('banana.key'));
  const refused = await run(['apply', 'keyed.yaml']);
  expectEnd(refused, 1, 'keyed.yaml:9:51');
  expect(refused.err()).toContain('banana.key is a private key');
  const direct = client.applyCatalog('keyed', new TextEncoder().encode(text('banana.pub')));
  await expect(direct).rejects.toMatchObject({
    diagnostics: [{ code: 'policy/key', hint: expect.stringContaining('krmhub catalog apply') }],
  });
});

it('lists what exists if a catalog or snapshot does not', async () => {
  for (const [args, hint] of [
    [['show', 'nope'], 'Use one of: default, '],
    [['history', 'nope'], 'Use one of: default, '],
    [['pull', 'nope'], 'Use one of: default, '],
    [['pull', 'defalt'], 'Did you mean default?'],
    [['pull', 'default', '--snapshot', '999'], 'krmhub catalog history default'],
  ] as const) {
    const io = await run([...args]);
    expectEnd(io, 3, hint);
    expect(io.err()).not.toContain('GET ');
  }
});

it('prints why it cannot apply a recipe', async () => {
  expect((await run(['apply', 'nothing.yaml'])).exitCode).toBe(3);
  expect((await run(['apply', '-'], { stdin: recipe('default') })).err()).toContain('built-in');
  const anonymous = await run(['apply', '-'], { stdin: recipe('x'), env: { KRMHUB_REGISTRY: registry.url } });
  expect([anonymous.exitCode, anonymous.err().includes('krmhub login')]).toEqual([6, true]);
  expect((await run(['apply', '-'], { stdin: '#'.repeat(300_000) })).exitCode).toBe(1);
});

it('lists catalogs and their history, within 80 columns and in a pipe', async () => {
  await run(['apply', '-'], { stdin: recipe(`long-${'n'.repeat(58)}`) });
  for (const args of [['list'], ['history', 'ours'], ['show', 'ours']]) {
    const { out } = await run(args, { tty: true });
    const lines = out()
      .replace(/\u001b\[\d+m/g, '')
      .trimEnd()
      .split('\n');
    const addresses = lines.filter((line) => /https?:/.test(line));
    for (const line of lines)
      if (!addresses.includes(line)) expect(line.length, line).toBeLessThanOrEqual(80);
  }
  const { newest } = await client.catalog('ours');
  const listed = (await run(['list']))
    .out()
    .split('\n')
    .find((line) => line.startsWith('ours\t'));
  expect(listed?.split('\t')).toEqual(['ours', '2', '1', newest!.createdAt, newest!.digest]);
  expect((await run(['history', 'ours'])).out().trimEnd().split('\n')).toHaveLength(2);
  const first = await run(['history', 'ours', '--limit', '1', '-o', 'json']);
  expect(JSON.parse(first.out())).toEqual({ catalog: 'ours', snapshots: [newest], total: 2, next: 2 });
  expect(first.err()).toContain('showing 1 of 2; use --limit or --all to show more');
  const all = await run(['history', 'ours', '--all', '-o', 'json']);
  expect([JSON.parse(all.out()).snapshots.length, all.err()]).toEqual([2, '']);
  expect((await json('list')).catalogs.map(({ name }: { name: string }) => name)).toContain('default');
  const yaml = await run(['history', 'ours', '-o', 'yaml']);
  const [document] = readYaml(yaml.outBytes(), { file: 'out' }).documents;
  expect(document!.value).toEqual(await json('history', 'ours'));
});

it('shows the recipe, the snapshot, and working URLs', async () => {
  const { out } = await run(['show', 'ours']);
  const { newest } = await client.catalog('ours');
  expect(out()).toContain(newest!.digest);
  expect(out()).toContain('functions: {release: "<2.0.0"}');
  const { addresses } = await json('show', 'ours');
  for (const address of Object.values<string>(addresses)) {
    expect(out()).toContain(address);
    expect((await fetch(address)).status).toBe(200);
  }
});

it('pulls the exact bytes in every format', async () => {
  const served = await fetch(`${registry.url}/catalogs/ours/catalog.yaml`);
  const bytes = Buffer.from(await served.arrayBuffer());
  expect(Buffer.from((await run(['pull', 'ours'])).outBytes())).toEqual(bytes);
  const { snapshots } = await client.snapshots('ours');
  for (const { serial, digest } of snapshots) {
    for (const snapshot of [String(serial), digest]) {
      const pulled = await run(['pull', 'ours', '--snapshot', snapshot]);
      expect(pulled.exitCode, pulled.err()).toBe(0);
      expect(sha256(pulled.outBytes())).toBe(digest);
      const other = await run([
        'pull',
        'ours',
        '--snapshot',
        snapshot,
        '--kind',
        'KRMFunctionCatalog',
        '--format',
        'json',
      ]);
      expect(JSON.parse(other.out()).kind).toBe('KRMFunctionCatalog');
    }
  }
});

it('writes no partial file, and does not rewrite the same bytes', async () => {
  const file = path.join(folder, 'out/catalog.yaml');
  const first = await run(['pull', 'ours', '--out', 'out/catalog.yaml']);
  expect([first.exitCode, first.out()]).toEqual([0, '']);
  const { newest } = await client.catalog('ours');
  expect(first.err()).toContain(newest!.digest);
  const before = await stat(file);
  expect((await run(['pull', 'ours', '--out', 'out/catalog.yaml'])).err()).toContain(
    'unchanged: out/catalog.yaml',
  );
  expect([(await stat(file)).ino, (await stat(file)).mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  await run(['pull', 'ours', '--snapshot', '1', '--out', 'out/catalog.yaml']);
  expect(sha256(await readFile(file))).not.toBe(newest!.digest);
});

it.each([
  [['pull', 'nothing'], 3],
  [['show', 'nothing'], 3],
  [['history', 'nothing'], 3],
  [['pull', 'ours', '--snapshot', '99'], 3],
  [['pull', 'ours', '--snapshot', 'newest'], 2],
  [['pull', 'ours', '--kind', 'List'], 2],
  [['show', '..'], 2],
  [['show', 'Ours'], 2],
  [['history', 'ours', '--limit', '0'], 2],
  [[], 2],
])('ends %j with %i', async (args, code) => {
  const io = await run(args);
  expect([io.exitCode, io.out()]).toEqual([code, '']);
  expect(io.err()).not.toBe('');
});

/** A server between the command and the registry that is not a krmhub registry. */
async function between(
  answer: (response: ServerResponse) => void,
  args: (url: string) => string[],
  options: TestIoOptions = {},
) {
  const server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await run(args(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), options);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it('writes nothing if the digest differs', async () => {
  const good = sha256('a: 1\n');
  const pull = (url: string) => ['pull', 'x', '--registry', url, '--out', 'bad.yaml'];
  const cases = [
    between((response) => response.setHeader('ETag', `"${good}"`).end('a: 2\n'), pull),
    between((response) => response.end('a: 1\n'), pull),
    between(
      (response) => response.setHeader('ETag', `"${good}"`).end('a: 1\n'),
      (url) => [...pull(url), '--snapshot', sha256('other')],
    ),
  ];
  for (const io of await Promise.all(cases)) {
    expect([io.exitCode, io.out()]).toEqual([4, '']);
    expect(io.err()).toContain('digest');
  }
  await rm(path.join(folder, 'bad.yaml'), { force: true });
  await between((response) => response.setHeader('ETag', `"${good}"`).end('a: 1\n'), pull);
  expect(await readFile(path.join(folder, 'bad.yaml'), 'utf8')).toBe('a: 1\n');
});

it('cannot be used to inject terminal escapes', async () => {
  const text = 'a: "\u001b]0;owned\u0007"\n';
  const server = (response: ServerResponse) => void response.setHeader('ETag', `"${sha256(text)}"`).end(text);
  const pull = (url: string) => ['pull', 'x', '--registry', url];
  expect((await between(server, pull)).out()).toBe(text);
  const shown = (await between(server, pull, { tty: true })).out();
  expect(shown).toContain('owned');
  expect(shown).not.toMatch(/[\u0007\u001b]/);
});

it('deletes a catalog after it asks, and restores it', async () => {
  await writeFile(path.join(folder, 'short.yaml'), recipe('short-lived'));
  expect((await run(['apply', 'short.yaml'])).exitCode).toBe(0);
  const args = ['delete', 'short-lived', '--reason', 'merged'];
  expectEnd(await run(args), 2, '--yes');
  const declined = await run(args, { tty: true, stdin: 'n\n' });
  expect(declined.exitCode).toBe(2);
  expect(declined.err()).toMatch(
    /would delete catalog short-lived: 1 function, snapshot 1, 0 upstream sources[\s\S]+\[y\/N\]/,
  );
  expect((await run(['show', 'short-lived'])).exitCode).toBe(0);
  const deleted = await run(args, { tty: true, stdin: 'y\n' });
  expect([deleted.exitCode, deleted.err()]).toEqual([
    0,
    expect.stringMatching(
      /deleted catalog short-lived\n {2}to undo this within 30d: krmhub catalog restore short-lived\n/,
    ),
  ]);
  const shown = await run(['show', 'short-lived']);
  expect([shown.exitCode, shown.err()]).toEqual([
    3,
    expect.stringMatching(/was deleted at .*Z by .*: merged/),
  ]);
  expect((await run(['list'])).err()).toMatch(
    /deleted: short-lived \((?:now|\d+[sm] ago)\): merged\n {2}to restore it within (?:30|29)d: krmhub catalog restore short-lived\n/,
  );
  expectEnd(await run(['apply', 'short.yaml']), 3, 'krmhub catalog restore short-lived');
  expectEnd(await run(['restore', 'short-livd']), 3, 'Did you mean short-lived?');
  expect((await run(['restore', 'short-lived'])).err()).toContain('/catalogs/short-lived/catalog.yaml');
  expect((await run(['restore', 'short-lived'])).err()).toContain('is not deleted');
  expect((await run(['show', 'short-lived'])).exitCode).toBe(0);
  expectEnd(await run(['delete', 'default', '--reason', 'x', '--yes']), 1, 'built-in');
  expect((await run(['restore', 'never'])).exitCode).toBe(3);
});

it('apply --example lists the recipes of krmhub, and applies one by its name', async () => {
  const listed = await run(['apply', '--example', '-o', 'json']);
  const names = JSON.parse(listed.out()).recipes.map((one: { name: string }) => one.name);
  expect(names).toEqual(['kpt-functions', 'krm-functions']);
  expectEnd(await run(['apply', '--example', 'kpt']), 3, 'Use one of these: kpt-functions, krm-functions');
  expectEnd(await run(['apply']), 2, 'either a file or --example is required');
  expectEnd(await run(['apply', 'recipe.yaml', '--example']), 2, 'either a file or --example is required');
  // Without a way to the upstream, the recipe is applied, and its catalog is empty.
  const applied = await run(['apply', '--example', 'krm-functions']);
  expect([0, 5], applied.err()).toContain(applied.exitCode);
  expect((await client.catalog('krm-functions')).recipe).toContain('format: kpt-list');
});
