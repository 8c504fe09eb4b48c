import {
  type CatalogHeader,
  type CatalogRecord,
  catalogReaderRules,
  catalogReaders,
  followsRegistryPolicies,
  type NewEvent,
  type SnapshotBuild,
  type SnapshotRecord,
  type SourceRecord,
  snapshotSources,
  visibleSource,
} from '@krmhub/catalog';
import { type FunctionName, KrmhubError, SNAPSHOT_RENDITIONS } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ErrorLog } from '../../log.js';
import type { ArtifactStore } from '../../store/artifacts/artifact-store.js';
import { snapshotArtifact } from '../../store/artifacts/release-artifact.js';
import { retryOnConflict } from '../../store/retry-on-conflict.js';
import { storedAccess } from '../../store/stored-access.js';
import { storedPolicies } from '../../store/stored-policies.js';
import { catalogHeader } from '../catalog-header.js';
import { type BuiltSegments, buildSegments, type SegmentsBuild } from '../segments/build-segments.js';
import { DamagedSegments, type DocumentHasher } from '../segments/document-hasher.js';
import { snapshotDigest } from '../segments/snapshot-digest.js';
import { type SigningDeps, signSnapshot, snapshotDigests } from '../sign/sign-snapshot.js';
import { storedRecipe } from '../stored-recipe.js';
import { type ChangedEntries, findChangedEntries } from './changed-entries.js';
import type { ComparedRules } from './compared-rules.js';
import type { ComparedCatalog, EntryStore } from './entry-comparison.js';

export interface BuildSnapshotDeps {
  store: EntryStore & ArtifactStore;
  hasher: DocumentHasher;
  signing: SigningDeps;
  clock: () => Date;
  comparedRules: ComparedRules;
  log: ErrorLog;
  /** Called with each new snapshot, and with an older one whose segments were added. */
  onSnapshot(snapshot: SnapshotRecord): void;
}

/** What is read before a build. */
export interface BuildState {
  throughEvent: number;
  /** Read after `throughEvent`: a recipe that is applied in between then counts as newer than the build. */
  catalog: CatalogRecord | undefined;
  sources: readonly SourceRecord[];
  /** What `changedFunctions` returns since the last build; absent if it was not read. */
  changed?: readonly FunctionName[];
}

/**
 * Includes in a catalog the events since its last build. Makes a snapshot if its bytes change, or the
 * releases and sources that its entries come from; only changed entries are rendered. Returns the new snapshot, or
 * undefined if there is none. `known` was read just now; if something changed since then, it is read again.
 */
export function buildSnapshot(
  deps: BuildSnapshotDeps,
  name: string,
  known?: BuildState,
): Promise<SnapshotRecord | undefined> {
  const build = async (attempt: number) => {
    const state = attempt === 0 ? known : undefined;
    return tryBuildSnapshot(deps, state ?? (await readState(deps, name)));
  };
  return retryOnConflict(build, {
    exhausted() {
      throw new KrmhubError('unavailable', `catalog ${name}: concurrent update`);
    },
  });
}

/** Reports whether a catalog lacks a source that was never synced: it is not built, and keeps what it had. */
export function waitsForSource(sources: readonly SourceRecord[]): boolean {
  return sources.some(({ checkedAt }) => checkedAt === undefined);
}

async function readState({ store }: BuildSnapshotDeps, name: string): Promise<BuildState> {
  const throughEvent = await store.lastEvent();
  return { throughEvent, catalog: await store.catalog(name), sources: await store.sources(name) };
}

async function tryBuildSnapshot(
  deps: BuildSnapshotDeps,
  { throughEvent, catalog, sources, changed: named }: BuildState,
): Promise<SnapshotRecord | undefined> {
  const { store } = deps;
  // A recipe that was applied meanwhile can name another source.
  if (catalog === undefined || waitsForSource(sources)) return undefined;
  if (catalog.newest !== undefined && catalog.throughEvent >= throughEvent) {
    if (lacksSegments(catalog.newest)) await addMissingSegments(deps, catalog.newest);
    return undefined;
  }
  const compared = await catalogReader(store)(catalog, sources);
  const hasSameRules = deps.comparedRules.areSame(compared);
  const changes = await findChangedEntries(store, compared, throughEvent, { named, hasSameRules });
  return commitChanges(deps, compared, throughEvent, changes);
}

/** Returns what reads the rest of what catalogs are compared by: the Access document and the policies once for all. */
export function catalogReader(
  store: EntryStore,
): (catalog: CatalogRecord, sources: ComparedCatalog['sources']) => Promise<ComparedCatalog> {
  let access: ReturnType<typeof storedAccess> | undefined;
  let stored: ReturnType<typeof storedPolicies> | undefined;
  return async (catalog, sources) => {
    const recipe = storedRecipe(catalog);
    access ??= storedAccess(store);
    const mayContain = catalogReaders(await access, catalog.name);
    const readerRules = catalogReaderRules(await access, catalog.name);
    if (followsRegistryPolicies(recipe)) stored ??= storedPolicies(store);
    const policies = followsRegistryPolicies(recipe) ? (await stored)?.policies : undefined;
    return { catalog, recipe, sources, policies, mayContain, readerRules };
  };
}

/** Commits the changes of a catalog, with a snapshot if there is a change in it. */
export async function commitChanges(
  deps: BuildSnapshotDeps,
  compared: ComparedCatalog,
  throughEvent: number,
  changes: ChangedEntries,
): Promise<SnapshotRecord | undefined> {
  const { catalog, readerRules } = compared;
  const snapshot = await commit(deps, compared, throughEvent, changes);
  const newest = snapshot ?? catalog.newest;
  deps.comparedRules.built({ ...catalog, throughEvent, ...defined({ newest }) }, readerRules);
  return snapshot;
}

async function commit(
  deps: BuildSnapshotDeps,
  { catalog, recipe, sources, mayContain, readerRules }: ComparedCatalog,
  throughEvent: number,
  { changed, entries, snapshotChanged, shared }: ChangedEntries,
): Promise<SnapshotRecord | undefined> {
  const { store, signing, clock } = deps;
  const { name } = catalog;
  const cut: SnapshotBuild = {
    catalog: name,
    expectedThroughEvent: catalog.throughEvent,
    throughEvent,
    readerRules,
    changed,
    entries: [...entries.values()],
  };
  const previous = catalog.newest;
  // A takedown removes entry rows itself, so there may be no other change.
  const withdrawn = previous?.withdrawn !== undefined;
  const isFull = catalog.throughEvent === 0 || previous === undefined || withdrawn;
  if (!isFull && !snapshotChanged) {
    await store.commitSnapshot(cut);
    return undefined;
  }
  const { labels } = recipe;
  const header = catalogHeader({ catalog: name, ...defined({ labels }) });
  const build = (others: readonly CatalogHeader[] = []) =>
    buildUndamaged(deps, {
      header,
      others,
      previous,
      changed,
      known: entries,
      isFull: previous === undefined || withdrawn,
    });
  const built = await (shared === undefined ? build() : shared.of(name, build, store));
  const { digests, documents, functions, segments } = built;
  const same = SNAPSHOT_RENDITIONS.every((rendition) => previous?.digests[rendition] === digests[rendition]);
  if (same && !snapshotChanged && !withdrawn) {
    await store.commitSnapshot(cut);
    return undefined;
  }
  const now = clock().toISOString();
  const snapshot: SnapshotRecord = {
    catalog: name,
    serial: (previous?.serial ?? 0) + 1,
    previous: previous?.digests['catalog.yaml'] ?? null,
    ...defined({ labels }),
    digests,
    documents,
    functions,
    createdAt: now,
    ...defined({
      sources:
        sources.length === 0
          ? undefined
          : snapshotSources(
              recipe,
              sources.map((source) => visibleSource(source, mayContain)),
            ),
    }),
  };
  const event: NewEvent = {
    type: 'catalog.cut',
    at: now,
    by: 'krmhub',
    catalog: name,
    serial: snapshot.serial,
    digest: digests['catalog.yaml'],
  };
  const artifact = snapshotArtifact(snapshot, documents['catalog.yaml'].bytes);
  const document = await snapshotDigest(store, snapshot, segments);
  const contents = snapshotDigests(snapshot, document, artifact.manifest);
  const { signature, artifact: signed } = await signSnapshot(signing, snapshot, contents, artifact.manifest);
  await store.commitSnapshot({ ...cut, snapshot, segments, signature, event }, artifact, signed);
  // Before a takedown can withdraw it.
  deps.onSnapshot(snapshot);
  return snapshot;
}

/** Compresses all segments again from the entries if the stored ones are damaged. */
async function buildUndamaged(
  { store, hasher, log }: BuildSnapshotDeps,
  build: SegmentsBuild,
): Promise<BuiltSegments> {
  try {
    return await buildSegments(store, hasher, build);
  } catch (error) {
    if (!(error instanceof DamagedSegments)) throw error;
    const catalog = build.header.name;
    log.error({ err: error, catalog }, 'stored segments are damaged; compressing all again from the entries');
    return buildSegments(store, hasher, { ...build, isFull: true, replacesContents: true });
  }
}

/** Reports whether an older version built the snapshot. */
export function lacksSegments({ documents, withdrawn }: SnapshotRecord): boolean {
  return documents === undefined && withdrawn === undefined;
}

/** Compresses the newest snapshot of an older version. Throws if its documents do not have their digests any more. */
async function addMissingSegments(
  { store, hasher, onSnapshot }: BuildSnapshotDeps,
  snapshot: SnapshotRecord,
): Promise<void> {
  const { catalog, serial } = snapshot;
  const { digests, documents, segments } = await buildSegments(store, hasher, {
    header: catalogHeader(snapshot),
    previous: snapshot,
    changed: [],
    known: new Map(),
    isFull: true,
  });
  for (const rendition of SNAPSHOT_RENDITIONS) {
    if (digests[rendition] === snapshot.digests[rendition]) continue;
    throw new Error(
      `${rendition} of snapshot ${serial} of catalog ${catalog}: expected digest ${snapshot.digests[rendition]}, the stored entries give ${digests[rendition]}`,
    );
  }
  if (await store.addSegments({ catalog, serial, segments, documents }))
    onSnapshot({ ...snapshot, documents });
}
