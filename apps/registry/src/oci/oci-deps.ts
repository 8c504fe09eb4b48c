import type { CatalogReader, FunctionReader } from '@krmhub/catalog';
import type { ManifestStore } from '@krmhub/oci';
import type { Authority } from '../http/auth/authorize.js';
import type { PublicAddress } from '../http/public-address.js';
import type { FunctionLocks } from '../publish/function-locks.js';
import type { PublishDeps } from '../publish/publish-release.js';
import type { AttachDeps } from '../publish/trust/attach-bundle.js';
import type { StoredBlobDeps } from '../store/artifacts/stored-blob.js';
import type { AccessDeps, RepositoryAccess } from './access.js';
import type { Collector } from './collector.js';
import type { UploadSessions } from './upload-sessions.js';

/** What the OCI registry needs. Below `functions/`, a push publishes and attaches as the HTTP API does. */
export type OciRegistryDeps = PublishDeps &
  AttachDeps &
  StoredBlobDeps &
  Omit<AccessDeps, 'store'> &
  Authority & {
    store: ManifestStore & FunctionReader & CatalogReader;
    uploads: UploadSessions;
    collector: Collector;
    /** Serializes the changes of a function. */
    functionLocks: FunctionLocks;
    config: PublicAddress;
  };

/** What the handlers of `/v2` need. */
export type OciDeps = OciRegistryDeps & { repositoryAccess: RepositoryAccess };
