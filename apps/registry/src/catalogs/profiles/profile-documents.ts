/**
 * Snapshots in the dialects of other tools, each written on its first request.
 *
 * Writing the profile of a large snapshot takes long, so it is done once, in another thread, and stored as files. If a
 * later version of the program renders the dialect differently, the profile is written again.
 *
 * @module
 */

import { type BlobStore, PROFILE_DIALECTS, type SnapshotRecord, type SnapshotStore } from '@krmhub/catalog';
import { type Digest, KrmhubError, type Profile } from '@krmhub/schema';
import { BytesCache } from '../../http/bytes-cache.js';
import type { Coding } from '../../http/content-coding.js';
import { SERVER_LIMITS } from '../../limits.js';
import { takenDownError } from '../../store/find-record.js';
import type { ProfileStore, StoredProfile } from '../../store/profile-store.js';
import type { Derive } from '../../workers/derive/derivation.js';
import { KeyedMutex } from '../../workers/locks/keyed-mutex.js';
import { shareWork } from '../../workers/locks/shared-work.js';
import type { BytesLock } from '../../workers/processes/processes.js';
import type { CodedDocument } from '../segments/catalog-documents.js';
import { isProfileSigned, type ProfileSigningDeps, signProfile } from '../sign/sign-profile.js';
import { compressBlob } from './compress.js';
import { WRITE_PROFILE } from './write-profile.js';

/** Key of the lock of files. */
const PROFILES = 'the profiles of catalogs';
const COMPRESSED = ['gzip', 'br'] as const satisfies readonly Coding[];

/**
 * Snapshots in the dialects of other tools. Each profile is written on its first request, from the stored entries,
 * one profile at a time and in a thread of its own. It is stored with its report as files, in every coding for the
 * newest snapshot. Those of old snapshots are deleted when one of a new snapshot is written.
 */
export class ProfileDocuments {
  readonly #store: SnapshotStore & ProfileStore;
  readonly #blobs: BlobStore;
  readonly #cache: BytesCache;
  readonly #maxBytesInMemory: number;
  readonly #bytesLock: BytesLock;
  readonly #derive: Derive;
  readonly #maxOldBytes: number;
  readonly #signing: ProfileSigningDeps;
  readonly #locks = new KeyedMutex();
  readonly #inProgress = new Map<string, Promise<StoredProfile>>();
  /** Sizes in bytes of profiles of older snapshots, by digest of the snapshot, the oldest first. */
  readonly #old = new Map<Digest, number>();
  /** Catalogs whose old profiles were all deleted since the start. */
  readonly #swept = new Set<string>();

  constructor(deps: {
    store: SnapshotStore & ProfileStore;
    blobs: BlobStore;
    bytesLock: BytesLock;
    derive: Derive;
    signing: ProfileSigningDeps;
    maxCacheBytes?: number;
    maxOldBytes?: number;
  }) {
    this.#store = deps.store;
    this.#blobs = deps.blobs;
    const { maxCacheBytes = SERVER_LIMITS.maxProfileCacheBytes } = deps;
    this.#cache = new BytesCache(maxCacheBytes);
    this.#maxBytesInMemory = maxCacheBytes / 2;
    this.#bytesLock = deps.bytesLock;
    this.#derive = deps.derive;
    this.#signing = deps.signing;
    this.#maxOldBytes = deps.maxOldBytes ?? SERVER_LIMITS.maxOldProfileBytes;
  }

  /**
   * Returns the stored profile of a snapshot, or writes it. The signature of the snapshot covers it. Rejects with
   * `gone` if the snapshot is withdrawn.
   */
  async get(snapshot: SnapshotRecord, profile: Profile): Promise<StoredProfile> {
    const known = await this.#store.storedProfile(snapshot.digests['catalog.yaml'], profile);
    const isCurrent = known?.revision === PROFILE_DIALECTS[profile].revision;
    const rendition = isCurrent ? known : await this.#make(snapshot, profile);
    // Also if it is stored: the registry may have stopped before it signed, or have signed the digests of the build
    // again.
    if (!(await isProfileSigned(this.#signing, snapshot, rendition))) {
      await this.#locks.run('the signatures of profiles', () =>
        signProfile(this.#signing, snapshot, rendition),
      );
    }
    return rendition;
  }

  /** Returns the bytes of a profile or of its report, in a coding or uncompressed. */
  async find(
    snapshot: SnapshotRecord,
    rendition: StoredProfile,
    part: 'digest' | 'report',
    coding: Coding,
  ): Promise<CodedDocument> {
    const found = await this.#findStored(rendition[part], coding);
    if (found !== undefined) return found;
    // It was evicted just now, or its file is missing.
    const { [part]: digest } = await this.#make(snapshot, rendition.profile);
    const made = digest === rendition[part] ? await this.#read(digest, 'identity') : undefined;
    if (made !== undefined) return made;
    throw new KrmhubError(
      'unavailable',
      `the profile ${rendition.profile} of snapshot ${snapshot.serial} of catalog ${snapshot.catalog} is being regenerated`,
      { hint: 'Try again in a few seconds.' },
    );
  }

  /**
   * Deletes every file that belongs only to withdrawn snapshots or to none. Requires the write lock, so that nothing
   * writes profiles: requests for them wait for it.
   */
  async deleteUnused(): Promise<void> {
    await this.#deleteUnnamed();
  }

  /**
   * Does the same for the files of this process, after another one took releases down. Waits until none is written here.
   */
  async deleteUnusedHere(): Promise<void> {
    this.#cache.clear();
    await this.#locks.run(PROFILES, () => this.#deleteUnnamed());
  }

  async #deleteUnnamed(): Promise<void> {
    this.#cache.clear();
    const named = await this.#store.deleteWithdrawnProfiles();
    for await (const blob of this.#blobs.list()) if (!named.has(blob)) await this.#blobs.delete(blob);
  }

  /** Concurrent callers share the work. */
  #make(snapshot: SnapshotRecord, profile: Profile): Promise<StoredProfile> {
    const name = `${snapshot.digests['catalog.yaml']} ${profile}`;
    // A takedown waits until a row names what is written here, and then deletes it.
    return shareWork(this.#inProgress, name, () =>
      this.#locks.run(PROFILES, () => this.#bytesLock.read(() => this.#write(snapshot, profile))),
    );
  }

  async #write(snapshot: SnapshotRecord, profile: Profile): Promise<StoredProfile> {
    const { catalog, serial, digests } = snapshot;
    const withdrawn = (await this.#store.snapshot(catalog, serial))?.withdrawn;
    if (withdrawn !== undefined) throw takenDownError([withdrawn]);
    const written = await this.#derive(WRITE_PROFILE, { snapshot, profile });
    const { digest, report } = written;
    const { revision } = PROFILE_DIALECTS[profile];
    const rendition = { snapshot: digests['catalog.yaml'], profile, revision, digest, report };
    const newest = await this.#isNewest(snapshot);
    for (const [digest, size] of [
      [rendition.digest, written.size],
      [rendition.report, written.reportSize],
    ] as const) {
      await this.#store.recordProfileBlobs([{ digest, coding: 'identity', blob: digest }]);
      if (newest && size <= SERVER_LIMITS.maxProfileCompressedBytes) await this.#compress(digest);
    }
    for (const blob of await this.#store.recordProfile(rendition)) await this.#blobs.delete(blob);
    if (newest) await this.#deleteOld(catalog);
    else await this.#trackOld(rendition.snapshot, written.size + written.reportSize);
    return rendition;
  }

  /** Deletes profiles of old snapshots of a catalog; the first time, also those that an earlier process wrote. */
  async #deleteOld(catalog: string): Promise<void> {
    const isFirst = !this.#swept.has(catalog);
    const { retainedSnapshots, evictedSnapshots } = SERVER_LIMITS;
    const depth = isFirst ? Number.MAX_SAFE_INTEGER : retainedSnapshots + evictedSnapshots;
    const digests = (await this.#store.snapshots(catalog, depth)).map((one) => one.digests['catalog.yaml']);
    const retained = new Set(digests.slice(0, retainedSnapshots));
    const old = digests.slice(retainedSnapshots).filter((digest) => !retained.has(digest));
    for (const blob of await this.#store.deleteProfiles(old)) await this.#blobs.delete(blob);
    this.#swept.add(catalog);
  }

  async #compress(digest: Digest): Promise<void> {
    for (const coding of COMPRESSED) {
      if ((await this.#store.profileBlob(digest, coding)) !== undefined) continue;
      const blob = await compressBlob(this.#blobs, digest, coding);
      if (blob !== undefined) await this.#store.recordProfileBlobs([{ digest, coding, blob }]);
    }
  }

  async #findStored(digest: Digest, coding: Coding): Promise<CodedDocument | undefined> {
    return (
      (await this.#read(digest, coding)) ??
      (coding === 'identity' ? undefined : await this.#read(digest, 'identity'))
    );
  }

  async #read(digest: Digest, coding: Coding): Promise<CodedDocument | undefined> {
    const key = `${digest}-${coding}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) return { coding, body: cached };
    const blob = await this.#store.profileBlob(digest, coding);
    // If it is deleted just now, the row may still name a deleted blob.
    const stored = blob === undefined ? undefined : await this.#blobs.read(blob);
    if (stored === undefined) return undefined;
    if (stored.size > this.#maxBytesInMemory) return { coding, body: stored };
    const bytes = await readAll(stored.pieces);
    if (bytes === undefined) return undefined;
    this.#cache.set(key, bytes);
    return { coding, body: bytes };
  }

  async #isNewest({ catalog, digests }: SnapshotRecord): Promise<boolean> {
    const newest = (await this.#store.catalog(catalog))?.newest;
    return newest?.digests['catalog.yaml'] === digests['catalog.yaml'];
  }

  /**
   * Limits the stored bytes of old profiles: any client can request every profile of every snapshot. None is
   * compressed.
   */
  async #trackOld(snapshot: Digest, size: number): Promise<void> {
    const earlier = this.#old.get(snapshot) ?? 0;
    this.#old.delete(snapshot);
    this.#old.set(snapshot, earlier + size);
    let bytes = [...this.#old.values()].reduce((sum, one) => sum + one, 0);
    for (const [oldest, its] of this.#old) {
      if (bytes <= this.#maxOldBytes || oldest === snapshot) return;
      this.#old.delete(oldest);
      bytes -= its;
      for (const blob of await this.#store.deleteProfiles([oldest])) await this.#blobs.delete(blob);
    }
  }
}

/** Resolves with undefined if the blob was deleted before it was opened. */
async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Buffer | undefined> {
  const read: Uint8Array[] = [];
  try {
    for await (const piece of pieces) read.push(piece);
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } };
    if (cause?.code === 'ENOENT') return undefined;
    throw error;
  }
  return Buffer.concat(read);
}
