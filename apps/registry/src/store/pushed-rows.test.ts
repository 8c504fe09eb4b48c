import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BlobStore } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openBlobFolder } from './blobs/folder.js';
import { rowsLast } from './pushed-rows.js';

const ROW = Buffer.from('the bytes of a row');
let folder: string;
let files: BlobStore;
let asked: Digest[];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'pushed-rows-'));
  files = await openBlobFolder(folder);
  asked = [];
});
afterEach(() => rm(folder, { recursive: true }));

const both = () =>
  rowsLast(
    {
      async rowBytes(digest) {
        asked.push(digest);
        return digest === sha256(ROW) ? ROW : undefined;
      },
    },
    files,
  );

async function readText(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found).toString();
}

/** Reads the bytes in each way that a blob is read. */
async function reads(digest: Digest): Promise<(string | undefined)[]> {
  const blobs = both();
  const bytes = await blobs.get(digest);
  const stream = await blobs.read(digest);
  const open = await blobs.open(digest);
  const part = open && (await readText(open.read(4, open.size)));
  const into = new Uint8Array(5);
  const length = await open?.readInto(into, 4);
  if (part === undefined) await open?.close();
  return [
    bytes && Buffer.from(bytes).toString(),
    stream && `${stream.size} ${await readText(stream.pieces)}`,
    part,
    length === undefined ? undefined : Buffer.from(into.subarray(0, length)).toString(),
  ];
}

it('reads rows', async () => {
  expect(await reads(sha256(ROW))).toEqual([
    'the bytes of a row',
    '18 the bytes of a row',
    'bytes of a row',
    'bytes',
  ]);
});

it('reads files, and asks for no row then', async () => {
  const digest = await files.put(Buffer.from('the bytes of a file'));
  const blobs = both();
  expect(Buffer.from((await blobs.get(digest))!).toString()).toBe('the bytes of a file');
  expect(await readText((await blobs.read(digest))!.pieces)).toBe('the bytes of a file');
  const open = await blobs.open(digest);
  expect(await readText(open!.read(4, 9))).toBe('bytes');
  expect(asked).toEqual([]);
});

it('finds nothing without a row or a blob', async () => {
  expect(await reads(sha256('neither'))).toEqual([undefined, undefined, undefined, undefined]);
});
