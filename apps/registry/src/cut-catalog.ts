import { setImmediate } from 'node:timers/promises';
import {
  type CatalogCut,
  type CatalogFunction,
  type CatalogRecord,
  type CatalogStore,
  entryDefinition,
  type FunctionRecord,
  type NewEvent,
  type Recipe,
  type ReleaseRecord,
  type RenderedEntry,
  RevisionConflict,
  renderEntry,
  type Selection,
  type SnapshotRecord,
  sameSelection,
  selectFunction,
} from '@krmhub/catalog';
import { type Digest, type FunctionName, KrmhubError, SNAPSHOT_FORMS } from '@krmhub/schema';
import { changedEntries } from './assemble-forms.js';
import { SERVER_LIMITS } from './limits.js';
import { snapshotArtifact } from './oci/release-artifact.js';
import {
  changedFunctions,
  type SigningParts,
  signSnapshot,
  snapshotDigests,
} from './signatures/sign-snapshot.js';
import { catalogHeader, type SnapshotForms } from './snapshot-forms.js';
import type { RegistryStore } from './store/registry-store.js';
import { storedRecipe } from './stored-recipe.js';

export interface CutParts {
  store: RegistryStore;
  forms: SnapshotForms;
  signing: SigningParts;
  clock: () => Date;
}

/**
 * Takes into a catalog what has happened since it was last cut, and makes a snapshot where its bytes
 * change by that; only what changed is rendered. Gives the new snapshot, undefined where there is none.
 */
export async function cutCatalog(parts: CutParts, name: string): Promise<SnapshotRecord | undefined> {
  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    try {
      return await cutOnce(parts, name);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new KrmhubError('unavailable', `The catalog ${name} was changed by others all the time`);
}

async function cutOnce(parts: CutParts, name: string): Promise<SnapshotRecord | undefined> {
  const { store, forms, signing, clock } = parts;
  // Before the recipe: one that is applied in between is then known to be newer than this cut.
  const throughEvent = await store.lastEvent();
  const catalog = await store.catalog(name);
  if (catalog === undefined) return undefined;
  if (catalog.newest !== undefined && catalog.throughEvent >= throughEvent) return undefined;
  const recipe = storedRecipe(catalog);
  const { changed, entries, bytesChanged } = await changedPlaces(store, catalog, recipe, throughEvent);
  const cut: CatalogCut = {
    catalog: name,
    expectedThroughEvent: catalog.throughEvent,
    throughEvent,
    changed,
    entries: [...entries.values()],
  };
  const previous = catalog.newest;
  // What was taken down is out of its place already, so that nothing else may have changed.
  const withdrawn = previous?.withdrawn !== undefined;
  const whole = catalog.throughEvent === 0 || previous === undefined || withdrawn;
  if (!whole && !bytesChanged) {
    await store.commitCut(cut);
    return undefined;
  }
  const { labels } = recipe;
  const header = catalogHeader({ catalog: name, ...(labels === undefined ? {} : { labels }) });
  const assembled = await forms.assemble(header, changedEntries(store, name, changed, entries));
  const { digests } = assembled;
  const same = SNAPSHOT_FORMS.every((form) => previous?.digests[form] === digests[form]);
  if (same && !withdrawn) {
    await assembled.discard();
    await store.commitCut(cut);
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
  };
  // The bytes are durable before the rows that name them.
  await forms.store(assembled);
  const event: NewEvent = {
    type: 'catalog.cut',
    at: now,
    by: 'krmhub',
    catalog: name,
    serial: snapshot.serial,
    digest: digests['catalog.yaml'],
  };
  const artifact = snapshotArtifact(snapshot, assembled.sizes['catalog.yaml']);
  const functions = changedFunctions(await store.catalogFunctions(name), changed);
  const contents = snapshotDigests(snapshot, functions, artifact.manifest);
  const signed = await signSnapshot(signing, snapshot, contents, artifact.manifest);
  const { signature } = signed;
  await store.commitCut({ ...cut, snapshot, signature, event }, artifact, signed.artifact);
  return snapshot;
}

interface ChangedPlaces {
  changed: CatalogFunction[];
  /** Whether an entry is new, another or gone. */
  bytesChanged: boolean;
  /** Entries that `changed` names and that are not stored yet. */
  entries: Map<Digest, RenderedEntry>;
}

async function changedPlaces(
  store: CatalogStore,
  catalog: CatalogRecord,
  recipe: Recipe,
  throughEvent: number,
): Promise<ChangedPlaces> {
  const result: ChangedPlaces = { changed: [], bytesChanged: false, entries: new Map() };
  if (catalog.throughEvent === 0) {
    const places = placesByName(await store.catalogFunctions(catalog.name));
    let count = 0;
    for await (const fn of store.allFunctions()) {
      await compareWithPlace(store, recipe, fn, places.get(nameKey(fn)), result);
      if (++count % SERVER_LIMITS.cutBatch === 0) await setImmediate();
    }
    return result;
  }
  const names = await store.functionsChanged(catalog.throughEvent, throughEvent);
  for (let start = 0; start < names.length; start += SERVER_LIMITS.cutBatch) {
    const batch = names.slice(start, start + SERVER_LIMITS.cutBatch);
    const places = placesByName(await store.catalogFunctions(catalog.name, batch));
    for (const fn of await store.functions(batch)) {
      await compareWithPlace(store, recipe, fn, places.get(nameKey(fn)), result);
    }
    await setImmediate();
  }
  return result;
}

async function compareWithPlace(
  store: CatalogStore,
  recipe: Recipe,
  fn: FunctionRecord,
  place: CatalogFunction | undefined,
  result: ChangedPlaces,
): Promise<void> {
  const selection = selectFunction(recipe, fn);
  if (place === undefined ? isEmpty(selection) : sameSelection(selection, place)) return;
  if (selection.versions.length === 0) {
    if (place?.entry !== undefined) result.bytesChanged = true;
    result.changed.push(selection);
    return;
  }
  const releases = await selectedReleases(store, selection);
  const definitions = new Map(releases.map(({ digest, definition }) => [digest, definition]));
  const entry = renderEntry(entryDefinition(selection, definitions, recipe));
  result.changed.push({ ...selection, entry: entry.digest });
  if (entry.digest === place?.entry) return;
  result.bytesChanged = true;
  result.entries.set(entry.digest, entry);
  if (result.entries.size < SERVER_LIMITS.cutBatch) return;
  await store.storeEntries([...result.entries.values()]);
  result.entries.clear();
}

async function selectedReleases(store: CatalogStore, selection: Selection): Promise<ReleaseRecord[]> {
  const { group, kind, versions } = selection;
  const releases: ReleaseRecord[] = [];
  for (const name of new Set(versions.map(({ release }) => release))) {
    if (name === undefined) continue;
    const release = await store.release(group, kind, name);
    if (release === undefined) throw new Error(`the store has no release ${group}/${kind}@${name}`);
    releases.push(release);
  }
  return releases;
}

function isEmpty({ versions, shadowed, yanked }: Selection): boolean {
  return versions.length === 0 && shadowed.length === 0 && yanked.length === 0;
}

function placesByName(places: readonly CatalogFunction[]): Map<string, CatalogFunction> {
  return new Map(places.map((place) => [nameKey(place), place]));
}

function nameKey({ group, kind }: FunctionName): string {
  return `${group}/${kind}`;
}
