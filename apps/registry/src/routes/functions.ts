import type { FunctionDetail, SearchResult } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import { type SearchQuery, shownRelease } from '@krmhub/catalog';
import { functionConfigSchema, KrmhubError, sha256 } from '@krmhub/schema';
import { asTheyAre, bytesAnswer, CACHE_ASKING } from '../bytes-answer.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryParts } from '../environment.js';
import { foundFunction, foundRelease } from '../lookup.js';
import { releaseDetail, releaseSummary, searchItem } from '../presentation.js';

export function functionRoutes(app: RegistryApp, { store, trust }: RegistryParts): void {
  serveRoute(app, ROUTES.search, async (c, { query }) => {
    const { q, limit, cursor, ...filters } = query;
    const wanted: SearchQuery = { limit };
    if (q !== undefined && q.trim() !== '') wanted.text = q;
    if (cursor !== undefined) wanted.cursor = cursor;
    for (const name of Object.keys(filters) as (keyof typeof filters)[]) {
      const values = filters[name];
      if (values !== undefined) wanted[name] = [...new Set(values)];
    }
    const page = await store.search(wanted);
    const result: SearchResult = {
      ...page,
      items: page.items.map((item) => searchItem(trust.policies, item)),
    };
    return c.json(result);
  });

  serveRoute(app, ROUTES.function, async (c, { params }) => {
    const fn = await foundFunction(store, params);
    const { release } = await foundRelease(store, { ...fn, release: shownRelease(fn.releases).release });
    const takedowns = await store.takedowns(fn.group, fn.kind);
    const result: FunctionDetail = {
      group: fn.group,
      kind: fn.kind,
      newest: releaseDetail(trust.policies, release),
      releases: fn.releases.map((one) => releaseSummary(trust.policies, fn, one)),
      ...(takedowns.length === 0 ? {} : { takedowns }),
      catalogs: await store.catalogsHolding(fn.group, fn.kind),
    };
    return c.json(result);
  });

  serveRoute(app, ROUTES.functionConfigSchema, async (c, { params }) => {
    const fn = await foundFunction(store, params);
    const serving = fn.releases.filter(
      ({ versions, yanked }) => yanked === undefined && versions.includes(params.version),
    );
    if (serving.length === 0) {
      const versions = [...new Set(fn.releases.flatMap((release) => release.versions))];
      throw new KrmhubError(
        'not-found',
        `${fn.group}/${fn.kind} has no release with the API version ${params.version} that is not yanked`,
        { hint: `It has had ${versions.join(', ')}.` },
      );
    }
    const { release } = await foundRelease(store, { ...fn, release: shownRelease(serving).release });
    const text = `${JSON.stringify(functionConfigSchema(release.definition, params.version), undefined, 2)}\n`;
    const bytes = new TextEncoder().encode(text);
    return bytesAnswer(c, {
      digest: sha256(bytes),
      mediaType: 'application/schema+json',
      cacheControl: CACHE_ASKING,
      find: async () => asTheyAre(bytes),
    });
  });
}
