import { generateKeyPairSync } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { sha256 } from '@krmhub/schema';
import { keySigner, signStatement, snapshotStatement } from '@krmhub/signing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type CatalogServer,
  catalogServer,
  catalogText,
  OUR_FUNCTIONS,
  publishOurs,
  recipeText as recipe,
  sourceText as upstream,
} from '../../testing/catalog-build.js';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../../testing/command-line.js';

const folder = temporaryFolder();
const registry = fileRegistry();
let server: CatalogServer;
let origin: string;
let served: CatalogServer['served'];

beforeAll(async () => {
  const client = new RegistryClient(registry);
  await publishOurs(client);
  server = await catalogServer();
  ({ origin, served } = server);
});
afterAll(async () => {
  server.close();
});
beforeEach(() => served.clear());

const run = (args: string[], options: TestIoOptions = {}) =>
  runTest(['catalog', 'build', ...args], { cwd: folder, ...options });
const put = (name: string, text: string | Uint8Array) => writeFile(path.join(folder, name), text);
const read = (name: string) => readFile(path.join(folder, name), 'utf8');
const exists = (name: string) =>
  stat(path.join(folder, name)).then(
    () => true,
    () => false,
  );

describe('from the functions of a registry', () => {
  it('builds the bytes that the registry serves, in every format', async () => {
    await put('recipe.yaml', recipe('  - name: ours\n    functions: {release: ">=1.0.0"}\n'));
    await runTest(['catalog', 'apply', 'recipe.yaml'], { cwd: folder, env: registry.env });
    const client = new RegistryClient(registry);
    for (const kind of ['Catalog', 'KRMFunctionCatalog'] as const) {
      for (const format of ['yaml', 'json'] as const) {
        const built = await run(['recipe.yaml', '--kind', kind, '--format', format], { env: registry.env });
        expect(built.exitCode, built.err()).toBe(0);
        const { bytes } = await client.catalogDocument('platform', { kind, format });
        expect(built.out()).toBe(new TextDecoder().decode(bytes));
      }
    }
  });

  it('writes the entries of snapshot.json', async () => {
    const built = await run(['recipe.yaml', '--out', 'c.yaml', '--snapshot-file', 's.json'], {
      env: registry.env,
    });
    expect(built.exitCode, built.err()).toBe(0);
    const { entries, digests } = await new RegistryClient(registry).snapshot('platform', '1');
    expect(JSON.parse(await read('s.json'))).toMatchObject({ serial: 0, previous: null, entries, digests });
    expect(built.out()).toBe('ours\t1\t1\t0\t0\t0\n');
  });

  it('reports that the registry does not respond', async () => {
    const built = await run(['recipe.yaml', '--registry', 'http://127.0.0.1:9', '--out', 'none.yaml']);
    expectEnd(built, 5, 'cannot reach the registry');
    expect(await exists('none.yaml')).toBe(false);
  });
});

describe('from upstream catalogs', () => {
  const NOBODY = { KRMHUB_REGISTRY: 'http://127.0.0.1:9' };

  it('uses the first source with a function, and reports the others', async () => {
    served.set('/banana.yaml', catalogText('banana.co', ['Split', 'Peel'], { more: '  - group: 1\n' }));
    await put('melon.yaml', catalogText('banana.co', ['Split']));
    await put(
      'recipe.yaml',
      recipe(
        `${upstream('banana', `${origin}/banana.yaml`)}${upstream('melon', 'file:melon.yaml')}`,
        '  policy: {deny: [{kind: Peel, reason: sharp}]}\n',
      ),
    );
    const built = await run(['recipe.yaml', '--out', 'out/c.yaml', '--report', 'out/r.json', '-o', 'json'], {
      env: NOBODY,
    });
    expect(built.exitCode, built.err()).toBe(0);
    const summary = JSON.parse(built.out());
    expect(summary).toMatchObject({
      catalog: 'platform',
      functions: 1,
      shadowed: 1,
      refused: { denied: 1 },
      invalid: 1,
      digests: { 'catalog.yaml': sha256(await read('out/c.yaml')) },
      sources: [
        { source: 'banana', functions: 1, versions: 1, shadowed: 0, refused: 1, invalid: 1 },
        { source: 'melon', functions: 0, versions: 0, shadowed: 1, refused: 0, invalid: 0 },
      ],
    });
    const report = JSON.parse(await read('out/r.json'));
    expect(report).toMatchObject({
      serial: 0,
      sources: [
        { source: 'banana', state: 'current', invalidEntries: 1, invalid: [{ entry: 2 }] },
        { source: 'melon', state: 'current' },
      ],
      shadowed: [{ kind: 'Split', source: 'melon', by: { source: 'banana' } }],
      refused: [{ kind: 'Peel', reasons: [{ code: 'denied', message: 'the recipe denies it: sharp' }] }],
    });
    expect(built.err()).toContain('platform: 1 function; 1 refused (denied), 1 shadowed, 1 invalid');
  });

  it('is reproducible, and does not rewrite files with the same bytes', async () => {
    await put('melon.yaml', catalogText('melon.co', ['Split', 'Peel']));
    await put('recipe.yaml', recipe(upstream('melon', 'file:melon.yaml')));
    await run(['recipe.yaml', '--out', 'same.yaml'], { env: NOBODY });
    const before = await stat(path.join(folder, 'same.yaml'));
    expectEnd(await run(['recipe.yaml', '--out', 'same.yaml'], { env: NOBODY }), 0);
    expect((await stat(path.join(folder, 'same.yaml'))).ino).toBe(before.ino);
  });

  it('rejects upstream entries in groups of the registry', async () => {
    served.set('/theirs.yaml', catalogText('example.com', ['SetLabels', 'Other']));
    await put('recipe.yaml', recipe(`${upstream('theirs', `${origin}/theirs.yaml`)}${OUR_FUNCTIONS}`));
    const built = await run(['recipe.yaml', '--out', 'c.yaml', '-o', 'json'], { env: registry.env });
    expect(JSON.parse(built.out())).toMatchObject({ functions: 2, refused: { claim: 2 } });
  });

  it('reports every source that fails, and writes nothing', async () => {
    served.set('/fine.yaml', catalogText('fine.co', ['Split']));
    served.set('/page.html', '<html>hello</html>');
    const sources = [
      upstream('fine', `${origin}/fine.yaml`),
      upstream('gone', `${origin}/gone.yaml`),
      upstream('page', `${origin}/page.html`),
      upstream('outside', 'file:../../../../etc/hostname'),
    ];
    await put('recipe.yaml', recipe(sources.join('')));
    const built = await run(['recipe.yaml', '--out', 'none.yaml', '--report', 'none.json'], { env: NOBODY });
    expect(built.exitCode).toBe(5);
    expect(built.out()).toBe('');
    expect(built.err()).toMatch(/^gone: failed: .+/m);
    expect(built.err()).toMatch(/^page: failed: .+ is not a catalog: .+/m);
    expect(built.err()).toMatch(/^outside: failed: .+is outside the folder for file sources/m);
    expect(built.err()).toContain('cannot build the catalog: 3 of 4 sources failed: gone, outside, page');
    expect(built.err()).toContain('build in a registry: krmhub catalog apply recipe.yaml\n');
    expect(await exists('none.yaml')).toBe(false);
    expect(await exists('none.json')).toBe(false);
  });

  it('completes entries with the defaults of a source, and reports the fields', async () => {
    await put('melon.yaml', catalogText('melon.co', ['Split']).replace(/^ *license: .*\n/gm, ''));
    await put('recipe.yaml', recipe(upstream('melon', 'file:melon.yaml')));
    const strict = await run(['recipe.yaml', '--out', 'c.yaml'], { env: NOBODY });
    expect(strict.err()).toContain('platform: 0 functions; 1 invalid');
    await put(
      'recipe.yaml',
      recipe(upstream('melon', 'file:melon.yaml', '', '    defaults: {license: MIT}\n')),
    );
    const built = await run(['recipe.yaml', '--out', 'c.yaml', '--report', 'r.json'], { env: NOBODY });
    expect(built.exitCode, built.err()).toBe(0);
    expect(built.err()).toContain('platform: 1 function; no entries excluded, 1 completed by defaults');
    expect(await read('c.yaml')).toContain('license: MIT');
    expect(JSON.parse(await read('r.json')).sources[0].completed).toEqual([
      { entry: 0, group: 'melon.co', kind: 'Split', fields: ['license'] },
    ]);
  });

  it('accepts a relative path or a file name as a source', async () => {
    await put('melon.yaml', catalogText('melon.co', ['Split']));
    for (const url of ['./melon.yaml', 'melon.yaml']) {
      await put('recipe.yaml', recipe(upstream('melon', url)));
      expectEnd(await run(['recipe.yaml', '--out', 'c.yaml'], { env: NOBODY }), 0, 'platform: 1 function; ');
    }
  });

  it('warns that a build does not know the age of entries', async () => {
    await put('melon.yaml', catalogText('melon.co', ['Split']));
    await put('recipe.yaml', recipe(upstream('melon', 'file:melon.yaml', ', minimumAge: 72h')));
    const built = await run(['recipe.yaml', '--out', 'c.yaml', '-o', 'json'], { env: NOBODY });
    expect(built.exitCode, built.err()).toBe(0);
    expect(JSON.parse(built.out())).toMatchObject({ functions: 0, refused: { 'minimum-age': 1 } });
    expect(built.err()).toContain(
      'melon: minimumAge rejects every entry, because only a registry knows the age of entries',
    );
    expect(built.err()).toContain('krmhub catalog inputs platform --out FOLDER');
    expect(built.err()).toContain('the report shows when the entries reach the minimum age');
  });

  it('shows the progress of each source in a terminal', async () => {
    await put('melon.yaml', catalogText('melon.co', ['Split', 'Peel'], { more: '  - group: 1\n' }));
    await put('recipe.yaml', recipe(upstream('melon', 'file:melon.yaml')));
    const built = await run(['recipe.yaml', '--out', 'c.yaml'], { env: NOBODY, tty: true });
    expect(built.err()).toMatch(/fetching melon/);
    expect(built.err()).toMatch(/melon: read 2 entries, 1 invalid, [\d.]+ KB/);
    expect(built.out()).toMatch(
      /SOURCE +FUNCTIONS +VERSIONS +SHADOWED +REFUSED +INVALID\S*\s+melon +2 +2 +0 +0 +1/,
    );
  });

  it('rejects two documents on stdout, and files that are not recipes', async () => {
    const both = await run(['recipe.yaml', '-o', 'json'], { env: NOBODY });
    expectEnd(both, 2, 'for example: --out catalog.yaml');
    const wrong = await run(['-'], { env: NOBODY, stdin: recipe('  - name: x\n') });
    expectEnd(wrong, 1, 'cannot build <stdin>: 1 error');
  });
});

describe('from signed catalogs', () => {
  const bytes = () => new TextEncoder().encode(catalogText('banana.co', ['Split']));
  const policy = '  policy:\n    requireSignature: [{groups: ["banana.co"], key: banana.pub}]\n';
  const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keys = newKeys();

  async function signed(expires: string, key = keys): Promise<Uint8Array> {
    const claim = { catalog: 'banana', serial: 7, previous: null, expires };
    const statement = snapshotStatement(claim, { 'catalog.yaml': sha256(bytes()) });
    return signStatement(statement, keySigner(key.privateKey));
  }

  beforeEach(async () => {
    await put('banana.pub', keys.publicKey.export({ type: 'spki', format: 'pem' }));
    await put('recipe.yaml', recipe(upstream('banana', `${origin}/banana/catalog.yaml`), policy));
    served.set('/banana/catalog.yaml', bytes());
  });
  const LATER = '2999-01-01T00:00:00.000Z';

  it('accepts entries signed by the key of the recipe, and prints the signer', async () => {
    served.set('/banana/snapshot.sigstore.json', await signed(LATER));
    const built = await run([
      'recipe.yaml',
      '--out',
      'c.yaml',
      '--snapshot-file',
      's.json',
      '--report',
      'r.json',
    ]);
    expect(built.exitCode, built.err()).toBe(0);
    const { entries } = JSON.parse(await read('s.json'));
    expect(entries[0].versions[0].signedBy).toMatch(/^the key sha256:/);
    expect(JSON.parse(await read('r.json')).sources[0].serial).toBe(7);
  });

  it('refuses another catalog of the same key at the address of a catalog, unless the recipe names it', async () => {
    const address = `${origin}/catalogs/default`;
    served.set('/catalogs/default/catalog.yaml', bytes());
    served.set('/catalogs/default/snapshot.sigstore.json', await signed(LATER));
    await put('recipe.yaml', recipe(upstream('banana', `${address}/catalog.yaml`), policy));
    const refused = await run(['recipe.yaml', '--out', 'other.yaml']);
    expectEnd(refused, 4, 'it is signed as a snapshot of banana, but its address is that of default');
    expect(refused.err()).toContain('name: banana');
    expect(await exists('other.yaml')).toBe(false);
    await put('recipe.yaml', recipe(upstream('banana', `${address}/catalog.yaml`, ', name: banana'), policy));
    expectEnd(await run(['recipe.yaml', '--out', 'other.yaml']), 0);
    await put(
      'recipe.yaml',
      recipe(upstream('banana', `${origin}/banana/catalog.yaml`, ', name: default'), policy),
    );
    served.set('/banana/snapshot.sigstore.json', await signed(LATER));
    expect((await run(['recipe.yaml', '--out', 'third.yaml'])).exitCode).toBe(4);
  });

  it('rejects entries that are unsigned or signed by another key', async () => {
    const others = await signed(LATER, newKeys());
    for (const bundle of [undefined, others]) {
      served.delete('/banana/snapshot.sigstore.json');
      if (bundle !== undefined) served.set('/banana/snapshot.sigstore.json', bundle);
      const built = await run(['recipe.yaml', '--out', 'c.yaml', '-o', 'json']);
      expect(built.exitCode, built.err()).toBe(0);
      expect(JSON.parse(built.out())).toMatchObject({ functions: 0, refused: { signature: 1 } });
      expect(built.err()).toContain('1 refused (signature)');
      expect(built.err()).toContain('the catalog is empty: the recipe policy rejects every entry\n');
      expect(built.err()).toContain('to list the excluded entries and the reasons, use --report FILE');
    }
  });

  it('does not build from an expired snapshot', async () => {
    served.set('/banana/snapshot.sigstore.json', await signed('2020-01-01T00:00:00.000Z'));
    const built = await run(['recipe.yaml', '--out', 'expired.yaml']);
    expectEnd(built, 4, 'banana: failed: the signature of snapshot 7 expired at 2020-01-01');
    expect(await exists('expired.yaml')).toBe(false);
    await put(
      'two.yaml',
      recipe(
        upstream('banana', `${origin}/banana/catalog.yaml`) + upstream('gone', `${origin}/gone.yaml`),
        policy,
      ),
    );
    expectEnd(await run(['two.yaml', '--out', 'expired.yaml']), 4, '2 of 2 sources failed');
  });
});
