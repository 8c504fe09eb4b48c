import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliDecompressSync, constants, deflateRawSync, gunzipSync, inflateRawSync } from 'node:zlib';
import type { Problem, RevocationPage } from '@krmhub/api/model';
import { planTakedown } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Database } from '../../store/sqlite/driver.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestDefinition,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { takeDown } from './takedown.js';

/** One word, in the case in which full-text search stores it. */
const MARKER = 'zq7secretx0marker';
const BAD: TestDefinition = {
  kind: 'SetLabels',
  release: '1.0.0',
  description: `Sets labels with ${MARKER} inside.`,
  tags: ['mutator', MARKER],
};
const GOOD: TestDefinition = { kind: 'SetLabels', release: '1.1.0', tags: ['mutator'] };
const OTHER: TestDefinition = { kind: 'Other', release: '1.0.0' };

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  // The first snapshot of `default` is empty.
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

const json = <T>(target: string) => registry.send<T>('GET', target);
const takedown = (definition: TestDefinition, query = '') => registry.takeDown(definition, query);
const publishWithReadme = (definition: TestDefinition, readme: string) =>
  registry.publish(definition, '?wait=true', { readme });

/** Returns the files below a folder that contain a text, plain or compressed. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    // The snapshot builder compresses in the background, and temporary files disappear.
    const bytes = await readFile(file).catch(() => Buffer.alloc(0));
    const readings = [() => bytes, () => gunzipSync(bytes), () => brotliDecompressSync(bytes)];
    const containsText = readings.some((read) => {
      try {
        return read().includes(text);
      } catch {
        return false;
      }
    });
    if (containsText) found.push(path.relative(folder, file));
  }
  return [...found, ...segmentsWith(folder, text), ...fileRowsWith(folder, text)];
}

/** Returns the digests of definitions and READMEs with a text that are rows. */
function fileRowsWith(folder: string, text: string): string[] {
  const database = new Database(path.join(folder, 'registry.db'), { readonly: true });
  const rows = database
    .prepare<[], { digest: string; bytes: Buffer }>('SELECT digest, bytes FROM release_file')
    .all();
  database.close();
  return rows.flatMap(({ digest, bytes }) => (inflateRawSync(bytes).includes(text) ? [digest] : []));
}

/** Returns the files of the database with these bytes. */
async function databaseFilesWith(folder: string, bytes: Buffer): Promise<string[]> {
  const files = ['registry.db', 'registry.db-wal'];
  const contents = await Promise.all(
    files.map((file) => readFile(path.join(folder, file)).catch(() => Buffer.alloc(0))),
  );
  return files.filter((_, at) => contents[at]!.includes(bytes));
}

/** Returns the segments in the database with a text, by syntax. */
function segmentsWith(folder: string, text: string): string[] {
  const database = new Database(path.join(folder, 'registry.db'), { readonly: true });
  const rows = database.prepare<[], Record<string, Buffer>>('SELECT yaml, json FROM segment').all();
  database.close();
  const plain = (bytes: Buffer) => inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
  return rows.flatMap((row) =>
    Object.entries(row).flatMap(([syntax, bytes]) =>
      plain(bytes).includes(text) ? `segment ${syntax}` : [],
    ),
  );
}

describe('a taken-down release', () => {
  it('has the token that took it down in the log', async () => {
    await registry.publish(GOOD);
    const { id, secret } = await registry.token({});
    await registry.takeDown(GOOD, '', `Bearer ${secret}`);
    const line = registry.logged.find((one) => one.includes('release taken down'));
    expect(JSON.parse(line!)).toMatchObject({
      tokenId: id,
      takedowns: [{ kind: GOOD.kind, release: GOOD.release, by: 'tester' }],
    });
  });

  it('leaves none of its bytes on the disk, and all other files', async () => {
    // A blob, because it is large.
    await publishWithReadme(BAD, `# ${MARKER} xylophones\n${'large '.repeat(20_000)}`);
    // In the full-text index, a word lacks the beginning that it shares with the one before.
    const word = Buffer.from('lophones');
    expect(await databaseFilesWith(registry.folder, word)).not.toEqual([]);
    const row = deflateRawSync(definitionText(BAD));
    expect(await databaseFilesWith(registry.folder, row)).not.toEqual([]);
    expect(segmentsWith(registry.folder, MARKER)).toEqual(['segment yaml', 'segment json']);
    await registry.publish(OTHER);
    // Search displays another release by then; the earlier row must be erased as well.
    await registry.publish(GOOD);
    await registry.publish({ ...OTHER, release: '1.1.0' });
    await registry.publish({ ...OTHER, release: '1.2.0' });
    registry = await registry.reopen();
    for (const coding of ['gzip', 'br', 'identity']) {
      const old = await registry.request('/catalogs/default/snapshots/2/catalog.json', {
        headers: { 'Accept-Encoding': coding },
      });
      expect(old.status).toBe(200);
      await old.arrayBuffer();
    }
    const before = await filesWith(registry.folder, MARKER);
    expect(before.some((file) => file.startsWith('blobs'))).toBe(true);
    expect(before.some((file) => file.startsWith('registry.db'))).toBe(true);
    expect(before).toContain(sha256(definitionText(BAD)));

    const { status, body } = await takedown(BAD);
    expect(status).toBe(200);
    expect(body).toMatchObject({ outcome: 'taken-down', dryRun: false, erased: true });
    expect(await filesWith(registry.folder, MARKER)).toEqual([]);
    expect(await databaseFilesWith(registry.folder, row)).toEqual([]);
    expect(await databaseFilesWith(registry.folder, word)).toEqual([]);
    expect((await filesWith(registry.folder, 'holds a password')).sort()).toContain('takedowns.jsonl');

    const kept = await registry.request(`${releasePath(OTHER)}/definition.yaml`);
    expect(await kept.text()).toBe(definitionText(OTHER));
    expect((await registry.request('/catalogs/default/catalog.yaml')).status).toBe(200);
  });

  it('responds 410 with the reason and the time under all its addresses', async () => {
    await publishWithReadme(BAD, '# Read me\n');
    await registry.publish(GOOD);
    await takedown(BAD);
    const tombstone = {
      group: 'example.com',
      kind: 'SetLabels',
      release: '1.0.0',
      digest: sha256(definitionText(BAD)),
      by: 'tester',
      at: expect.stringMatching(/Z$/),
      reason: 'holds a password',
    };
    for (const below of ['', '/definition.yaml', '/readme.md']) {
      const answer = await registry.request(releasePath(BAD) + below);
      expect([below, answer.status]).toEqual([below, 410]);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const problem = (await answer.json()) as Problem;
      expect(problem).toMatchObject({ code: 'gone', takedowns: [tombstone] });
      expect(problem.detail).toContain('holds a password');
    }
    const page = await json<{ releases: { release: string }[]; takedowns: unknown[] }>(
      '/api/v1/functions/example.com/setlabels',
    );
    expect(page.body.releases.map(({ release }) => release)).toEqual(['1.1.0']);
    expect(page.body.takedowns).toEqual([tombstone]);
    for (const action of ['yank', 'unyank', 'deprecate']) {
      const marked = await registry.send('POST', `${releasePath(BAD)}/${action}`, { reason: 'x' });
      expect([action, marked.status]).toEqual([action, 410]);
    }
  });

  it('is not in search, and the page of its function reports the takedown', async () => {
    await registry.publish(BAD);
    await registry.publish(OTHER);
    await takedown(BAD);
    for (const query of [`q=${MARKER}`, 'q=setlabels', `tag=${MARKER}`, 'kind=SetLabels']) {
      const found = await json<{ total: number }>(`/api/v1/functions?${query}`);
      expect([query, found.body.total]).toEqual([query, 0]);
    }
    const all = await json<{ total: number; facets: unknown }>('/api/v1/functions');
    expect(all.body.total).toBe(1);
    expect(JSON.stringify(all.body.facets)).not.toMatch(/SetLabels|marker/);
    const page = await json<Problem>('/api/v1/functions/example.com/SetLabels');
    expect(page).toMatchObject({ status: 410, body: { code: 'gone', takedowns: [{ release: '1.0.0' }] } });
    expect((await json<Problem>('/schemas/example.com/v1/SetLabels.json')).status).toBe(410);
    expect(await (await registry.request('/catalogs/default/catalog.yaml')).text()).not.toContain(
      'SetLabels',
    );
  });

  it('can never be published again, nor can its bytes; other releases can', async () => {
    await registry.publish(BAD);
    await takedown(BAD);
    const again = await registry.publish(BAD);
    expect(again).toMatchObject({
      status: 409,
      body: { code: 'conflict', takedowns: [{ release: '1.0.0' }] },
    });
    expect((await registry.publish({ ...GOOD, release: '1.0.0' })).status).toBe(409);
    const path = releasePath({ ...BAD, release: '1.0.9' });
    const elsewhere = await registry.send('PUT', path, definitionText(BAD));
    expect(elsewhere).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('holds a password') },
    });
    expect((await registry.publish(GOOD)).status).toBe(201);
    const page = await json<{ takedowns: unknown[] }>('/api/v1/functions/example.com/SetLabels');
    expect(page.body.takedowns).toHaveLength(1);
  });

  it('takes down releases with the same bytes', async () => {
    await registry.publish(BAD);
    const path = `${releasePath({ ...BAD, release: '1.0.1' })}?wait=true`;
    const twin = await registry.send('PUT', path, definitionText(BAD));
    expect(twin.status).toBe(201);
    const { body } = await takedown(BAD);
    expect(body.takedowns.map(({ release }) => release)).toEqual(['1.0.0', '1.0.1']);
    expect((await registry.request(releasePath({ ...BAD, release: '1.0.1' }))).status).toBe(410);
    expect(await filesWith(registry.folder, MARKER)).toEqual([]);
  });

  it('leaves a README that another release uses', async () => {
    await publishWithReadme(BAD, '# Shared\n');
    await publishWithReadme(OTHER, '# Shared\n');
    const { body } = await takedown(BAD);
    expect(body.blobs).toEqual([
      { digest: sha256(definitionText(BAD)), keptBy: [] },
      { digest: sha256('# Shared\n'), keptBy: [{ group: 'example.com', kind: 'Other', release: '1.0.0' }] },
    ]);
    expect(await (await registry.request(`${releasePath(OTHER)}/readme.md`)).text()).toBe('# Shared\n');
  });
});

describe('snapshots that contained it', () => {
  it('respond 410, keep their names and digests, and are followed by a new one', async () => {
    await registry.publish(OTHER);
    await registry.publish(BAD);
    await registry.publish({ ...OTHER, release: '1.1.0' });
    const summary = await registry.request('/catalogs/default/snapshots/4/snapshot.json');
    const description = await summary.text();
    const catalog = await registry.request('/catalogs/default/catalog.yaml');
    const etag = catalog.headers.get('etag')!;
    const digest = etag.slice(1, -1);
    const { body } = await takedown(BAD);
    expect(body.withdrawn.map(({ catalog, serial }) => [catalog, serial])).toEqual([
      ['default', 3],
      ['default', 4],
    ]);
    expect(body.catalogs).toMatchObject([{ catalog: 'default', serial: 5 }]);

    for (const reference of ['3', '4', digest]) {
      for (const form of ['catalog.yaml', 'catalog.json', 'catalog.yaml?kind=KRMFunctionCatalog']) {
        const answer = await registry.request(`/catalogs/default/snapshots/${reference}/${form}`, {
          headers: { 'If-None-Match': etag },
        });
        expect([reference, form, answer.status]).toEqual([reference, form, 410]);
        expect(((await answer.json()) as Problem).takedowns?.[0]?.release).toBe('1.0.0');
      }
    }
    const kept = await registry.request('/catalogs/default/snapshots/4/snapshot.json');
    expect([kept.status, await kept.text()]).toEqual([200, description]);
    expect((await registry.request('/catalogs/default/snapshots/4/report.json')).status).toBe(200);
    expect((await registry.request('/catalogs/default/snapshots/2/catalog.yaml')).status).toBe(200);
    const history = await json<{ snapshots: { serial: number; withdrawn?: { reason: string } }[] }>(
      '/catalogs/default/snapshots',
    );
    expect(history.body.snapshots.map(({ serial, withdrawn }) => [serial, withdrawn?.reason])).toEqual([
      [5, undefined],
      [4, 'holds a password'],
      [3, 'holds a password'],
      [2, undefined],
      [1, undefined],
    ]);
    const newest = await registry.request('/catalogs/default/catalog.yaml');
    expect(await newest.text()).not.toContain('SetLabels');
    expect((await registry.request('/catalogs/default/functions/example.com/SetLabels.yaml')).status).toBe(
      404,
    );
  });

  it('are followed by one with the newest remaining release', async () => {
    await registry.publish({ ...GOOD, release: '0.9.0' });
    await registry.publish(BAD);
    await takedown(BAD);
    const catalog = await (await registry.request('/catalogs/default/catalog.yaml')).text();
    expect(catalog).toContain('setlabels:v0.9.0');
    expect(catalog).not.toContain(MARKER);
    const entry = await registry.request('/catalogs/default/functions/example.com/SetLabels.yaml');
    expect(await entry.text()).toContain('setlabels:v0.9.0');
  });

  it('are never served as the newest, even before the next build', async () => {
    await registry.publish(BAD);
    await registry.parts.snapshotBuilder.stop();
    const parts = { ...registry.parts };
    const { digest } = (await registry.parts.store.release('example.com', 'SetLabels', '1.0.0'))!;
    const mark = { at: '2030-01-02T03:04:05.678Z', by: 'root', reason: 'malware' };
    await takeDown(parts, { group: 'example.com', kind: 'SetLabels', release: '1.0.0', digest, ...mark });
    for (const form of ['catalog.yaml', 'catalog.json', 'functions/example.com/SetLabels.yaml']) {
      const answer = await registry.request(`/catalogs/default/${form}`);
      expect([form, answer.status]).toEqual([form, 503]);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    registry = await registry.reopen();
    await registry.waitForCatalogs();
    expect((await registry.request('/catalogs/default/catalog.yaml')).status).toBe(200);
  });
});

describe('a request to take down', () => {
  it('requires a reason and an existing release', async () => {
    await registry.publish(BAD);
    const empty = await registry.send('POST', `${releasePath(BAD)}/takedown`, {});
    expect(empty.body.code).toBe('invalid-request');
    expect((await takedown({ ...BAD, release: '7.0.0' })).status).toBe(404);
    expect((await takedown({ kind: 'Nothing', release: '1.0.0' })).status).toBe(404);
  });

  it('allows a dry run first, and a repeated request', async () => {
    await registry.publish(BAD);
    const before = await registry.parts.store.lastEvent();
    const rehearsed = await takedown(BAD, '?dryRun=true');
    expect(rehearsed.body).toMatchObject({
      outcome: 'taken-down',
      dryRun: true,
      erased: false,
      catalogs: [],
    });
    expect(await registry.parts.store.lastEvent()).toBe(before);
    expect((await registry.request(releasePath(BAD))).status).toBe(200);
    expect((await registry.request('/catalogs/default/snapshots/2/catalog.yaml')).status).toBe(200);
    const real = await takedown(BAD);
    expect(real.body.withdrawn).toEqual(rehearsed.body.withdrawn);
    expect(real.body.blobs).toEqual(rehearsed.body.blobs);
    const again = await takedown(BAD);
    expect(again.body).toMatchObject({ outcome: 'unchanged', takedowns: real.body.takedowns, erased: true });
  });
});

describe('the revocation feed', () => {
  it('lists revocations in order', async () => {
    await registry.publish(BAD);
    await registry.publish(GOOD);
    await registry.send('POST', `${releasePath(GOOD)}/yank`, { reason: 'broken' });
    await registry.waitForCatalogs();
    await takedown(BAD);
    const { body } = await json<RevocationPage>('/api/v1/revocations');
    expect(
      body.revocations.map(({ type, release, catalog, serial }) => [type, release ?? `${catalog} ${serial}`]),
    ).toEqual([
      ['release.yanked', '1.1.0'],
      ['release.taken-down', '1.0.0'],
      ['catalog.withdrawn', 'default 2'],
      ['catalog.withdrawn', 'default 4'],
    ]);
    expect(body.revocations.every(({ reason, digest }) => reason !== undefined && digest !== undefined)).toBe(
      true,
    );
    const first = await json<RevocationPage>('/api/v1/revocations?limit=1');
    const rest = await json<RevocationPage>(`/api/v1/revocations?after=${first.body.next}`);
    expect([...first.body.revocations, ...rest.body.revocations]).toEqual(body.revocations);
    const end = await json<RevocationPage>(`/api/v1/revocations?after=${body.next}`);
    expect(end.body).toEqual({ revocations: [], next: body.next });
  });
});

describe('a large catalog', () => {
  it('is compressed without a release that was taken down', async () => {
    await registry.close();
    registry = await openTestRegistry({ maxCacheBytes: 100, maxBrotliBytes: 10 });
    const { parts } = registry;
    await registry.publish(BAD);
    expect(segmentsWith(registry.folder, MARKER)).toEqual(['segment yaml', 'segment json']);
    expect((await takedown(BAD)).body.erased).toBe(true);
    await parts.snapshotBuilder.pause();
    expect(await filesWith(registry.folder, MARKER)).toEqual([]);
    parts.snapshotBuilder.resume();
    await vi.waitFor(async () => {
      const answer = await registry.request('/catalogs/default/catalog.yaml', {
        headers: { 'Accept-Encoding': 'gzip' },
      });
      await answer.arrayBuffer();
      expect(answer.headers.get('content-encoding')).toBe('gzip');
    }, 60_000);
    expect(await filesWith(registry.folder, MARKER)).toEqual([]);
    expect((await registry.request('/catalogs/default/catalog.yaml')).status).toBe(200);
  });
});

describe('an interrupted takedown', () => {
  it('continues at the next start if only the rows were changed', async () => {
    await publishWithReadme(BAD, `# ${MARKER}\n`);
    await registry.parts.snapshotBuilder.stop();
    const { store } = registry.parts;
    const current = (await store.function('example.com', 'SetLabels'))!;
    const { digest } = current.releases[0]!;
    const mark = { at: '2030-01-02T03:04:05.678Z', by: 'root', reason: 'malware' };
    const tombstone = { group: 'example.com', kind: 'SetLabels', release: '1.0.0', digest, ...mark };
    await store.commitTakedown(planTakedown({ current, takedown: tombstone, displayed: undefined }));
    expect(await filesWith(registry.folder, MARKER)).not.toEqual([]);
    registry = await registry.reopen();
    expect(await filesWith(registry.folder, MARKER)).toEqual([]);
    expect(await registry.parts.takedownRecord.read()).toEqual([tombstone]);
    expect(await registry.parts.store.unfinishedTakedowns()).toBeUndefined();
  });

  it('is reported if a reader blocks the database, and can be repeated', async () => {
    await registry.publish(BAD);
    const reader = new Database(path.join(registry.folder, 'registry.db'), { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM release').get();
    expect((await takedown(BAD)).body).toMatchObject({ outcome: 'taken-down', erased: false });
    expect((await registry.request(releasePath(BAD))).status).toBe(410);
    expect(registry.logged.join('\n')).toContain('remain on the disk');
    reader.close();
    expect((await takedown(BAD)).body).toMatchObject({ outcome: 'unchanged', erased: true });
    expect(await filesWith(registry.folder, MARKER)).toEqual([]);
  });

  it('does not delete a README that concurrent publishes store', async () => {
    const readme = '# Shared\n';
    await publishWithReadme(BAD, readme);
    await Promise.all([
      takedown(BAD),
      ...Array.from({ length: 8 }, (_, at) => publishWithReadme({ ...OTHER, release: `1.${at}.0` }, readme)),
    ]);
    for (let at = 0; at < 8; at++) {
      const answer = await registry.request(`${releasePath({ ...OTHER, release: `1.${at}.0` })}/readme.md`);
      expect([answer.status, await answer.text()]).toEqual([200, readme]);
    }
  });
});

describe('a restored backup', () => {
  let backup: string;
  beforeEach(async () => {
    backup = await mkdtemp(path.join(tmpdir(), 'krmhub-backup-'));
  });
  afterEach(() => rm(backup, { recursive: true, force: true }));

  it('that is older than a takedown gets it again from the record next to it', async () => {
    await publishWithReadme(BAD, `# ${MARKER}\n`);
    await registry.publish(GOOD);
    await registry.parts.snapshotBuilder.stop();
    await registry.parts.store.close();
    await cp(registry.folder, backup, { recursive: true });
    registry = await openTestRegistry({ folder: registry.folder });
    const { body } = await takedown(BAD);
    await registry.parts.snapshotBuilder.stop();
    await registry.parts.store.close();

    await cp(backup, registry.folder, { recursive: true });
    expect(await filesWith(registry.folder, MARKER)).not.toEqual([]);
    registry = await openTestRegistry({ folder: registry.folder });
    await registry.waitForCatalogs();
    expect(await filesWith(registry.folder, MARKER)).toEqual([]);
    const answer = await json<Problem>(releasePath(BAD));
    expect(answer).toMatchObject({ status: 410, body: { takedowns: body.takedowns } });
    expect(registry.logged.join('\n')).toContain('applied takedowns again');
    expect((await registry.request('/catalogs/default/catalog.yaml')).status).toBe(200);
  });

  it('that is older than the release rejects publishing it again', async () => {
    await registry.parts.snapshotBuilder.stop();
    await registry.parts.store.close();
    await cp(registry.folder, backup, { recursive: true });
    registry = await openTestRegistry({ folder: registry.folder });
    await registry.publish(BAD);
    await takedown(BAD);
    await registry.parts.snapshotBuilder.stop();
    await registry.parts.store.close();
    for (const name of await readdir(registry.folder)) {
      if (name !== 'takedowns.jsonl') await rm(path.join(registry.folder, name), { recursive: true });
    }
    await cp(backup, registry.folder, { recursive: true });
    registry = await openTestRegistry({ folder: registry.folder });
    expect((await json<Problem>(releasePath(BAD))).status).toBe(410);
    expect((await registry.publish(BAD)).status).toBe(409);
  });
});

describe('a takedown during a read', () => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  let during: 'releaseFiles' | 'segments' | 'segmentBytes';
  const interrupt = async (read: typeof during) => {
    if (read !== during) return;
    const work = meanwhile;
    meanwhile = undefined;
    await work?.();
  };
  beforeEach(async () => {
    await registry.close();
    registry = await openTestRegistry({
      wrapStore: (store) => ({
        ...store,
        async releaseFiles(...name) {
          const found = await store.releaseFiles(...name);
          await interrupt('releaseFiles');
          return found;
        },
        async segments(...snapshot) {
          const found = await store.segments(...snapshot);
          await interrupt('segments');
          return found;
        },
        async segmentBytes(...segments) {
          await interrupt('segmentBytes');
          return store.segmentBytes(...segments);
        },
      }),
    });
    await registry.publish(BAD);
    meanwhile = () => takedown(BAD);
  });

  it('of the definition is its response', async () => {
    during = 'releaseFiles';
    const { status, body } = await json<Problem>(`${releasePath(BAD)}/definition.yaml`);
    expect([status, body.code]).toEqual([410, 'gone']);
  });

  it.each(['segments', 'segmentBytes'] as const)(
    'of a snapshot lets the client try again (%s)',
    async (read) => {
      during = read;
      const { newest } = (await registry.parts.store.catalog('default'))!;
      const path = `/catalogs/default/snapshots/${newest!.serial}/catalog.yaml`;
      const { status, body } = await json<Problem>(path);
      expect([status, body.code, body.detail]).toEqual([
        503,
        'unavailable',
        expect.stringContaining('was withdrawn just now'),
      ]);
      expect((await registry.request(path)).status).toBe(410);
    },
  );
});
