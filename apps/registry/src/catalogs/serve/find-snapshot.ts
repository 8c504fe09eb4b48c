import type { CatalogReader, SnapshotRecord } from '@krmhub/catalog';
import { isDigest, KrmhubError } from '@krmhub/schema';
import { asActor, currentActor } from '../../http/auth/request-actor.js';
import { findCatalog, takenDownError } from '../../store/find-record.js';
import type { NewestSnapshots } from './newest-snapshots.js';

export interface SnapshotFinderDeps {
  store: CatalogReader;
  newestSnapshots: NewestSnapshots;
}

export interface SnapshotFinder {
  /** Rejects with `unavailable` while the first snapshot, or one after a takedown, is being built. */
  newestSnapshot(name: string): Promise<SnapshotRecord>;
  /** Returns a snapshot that is not withdrawn. Rejects with `gone` for a withdrawn one. */
  currentSnapshot(params: { name: string; snapshot: string }): Promise<SnapshotRecord>;
  namedSnapshot(params: { name: string; snapshot: string }): Promise<SnapshotRecord>;
}

/** Finds the snapshot that a path names. */
export function snapshotFinder({ store, newestSnapshots: newest }: SnapshotFinderDeps): SnapshotFinder {
  const namedSnapshot: SnapshotFinder['namedSnapshot'] = async ({ name, snapshot }) => {
    await findCatalog(store, name);
    const found = await store.snapshot(name, isDigest(snapshot) ? snapshot : Number(snapshot));
    if (found !== undefined) return found;
    throw new KrmhubError('not-found', `catalog ${name} has no snapshot ${snapshot}`, {
      hint: `List the snapshots with \`krmhub catalog history ${name}\`.`,
    });
  };
  return {
    namedSnapshot,
    async newestSnapshot(name) {
      const snapshot = await newest.get(name);
      if (snapshot?.withdrawn !== undefined) {
        throw new KrmhubError('unavailable', `catalog ${name} is being rebuilt after a takedown`, {
          hint: 'Try again in a few seconds.',
        });
      }
      if (snapshot !== undefined) return snapshot;
      await findCatalog(store, name);
      throw new KrmhubError('unavailable', `catalog ${name} has no snapshot yet`, {
        hint: 'Try again in a few seconds.',
      });
    },
    async currentSnapshot(params) {
      const snapshot = await namedSnapshot(params);
      if (snapshot.withdrawn === undefined) return snapshot;
      throw takenDownError([snapshot.withdrawn]);
    },
  };
}

/** Returns what tells whether the client may still read a snapshot: its catalog can be hidden, or deleted, while it is sent. */
export function snapshotCheck(
  store: CatalogReader,
  { catalog, serial }: SnapshotRecord,
): () => Promise<boolean> {
  const actor = currentActor();
  return () =>
    asActor(actor, async () => {
      if ((await store.catalog(catalog)) === undefined) return false;
      return (await store.snapshot(catalog, serial))?.withdrawn === undefined;
    });
}
