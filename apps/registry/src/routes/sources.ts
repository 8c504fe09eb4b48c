import type { SourceList } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type {
  BlobBytes,
  CatalogReader,
  CatalogRecord,
  FunctionReader,
  SourceRecord,
  SourceStore,
} from '@krmhub/catalog';
import { reportSources } from '@krmhub/catalog';
import { KrmhubError, type ReportedSource } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { excludedFunctions } from '../catalogs/excluded-functions.js';
import { CATALOG_REPORT, documentReader } from '../catalogs/serve/snapshot-documents.js';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import type { Authority } from '../http/auth/authorize.js';
import { authorize } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import { bytesResponse, CACHE_REVALIDATE, uncompressed } from '../http/bytes-response.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { sourceDetail } from '../http/presentation.js';
import { findCatalog, findSource } from '../store/find-record.js';
import { exposedSources, exposure } from '../upstreams/credentialed-sources.js';
import type { FetchSettings } from '../upstreams/source-fetcher.js';
import type { SyncSourceDeps } from '../upstreams/sync-source.js';
import { syncSource } from '../upstreams/sync-source.js';
import type { DerivedDocuments } from '../workers/derive/derived-documents.js';

/** Routes of the upstream catalogs that recipes use. Their state is public: it explains the content of a catalog. */
type SourceDeps = Authority &
  SyncSourceDeps & {
    store: SourceStore & FunctionReader & CatalogReader;
    derived: DerivedDocuments;
    config: FetchSettings;
    /** Copies of the upstream catalogs. */
    sourceCopies: BlobBytes;
  };

export function sourceRoutes(app: RegistryApp, deps: SourceDeps): void {
  const { store, sourceCopies } = deps;

  serveRoute(app, ROUTES.sources, async (c, { query: { catalog } }) => {
    if (catalog !== undefined) await findCatalog(store, catalog);
    const result: SourceList = { sources: (await store.sources(catalog)).map(sourceDetail) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.refreshSource, async (c, { params }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    return c.json(sourceDetail(await syncSource(deps, params, caller)));
  });

  serveRoute(app, ROUTES.sourceCopy, async (c, { params }) => {
    // The source may be private.
    await authorize(c, deps, 'admin');
    const { copy } = await findSource(store, params);
    const bytes = copy && (await sourceCopies.get(copy.digest));
    if (copy === undefined || bytes === undefined) {
      throw new KrmhubError('not-found', `source ${params.source} of catalog ${params.name} has no copy`, {
        hint: `Find the reason with \`krmhub source list ${params.name}\`.`,
      });
    }
    return bytesResponse(c, {
      digest: copy.digest,
      mediaType: 'application/octet-stream',
      cacheControl: CACHE_REVALIDATE,
      find: async () => uncompressed(bytes),
    });
  });

  serveRoute(app, ROUTES.catalogReport, async (c, { params: { name } }) => {
    const catalog = await findCatalog(store, name);
    const records = await store.sources(name);
    const sources = records.length === 0 ? {} : { sources: await reportedSources(deps, catalog, records) };
    const excluded = await excludedFunctions({ store, rules: deps.access.rules }, catalog);
    const state = { catalog: name, serial: catalog.newest?.serial ?? 0, ...sources };
    return deps.derived.respond(
      c,
      CATALOG_REPORT,
      {
        ...{ state, throughEvent: catalog.throughEvent, excluded },
        ...defined({ reader: documentReader(deps.access) }),
      },
      { mediaType: 'application/json', cacheControl: CACHE_REVALIDATE },
    );
  });
}

async function reportedSources(
  deps: SourceDeps,
  catalog: CatalogRecord,
  records: readonly SourceRecord[],
): Promise<ReportedSource[]> {
  const recipe = storedRecipe(catalog);
  // A file that cannot be used is in the log of each sync.
  const exposed = await exposedSources(deps, recipe).catch((): string[] => []);
  return reportSources(recipe, records).map((reported) =>
    exposed.includes(reported.source) ? { ...reported, warning: exposure(reported.source) } : reported,
  );
}
