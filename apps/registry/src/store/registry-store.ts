import type {
  EventStore,
  FunctionStore,
  PolicyStore,
  SearchStore,
  SnapshotStore,
  SourceStore,
  TokenStore,
} from '@krmhub/catalog';
import type { ManifestStore } from '@krmhub/oci';
import type { ArtifactStore } from '../artifacts/artifact-store.js';
import type { RenditionStore } from './rendition-store.js';

/** Everything that the registry keeps but the bytes of blobs. A consumer names the ports that it needs, not all. */
export interface RegistryStore
  extends ArtifactStore,
    Omit<FunctionStore, keyof ArtifactStore>,
    Omit<SnapshotStore, keyof ArtifactStore>,
    SearchStore,
    EventStore,
    PolicyStore,
    SourceStore,
    TokenStore,
    RenditionStore,
    ManifestStore {
  /** Rejects where the database cannot be written. */
  check(): Promise<void>;
  close(): Promise<void>;
}
