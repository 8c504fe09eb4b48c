import {
  type NewEvent,
  RevisionConflict,
  reportSources,
  type SnapshotBuild,
  type SnapshotRecord,
} from '@krmhub/catalog';
import { KrmhubError, SNAPSHOT_RENDITIONS } from '@krmhub/schema';
import type { ArtifactStore } from '../artifacts/artifact-store.js';
import { snapshotArtifact } from '../artifacts/release-artifact.js';
import { SERVER_LIMITS } from '../limits.js';
import {
  changedFunctions,
  type SigningDeps,
  signSnapshot,
  snapshotDigests,
} from '../signatures/sign-snapshot.js';
import { type EntryStore, findChangedEntries } from './changed-entries.js';
import { changedEntries, mergeEntries } from './renditions/assemble.js';
import { catalogHeader, type SnapshotRenditions } from './renditions/snapshot-renditions.js';
import { storedRecipe } from './stored-recipe.js';

export interface BuildSnapshotDeps {
  store: EntryStore & Pick<ArtifactStore, 'commitSnapshot'>;
  renditions: SnapshotRenditions;
  signing: SigningDeps;
  clock: () => Date;
}

/**
 * Includes in a catalog the events since its last build. Makes a snapshot if its bytes change, or the
 * releases and sources that its entries come from; only changed entries are rendered. Returns the new snapshot, or
 * undefined if there is none.
 */
export async function buildSnapshot(
  deps: BuildSnapshotDeps,
  name: string,
): Promise<SnapshotRecord | undefined> {
  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    try {
      return await tryBuildSnapshot(deps, name);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new KrmhubError('unavailable', `catalog ${name}: concurrent update`);
}

async function tryBuildSnapshot(deps: BuildSnapshotDeps, name: string): Promise<SnapshotRecord | undefined> {
  const { store, renditions, signing, clock } = deps;
  // Read before the recipe: a recipe that is applied in between then counts as newer than this build.
  const throughEvent = await store.lastEvent();
  const catalog = await store.catalog(name);
  if (catalog === undefined) return undefined;
  if (catalog.newest !== undefined && catalog.throughEvent >= throughEvent) return undefined;
  const recipe = storedRecipe(catalog);
  const sources = await store.sources(name);
  const { changed, entries, snapshotChanged } = await findChangedEntries(store, catalog, recipe, {
    throughEvent,
    sources,
  });
  const cut: SnapshotBuild = {
    catalog: name,
    expectedThroughEvent: catalog.throughEvent,
    throughEvent,
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
  const header = catalogHeader({ catalog: name, ...(labels === undefined ? {} : { labels }) });
  const rows = () => mergeEntries(store, store.latestEntrySizes(name), changed, entries);
  const assembled =
    (previous && !withdrawn ? await renditions.patch(header, previous, rows()) : undefined) ??
    (await renditions.assemble(header, changedEntries(store, name, changed, entries)));
  const { digests } = assembled;
  const same = SNAPSHOT_RENDITIONS.every((rendition) => previous?.digests[rendition] === digests[rendition]);
  if (same && !snapshotChanged && !withdrawn) {
    await assembled.discard();
    await store.commitSnapshot(cut);
    return undefined;
  }
  const now = clock().toISOString();
  const snapshot: SnapshotRecord = {
    catalog: name,
    serial: (previous?.serial ?? 0) + 1,
    previous: previous?.digests['catalog.yaml'] ?? null,
    ...(labels === undefined ? {} : { labels }),
    digests,
    functions: assembled.functions,
    createdAt: now,
    ...(sources.length === 0 ? {} : { sources: reportSources(recipe, sources) }),
  };
  const event: NewEvent = {
    type: 'catalog.cut',
    at: now,
    by: 'krmhub',
    catalog: name,
    serial: snapshot.serial,
    digest: digests['catalog.yaml'],
  };
  const artifact = snapshotArtifact(snapshot, assembled.sizes['catalog.yaml']);
  const sign = async () => {
    const functions = changedFunctions(await store.latestEntryRows(name), changed);
    const contents = snapshotDigests(snapshot, functions, artifact.manifest);
    return signSnapshot(signing, snapshot, contents, artifact.manifest);
  };
  // The bytes must be durable before the rows that name them. Signing uses the processor while the disk works.
  const [, signed] = await Promise.all([renditions.store(assembled), sign()]);
  const { signature } = signed;
  await store.commitSnapshot({ ...cut, snapshot, signature, event }, artifact, signed.artifact);
  return snapshot;
}
