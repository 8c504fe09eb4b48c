import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type CatalogHeader, type CatalogStore, type RenderedEntry, renderCatalog } from '@krmhub/catalog';
import type { Digest, SnapshotForm } from '@krmhub/schema';
import { SERVER_LIMITS } from './limits.js';

export interface AssembledForm {
  bytes: Uint8Array;
  digest: Digest;
}

/** A catalog document of entries in their order, and its digest; lets other work have its turn in between. */
export async function assembleForm(
  form: SnapshotForm,
  header: CatalogHeader,
  entries: readonly RenderedEntry[],
): Promise<AssembledForm> {
  const hash = createHash('sha256');
  const pieces: Buffer[] = [];
  for (const piece of renderCatalog(form, header, entries)) {
    const bytes = Buffer.from(piece);
    hash.update(bytes);
    pieces.push(bytes);
    if (pieces.length % SERVER_LIMITS.cutBatch === 0) await setImmediate();
  }
  return { bytes: Buffer.concat(pieces), digest: `sha256:${hash.digest('hex')}` };
}

/** The rendered entries of these digests, in their order; those in `known` are not read. */
export async function readEntries(
  store: CatalogStore,
  digests: readonly Digest[],
  known: ReadonlyMap<Digest, RenderedEntry> = new Map(),
): Promise<RenderedEntry[]> {
  const entries: RenderedEntry[] = [];
  for (let start = 0; start < digests.length; start += SERVER_LIMITS.cutBatch) {
    const batch = digests.slice(start, start + SERVER_LIMITS.cutBatch);
    const unknown = batch.filter((digest) => !known.has(digest));
    const stored = unknown.length === 0 ? new Map<Digest, RenderedEntry>() : await store.entries(unknown);
    for (const digest of batch) {
      const entry = known.get(digest) ?? stored.get(digest);
      if (entry === undefined) throw new Error(`the store has no entry ${digest}`);
      entries.push(entry);
    }
    await setImmediate();
  }
  return entries;
}
