import type { BlobStore, Event, EventType } from '@krmhub/catalog';
import type { NewestSnapshots } from '../catalogs/newest-snapshots.js';
import type { ProfileDocuments } from '../catalogs/profiles/profile-documents.js';
import type { CatalogDocuments } from '../catalogs/segments/catalog-documents.js';
import type { DerivedDocuments } from '../derive/derived-documents.js';
import type { Log } from '../log.js';
import type { SigningTrust } from '../publish/signing-trust.js';
import type { RegistryStore } from '../store/registry-store.js';

/** Events after which bytes or snapshots that this process has in memory may not be served any more, or are again. */
const REMOVES: ReadonlySet<EventType> = new Set([
  'release.taken-down',
  'catalog.withdrawn',
  'catalog.deleted',
  'catalog.restored',
]);

export interface ApplyEventsDeps {
  store: RegistryStore;
  blobs: Pick<BlobStore, 'deleteCopies'>;
  artifacts: Pick<BlobStore, 'deleteCopies'>;
  trust: SigningTrust;
  newestSnapshots: NewestSnapshots;
  documents: CatalogDocuments;
  derived: DerivedDocuments;
  profileDocuments: ProfileDocuments;
  snapshotBuilder: { wake(): void };
  refresher: { wake(): void };
  searchSoon?(): void;
  log: Log;
}

/**
 * Returns a function that brings what this process has in memory up to date with events, of which other processes may
 * have appended any. Everything else is read from the database each time, or has a key that no event changes. Without
 * events, any may have happened.
 */
export function eventApplier(deps: ApplyEventsDeps): (events: readonly Event[] | undefined) => Promise<void> {
  const { store, trust, newestSnapshots, documents, derived, profileDocuments, log } = deps;
  const deleteFiles = async (): Promise<void> => {
    for (const blobs of [deps.blobs, deps.artifacts]) await blobs.deleteCopies?.();
    await profileDocuments.deleteUnusedHere();
  };
  const forgetBytes = (): void => {
    newestSnapshots.clear();
    documents.clear();
    derived.clear();
    // Nothing serves them any more.
    deleteFiles().catch((error: unknown) =>
      log.error({ err: error }, 'files of releases that were taken down remain on the disk'),
    );
  };
  return async (events) => {
    const has = (matches: (event: Event) => boolean) => events === undefined || events.some(matches);
    if (has(({ type }) => REMOVES.has(type))) forgetBytes();
    if (has(({ type }) => type === 'policy.applied')) await trust.reload(store);
    for (const { type, catalog, serial } of events ?? []) {
      if (type === 'catalog.cut' && catalog !== undefined)
        await newestSnapshots.reload(catalog, serial ?? Number.POSITIVE_INFINITY);
    }
    deps.searchSoon?.();
    // A snapshot changes no catalog.
    if (has(({ type }) => type !== 'catalog.cut')) deps.snapshotBuilder.wake();
    if (has(({ type }) => type === 'catalog.applied' || type === 'catalog.restored')) deps.refresher.wake();
  };
}
