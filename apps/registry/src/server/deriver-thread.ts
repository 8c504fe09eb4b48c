import type { PublicAddress } from '../http/public-address.js';
import type { Log } from '../log.js';
import type { Metrics } from '../metrics.js';
import type { BlobSource } from '../store/blobs/blob-stores.js';
import type { DatabasePlace } from '../store/database-place.js';
import type { Derive } from '../workers/derive/derivation.js';
import { startWorker } from '../workers/isolation/start-worker.js';
import { Thread } from '../workers/isolation/thread.js';

export interface DeriveThreadInput {
  database: DatabasePlace;
  /** Where the thread reads definitions and pushed blobs. */
  blobSource: BlobSource;
  profilesFolder: string;
  config: PublicAddress;
}

export interface DeriverThread {
  derive: Derive;
  close(): Promise<void>;
}

/** Derives documents in a worker thread. It starts with the first one: many registries serve only catalogs. */
export function deriverThread(
  workerData: DeriveThreadInput,
  { log, metrics }: { log: Log; metrics: Pick<Metrics, 'countStatements'> },
): DeriverThread {
  const thread = new Thread({
    name: 'derive-thread',
    start: () => startWorker('derive-thread', { workerData }),
    log,
    onNotice: (statements) => metrics.countStatements('requests', statements as number),
  });
  return {
    derive: async ({ name }, input) => (await thread.call(name, input)) as never,
    close: () => thread.close(),
  };
}
