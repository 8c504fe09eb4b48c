import type { BlobStore } from '@krmhub/catalog';
import type { Log } from '../log.js';
import type { Planner } from '../publish/planner.js';
import type { RegistryStore } from '../store/registry-store.js';
import type { Config } from './config.js';
import type { OutsideServers } from './outside-proofs.js';

/** Configuration of a registry without a socket. Absent limits are off. */
export type OpenConfig = Pick<Config, 'dataFolder' | 'snapshotValidDays'> &
  Partial<Omit<Config, 'host' | 'port' | 'logLevel'>>;

export interface OpenOptions extends OutsideServers {
  log: Log;
  /** Returns the log lines so far that could not be written, for the metrics. */
  unwrittenLogLines?: () => number;
  /** Absent for the system clock, which worker threads always use. */
  clock?: () => Date;
  /**
   * Runs searches, snapshot builds, and syncs in this thread, as tests need it. Absent for worker threads, so that
   * none of them delays a request.
   */
  inThread?: {
    /** Returns a number from 0 to 1. */
    random: () => number;
    /** Whether snapshot builds and syncs start. */
    start: boolean;
  };
  wrapStore?: (store: RegistryStore) => RegistryStore;
  /** Called with the blobs of every folder and its path. */
  wrapBlobs?: (blobs: BlobStore, folder: string) => BlobStore;
  /** Absent for a planner with the limits of SERVER_LIMITS. */
  planner?: Planner;
  /** Sizes of the caches of catalogs; absent for those of SERVER_LIMITS. */
  cacheSizes?: { maxCacheBytes?: number; maxBrotliBytes?: number };
}
