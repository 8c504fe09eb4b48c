import type { FunctionDetail, SearchResult } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { SearchStore } from '@krmhub/catalog';
import { displayedRelease, type FunctionStore, type SnapshotStore } from '@krmhub/catalog';
import { type FunctionDefinition, functionConfigSchema, KrmhubError, sha256 } from '@krmhub/schema';
import { bytesResponse, CACHE_REVALIDATE, uncompressed } from '../http/bytes-response.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { functionDetail, searchItem } from '../http/presentation.js';
import type { SigningTrust } from '../publish/signing-trust.js';
import { searchQuery } from '../search/search-query.js';
import { findFunction, findRelease } from '../store/find-record.js';

interface FunctionDeps {
  store: FunctionStore & SnapshotStore & Pick<SearchStore, 'search'>;
  trust: Pick<SigningTrust, 'policies'>;
}

export function functionRoutes(app: RegistryApp, { store, trust }: FunctionDeps): void {
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
      fn && (await findRelease(store, { ...fn, release: displayedRelease(fn.releases).release })).release;
    const result: FunctionDetail = functionDetail(trust.policies, {
      name,
      ...(newest === undefined ? {} : { newest }),
      releases: fn?.releases ?? [],
      takedowns: await store.takedowns(group, kind),
      catalogs: await store.catalogsContaining(group, kind),
      entries,
    });
    return c.json(result);
  });

  serveRoute(app, ROUTES.functionConfigSchema, async (c, { params }) => {
    const definition = await definitionOf(store, params);
    const text = `${JSON.stringify(functionConfigSchema(definition, params.version), undefined, 2)}\n`;
    const bytes = new TextEncoder().encode(text);
    return bytesResponse(c, {
      digest: sha256(bytes),
      mediaType: 'application/schema+json',
      cacheControl: CACHE_REVALIDATE,
      find: async () => uncompressed(bytes),
    });
  });
}

/**
 * Returns the current definition of an API version: of a release, or of an upstream function that a catalog serves.
 */
async function definitionOf(
  store: FunctionStore & SnapshotStore,
  { group, kind, version }: { group: string; kind: string; version: string },
): Promise<FunctionDefinition> {
  const entries =
    (await store.function(group, kind)) === undefined ? await store.servedEntries(group, kind) : [];
  if (entries.length > 0) {
    const served = entries.find(({ versions }) => versions.some(({ name }) => name === version));
    if (served !== undefined) return served.definition;
    const names = new Set(entries.flatMap(({ versions }) => versions.map(({ name }) => name)));
    throw new KrmhubError('not-found', `no catalog has ${group}/${kind} with API version ${version}`, {
      hint: `They have ${[...names].join(', ')}.`,
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
      { hint: `Its API versions are ${versions.join(', ')}.` },
    );
  }
  const { release } = await findRelease(store, { ...fn, release: displayedRelease(serving).release });
  return release.definition;
}
