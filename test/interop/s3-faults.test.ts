import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BlobStore } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenS3Options, openS3, readS3 } from '../../apps/registry/src/store/blobs/s3/open-s3.js';
import { type FaultyProxy, startFaultyProxy } from './s3-proxy.js';
import { hasS3Server, S3_CREDENTIALS, type S3Server, startS3Server } from './s3-server.js';

/** What the contract of blob stores does not cover: a server over a network, and the cache of its blobs. */
describe.skipIf(!hasS3Server)('blobs in an S3 server (needs versitygw)', () => {
  let folder: string;
  let server: S3Server;
  let proxy: FaultyProxy;
  let opened = 0;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'krmhub-s3-'));
    server = await startS3Server(folder);
    proxy = await startFaultyProxy(server.endpoint);
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(options: Partial<OpenS3Options> = {}) {
    opened += 1;
    const prefix = `faults/${opened}`;
    const cacheFolder = path.join(folder, 'cache', String(opened));
    const given: OpenS3Options = {
      place: server.place(prefix, proxy.endpoint),
      credentials: async () => S3_CREDENTIALS,
      owner: { id: 'one', isNew: true },
      cacheFolder,
      cacheBytes: 100_000_000,
      redirect: false,
      ...options,
    };
    const { area } = await openS3(given);
    return { store: area('artifacts'), cacheFolder, prefix, given };
  }

  const cached = (cacheFolder: string) =>
    readdirSync(cacheFolder).filter((name) => name.startsWith('artifacts-'));
  /** Bytes in which no part is like another one. */
  const random = (size: number, seed: number): Buffer => {
    const bytes = Buffer.alloc(size, createHash('sha256').update(String(seed)).digest());
    for (let at = 0; at + 4 <= size; at += 4_096) bytes.writeUInt32BE(at, at);
    return bytes;
  };
  const text = (at: number) => Buffer.from(`blob ${at} `.repeat(200));

  async function readAll(store: BlobStore, digest: Digest, start = 0, end?: number): Promise<Buffer> {
    const blob = (await store.open(digest))!;
    const pieces: Uint8Array[] = [];
    for await (const piece of blob.read(start, end ?? blob.size)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  it.each([
    ['a cache', 1_000_000_000],
    ['no cache', 0],
  ])('stores large blobs in parts, with %s', async (_, cacheBytes) => {
    const { store, cacheFolder, given } = await open({ cacheBytes });
    const bytes = random(20_000_000, cacheBytes);
    const writer = await store.write();
    for (let at = 0; at < bytes.length; at += 1_000_000)
      await writer.write(bytes.subarray(at, at + 1_000_000));
    await writer.sync();
    expect(await store.open(sha256(bytes))).toBeUndefined();
    const digest = await writer.commit();
    expect(digest).toBe(sha256(bytes));
    expect(bytes.equals(await readAll(store, digest))).toBe(true);
    expect(
      bytes.subarray(9_000_000, 9_000_010).equals(await readAll(store, digest, 9_000_000, 9_000_010)),
    ).toBe(true);
    const into = Buffer.alloc(100);
    const blob = (await store.open(digest))!;
    expect(await blob.readInto(into, 19_999_950)).toBe(50);
    await blob.close();
    expect(into.subarray(0, 50).equals(bytes.subarray(19_999_950))).toBe(true);
    expect(cached(cacheFolder)).toHaveLength(cacheBytes > 0 ? 1 : 0);
    expect(readdirSync(path.join(cacheFolder, 'unfinished'))).toEqual([]);

    // Again, over an object that is there, and over a damaged one.
    expect(await store.put(bytes)).toBe(digest);
    const reader = readS3(given.place, async () => S3_CREDENTIALS).area('artifacts');
    expect(bytes.equals((await reader.get(digest))!)).toBe(true);
    const file = path.join(
      server.objects,
      given.place.prefix,
      'artifacts/sha256',
      digest.slice(7, 9),
      digest.slice(7),
    );
    const stored = readFileSync(file);
    stored[12_345_678]! ^= 1;
    writeFileSync(file, stored);
    await expect(reader.get(digest)).rejects.toMatchObject({ code: 'internal' });
    expect(await store.put(bytes)).toBe(digest);
    expect(bytes.equals((await reader.get(digest))!)).toBe(true);

    // What is given up leaves nothing.
    const second = await store.write();
    await second.write(random(9_000_000, 5));
    await second.sync();
    const uploads = async () => {
      const found: string[] = [];
      for await (const upload of reader.unfinished()) found.push(upload.file);
      return found;
    };
    expect(await uploads()).toHaveLength(1);
    await second.discard();
    expect(await uploads()).toEqual([]);
    const killed = await store.write();
    await killed.write(random(9_000_000, 6));
    await killed.sync();
    expect(await uploads()).toHaveLength(1);
    await openS3({ ...given, owner: { id: 'one', isNew: false } });
    expect(await uploads()).toEqual([]);
  });

  it('reads hot blobs from the cache, checks its files, and limits its size', async () => {
    const { store, cacheFolder, given } = await open({ cacheBytes: 1_000_000 });
    const digest = await store.put(text(1));
    const gets = () => proxy.requests.get('GET') ?? 0;
    const before = gets();
    for (let at = 0; at < 20; at++) expect(await store.get(digest)).toEqual(text(1));
    expect(await readAll(store, digest)).toEqual(text(1));
    expect(gets()).toBe(before);

    // Changed bytes of the same length, while the registry runs and before it starts.
    const file = path.join(cacheFolder, cached(cacheFolder)[0]!);
    writeFileSync(file, text(2));
    expect(await store.get(digest)).toEqual(text(1));
    expect(gets()).toBe(before + 1);
    expect(readFileSync(file)).toEqual(text(1));
    writeFileSync(file, text(2));
    const again = (await openS3({ ...given, owner: { id: 'one', isNew: false } })).area('artifacts');
    expect(await readAll(again, digest)).toEqual(text(1));
    expect(readFileSync(file)).toEqual(text(1));

    const digests: Digest[] = [];
    for (let at = 0; at < 30; at++) digests.push(await store.put(random(100_000, at)));
    const bytes = () =>
      cached(cacheFolder).reduce((sum, name) => sum + statSync(path.join(cacheFolder, name)).size, 0);
    expect(bytes()).toBeLessThanOrEqual(1_000_000);
    for (const [at, one] of digests.entries())
      expect(random(100_000, at).equals((await store.get(one))!)).toBe(true);
    expect(bytes()).toBeLessThanOrEqual(1_000_000);
    expect(bytes()).toBeGreaterThan(800_000);

    // A deleted blob leaves no copy, also one that is read meanwhile.
    const last = digests.at(-1)!;
    const reading = Array.from({ length: 5 }, () => again.get(last));
    await again.delete(last);
    await Promise.all(reading);
    expect(await again.get(last)).toBeUndefined();
    expect(cached(cacheFolder).filter((name) => name.endsWith(last.slice(7)))).toEqual([]);
  });

  it('loses no acknowledged blob, and returns right bytes or an error, while requests fail', async () => {
    const { store } = await open({ cacheBytes: 0 });
    const stored = new Map<Digest, Buffer>();
    const outcomes = { stored: 0, refused: 0, read: 0, unread: 0 };
    proxy.faults.failing = 0.3;
    proxy.faults.delay = 2;
    try {
      for (let at = 0; at < 60; at++) {
        const bytes = at % 20 === 0 ? random(9_000_000, at) : text(at);
        try {
          stored.set(await store.put(bytes), bytes);
          outcomes.stored += 1;
        } catch (error) {
          expect(error).toMatchObject({ code: 'unavailable' });
          outcomes.refused += 1;
        }
        for (const [digest, expected] of [...stored].slice(-2)) {
          try {
            const read = await (at % 2 === 0 ? store.get(digest) : readAll(store, digest));
            expect(read !== undefined && expected.equals(read)).toBe(true);
            outcomes.read += 1;
          } catch (error) {
            expect(error).toMatchObject({ code: 'unavailable' });
            outcomes.unread += 1;
          }
        }
      }
    } finally {
      Object.assign(proxy.faults, { failing: 0, delay: 0 });
    }
    // Most requests succeed after a few attempts.
    expect(outcomes.stored).toBeGreaterThan(40);
    expect(outcomes.read).toBeGreaterThan(80);
    for (const [digest, bytes] of stored) expect(bytes.equals((await store.get(digest))!)).toBe(true);
  });

  it('refuses a prefix of another registry, and one that lost its owner', async () => {
    const { given, prefix } = await open();
    await expect(openS3({ ...given, owner: { id: 'two', isNew: true } })).rejects.toMatchObject({
      code: 'usage',
      message: `s3://registry/${prefix} has the blobs of another registry`,
    });
    await expect(openS3({ ...given, owner: { id: 'two', isNew: false } })).rejects.toMatchObject({
      code: 'usage',
    });
    await rm(path.join(server.objects, prefix, 'registry.json'));
    await expect(openS3({ ...given, owner: { id: 'one', isNew: false } })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('registry.json is missing'),
    });
  });
});
