import { createHash, randomBytes } from 'node:crypto';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { postgresMissing, startPostgres } from '../contracts/postgres.js';
import { definition, releasePath } from '../faults/workload.js';
import { hasS3Server, S3_ENVIRONMENT, startS3Server } from '../interop/s3-server.js';
import { krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** Set for a registry of 10,000 functions, 300 snapshots, and 1 GB of blobs. */
const isFull = process.env.KRMHUB_TEST_MOVE === 'full';
const FUNCTIONS = isFull ? 10_000 : 500;
const SNAPSHOTS = isFull ? 300 : 20;
const BLOB_BYTES = 10_000_000;
const BLOBS = isFull ? 100 : 5;
const AT_A_TIME = 8;

describe.skipIf(postgresMissing !== undefined || !hasS3Server)(
  'a move of a large registry (needs PostgreSQL and versitygw)',
  () => {
    const { folder, remove } = temporaryFolder();
    const at = (name: string) => path.join(folder, name);
    const stops: (() => Promise<unknown>)[] = [];
    afterAll(async () => {
      for (const stop of stops.reverse()) await stop();
      remove();
    });

    const options = isFull ? { timeout: 3_600_000 } : {};
    it('keeps every digest in both directions, and no read fails', options, async () => {
      const server = await startPostgres();
      stops.push(() => server.stop());
      const s3 = await startS3Server(folder);
      stops.push(() => s3.stop());
      const first = await start(at('first'));
      const blobs = await fill(first);
      const before = await digests(first, blobs);

      const url = await server.createDatabase();
      const blobUrl = s3.blobUrl('moved');
      await move(first, ['--to-data', at('second'), '--to-database-url', url, '--to-blob-url', blobUrl]);
      await first.stop();
      const settings = { ...S3_ENVIRONMENT, KRMHUB_DATABASE_URL: url, KRMHUB_BLOB_URL: blobUrl };
      const second = await start(at('second'), settings);
      expect(await digests(second, blobs)).toEqual(before);

      await move(second, ['--to-data', at('third')], settings);
      await second.stop();
      const third = await start(at('third'));
      expect(await digests(third, blobs)).toEqual(before);
      await third.stop();
    });

    async function start(data: string, settings: Record<string, string> = {}): Promise<RunningRegistry> {
      const registry = await startRegistry(data, {
        KRMHUB_REQUESTS_PER_MINUTE: '0',
        KRMHUB_WRITES_PER_MINUTE: '0',
        ...settings,
      });
      stops.push(() => registry.stop());
      return registry;
    }

    /** Moves a registry while a reader compares what it reads. */
    async function move(registry: RunningRegistry, args: string[], env: Record<string, string> = {}) {
      const targets = ['/catalogs/default/catalog.yaml', '/api/v1/functions?q=load7', '/readyz'];
      const read = (target: string) => digestOf(registry, target);
      const expected = await Promise.all(targets.map(read));
      let going = true;
      let reads = 0;
      const reader = (async () => {
        for (; going; reads++) expect(await Promise.all(targets.map(read))).toEqual(expected);
      })();
      const began = performance.now();
      const { code, stderr } = await krmhub(['move', '--data', registry.data, ...args], {
        env: { ...S3_ENVIRONMENT, ...env },
      });
      const seconds = ((performance.now() - began) / 1_000).toFixed(1);
      going = false;
      await reader;
      expect([code, stderr]).toEqual([0, expect.stringContaining('is verified by digest')]);
      expect(reads).toBeGreaterThan(0);
      console.log(`moved in ${seconds} s, while ${reads * targets.length} reads succeeded`);
    }
  },
);

function ask(registry: RunningRegistry, target: string, init: RequestInit = {}): Promise<Response> {
  return fetch(registry.url + target, {
    ...init,
    headers: { authorization: `Bearer ${registry.token}`, ...init.headers },
  });
}

async function digestOf(registry: RunningRegistry, target: string): Promise<string> {
  const response = await ask(registry, target);
  const hash = createHash('sha256');
  for await (const piece of response.body ?? []) hash.update(piece as Uint8Array);
  expect([target, response.status]).toEqual([target, 200]);
  return hash.digest('hex');
}

async function inParallel(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const one = async () => {
    for (let number = next++; number < count; number = next++) await work(number);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, one));
}

/** Fills a registry, and returns the digests of its blobs. */
async function fill(registry: RunningRegistry): Promise<string[]> {
  const publish = async (kind: string, wait: string) => {
    const { status } = await ask(registry, `${releasePath({ kind, release: '1.0.0' })}${wait}`, {
      method: 'PUT',
      body: definition(kind, '1.0.0'),
      headers: { 'content-type': 'application/yaml' },
    });
    expect(status).toBe(201);
  };
  const many = FUNCTIONS - SNAPSHOTS;
  await inParallel(many, (number) => publish(`Load${number}`, ''));
  for (let number = many; number < FUNCTIONS; number++) await publish(`Load${number}`, '?wait=true');
  const blobs: string[] = [];
  await inParallel(BLOBS, async () => {
    const bytes = randomBytes(BLOB_BYTES);
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const { status } = await ask(registry, `/v2/team/tools/blobs/uploads/?digest=${digest}`, {
      method: 'POST',
      body: new Uint8Array(bytes),
    });
    expect(status).toBe(201);
    blobs.push(digest);
  });
  return blobs;
}

/** Returns the digests of what a registry serves: every snapshot, some definitions, and every blob. */
async function digests(registry: RunningRegistry, blobs: readonly string[]): Promise<Record<string, string>> {
  const response = await ask(registry, '/api/v1/catalogs/default');
  const { serial } = ((await response.json()) as { newest: { serial: number } }).newest;
  expect(serial).toBeGreaterThanOrEqual(SNAPSHOTS);
  const targets = [
    ...Array.from({ length: serial }, (_, at) => `/catalogs/default/snapshots/${at + 1}/catalog.yaml`),
    ...Array.from(
      { length: 100 },
      (_, at) => `${releasePath({ kind: `Load${at}`, release: '1.0.0' })}/definition.yaml`,
    ),
    ...blobs.map((digest) => `/v2/team/tools/blobs/${digest}`),
  ];
  const found: Record<string, string> = {};
  await inParallel(targets.length, async (number) => {
    found[targets[number]!] = await digestOf(registry, targets[number]!);
  });
  return found;
}
