import type { SearchResult } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { SearchStore, ServedEntry } from '@krmhub/catalog';
import { displayedRelease, type EntryReader, type FunctionStore, type SnapshotStore } from '@krmhub/catalog';
import { type Digest, functionConfigSchema, KrmhubError } from '@krmhub/schema';
import { CACHE_REVALIDATE } from '../http/bytes-response.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { functionDetail, type Judges, releaseDetail, searchItem, servedEntry } from '../http/presentation.js';
import { jsonArray, type StoredJson, storedJsonResponse, toJson, withMember } from '../http/stored-json.js';
import { definitionJson, findFunction, findReleaseHead } from '../store/find-record.js';
import { searchQuery } from '../store/search/search-query.js';
import type { Derivation } from '../workers/derive/derivation.js';
import type { DerivedDocuments } from '../workers/derive/derived-documents.js';
import { readDefinition, type StoredDefinition } from '../workers/derive/stored-definition.js';

interface FunctionDeps extends Judges {
  store: FunctionStore & SnapshotStore & SearchStore;
  derived: DerivedDocuments;
}

export function functionRoutes(app: RegistryApp, deps: FunctionDeps): void {
  const { store, trust, derived } = deps;
  serveRoute(app, ROUTES.search, async (c, { query }) => {
    const page = await store.search(searchQuery(query));
    const result: SearchResult = {
      ...page,
      items: page.items.map((item) => searchItem(trust.policies, item)),
    };
    return c.json(result);
  });

  serveRoute(app, ROUTES.function, async (c, { params }) => {
    const { group, kind } = params;
    const fn = await store.function(group, kind);
    const entries = await store.servedEntries(group, kind);
    // The store reports what is known about a function that does not exist.
    const name = fn ?? entries[0] ?? (await findFunction(store, params));
    const newest =
      fn && (await findReleaseHead(store, { ...fn, release: displayedRelease(fn.releases).release })).release;
    const detail = functionDetail(deps, {
      name,
      releases: fn?.releases ?? [],
      takedowns: await store.takedowns(group, kind),
      catalogs: await store.catalogsContaining(group, kind),
    });
    const [more] = newest === undefined ? [] : await store.notesAndRuns([newest]);
    const newestDetail = newest && releaseDetail(deps, newest, more);
    return storedJsonResponse(c, [detail, newestDetail, entries], async () => {
      let json = toJson(detail);
      if (entries.length > 0) json = withMember(json, 'entries', await entriesJson(store, entries));
      if (newestDetail === undefined) return json;
      const definition = [await definitionJson(store, newestDetail)];
      return withMember(json, 'newest', withMember(toJson(newestDetail), 'definition', definition));
    });
  });

  serveRoute(app, ROUTES.functionConfigSchema, async (c, { params }) =>
    derived.respond(
      c,
      CONFIG_SCHEMA,
      { definition: await findDefinition(store, params), version: params.version },
      { mediaType: 'application/schema+json', cacheControl: CACHE_REVALIDATE },
    ),
  );
}

/** The JSON Schema of the functionConfig of an API version. */
export const CONFIG_SCHEMA: Derivation<{ definition: StoredDefinition; version: string }> = {
  name: 'config-schema',
  async derive(deps, { definition, version }) {
    const schema = functionConfigSchema(await readDefinition(deps, definition), version);
    return new TextEncoder().encode(`${JSON.stringify(schema, undefined, 2)}\n`);
  },
};

async function entriesJson(store: EntryReader, entries: readonly ServedEntry[]): Promise<StoredJson> {
  const stored = await store.entries([...new Set<Digest>(entries.map(({ entry }) => entry))]);
  return jsonArray(
    entries.map((entry) =>
      withMember(toJson(servedEntry(entry)), 'definition', [Buffer.from(stored.get(entry.entry)!.json)]),
    ),
  );
}

/**
 * Returns the current definition of an API version: of a release, or of an upstream function that a catalog serves.
 */
async function findDefinition(
  store: FunctionStore & SnapshotStore,
  { group, kind, version }: { group: string; kind: string; version: string },
): Promise<StoredDefinition> {
  const entries =
    (await store.function(group, kind)) === undefined ? await store.servedEntries(group, kind) : [];
  if (entries.length > 0) {
    const served = entries.find(({ versions }) => versions.some(({ name }) => name === version));
    if (served !== undefined) return { entry: served.entry };
    const names = new Set(entries.flatMap(({ versions }) => versions.map(({ name }) => name)));
    throw new KrmhubError('not-found', `no catalog contains ${group}/${kind} with API version ${version}`, {
      hint: `Use one of ${[...names].join(', ')}.`,
    });
  }
  const fn = await findFunction(store, { group, kind });
  const serving = fn.releases.filter(
    ({ versions, yanked }) => yanked === undefined && versions.includes(version),
  );
  if (serving.length === 0) {
    const versions = [...new Set(fn.releases.flatMap((release) => release.versions))];
    throw new KrmhubError(
      'not-found',
      `${fn.group}/${fn.kind} has no release with API version ${version} that is not yanked`,
      { hint: `Use one of ${versions.join(', ')}.` },
    );
  }
  const { release, digest } = displayedRelease(serving);
  return { group: fn.group, kind: fn.kind, release, digest };
}
