import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import type { Coding } from '../http/content-coding.js';
import { type Check, type CheckInput, damage, information } from './finding.js';

const decode: Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>> = {
  identity: async (bytes) => bytes,
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
};

interface RenditionRow {
  digest: Digest;
  coding: Coding;
  blob: Digest;
}

/** Checks that stored renditions match their digests. A missing one is only noted, because it is regenerated. */
export const checkRenditions: Check = async function* (input) {
  const rows = input.client.prepare<[], RenditionRow>('SELECT digest, coding, blob FROM form').all();
  const missing: Digest[] = [];
  for (const row of rows) {
    const state = await blobState(input, row);
    if (state === 'missing') missing.push(row.blob);
    if (state === 'damaged') {
      yield damage(
        `rendition ${row.digest} (${row.coding})`,
        `its stored bytes ${row.blob} have changed`,
        `Remove the file with this digest in forms/. The registry regenerates it at the next request.`,
      );
    }
  }
  if (missing.length === 0) return;
  // A build evicts renditions of old snapshots.
  const lost = input.now((client) => {
    const isNamed = client
      .prepare<[Digest], 0 | 1>('SELECT EXISTS (SELECT 1 FROM form WHERE blob = ?)')
      .pluck();
    return missing.filter((blob) => isNamed.get(blob) === 1).length;
  });
  if (lost > 0) {
    yield information(
      'forms',
      `${lost} stored renditions are missing; the registry regenerates them on request`,
    );
  }
};

async function blobState(
  { renditions }: CheckInput,
  { digest, coding, blob }: RenditionRow,
): Promise<'missing' | 'damaged' | 'whole'> {
  try {
    const bytes = await renditions.get(blob);
    if (bytes === undefined) return 'missing';
    return sha256(await decode[coding](bytes)) === digest ? 'whole' : 'damaged';
  } catch (error) {
    if (error instanceof KrmhubError && error.code !== 'internal') throw error;
    return 'damaged';
  }
}
