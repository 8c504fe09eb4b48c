/**
 * Storage of the registry: rows in a database, other bytes as blobs, and the paths in the data folder.
 *
 * Bytes are durable before the transaction that names them. Small files are rows, so that one sync stores them with
 * their release. open-store.ts opens the database: SQLite or PostgreSQL. Other modules name only the parts of
 * `RegistryStore` that they need.
 *
 * @module
 */

import type {
  AccessStore,
  AuditStore,
  ConsumerStore,
  EventStore,
  FunctionRecord,
  FunctionStore,
  OwnerClaimStore,
  PolicyStore,
  SearchStore,
  SnapshotStore,
  SourceStore,
  TokenStore,
  TrustedPublisherStore,
  UserStore,
} from '@krmhub/catalog';
import type { ManifestStore } from '@krmhub/oci';
import type { Digest, Takedown } from '@krmhub/schema';
import type { ArtifactStore } from './artifacts/artifact-store.js';
import type { DirectoryStore } from './directory-store.js';
import type { LoginStore } from './login-store.js';
import type { ProfileStore } from './profile-store.js';
import type { SessionStore } from './session-store.js';
import type { SettingStore } from './setting-store.js';
import type { SignInStore } from './sign-in-store.js';
import type { UploadStore } from './upload-store.js';
import type { WordStore } from './word-store.js';

/** What a publish of a function depends on. */
export interface PublishState {
  /** The function before; undefined for a new one. */
  current: FunctionRecord | undefined;
  /** The other kinds of the group, in order, for a new function. */
  kinds: string[];
  takedowns: Takedown[];
}

/** Reads what publishing needs. */
export interface PublishStateReader {
  /** Returns what a publish depends on, with one read if nothing of it is there. */
  publishState(group: string, kind: string): Promise<PublishState>;
}

/** Reads definitions and READMEs that are rows. */
export interface FileRowReader {
  /**
   * Returns the exact bytes of a definition or a README that is a row; undefined for others. Rejects with `internal` if
   * they do not match the digest.
   */
  fileBytes(digest: Digest): Promise<Uint8Array | undefined>;
}

/** Knows whether rows name files. */
export interface FileNameReader {
  /** Reports whether a row names a file of this part of the data folder. */
  namesFile(part: 'blobs' | 'artifacts'): Promise<boolean>;
}

/** Everything that the registry stores, except the bytes of blobs. Consumers name only the ports that they need. */
export interface RegistryStore
  extends ArtifactStore,
    Omit<FunctionStore, keyof ArtifactStore>,
    Omit<SnapshotStore, keyof ArtifactStore>,
    SearchStore,
    EventStore,
    AuditStore,
    PolicyStore,
    AccessStore,
    OwnerClaimStore,
    ConsumerStore,
    SourceStore,
    TokenStore,
    TrustedPublisherStore,
    UserStore,
    DirectoryStore,
    ProfileStore,
    SessionStore,
    SignInStore,
    LoginStore,
    SettingStore,
    UploadStore,
    WordStore,
    ManifestStore,
    PublishStateReader,
    FileRowReader,
    FileNameReader {
  /** Resolves when everything that an earlier read could see is durable. Rejects if the disk fails. */
  durable(): Promise<void>;
  /** Rejects if the database cannot be written. */
  check(): Promise<void>;
  close(): Promise<void>;
}
