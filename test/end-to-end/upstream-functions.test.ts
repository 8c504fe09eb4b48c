import { mkdtempSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { createLog, type RunningRegistry, readConfig, startRegistry } from '@krmhub/registry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTest, type TestIoOptions } from '../../apps/cli/src/testing/command-line.js';
import { checkRegistry } from '../../apps/registry/src/operate/check/check.js';
import { Database } from '../../apps/registry/src/store/sqlite/driver.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { cutUpstream, type SamplePlace, sampleDefinition } from '../contracts/sample-upstream.js';
import { fixtures } from '../running.js';

const GROUP = 'vendor.example.org';
const PEEL = {
  kind: 'PeelBanana',
  description: 'Peels every banana of a package, whatever its colour, and throws the peels away.',
  tags: ['mutator', 'fruit'],
  versions: ['v1beta1', 'v1'],
};

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-upstream-'));
let registry: RunningRegistry | undefined;
let client: RegistryClient;

const start = async () => {
  registry = await startRegistry({
    config: readConfig({}, { host: '127.0.0.1', port: '0', data: folder }),
    log: createLog('silent', { write: () => undefined }),
  });
  const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  client = new RegistryClient({ url: registry.url, token });
  return token;
};
const stop = async () => {
  await registry?.close();
  registry = undefined;
};
/** A snapshot that another program has built while no registry served the folder. */
const cut = async (catalog: string, places: readonly SamplePlace[]) => {
  const store = await openSqliteStore(path.join(folder, 'registry.db'));
  await cutUpstream(store, catalog, places);
  await store.close();
};
const sql = (...statements: string[]) => {
  const database = new Database(path.join(folder, 'registry.db'));
  for (const statement of statements) database.exec(statement);
  database.close();
};

/** An Access document that says something of every group here. */
const accessText = (rule: string) => `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: fruit, displayName: Fruit Team}]
  groups: [{pattern: ${GROUP}, ${rule}}, {pattern: functions.example.com, ${rule}}]
`;

let env: Record<string, string>;
const run = (args: readonly string[], options: TestIoOptions = {}) => runTest(args, { ...options, env });

beforeAll(async () => {
  await start();
  await stop();
  await cut('platform', [
    PEEL,
    { kind: 'Weigh', tags: ['validator'], source: 'kiwi' },
    { kind: 'SetLabels', description: 'Not the one that people mean.' },
  ]);
  const token = await start();
  env = { KRMHUB_REGISTRY: registry!.url, KRMHUB_TOKEN: token };
  const io = await run(['publish', path.join(fixtures, 'functions/set-labels'), '--allow-breaking']);
  expect(io.exitCode, io.err()).toBe(0);
});
afterAll(async () => {
  await stop();
});

describe('a function that only an upstream catalog has', () => {
  it('is found through the API', async () => {
    const { items, total } = await client.search({
      q: 'peels bananas',
      tag: ['fruit'],
      catalog: ['platform'],
    });
    expect(total).toBe(1);
    expect(items[0]).toMatchObject({
      group: GROUP,
      kind: 'PeelBanana',
      from: [{ catalog: 'platform', source: 'banana' }],
      versions: ['v1', 'v1beta1'],
      license: 'MIT',
      signedBy: [],
      signature: { trusted: false, reason: expect.stringContaining('no release') },
    });
    expect(items[0]).not.toHaveProperty('release');
    const ours = await client.search({ q: 'set labels' });
    expect(ours.items[0]).toMatchObject({ kind: 'SetLabels', release: '2.0.0' });
    expect(ours.items[0]).not.toHaveProperty('from');
  });

  it('is shown through the API, whatever the case of its kind', async () => {
    const fn = await client.function(GROUP, 'peelbanana');
    expect(fn).toEqual({
      group: GROUP,
      kind: 'PeelBanana',
      releases: [],
      catalogs: ['platform'],
      entries: [
        {
          catalog: 'platform',
          serial: 1,
          definition: sampleDefinition(PEEL),
          versions: ['v1beta1', 'v1'].map((name) => ({
            name,
            source: 'banana',
            definition: expect.stringMatching(/^sha256:/),
          })),
        },
      ],
    });
    expect(await client.functionConfigSchema(GROUP, 'v1', 'PeelBanana')).toHaveProperty('$schema');
    await expect(client.functionConfigSchema(GROUP, 'v2', 'PeelBanana')).rejects.toMatchObject({
      code: 'not-found',
      hint: 'Use one of v1beta1, v1.',
    });
    for (const kind of ['PeelBanana', 'peelbanana']) {
      const entry = await fetch(`${registry!.url}/catalogs/platform/functions/${GROUP}/${kind}.yaml`);
      expect([kind, entry.status, (await entry.text()).includes('kind: PeelBanana')]).toEqual([
        kind,
        200,
        true,
      ]);
    }
  });

  it('is not from the owner of its group', async () => {
    const apply = async (owner: string) => {
      const io = await run(['access', 'apply', '-', '--yes'], { stdin: accessText(owner) });
      expect(io.exitCode, io.err()).toBe(0);
    };
    await apply('owner: fruit');
    const { items, facets } = await client.search({});
    expect(items.flatMap(({ kind, owner }) => (owner === undefined ? [] : kind))).toEqual(['SetLabels']);
    expect(facets.owner).toEqual([
      { value: 'fruit', text: 'Fruit Team', count: 1 },
      { value: 'not verified', count: items.length - 1 },
    ]);
    expect(await client.function(GROUP, 'PeelBanana')).not.toHaveProperty('owner');
    const entry = await fetch(`${registry!.url}/api/v1/catalogs/platform/functions/${GROUP}/PeelBanana`);
    expect([entry.status, Object.keys((await entry.json()) as object)]).toEqual([
      200,
      expect.not.arrayContaining(['owner']),
    ]);
    expect((await run(['show', 'PeelBanana'])).out()).toMatch(/^owner +not verified/m);
    for (const page of [`/functions/${GROUP}/PeelBanana`, '/functions?q=bananas', '/catalogs/platform']) {
      const response = await fetch(registry!.url + page, { headers: { accept: 'text/html' } });
      expect([page, response.status]).toEqual([page, 200]);
      expect(await response.text()).not.toContain('Fruit Team');
    }
    const released = await fetch(`${registry!.url}/functions/functions.example.com/SetLabels`);
    expect(await released.text()).toContain('Fruit Team');
    await apply('visibility: public');
  });

  it('is a row in the table of search, and a line for programs', async () => {
    const terminal = (await run(['search'], { tty: true })).out().replace(/\u001b\[\d+m/g, '');
    const lines = terminal.trimEnd().split('\n');
    expect(lines.every((line) => line.length <= 80)).toBe(true);
    expect(lines[0]).toMatch(/^FUNCTION +GROUP +RELEASE +OWNER +DESCRIPTION$/);
    expect(terminal).toMatch(/^SetLabels +functions\.ex\S+ +2\.0\.0 +not verified +Set labels/m);
    expect(terminal).toMatch(
      /^PeelBanana +vendor\.exam\S+ +\(v1\.0\.0\) +not verified +\(banana in platform\)/m,
    );
    expect(terminal).toMatch(/^Weigh +\S+ +\(v1\.0\.0\) +not verified +\(kiwi in platform\)/m);
    expect((await run(['search', '--kind', 'PeelBanana'])).out()).toBe(
      `${GROUP}/PeelBanana\tunknown\t${PEEL.description}\tmutator,fruit\tbanana in platform\tnot verified: says it is published by Vendor\n`,
    );
    const { items } = JSON.parse((await run(['search', '--kind', 'Weigh', '-o', 'json'])).out());
    expect(items).toMatchObject([{ kind: 'Weigh', from: [{ catalog: 'platform', source: 'kiwi' }] }]);
  });

  it('has a page without releases', async () => {
    const io = await run(['show', 'peelbanana'], { tty: true });
    const page = io.out().replace(/\u001b\[\d+m/g, '');
    expect([io.exitCode, io.err()]).toEqual([0, '']);
    expect(page).toMatch(
      /^vendor\.example\.org\/PeelBanana {2}image v1.0.0 {2}\(from banana in the catalog platform\)$/m,
    );
    for (const part of [
      'Peels every banana',
      'kind: PeelBanana',
      'kpt fn eval',
      'API VERSION v1',
      'API VERSION v1beta1',
      'MIT',
      'Vendor',
      'catalogs  platform',
      'UPSTREAM ENTRIES',
      'RELEASES\nUnknown',
    ])
      expect(page).toContain(part);
    expect(page).toMatch(
      /^platform +1 +v1 +banana +sha256:[a-f0-9]{12} +imported; not signed by\n +its author$/m,
    );
    expect(page).not.toMatch(/definition\.yaml|undefined/);
    const json = JSON.parse((await run(['show', 'PeelBanana', '-o', 'json'])).out());
    expect(json).toEqual(await client.function(GROUP, 'PeelBanana'));
  });

  it('has no release to show, compare or yank', async () => {
    for (const args of [
      ['show', `${GROUP}/PeelBanana@1.0.0`],
      ['show', `${GROUP}/PeelBanana@1.0.0`, '-o', 'json'],
      ['diff', `${GROUP}/PeelBanana@1.0.0`, '2.0.0'],
      ['yank', `${GROUP}/PeelBanana@1.0.0`, '--reason', 'x'],
    ]) {
      const io = await run(args);
      const json = expect.stringMatching(/^\{\n {2}"error": /);
      expect([args, io.exitCode, io.out()]).toEqual([args, 3, args.includes('json') ? json : '']);
      expect(io.err()).toContain(
        'this registry has no releases of vendor.example.org/PeelBanana: catalog platform includes it from upstream source banana',
      );
      expect(io.err()).toContain('krmhub show vendor.example.org/PeelBanana');
    }
    expect((await run(['show', 'SetLabels'])).out()).toMatch(
      /^functions\.example\.com\/SetLabels {2}2\.0\.0/,
    );
    expect((await run(['show', `${GROUP}/SetLabels`])).out()).toContain('Not the one that people mean.');
    const near = await run(['show', 'PealBanana']);
    expect([near.exitCode, near.err().includes('vendor.example.org/PeelBanana')]).toEqual([3, true]);
  });

  it('belongs to this registry once it is published, and to the upstream after a takedown', async () => {
    const text = (await readFile(path.join(fixtures, 'functions/set-namespace/1.4.2.yaml'), 'utf8'))
      .replace('group: functions.example.com', `group: ${GROUP}`)
      .replace('kind: SetNamespace', 'kind: WEIGH');
    const published = await run(['publish', '-', '--release', '1.4.2'], { stdin: text });
    expect(published.exitCode, published.err()).toBe(0);
    expect(await client.function(GROUP, 'Weigh')).toMatchObject({
      kind: 'WEIGH',
      newest: { release: '1.4.2' },
      catalogs: ['default', 'platform'],
      entries: [{ catalog: 'platform', definition: { names: { kind: 'Weigh' } } }],
    });
    expect((await run(['show', 'WEIGH'])).out()).toMatch(/UPSTREAM ENTRIES\n.*instead of the release above/);
    const { items } = await client.search({ kind: ['weigh'] });
    expect(items).toMatchObject([{ kind: 'WEIGH', release: '1.4.2' }]);
    const reference = `${GROUP}/WEIGH@1.4.2`;
    const down = await run(['takedown', reference, '--reason', 'ours is bad', '--yes']);
    expect(down.exitCode, down.err()).toBe(0);
    expect(await client.function(GROUP, 'WEIGH')).toMatchObject({
      kind: 'Weigh',
      releases: [],
      takedowns: [{ release: '1.4.2', reason: 'ours is bad' }],
      catalogs: ['platform'],
    });
    expect((await run(['show', 'WEIGH'])).out()).toMatch(/image v1.0.0.*TAKEN DOWN.*ours is bad/s);
    expect((await client.search({ kind: ['weigh'] })).items).toMatchObject([{ kind: 'Weigh' }]);
  });
});

describe('search and the data folder', () => {
  const problems = async () => {
    const { findings, counts } = await checkRegistry(folder, { startedAt: new Date() });
    expect(counts.functions).toBe(1);
    return findings
      .filter(({ check }) => ['search', 'text', 'upstream', 'database', 'snapshots'].includes(check))
      .map(({ check, severity, subject, message }) => `${severity} ${check}: ${subject}: ${message}`);
  };

  it('is consistent, and a build without a registry is completed at the next start', async () => {
    await stop();
    expect(await problems()).toEqual([]);
    const many = Array.from({ length: 300 }, (_, at) => ({ kind: `Many${at}`, tags: ['many'] }));
    await cut('zoo', many);
    expect(await problems()).toEqual([
      'information upstream: snapshot zoo 1: its upstream functions are not in the search index yet; the registry is adding them',
    ]);
    await start();
    await expect.poll(async () => (await client.search({ tag: ['many'] })).total).toBe(300);
    await stop();
    expect(await problems()).toEqual([]);
  });

  it.each([
    [
      'a changed row',
      `UPDATE upstream_function SET description = 'x', tags = '[]' WHERE kind = 'Weigh'`,
      /^damage upstream: \S+Weigh: the search row differs from its entry in description, tags/,
    ],
    [
      'a row of an older entry',
      `UPDATE upstream_function SET entry = 'sha256:x' WHERE kind = 'Weigh'`,
      /^damage upstream: \S+Weigh: the search index has entry sha256:x, but the newest snapshots have sha256:/,
    ],
    [
      'a row without an entry',
      `INSERT INTO upstream_function
         (id, group_name, kind, kind_folded, description, publisher, versions, tags, runtimes, licenses, entry)
         SELECT 9999, group_name, 'Ghost', 'ghost', description, publisher, versions, tags, runtimes, licenses, entry FROM upstream_function WHERE kind = 'Weigh'`,
      /^damage upstream: \S+Ghost: the search index contains it, but the newest snapshots/,
    ],
    [
      'a missing row',
      `DELETE FROM upstream_function WHERE kind = 'Weigh'`,
      /^damage upstream: \S+Weigh: a newest snapshot has an upstream entry for it, but the search index does not/,
    ],
    [
      'a row of a function of the registry',
      `UPDATE upstream_function SET id = (SELECT id FROM function) WHERE kind = 'Weigh'`,
      /^damage upstream: \S+Weigh: the search index contains it twice: as a function of this registry and as/,
    ],
    [
      'text missing in search',
      `DELETE FROM function_text WHERE rowid = (SELECT id FROM upstream_function WHERE kind = 'Weigh')`,
      /^damage text: \S+Weigh: the full-text index does not match/,
    ],
  ])('is damaged by %s', async (_, statement, message) => {
    const file = path.join(folder, 'registry.db');
    const before = await readFile(file);
    sql(statement, 'PRAGMA wal_checkpoint(TRUNCATE)');
    const found = await problems();
    expect(
      found.some((one) => message.test(one)),
      found.join('\n'),
    ).toBe(true);
    await writeFile(file, before);
    expect(await problems()).toEqual([]);
  });
});
