import type { BlobStore, BlobWriter } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomNumbers } from '../replicas/random.js';

export interface BlobStoreHarness {
  store: BlobStore;
  /** Opens the same folder again, as after a restart. */
  reopen(): Promise<BlobStore>;
  /** Changes the stored bytes without the store. */
  damage(digest: Digest): Promise<void>;
  /** Removes the folder. */
  remove(): Promise<void>;
  dispose(): Promise<void>;
}

const SEED = Number(process.env.KRMHUB_TEST_SEED ?? 1);

/** The contract of every BlobStore. */
export function blobStoreContract(name: string, open: () => Promise<BlobStoreHarness>): void {
  describe(`${name} is a blob store`, () => {
    let harness: BlobStoreHarness;
    let store: BlobStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
    });
    afterEach(() => harness.dispose());

    const bytes = (text: string) => new TextEncoder().encode(text);

    it.each([
      ['text', bytes('kind: Catalog\n')],
      ['nothing', new Uint8Array()],
      ['every byte', Uint8Array.from({ length: 256 }, (_, at) => at)],
      ['five megabytes', new Uint8Array(5_000_000).fill(7)],
      ['a part of a bigger buffer', new Uint8Array(100).fill(1).subarray(10, 20)],
    ])('returns %s', async (_, stored) => {
      const digest = await store.put(stored);
      expect(digest).toBe(sha256(stored));
      expect(Buffer.compare((await store.get(digest))!, stored)).toBe(0);
    });

    it('returns nothing for unknown digests', async () => {
      expect(await store.get(sha256('never'))).toBeUndefined();
      expect(await store.get('sha256:../../../../etc/passwd')).toBeUndefined();
    });

    it('stores the same bytes again, also after a restart', async () => {
      const digest = await store.put(bytes('again'));
      expect(await store.put(bytes('again'))).toBe(digest);
      const reopened = await harness.reopen();
      expect(await reopened.get(digest)).toEqual(Buffer.from('again'));
      expect(await reopened.put(bytes('again'))).toBe(digest);
    });

    it('stores one blob from 50 concurrent writers, and 50 blobs', async () => {
      const same = await Promise.all(Array.from({ length: 50 }, () => store.put(bytes('same'))));
      expect(new Set(same)).toEqual(new Set([sha256('same')]));
      expect(await store.get(sha256('same'))).toEqual(Buffer.from('same'));
      const different = await Promise.all(
        Array.from({ length: 50 }, (_, at) => store.put(bytes(`blob ${at}`))),
      );
      for (const [at, digest] of different.entries()) {
        expect(Buffer.from((await store.get(digest))!).toString()).toBe(`blob ${at}`);
      }
    });

    it('loses deleted blobs, and ignores the deletion of unknown ones', async () => {
      const digest = await store.put(bytes('short-lived'));
      await store.delete(digest);
      expect(await store.get(digest)).toBeUndefined();
      await store.delete(digest);
      await store.delete('sha256:../outside');
      expect(await store.put(bytes('short-lived'))).toBe(digest);
      expect(await store.get(digest)).toBeDefined();
    });

    it('lists its blobs', async () => {
      const listed = async () => {
        const found: Digest[] = [];
        for await (const digest of store.list()) found.push(digest);
        return found.sort();
      };
      expect(await listed()).toEqual([]);
      const stored = await Promise.all(
        Array.from({ length: 20 }, (_, at) => store.put(bytes(`listed ${at}`))),
      );
      expect(await listed()).toEqual([...stored].sort());
      await store.delete(stored[0]!);
      expect(await listed()).toEqual(stored.slice(1).sort());
    });

    it('reports a damaged blob, and repairs it when it is stored again', async () => {
      const digest = await store.put(bytes('sound'));
      await harness.damage(digest);
      await expect(store.get(digest)).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringContaining(digest),
      });
      await store.put(bytes('sound'));
      expect(await store.get(digest)).toEqual(Buffer.from('sound'));
    });

    const piecesOf = async (digest: Digest): Promise<Uint8Array[]> => {
      const blob = (await store.read(digest))!;
      const pieces: Uint8Array[] = [];
      for await (const piece of blob.pieces) pieces.push(piece);
      expect(blob.size).toBe(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
      return pieces;
    };

    it.each([
      ['nothing', 0],
      ['one piece', 10],
      ['many pieces', 3_000_000],
    ])('stores and returns %s', async (_, size) => {
      const whole = Uint8Array.from({ length: size }, (_, at) => at % 251);
      const writer = await store.write();
      for (let at = 0; at < size; at += 70_000) await writer.write(whole.subarray(at, at + 70_000));
      expect(await store.read(sha256(whole))).toBeUndefined();
      expect(writer.digest()).toBe(sha256(whole));
      expect(await writer.commit()).toBe(sha256(whole));
      expect(Buffer.compare((await store.get(sha256(whole)))!, whole)).toBe(0);
      expect(Buffer.compare(Buffer.concat(await piecesOf(sha256(whole))), whole)).toBe(0);
      expect(await store.put(whole)).toBe(sha256(whole));
    });

    it('stores nothing of a discarded write, and accepts the same bytes from two writers', async () => {
      const [one, two, three] = [await store.write(), await store.write(), await store.write()];
      for (const writer of [one, two, three]) await writer.write(bytes('twin'));
      await three.discard();
      expect(await store.read(sha256('twin'))).toBeUndefined();
      expect(await Promise.all([one.commit(), two.commit()])).toEqual([sha256('twin'), sha256('twin')]);
      expect(Buffer.concat(await piecesOf(sha256('twin'))).toString()).toBe('twin');
      expect(await store.read('sha256:../../../../etc/passwd')).toBeUndefined();
    });

    it('never returns all pieces of a damaged blob', async () => {
      const whole = new Uint8Array(1_000_000).fill(7);
      const digest = await store.put(whole);
      await harness.damage(digest);
      const pieces: Uint8Array[] = [];
      const reading = async () => {
        for await (const piece of (await store.read(digest))!.pieces) pieces.push(piece);
      };
      await expect(reading()).rejects.toMatchObject({ code: 'internal' });
      expect(pieces.reduce((sum, piece) => sum + piece.byteLength, 0)).toBeLessThan(whole.byteLength);
    });

    it('returns parts of a blob, also while it is deleted', async () => {
      const whole = Uint8Array.from({ length: 1_500_000 }, (_, at) => at % 251);
      const digest = await store.put(whole);
      const partOf = async (start: number, end: number) => {
        const pieces: Uint8Array[] = [];
        for await (const piece of (await store.open(digest))!.read(start, end)) pieces.push(piece);
        return Buffer.concat(pieces);
      };
      for (const [start, end] of [
        [0, whole.length],
        [0, 1],
        [499_999, 1_200_001],
        [1_499_999, 1_500_000],
        [7, 7],
      ] as const) {
        expect(Buffer.compare(await partOf(start, end), whole.subarray(start, end))).toBe(0);
      }
      expect(await store.open(sha256('never'))).toBeUndefined();
      expect(await store.open('sha256:../../../../etc/passwd')).toBeUndefined();
      const unread = (await store.open(digest))!;
      expect(unread.size).toBe(whole.length);
      await unread.close();

      const open = (await store.open(digest))!;
      const reading = open.read(0, open.size)[Symbol.asyncIterator]();
      const read = [(await reading.next()).value as Uint8Array];
      await store.delete(digest);
      expect(await store.open(digest)).toBeUndefined();
      for (let next = await reading.next(); next.done !== true; next = await reading.next())
        read.push(next.value);
      expect(Buffer.compare(Buffer.concat(read), whole)).toBe(0);
    });

    it('returns the bytes of an unfinished write', async () => {
      const writer = await store.write();
      await writer.write(bytes('half '));
      await writer.write(bytes('and half'));
      const pieces: Uint8Array[] = [];
      for await (const piece of writer.pieces()) pieces.push(piece);
      expect(Buffer.concat(pieces).toString()).toBe('half and half');
      expect(await writer.commit()).toBe(sha256('half and half'));
    });

    it('returns the bytes of a small write that is only in memory', async () => {
      const writer = await store.write();
      expect(writer.inMemory()).toEqual(Buffer.alloc(0));
      await writer.write(bytes('half '));
      await writer.write(bytes('and half'));
      expect(writer.inMemory()).toEqual(Buffer.from('half and half'));
      await writer.sync();
      expect(writer.inMemory()).toBeUndefined();
      await writer.discard();
      const large = await store.write();
      await large.write(new Uint8Array(3_000_000));
      expect(large.inMemory()).toBeUndefined();
      await large.discard();
    });

    it('stores pieces of every size', async () => {
      const writer = await store.write();
      const expected: Uint8Array[] = [];
      for (const size of [1, 0, 10_000, 30_000, 5, 200_000, 32_768, 7]) {
        const piece = new Uint8Array(size).fill(size % 251);
        const other = new Uint8Array(size).fill(size % 13);
        expected.push(piece.slice(), other.slice());
        await writer.write(piece, other);
      }
      const digest = await writer.commit();
      expect(Buffer.compare((await store.get(digest))!, Buffer.concat(expected))).toBe(0);
      const many = await store.write();
      const tiny = Array.from({ length: 5_000 }, (_, at) => new Uint8Array(10).fill(at % 256));
      await many.write(...tiny);
      expect(Buffer.compare((await store.get(await many.commit()))!, Buffer.concat(tiny))).toBe(0);
    });

    it('stores many blobs at a time, whatever the sizes of their pieces', async () => {
      const random = randomNumbers(SEED);
      const one = async (blob: number): Promise<[BlobWriter, Buffer]> => {
        const large = Buffer.alloc(2_000_000, `blob ${blob} `);
        const writer = await store.write();
        const written: Uint8Array[] = [];
        for (let piece = Math.floor(random() * 40); piece >= 0; piece--) {
          const start = Math.floor(random() * 1_000_000);
          const size = Math.floor(10 ** (random() * 5.3));
          // Parts of a large buffer, and buffers of their own.
          const part = large.subarray(start, start + size);
          const bytes = random() < 0.5 ? part : Uint8Array.from(part);
          written.push(bytes);
          await writer.write(bytes);
        }
        return [writer, Buffer.concat(written)];
      };
      const begun = await Promise.all(Array.from({ length: 40 }, (_, blob) => one(blob)));
      const kept = begun.filter(() => random() < 0.7);
      await Promise.all(
        begun.map(([writer, whole]) =>
          kept.some(([other]) => other === writer)
            ? writer.commit().then((digest) => expect(digest).toBe(sha256(whole)))
            : writer.discard(),
        ),
      );
      for (const [, whole] of kept) expect(whole.equals((await store.get(sha256(whole)))!)).toBe(true);
    });

    it('stores nothing of a discarded write, even while it writes', async () => {
      const writer = await store.write();
      const writing = [writer.write(new Uint8Array(3_000_000)), writer.write(bytes('more')), writer.sync()];
      const settled = Promise.allSettled(writing);
      await writer.discard();
      await settled;
      await expect(writer.commit()).rejects.toThrow('the blob is discarded');
      for await (const digest of store.list()) throw new Error(`stored ${digest}`);
    });

    it('reports whether it is writable', async () => {
      await store.check();
      await harness.remove();
      await expect(store.check()).rejects.toMatchObject({ code: 'unavailable' });
      await expect(store.put(bytes('lost'))).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}
