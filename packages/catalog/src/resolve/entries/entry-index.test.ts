import { type Digest, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import {
  type FoundHeader,
  HEADER_BYTES,
  type IndexedEntry,
  locateBucket,
  locateBuckets,
  readBucket,
  readIndexHeader,
  writeEntryIndex,
} from './entry-index.js';

const source = {
  program: '1.2.3',
  document: sha256('document'),
  entries: sha256('entries'),
  form: 'yaml' as const,
};
const createEntries = (count: number): IndexedEntry[] =>
  Array.from({ length: count }, (_, at) => ({
    group: `g${at % 100}.example.com`,
    kind: `Kind${at}`,
    offset: at * 1_000,
    length: 1_000 + (at % 7),
    digest: sha256(String(at)) as Digest,
  }));

function readHeader(index: Uint8Array): FoundHeader {
  let found = readIndexHeader(index.subarray(0, HEADER_BYTES));
  if (found !== undefined && 'more' in found) found = readIndexHeader(index.subarray(0, found.more));
  if (found === undefined || 'more' in found) throw new Error('no header');
  return found;
}

function find(index: Uint8Array, name: { group: string; kind: string }): IndexedEntry[] | undefined {
  const found = readHeader(index);
  const { number, offset, length } = locateBucket(found, name);
  return readBucket(found, number, index.subarray(offset, offset + length))?.filter(
    ({ group, kind }) => group === name.group && kind === name.kind,
  );
}

describe('an index of entries', () => {
  it.each([0, 1, 127, 129, 10_000])('of %d finds each of them, in their order, and nothing else', (count) => {
    const entries = createEntries(count);
    const index = writeEntryIndex(source, [...entries, ...entries.slice(0, 3)]);
    for (const entry of entries.slice(3)) expect(find(index, entry)).toEqual([entry]);
    for (const entry of entries.slice(0, 3)) expect(find(index, entry)).toEqual([entry, entry]);
    expect(find(index, { group: 'g1.example.com', kind: 'Other' })).toEqual([]);
    expect(readHeader(index).header).toMatchObject({ ...source, count: count + Math.min(count, 3) });
  });

  it('of 100,000 entries reads little for a lookup', () => {
    const index = writeEntryIndex(source, createEntries(100_000));
    const found = readHeader(index);
    expect(found.start).toBeLessThan(HEADER_BYTES);
    const { length } = locateBucket(found, { group: 'g7.example.com', kind: 'Kind7' });
    expect(length).toBeLessThan(50_000);
    expect(locateBuckets(found).reduce((sum, bucket) => sum + bucket.length, found.start)).toBe(
      index.byteLength,
    );
  });

  it('notices every damaged byte of the header and of a bucket', () => {
    const entries = createEntries(200);
    const known = new Set(entries.map((entry) => JSON.stringify(entry)));
    const index = Buffer.from(writeEntryIndex(source, entries));
    for (let at = 0; at < index.byteLength; at += at < 500 ? 1 : 101) {
      const damaged = Buffer.from(index);
      damaged[at]! ^= 0x01;
      const first = readIndexHeader(damaged);
      if (first === undefined || 'more' in first) continue;
      // What it does not refuse, it reads as it was.
      for (const { number, offset, length } of locateBuckets(first)) {
        const read = readBucket(first, number, damaged.subarray(offset, offset + length));
        if (read === undefined) continue;
        expect(at < offset || at >= offset + length).toBe(true);
        expect(read.every((row) => known.has(JSON.stringify(row)))).toBe(true);
      }
    }
  });

  it('that was cut is not used', () => {
    const index = writeEntryIndex(source, createEntries(300));
    for (const length of [0, 1, 50, 200]) {
      const found = readIndexHeader(index.subarray(0, length));
      expect(found === undefined || 'more' in found).toBe(true);
    }
    const found = readHeader(index);
    const { number, offset, length } = locateBuckets(found).at(-1)!;
    expect(readBucket(found, number, index.subarray(offset, offset + length - 1))).toBeUndefined();
  });

  it('refuses a header that claims to be huge', () => {
    const first = Buffer.from(`krmhub-entries 1 999999999 ${sha256('')}\n`);
    expect(readIndexHeader(first)).toBeUndefined();
    expect(readIndexHeader(Buffer.from(`krmhub-entries 2 2 ${sha256('{}')}\n{}`))).toBeUndefined();
    expect(readIndexHeader(Buffer.from(`krmhub-entries 1 2 ${sha256('{}')}\n{}`))).toBeUndefined();
  });
});
