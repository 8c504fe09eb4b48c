import type { PublicAddress } from '../http/public-address.js';
import type { Log } from '../log.js';
import type { StatementMetrics } from '../metrics.js';
import type { BlobSource } from '../store/blobs/blob-stores.js';
import type { DatabasePlace } from '../store/database-place.js';
import type { Derive } from '../workers/derive/derivation.js';
import { inThread } from '../workers/isolation/in-thread.js';
import type { AnyRole } from '../workers/isolation/role.js';

export interface DeriveThreadInput {
  database: DatabasePlace;
  /** Where the thread reads definitions and pushed blobs. */
  blobSource: BlobSource;
  profilesFolder: string;
  config: PublicAddress;
}

/** What the thread does: derivations, by name. */
export type DeriveRole = AnyRole;

export interface DeriverThread {
  derive: Derive;
  close(): Promise<void>;
}

/** Derives documents in a worker thread. It starts with the first one: many registries serve only catalogs. */
export function deriverThread(
  input: DeriveThreadInput,
  { log, metrics }: { log: Log; metrics: Pick<StatementMetrics, 'countStatements'> },
): DeriverThread {
  const thread = inThread<DeriveRole>('derive-thread', {
    input: () => input,
    log,
    countStatements: (statements) => metrics.countStatements('requests', statements),
  });
  return {
    derive: async ({ name }, given) => (await thread.call(name, given)) as never,
    close: () => thread.close(),
  };
}
