import type { BlobStore, EventType } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { WakeableBuilder } from '../catalogs/build/catalog-builder.js';
import { KeptCatalogs } from '../catalogs/kept-catalogs.js';
import type { ProfileDocuments } from '../catalogs/profiles/profile-documents.js';
import type { CatalogDocuments } from '../catalogs/segments/catalog-documents.js';
import type { NewestSnapshots } from '../catalogs/serve/newest-snapshots.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import type { SigningTrust } from '../publish/trust/signing-trust.js';
import type { RegistryStore } from '../store/registry-store.js';
import type { RegistryAccess } from '../store/stored-access.js';
import type { CatalogRefresher } from '../upstreams/catalog-refresher.js';
import type { DerivedDocuments } from '../workers/derive/derived-documents.js';
import type { Following } from '../workers/processes/following.js';
import type { Led } from '../workers/processes/leader-calls.js';
import type { Processes } from '../workers/processes/processes.js';
import type { FollowedEvent } from '../workers/processes/shared-database.js';

/** Events after which bytes or snapshots that this process has in memory may not be served any more, or are again. */
const REMOVES: ReadonlySet<EventType> = new Set([
  'release.taken-down',
  'catalog.withdrawn',
  'catalog.deleted',
  'catalog.restored',
]);

type CopiedBlobs = Pick<BlobStore, 'deleteCopies'>;

export interface ApplyEventsDeps {
  store: RegistryStore;
  blobs: CopiedBlobs;
  artifacts: CopiedBlobs;
  trust: SigningTrust;
  access: RegistryAccess;
  newestSnapshots: NewestSnapshots;
  documents: CatalogDocuments;
  derived: DerivedDocuments;
  profileDocuments: ProfileDocuments;
  snapshotBuilder: WakeableBuilder;
  refresher: CatalogRefresher;
  searchSoon?(): void;
  log: Log;
}

/**
 * Begins to follow the events of other processes, and to answer them while this one leads. Returns what reads the newest
 * catalogs after them.
 */
export async function startFollowing(
  following: Pick<Following, 'start' | 'catchUp'>,
  deps: ApplyEventsDeps & { processes: Pick<Processes, 'beforeDrained'>; led: Led },
): Promise<KeptCatalogs> {
  const kept = new KeptCatalogs({ ...deps, maxBytes: SERVER_LIMITS.maxDocumentCacheBytes / 2 });
  const applyEvents = eventApplier(deps);
  const apply = async (events: readonly FollowedEvent[] | undefined) => {
    await applyEvents(events);
    if (events === undefined || events.some(({ type }) => type.startsWith('catalog.') || REMOVES.has(type)))
      kept.wake();
  };
  // Others may have taken releases down since the last start.
  await applyEvents(undefined);
  await kept.start();
  following.start(apply, deps.led);
  // A takedown ends when no process has the bytes in memory any more.
  deps.processes.beforeDrained(() => following.catchUp());
  return kept;
}

/**
 * Returns a function that brings what this process has in memory up to date with events, of which other processes may
 * have appended any. Everything else is read from the database each time, or has a key that no event changes. Without
 * events, any may have happened.
 */
function eventApplier(
  deps: ApplyEventsDeps,
): (events: readonly FollowedEvent[] | undefined) => Promise<void> {
  const { store, trust, access, newestSnapshots, documents, derived, profileDocuments, log } = deps;
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
  const unreadable = new Set<string>();
  // Only newer processes read it: what this process does without it is safe, and the other events must be applied.
  const reload = async (what: { reload(of: RegistryStore): Promise<void> }, name: string): Promise<void> => {
    try {
      await what.reload(store);
      unreadable.delete(name);
    } catch (error) {
      if (!(error instanceof KrmhubError && error.code === 'invalid-document')) throw error;
      if (!unreadable.has(name)) log.error({ err: error }, `this version of krmhub cannot read ${name}`);
      unreadable.add(name);
    }
  };
  return async (events) => {
    const has = (matches: (event: FollowedEvent) => boolean) => events === undefined || events.some(matches);
    if (has(({ type }) => REMOVES.has(type))) forgetBytes();
    if (has(({ type }) => type === 'policy.applied')) await reload(trust, 'the signing policies');
    if (has(({ type }) => type === 'access.applied')) await reload(access, 'the Access document');
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
