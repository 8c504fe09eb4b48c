import { type BlobStore, PROFILE_DIALECTS, type SnapshotRecord, type SnapshotStore } from '@krmhub/catalog';
import { type Digest, KrmhubError, type Profile } from '@krmhub/schema';
import type { Derive } from '../../derive/derivation.js';
import type { Coding } from '../../http/content-coding.js';
import { KeyedMutex } from '../../isolation/keyed-mutex.js';
import type { RwLock } from '../../isolation/rw-lock.js';
import { SERVER_LIMITS } from '../../limits.js';
import { isProfileSigned, type ProfileSigningDeps, signProfile } from '../../signatures/sign-profile.js';
import { takenDownError } from '../../store/find-record.js';
import type { ProfileRendition, RenditionStore } from '../../store/rendition-store.js';
import type { SnapshotRenditions, StoredRendition } from './snapshot-renditions.js';
import { WRITE_PROFILE } from './write-profile.js';

/**
 * Snapshots in the dialects of other tools. Each profile is written on its first request, from the stored entries,
 * one profile at a time and in a thread of its own. It is stored with its report next to the renditions, and evicted with
 * them.
 */
export class ProfileRenditions {
  readonly #store: SnapshotStore & RenditionStore;
  readonly #blobs: BlobStore;
  readonly #renditions: SnapshotRenditions;
  readonly #bytesLock: RwLock;
  readonly #derive: Derive;
  readonly #maxOldBytes: number;
  readonly #signing: ProfileSigningDeps;
  readonly #locks = new KeyedMutex();
  readonly #inProgress = new Map<string, Promise<ProfileRendition>>();
  /** Sizes in bytes of profiles of older snapshots, by digest of the snapshot, the oldest first. */
  readonly #old = new Map<Digest, number>();

  constructor(deps: {
    store: SnapshotStore & RenditionStore;
    /** Blobs of the renditions. */
    blobs: BlobStore;
    renditions: SnapshotRenditions;
    bytesLock: RwLock;
    derive: Derive;
    signing: ProfileSigningDeps;
    maxRegeneratedBytes?: number;
  }) {
    this.#store = deps.store;
    this.#blobs = deps.blobs;
    this.#renditions = deps.renditions;
    this.#bytesLock = deps.bytesLock;
    this.#derive = deps.derive;
    this.#signing = deps.signing;
    this.#maxOldBytes = deps.maxRegeneratedBytes ?? SERVER_LIMITS.maxRegeneratedBytes;
  }

  /**
   * Returns the stored profile of a snapshot, or writes it. The signature of the snapshot covers it. Rejects with `gone` if the
   * snapshot is withdrawn.
   */
  async get(snapshot: SnapshotRecord, profile: Profile): Promise<ProfileRendition> {
    const known = await this.#store.profileRendition(snapshot.digests['catalog.yaml'], profile);
    const isCurrent = known?.revision === PROFILE_DIALECTS[profile].revision;
    const rendition = isCurrent ? known : await this.#make(snapshot, profile);
    // Also if it is stored: the registry may have stopped before it signed, or have signed the digests of the build again.
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
    rendition: ProfileRendition,
    part: 'digest' | 'report',
    coding: Coding,
  ): Promise<StoredRendition> {
    const found = await this.#renditions.findStored(rendition[part], coding);
    if (found !== undefined) return found;
    // It was evicted just now, or its file is missing.
    const { [part]: digest } = await this.#make(snapshot, rendition.profile);
    const made =
      digest === rendition[part] ? await this.#renditions.findStored(digest, 'identity') : undefined;
    if (made !== undefined) return made;
    throw new KrmhubError(
      'unavailable',
      `the profile ${rendition.profile} of snapshot ${snapshot.serial} of catalog ${snapshot.catalog} is being regenerated`,
      { hint: 'Try again in a few seconds.' },
    );
  }

  /** Concurrent callers share the work. */
  async #make(snapshot: SnapshotRecord, profile: Profile): Promise<ProfileRendition> {
    const name = `${snapshot.digests['catalog.yaml']} ${profile}`;
    const known = this.#inProgress.get(name);
    if (known !== undefined) return known;
    // A takedown waits until a row names what is written here, and then deletes it.
    const making = this.#locks.run('the profiles of catalogs', () =>
      this.#bytesLock.read(() => this.#write(snapshot, profile)),
    );
    this.#inProgress.set(name, making);
    try {
      return await making;
    } finally {
      this.#inProgress.delete(name);
    }
  }

  async #write(snapshot: SnapshotRecord, profile: Profile): Promise<ProfileRendition> {
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
      const compressed = newest && size <= SERVER_LIMITS.maxProfileCompressedBytes;
      await this.#renditions.cacheAlongside(digest, { compressed });
    }
    for (const blob of await this.#store.recordProfileRendition(rendition)) await this.#blobs.delete(blob);
    if (!newest) await this.#trackOld(rendition.snapshot, written.size + written.reportSize);
    return rendition;
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
      for (const blob of await this.#store.deleteProfileRenditions([oldest])) await this.#blobs.delete(blob);
    }
  }
}
