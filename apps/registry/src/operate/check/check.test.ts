import { readFileSync, writeFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inflateRawSync } from 'node:zlib';
import type { Digest } from '@krmhub/schema';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBlobFolder } from '../../store/blobs/folder.js';
import { dataPaths } from '../../store/data-folder.js';
import { Database } from '../../store/sqlite/driver.js';
import { imageManifest, testClient } from '../../testing/oci.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { checkRegistry } from './check.js';
import type { Finding } from './finding.js';

let whole: string;
let folder: string;

beforeAll(async () => {
  const registry = await openTestRegistry();
  whole = await mkdtemp(path.join(tmpdir(), 'krmhub-whole-'));
  await fill(registry);
  await registry.parts.snapshotBuilder.stop();
  await registry.parts.store.close();
  await cp(registry.folder, whole, { recursive: true });
  await registry.close().catch(() => undefined);
});
afterAll(() => rm(whole, { recursive: true, force: true }));
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-check-'));
  await cp(whole, folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function fill(registry: TestRegistry): Promise<void> {
  for (const kind of ['SetLabels', 'SetNamespace', 'RenderChart']) {
    for (const release of ['1.0.0', '1.1.0']) {
      const { status } = await registry.publish({ kind, release });
      expect(status).toBe(201);
    }
  }
  await pushArtifact(registry);
}

/** Pushes an artifact with a small and a large blob, each by sha256 and by sha512. */
async function pushArtifact(registry: TestRegistry): Promise<void> {
  const client = testClient(() => registry);
  const layers: object[] = [];
  for (const bytes of [TOOL, LARGE_TOOL]) {
    for (const algorithm of ['sha256', 'sha512'] as const) {
      const digest = await client.blob('team/tool', bytes, algorithm);
      layers.push({ mediaType: 'text/plain', digest, size: bytes.byteLength });
    }
  }
  expect((await client.put('team/tool', 'v1', imageManifest([], { layers }))).status).toBe(201);
}
const TOOL = new TextEncoder().encode('the bytes of a tool');
/** Its bytes are a file. */
const LARGE_TOOL = new TextEncoder().encode('the bytes of a tool'.repeat(2_000));

const check = (at = folder) => checkRegistry(at, { startedAt: new Date() });

function query<Row>(statement: string): Row[] {
  const database = new Database(dataPaths(folder).database, { readonly: true });
  const rows = database.prepare<[], Row>(statement).all();
  database.close();
  return rows;
}

function sql(statement: string): void {
  const database = new Database(dataPaths(folder).database);
  database.pragma('foreign_keys = OFF');
  database.exec(statement);
  database.close();
}

/** Replaces the first page of a table or index with that of another one, or with zeros. */
function overwritePages(target: string, source?: string): void {
  const file = dataPaths(folder).database;
  const database = new Database(file);
  const pageSize = database.pragma('page_size', { simple: true }) as number;
  const begins = database
    .prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .pluck();
  const at = (name: string) => (begins.get(name)! - 1) * pageSize;
  const [to, from] = [at(target), source === undefined ? undefined : at(source)];
  database.close();
  const bytes = readFileSync(file);
  if (from === undefined) bytes.fill(0, to, to + pageSize);
  else bytes.copy(bytes, to, from, from + pageSize);
  writeFileSync(file, bytes);
}

async function blobFiles(below: 'forms' | 'artifacts'): Promise<string[]> {
  const names = await readdir(path.join(folder, below, 'sha256'), { recursive: true });
  return names.filter((name) => name.length > 3).map((name) => path.join(folder, below, 'sha256', name));
}

/** Formats a finding with the name of its check. */
const describeFinding = ({ check: name, subject, message }: Finding) => `${name}: ${subject}: ${message}`;

it('passes an intact registry', async () => {
  const result = await check();
  expect(result.findings).toEqual([]);
  expect(result).toMatchObject({
    healthy: true,
    counts: { functions: 3, releases: 6, catalogs: 1, snapshots: 7 },
  });
});

it('passes an intact registry while it serves and publishes', async () => {
  const registry = await openTestRegistry();
  try {
    await fill(registry);
    let publishing = true;
    const publisher = (async () => {
      // What is checked may not grow faster than it is checked.
      for (let minor = 0; publishing && minor < 200; minor++) {
        await registry.publish({ kind: 'Busy', release: `1.${minor}.0` }, '');
      }
    })();
    const findings: Finding[] = [];
    for (let round = 0; round < 5; round++) findings.push(...(await check(registry.folder)).findings);
    publishing = false;
    await publisher;
    expect(findings).toEqual([]);
  } finally {
    await registry.close();
  }
});

describe('finds damage', () => {
  const cases: [what: string, spoil: () => void | Promise<void>, found: RegExp][] = [
    [
      'a changed row of the audit log',
      () =>
        sql(
          `UPDATE audit SET actor = 'nobody' WHERE sequence = 3; UPDATE audit SET actor = 'x' WHERE sequence = 5`,
        ),
      /^audit: audit row 3: it, or the hash of the row before it, was changed$/,
    ],
    [
      'a missing row of the audit log',
      () => sql('DELETE FROM audit WHERE sequence = 4'),
      /^audit: audit row 5: the row before it is missing$/,
    ],
    [
      'a missing definition',
      () => sql('DELETE FROM release_file WHERE id = 1'),
      /^releases: \S+@1\.\d\.0: its definition sha256:\w+ is missing$/,
    ],
    [
      'a missing artifact blob',
      async () => rm((await blobFiles('artifacts'))[0]!),
      /^artifacts: team\/tool@sha(256|512):\w+: its bytes sha256:\w+ are missing$/,
    ],
    [
      'a changed artifact blob',
      async () => writeFile((await blobFiles('artifacts'))[0]!, 'the bytes of a fool'.repeat(2_000)),
      /^artifacts: team\/tool@sha256:\w+: does not match its digest sha256:\w+$/,
    ],
    [
      'a truncated artifact blob',
      async () => truncate((await blobFiles('artifacts'))[0]!, 3),
      /^artifacts: team\/tool@sha256:\w+: has 3 bytes, expected 38000$/,
    ],
    [
      'a missing row of an artifact blob',
      () => sql(`DELETE FROM oci_blob_bytes WHERE digest LIKE 'sha256:%'`),
      /^artifacts: team\/tool@sha256:\w+: its bytes are missing$/,
    ],
    [
      'a changed row of an artifact blob',
      () => sql(`UPDATE oci_blob_bytes SET bytes = CAST('the bytes of a fool' AS blob)`),
      /^artifacts: team\/tool@sha256:\w+: does not match its digest sha256:\w+$/,
    ],
    [
      'a truncated row of an artifact blob',
      () => sql(`UPDATE oci_blob_bytes SET bytes = x'0300'`),
      /^artifacts: team\/tool@sha512:\w+: has 2 bytes, expected 19$/,
    ],
    [
      'an artifact blob in a row with a wrong digest',
      () => {
        const wrong = `SET digest = 'sha512:' || hex(zeroblob(64)) WHERE digest LIKE 'sha512:%'`;
        sql(`UPDATE oci_blob ${wrong} AND place = 'rows'; UPDATE oci_blob_bytes ${wrong}`);
      },
      /^artifacts: team\/tool@sha512:0{128}: has the digest sha512:\w+$/,
    ],
    [
      'an artifact blob with a wrong digest',
      () =>
        sql(`UPDATE oci_blob SET digest = 'sha512:' || hex(zeroblob(64))
          WHERE place = 'artifacts' AND digest LIKE 'sha512:%'`),
      /^artifacts: team\/tool@sha512:0{128}: has the digest sha512:\w+$/,
    ],
    [
      'a blob row of a missing release',
      () => sql(`UPDATE oci_blob SET file = 'sha256:' || lower(hex(zeroblob(32))) WHERE place = 'releases'`),
      /^artifacts: functions\/\S+@sha256:\w+: no release contains this file$/,
    ],
    [
      'a changed manifest',
      () =>
        sql(
          `UPDATE oci_manifest SET bytes = CAST(replace(CAST(bytes AS text), 'text/plain', 'text/plane') AS blob)`,
        ),
      /^manifests: team\/tool@sha256:\w+: the manifest has the digest sha256:\w+$/,
    ],
    [
      'a manifest without its layer',
      () =>
        sql(`DELETE FROM oci_blob WHERE repository = 'team/tool' AND place = 'rows' AND digest LIKE 'sha256:%';
        UPDATE oci_repository SET bytes = bytes - 19 WHERE name = 'team/tool'`),
      /^manifests: team\/tool@sha256:\w+: refers to sha256:\w+, which is missing in its repository$/,
    ],
    [
      'an invalid signature',
      () => sql(`UPDATE snapshot_signature SET bundle = 'x' WHERE serial = 7`),
      /^signatures: signature of snapshot default 7: it is not valid JSON/,
    ],
    [
      'the signature of another snapshot',
      () =>
        sql(`UPDATE snapshot_signature SET bundle = (
          SELECT bundle FROM snapshot_signature WHERE serial = 6) WHERE serial = 7`),
      /^signatures: signature of snapshot default 7: it is for snapshot 6 of catalog default$/,
    ],
    [
      'a signature whose row has another key',
      () => sql(`UPDATE snapshot_signature SET key = 'sha256:0' WHERE serial = 7`),
      /^signatures: .* it is signed with key sha256:\w+, expected sha256:0$/,
    ],
    [
      'a snapshot with another release than signed',
      () =>
        sql(
          `UPDATE catalog_function SET selection = replace(selection, '"1.1.0"', '"1.1.1"') WHERE kind = 'RenderChart' AND to_serial IS NULL`,
        ),
      /^signatures: .* it signs snapshot\.json with digest sha256:\w+, but the digest is sha256:\w+$/,
    ],
    [
      'an artifact without its signature row',
      () => sql(`DELETE FROM snapshot_signature WHERE serial = 6`),
      /^artifacts: catalogs\/default@sha256:\w+: no snapshot of the catalog has this signature$/,
    ],
    [
      'missing keys',
      async () => rm(dataPaths(folder).keys, { recursive: true }),
      /^signatures: keys: snapshots are signed, but the registry keys are missing$/,
    ],
    [
      'a damaged key',
      async () => {
        const { keys } = dataPaths(folder);
        await writeFile(path.join(keys, (await readdir(keys))[0]!), 'x');
      },
      /^signatures: keys: key \S+ is corrupt/,
    ],
    [
      'a wrong total size',
      () => sql(`UPDATE oci_repository SET bytes = bytes + 1 WHERE name = 'team/tool'`),
      /^manifests: team\/tool: is recorded with \d+ bytes but has \d+$/,
    ],
    [
      'changed bytes',
      () => sql(`UPDATE release_file SET bytes = x'0300' WHERE id = 1`),
      /^releases: \S+: its definition does not match its digest/,
    ],
    [
      'changed bytes, also if a blob of an older version has them',
      async () => {
        const [row] = query<{ digest: Digest; bytes: Buffer }>(
          'SELECT digest, bytes FROM release_file WHERE id = 1',
        );
        const blobs = await openBlobFolder(dataPaths(folder).blobs);
        expect(await blobs.put(inflateRawSync(row!.bytes))).toBe(row!.digest);
        sql(`UPDATE release_file SET bytes = x'0300' WHERE id = 1`);
      },
      /^releases: \S+: its definition does not match its digest/,
    ],
    [
      'a wrong size',
      () => sql('UPDATE release SET size = 1 WHERE id = 1'),
      /^releases: .* has \d+ bytes, expected 1$/,
    ],
    [
      'a missing README',
      () => sql(`UPDATE release SET readme = 'sha256:${'0'.repeat(64)}' WHERE id = 2`),
      /^releases: .*@1\.1\.0: its README sha256:0+ is missing/,
    ],
    [
      'a gap in the events',
      () => sql('DELETE FROM event WHERE sequence = 3'),
      /^events: event 4: the event before it is missing/,
    ],
    ['missing first events', () => sql('DELETE FROM event WHERE sequence < 3'), /^events: event 3: /],
    [
      'missing last events',
      () => sql(`DELETE FROM event WHERE sequence = (SELECT max(sequence) FROM event)`),
      /^events: event \d+: it is the newest, but the log ends at/,
    ],
    [
      'a snapshot without its event',
      () => sql(`UPDATE event SET serial = 99 WHERE type = 'catalog.cut' AND serial = 3`),
      /^events: snapshot default 3: its snapshot event is missing/,
    ],
    [
      'an entry range that does not end',
      () => sql(`UPDATE catalog_function SET to_serial = NULL WHERE kind = 'SetLabels'`),
      /^snapshots: \S+SetLabels in default: its entry range from serial \d does not end/,
    ],
    [
      'a release without its publish event',
      () =>
        sql(`UPDATE event SET release = '9.0.0' WHERE sequence =
          (SELECT min(sequence) FROM event WHERE type = 'release.published')`),
      /^events: \S+@1\.0\.0: its publish event is missing/,
    ],
    [
      'an event of a missing release',
      () => sql(`UPDATE release SET digest = 'sha256:x' WHERE id = 1`),
      /^events: \S+@1\.0\.0: an event refers to it/,
    ],
    [
      'a changed entry',
      () => sql(`UPDATE entry SET yaml = yaml || ' ' WHERE rowid = 1`),
      /^entries: entry sha256:\w+: its text does not match its digest/,
    ],
    [
      'an entry with different JSON',
      () => sql(`UPDATE entry SET json = replace(json, 'container', 'contained')`),
      /^snapshots: snapshot default 2: regenerated catalog\.json/,
    ],
    [
      'a snapshot with a yanked release',
      () =>
        sql(`UPDATE release SET yanked = '{"at":"2026-01-01T00:00:00.000Z","by":"a","reason":"bad"}'
          WHERE release = '1.1.0' AND function_id = 1`),
      /^provenance: snapshot default 7: it refers to release \S+@1\.1\.0, which is yanked$/,
    ],
    [
      'a snapshot with a release that is missing',
      () => sql(`UPDATE release SET release = '1.2.0' WHERE release = '1.1.0' AND function_id = 1`),
      /^provenance: snapshot default 7: it refers to release \S+@1\.1\.0, which is missing/,
    ],
    [
      'a snapshot that does not name the release that is selected',
      () =>
        sql(`UPDATE catalog_function SET to_serial = 8 WHERE kind = 'SetLabels' AND to_serial IS NULL;
        INSERT INTO catalog_function (catalog, group_name, kind, from_serial, entry, selection)
          SELECT catalog, group_name, kind, 8, entry, replace(selection, '"1.1.0"', '"1.0.0"')
          FROM catalog_function WHERE kind = 'SetLabels' AND to_serial = 8`),
      /^provenance: snapshot default 7: it does not contain the selected release or source of \S+\/SetLabels$/,
    ],
    ['a missing entry', () => sql('DELETE FROM entry WHERE rowid = 1'), /^snapshots: .*cannot be read/],
    [
      'a missing snapshot',
      () => sql('DELETE FROM snapshot WHERE serial = 3'),
      /^snapshots: snapshot default 4: its predecessor is snapshot 2/,
    ],
    [
      'an incomplete snapshot',
      () => sql(`DELETE FROM catalog_function WHERE to_serial IS NULL AND kind = 'SetLabels'`),
      /^snapshots: snapshot default 7: it has 2 functions, expected 3/,
    ],
    [
      'a wrong digest of the predecessor',
      () => sql(`UPDATE snapshot SET previous = 'sha256:x' WHERE serial = 2`),
      /^snapshots: snapshot default 2: the digest of its predecessor does not match/,
    ],
    [
      'a catalog built through a missing event',
      () => sql('UPDATE catalog SET through_event = 1000'),
      /^events: catalog default: its last event is missing/,
    ],
    [
      'a profile with other bytes',
      async () => {
        const [digest, file] = ['ee'.repeat(32), 'cd'.repeat(32)];
        await mkdir(path.join(folder, 'forms/sha256/cd'), { recursive: true });
        await writeFile(path.join(folder, 'forms/sha256/cd', file), 'other');
        sql(`INSERT INTO rendition VALUES ('sha256:${digest}', 'identity', 'sha256:${file}')`);
      },
      /^forms: profile sha256:\w+ \(\w+\): its stored bytes/,
    ],
    [
      'a segment with other bytes',
      () => sql('UPDATE segment SET yaml = json'),
      /^segments: segments of catalog\.yaml of catalog default: their content is .+, expected sha256:/,
    ],
    [
      'a damaged segment',
      () => sql(`UPDATE segment SET json = x'ff'`),
      /^segments: segments of catalog\.json of catalog default: their content is .+, expected sha256:/,
    ],
    [
      'a missing segment',
      () => sql('DELETE FROM catalog_segment'),
      /^segments: segments of catalog\.yaml of catalog default: their content is missing, expected/,
    ],
    [
      'a search row of another release',
      () => sql(`UPDATE function SET release = '1.0.0', description = 'x' WHERE kind = 'SetLabels'`),
      /^search: \S+SetLabels: the search row differs from its releases in description, release/,
    ],
    [
      'a function without releases',
      () => sql('DELETE FROM release WHERE function_id = 1'),
      /^search: \S+: it has no release/,
    ],
    [
      'a missing full-text row',
      () => sql('DELETE FROM function_text WHERE rowid = 2'),
      /^text: \S+SetNamespace: the full-text index does not match/,
    ],
    [
      'missing words of a README',
      () => sql('DELETE FROM function_text_whole WHERE rowid = 2'),
      /^text: \S+SetNamespace: the full-text index does not match/,
    ],
    [
      'a full-text row without a function',
      () => sql(`INSERT INTO function_text (rowid, kind) VALUES (99, 'Ghost')`),
      /^text: function row 99: /,
    ],
    [
      'a reference to a missing row',
      () => sql(`UPDATE release SET function_id = 99 WHERE id = 1`),
      /^database: row \S+ of release: refers to a missing row of function/,
    ],
    [
      'a page of another index',
      () => overwritePages('release_digest', 'release_readme'),
      /^database: registry\.db: .*release_digest/,
    ],
    ['a page of zeros', () => overwritePages('release'), /^database: registry\.db: /],
  ];
  it.each(cases)('%s', async (_, spoil, found) => {
    await spoil();
    const result = await check();
    expect(result.healthy).toBe(false);
    const damage = result.findings.filter(({ severity }) => severity === 'damage');
    expect(
      damage.map(describeFinding).some((line) => found.test(line)),
      damage.map(describeFinding).join('\n'),
    ).toBe(true);
    for (const { check: name, hint } of damage)
      expect(hint).toMatch(name === 'segments' ? /next snapshot replaces/ : /./);
  });

  it('reports all problems together', async () => {
    sql(`DELETE FROM release_file; UPDATE entry SET yaml = ''; DELETE FROM event WHERE sequence = 3`);
    const { findings } = await check();
    expect(new Set(findings.map((one) => one.check))).toEqual(
      new Set(['releases', 'events', 'entries', 'snapshots']),
    );
    expect(findings.filter((one) => one.check === 'releases')).toHaveLength(6);
  });
});

describe('unused files', () => {
  const old = new Date(Date.now() - 3_600_000);

  beforeEach(async () => {
    for (const shard of ['blobs/sha256/ab', 'forms/sha256/cd'])
      await mkdir(path.join(folder, shard), { recursive: true });
  });

  it('are information, not damage', async () => {
    const blob = path.join(folder, 'blobs/sha256/ab', 'ab'.repeat(32));
    const form = path.join(folder, 'forms/sha256/cd', 'cd'.repeat(32));
    const unfinished = path.join(folder, 'blobs/unfinished/x');
    for (const file of [blob, form, unfinished]) {
      await writeFile(file, '12345');
      await utimes(file, old, old);
    }
    sql(`INSERT INTO rendition VALUES ('sha256:${'e'.repeat(64)}', 'br', 'sha256:${'f'.repeat(64)}')`);
    sql(`INSERT INTO release_file (digest, bytes) VALUES ('sha256:${'e'.repeat(64)}', x'0300')`);
    const { healthy: isWhole, findings } = await check();
    expect(isWhole).toBe(true);
    expect(findings.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'information: 1 stored profiles are missing; the registry writes them again on request',
      'information: 1 published files that no release uses: 5 bytes',
      'information: 1 stored files that no release uses: 2 bytes',
      'information: 1 profiles that no row uses: 5 bytes',
      'information: 1 partial files, which the next start removes: 5 bytes',
      'information: 1 stored profiles belong to no snapshot',
    ]);
  });

  it('are ignored while they are new, because a publish may be running', async () => {
    await writeFile(path.join(folder, 'blobs/sha256/ab', 'ab'.repeat(32)), '12345');
    await writeFile(path.join(folder, 'blobs/unfinished/x'), '12345');
    expect((await check()).findings).toEqual([]);
  });
});

describe('cannot check', () => {
  it.each([
    ['a missing folder', async () => rm(folder, { recursive: true }), /no registry/],
    [
      'a file that is not a database',
      async () => writeFile(dataPaths(folder).database, 'x'.repeat(10_000)),
      /cannot read .* as a database/,
    ],
    [
      'a truncated database',
      async () => truncate(dataPaths(folder).database, 60_000),
      /cannot read .* as a database/,
    ],
    [
      'a newer database',
      async () => sql(`INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('new', 0)`),
      /newer than this version of krmhub/,
    ],
  ])('%s', async (_, spoil, message) => {
    await spoil();
    await expect(check()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(message),
    });
  });

  it('an older database, which the version that last served it can read', async () => {
    await sql('DELETE FROM __drizzle_migrations WHERE rowid = (SELECT max(rowid) FROM __drizzle_migrations)');
    await expect(check()).rejects.toMatchObject({
      message: expect.stringContaining('is not migrated yet'),
      hint: expect.stringContaining('back it up before, use the version that last served it'),
    });
  });
});
