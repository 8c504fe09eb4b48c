import type { Source, SourceList } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import {
  describeSigner,
  renderReport,
  reportedSource,
  reportedSources,
  type SourceRecord,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { authorise } from '../authorise.js';
import { asTheyAre, bytesAnswer, CACHE_ASKING, textAnswer } from '../bytes-answer.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryParts } from '../environment.js';
import { SERVER_LIMITS } from '../limits.js';
import { foundCatalog, foundSource } from '../lookup.js';
import { storedRecipe } from '../stored-recipe.js';

/** Catalogs elsewhere that recipes take from. Their state is for everybody: it says why a catalog is as it is. */
export function sourceRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, cutter, refresher, copies } = parts;

  serveRoute(app, ROUTES.sources, async (c, { query: { catalog } }) => {
    if (catalog !== undefined) await foundCatalog(store, catalog);
    const result: SourceList = { sources: (await store.sources(catalog)).map(presented) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.refreshSource, async (c, { params }) => {
    await authorise(c, parts, 'admin');
    const { catalog, source } = await foundSource(store, params);
    await withinTime(refresher.refreshNow(catalog, source), { catalog, source });
    // Whoever asks for the source reads the catalog next.
    await cutter.waitFor(await store.lastEvent(), SERVER_LIMITS.refreshedCutMilliseconds);
    return c.json(presented(await foundSource(store, params)));
  });

  serveRoute(app, ROUTES.sourceCopy, async (c, { params }) => {
    // It may come from where others may not look.
    await authorise(c, parts, 'admin');
    const { copy } = await foundSource(store, params);
    const bytes = copy && (await copies.get(copy.digest));
    if (copy === undefined || bytes === undefined) {
      throw new KrmhubError(
        'not-found',
        `There is no copy of the source ${params.source} of ${params.name}`,
        {
          hint: 'GET /api/v1/sources says why.',
        },
      );
    }
    return bytesAnswer(c, {
      digest: copy.digest,
      mediaType: 'application/octet-stream',
      cacheControl: CACHE_ASKING,
      find: async () => asTheyAre(bytes),
    });
  });

  serveRoute(app, ROUTES.catalogReport, async (c, { params: { name } }) => {
    const catalog = await foundCatalog(store, name);
    const records = await store.sources(name);
    const sources = records.length === 0 ? {} : { sources: reportedSources(storedRecipe(catalog), records) };
    const state = { catalog: name, serial: catalog.newest?.serial ?? 0, ...sources };
    const text = renderReport(state, await store.catalogFunctions(name));
    return textAnswer(c, text, { mediaType: 'application/json', cacheControl: CACHE_ASKING });
  });
}

function presented(record: SourceRecord): Source {
  const { catalog, source, url, nextAt, checkedAt, failure, copy } = record;
  return {
    catalog,
    source,
    url,
    state: reportedSource(record).state,
    nextAt,
    ...(checkedAt === undefined ? {} : { checkedAt }),
    ...(failure === undefined
      ? {}
      : { problem: failure.problem, message: failure.message, failingSince: failure.since }),
    ...(copy === undefined ? {} : { copy: presentedCopy(copy) }),
  };
}

function presentedCopy(copy: NonNullable<SourceRecord['copy']>): NonNullable<Source['copy']> {
  const { digest, size, fetchedAt, entries, invalid, invalidEntries, snapshot, signatures } = copy;
  return {
    digest,
    size,
    fetchedAt,
    entries,
    invalid,
    invalidEntries,
    ...(snapshot === undefined ? {} : { serial: snapshot.serial, expires: snapshot.expires }),
    signedBy: signatures.map(({ signer }) => describeSigner(signer)),
  };
}

/** What takes longer goes on without whoever asked for it. */
async function withinTime(
  work: Promise<void>,
  { catalog, source }: { catalog: string; source: string },
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new KrmhubError(
        'unavailable',
        `The source ${source} of ${catalog} is still being asked`,
        {
          hint: 'GET /api/v1/sources says what came of it.',
        },
      );
      reject(error);
    }, SERVER_LIMITS.refreshWaitMilliseconds);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}
