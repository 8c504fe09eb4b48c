import type { BlobStore } from '@krmhub/catalog';
import type { CatalogBuilder } from '../catalogs/catalog-builder.js';
import type { NewestSnapshots } from '../catalogs/newest-snapshots.js';
import type { ProfileRenditions } from '../catalogs/renditions/profile-renditions.js';
import type { SnapshotRenditions } from '../catalogs/renditions/snapshot-renditions.js';
import type { KeyedMutex } from '../isolation/keyed-mutex.js';
import type { RwLock } from '../isolation/rw-lock.js';
import type { Log } from '../log.js';
import type { Collector } from '../oci/collector.js';
import type { Uploads } from '../oci/uploads.js';
import type { Planner } from '../publish/planner.js';
import type { SigningTrust } from '../publish/signing-trust.js';
import type { RegistryKeys } from '../signatures/registry-keys.js';
import type { RegistryStore } from '../store/registry-store.js';
import type { TakedownRecord } from '../takedown/record.js';
import type { CatalogRefresher } from '../upstreams/catalog-refresher.js';
import type { Config } from './config.js';
import type { Metrics } from './metrics.js';

/** What the routes stand on. */
export interface RegistryParts {
  store: RegistryStore;
  /** Definitions and READMEs. */
  blobs: BlobStore;
  /** Blobs that were pushed to repositories. */
  artifacts: BlobStore;
  uploads: Uploads;
  collector: Collector;
  renditions: SnapshotRenditions;
  profileRenditions: ProfileRenditions;
  newestSnapshots: NewestSnapshots;
  snapshotBuilder: CatalogBuilder;
  refresher: CatalogRefresher;
  /** Copies of the catalogs elsewhere that recipes take from. */
  copies: BlobStore;
  planner: Planner;
  /** One change of a function after the other. */
  functionLocks: KeyedMutex;
  /** Open for who stores bytes and then the rows that name them; closed while bytes are removed. */
  bytesLock: RwLock;
  /** Whom signatures are believed of. */
  trust: SigningTrust;
  /** By which snapshots are signed. */
  keys: RegistryKeys;
  /** Survives what the database goes back to when a backup is restored. */
  takedownRecord: TakedownRecord;
  clock: () => Date;
  log: Log;
  metrics: Metrics;
  /** What is absent is off. */
  config: AccessSettings;
}

/** The settings that concern who may ask what, how often, by which address, and how much is kept. */
export type AccessSettings = Partial<
  Pick<
    Config,
    | 'publicUrl'
    | 'trustedProxies'
    | 'requestsPerMinute'
    | 'writesPerMinute'
    | 'failedLoginsPerMinute'
    | 'repositoryMebibytes'
    | 'untaggedDays'
  >
>;
