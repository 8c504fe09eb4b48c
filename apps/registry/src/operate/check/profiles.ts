import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import type { Coding } from '../../http/content-coding.js';
import { text } from '../../store/sql/statement.js';
import { type Check, type CheckInput, damage, information } from './finding.js';

const decode: Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>> = {
  identity: async (bytes) => bytes,
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
};

interface StoredRow {
  digest: Digest;
  coding: Coding;
  blob: Digest;
}

/** Checks that stored profiles match their digests. A missing one is only noted, because it is written again. */
export const checkProfiles: Check = async function* (input) {
  const rows = input.client.prepare<[], StoredRow>('SELECT digest, coding, blob FROM rendition').all();
  const missing: Digest[] = [];
  for (const row of rows) {
    const state = await blobState(input, row);
    if (state === 'missing') missing.push(row.blob);
    if (state === 'damaged') {
      yield damage(
        `profile ${row.digest} (${row.coding})`,
        `its stored bytes ${row.blob} have changed`,
        `Remove the file with this digest in forms/. The registry writes it again at the next request.`,
      );
    }
  }
  if (missing.length === 0) return;
  // The registry deletes profiles of old snapshots.
  const lost = await input.now(function* () {
    let named = 0;
    for (const blob of missing) if ((yield* profileWith.first({ blob })) !== undefined) named += 1;
    return named;
  });
  if (lost > 0) {
    yield information(
      'forms',
      `${lost} stored profiles are missing; the registry writes them again on request`,
    );
  }
};

const profileWith = text('SELECT 1 AS found FROM rendition WHERE blob = :blob LIMIT 1');

async function blobState(
  { profiles }: CheckInput,
  { digest, coding, blob }: StoredRow,
): Promise<'missing' | 'damaged' | 'whole'> {
  try {
    const bytes = await profiles.get(blob);
    if (bytes === undefined) return 'missing';
    return sha256(await decode[coding](bytes)) === digest ? 'whole' : 'damaged';
  } catch (error) {
    if (error instanceof KrmhubError && error.code !== 'internal') throw error;
    return 'damaged';
  }
}
