import type { RegistryKey as PublishedKey } from '@krmhub/api/model';
import type {
  CatalogReader,
  CatalogRecord,
  Recipe,
  RecipeSource,
  SnapshotRecord,
  SnapshotSignature,
  SourceReader,
  SourceRecord,
  Visibility,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { ObservableBuilder } from '../../catalogs/build/catalog-builder.js';
import { seenRecipe } from '../../catalogs/seen-recipe.js';
import type { RegistryKeys } from '../../catalogs/sign/registry-keys.js';
import { publishedKeys } from '../../catalogs/sign/registry-keys.js';
import type { KnownAccess } from '../../http/auth/request-actor.js';
import { findCatalog } from '../../store/find-record.js';

/** State of a catalog. */
export type CatalogState =
  | { state: 'current' }
  /** There is no snapshot of the current recipe yet. */
  | { state: 'waiting'; unasked: string[] }
  | { state: 'withdrawn' }
  | { state: 'failing'; message: string };

/** Data of a catalog for its pages. */
export interface CatalogView {
  catalog: CatalogRecord;
  /** Absent if this version of the program does not understand the stored recipe. */
  recipe?: Recipe;
  /** In the recipe's order; without a recipe, in the stored order. */
  sources: SourceView[];
  state: CatalogState;
  visibility: Visibility;
}

export interface SourceView {
  name: string;
  recipe?: RecipeSource;
  /** Of an upstream catalog. */
  record?: SourceRecord;
}

export interface SigningView {
  signature?: SnapshotSignature;
  keys: PublishedKey[];
}

export interface ReadCatalogDeps {
  store: CatalogReader & SourceReader;
  snapshotBuilder: ObservableBuilder;
  access: KnownAccess;
}

export interface ReadSignatureDeps {
  store: CatalogReader;
  keys: RegistryKeys;
}

/** Reads the view of a catalog. Rejects with `not-found`. */
export async function readCatalog(deps: ReadCatalogDeps, name: string): Promise<CatalogView> {
  const catalog = await findCatalog(deps.store, name);
  return buildView(deps, catalog, await deps.store.sources(name));
}

export async function readCatalogs(deps: ReadCatalogDeps): Promise<CatalogView[]> {
  const [catalogs, sources] = [await deps.store.catalogs(), await deps.store.sources()];
  return catalogs.map((catalog) =>
    buildView(
      deps,
      catalog,
      sources.filter((source) => source.catalog === catalog.name),
    ),
  );
}

function buildView(
  { snapshotBuilder: builder, access }: ReadCatalogDeps,
  catalog: CatalogRecord,
  records: readonly SourceRecord[],
): CatalogView {
  const { text, recipe } = seenRecipe(access, catalog);
  const findRecord = (name: string) => records.find(({ source }) => source === name);
  const sources =
    recipe === undefined
      ? records.map((record): SourceView => ({ name: record.source, record }))
      : recipe.sources.map((source): SourceView => {
          const record = source.catalog === undefined ? undefined : findRecord(source.name);
          return { name: source.name, recipe: source, ...defined({ record }) };
        });
  const failure = builder.status().failing.find((one) => one.catalog === catalog.name);
  const state = describeState(catalog, records, failure?.message);
  const visibility = access.rules.catalogVisibility(catalog.name);
  return { catalog: { ...catalog, recipe: text }, sources, state, visibility, ...defined({ recipe }) };
}

function describeState(
  { newest, throughEvent }: CatalogRecord,
  records: readonly SourceRecord[],
  failure: string | undefined,
): CatalogState {
  if (failure !== undefined) return { state: 'failing', message: failure };
  if (newest?.withdrawn !== undefined) return { state: 'withdrawn' };
  if (newest !== undefined && throughEvent > 0) return { state: 'current' };
  const unasked = records.filter(({ checkedAt }) => checkedAt === undefined).map(({ source }) => source);
  return { state: 'waiting', unasked };
}

export async function readSigning(
  { store, keys }: ReadSignatureDeps,
  snapshot: SnapshotRecord,
): Promise<SigningView> {
  const signature = await store.snapshotSignature(snapshot.catalog, snapshot.serial);
  return {
    keys: publishedKeys(await keys.all()),
    ...defined({ signature }),
  };
}

/** Returns the upstream catalogs whose last sync failed. */
export function failingSources({ sources }: CatalogView): SourceRecord[] {
  return sources.flatMap(({ record }) => (record?.failure === undefined ? [] : [record]));
}

/** Returns the number of unusable entries in the sources. */
export function invalidEntries({ sources }: CatalogView): number {
  return sources.reduce((sum, { record }) => sum + (record?.copy?.invalidEntries ?? 0), 0);
}
