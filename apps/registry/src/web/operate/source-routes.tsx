import { createRoute, z } from '@hono/zod-openapi';
import { CatalogName, SourceName } from '@krmhub/api/parameters';
import type { SourceReader } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { callerOf } from '../../http/auth/caller.js';
import { sourceDetail } from '../../http/presentation.js';
import { findCatalog } from '../../store/find-record.js';
import type { SyncSourceDeps } from '../../upstreams/sync-source.js';
import { syncSource } from '../../upstreams/sync-source.js';
import { type SourcesLink, sourcesPath } from '../addresses.js';
import type { Site } from '../site.js';
import { CHANGES } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { PageNumber } from './page-number.js';
import { paged } from './paged.js';
import { SourcesPage } from './sources-page.js';

export const SOURCE_PAGE_ROUTES = {
  sourcesPage: createRoute({
    method: 'get',
    path: '/operate/sources',
    request: {
      query: z.object({
        catalog: CatalogName.optional(),
        problems: z.literal('true', 'is not true').optional(),
        asked: SourceName.optional(),
        page: PageNumber,
      }),
    },
    responses: { 200: { description: 'The sources of recipes' } },
  }),
  askSource: createRoute({
    method: 'post',
    path: '/operate/sources/{name}/{source}/ask',
    request: { params: z.object({ name: CatalogName, source: SourceName }) },
    responses: { 303: { description: 'Synced' } },
  }),
} as const;

export type SourcePageDeps = SyncSourceDeps & { store: SourceReader; site: Site };

export function sourcePageRoutes(deps: SourcePageDeps, pages: OperatorPages): void {
  const { store, site } = deps;

  pages.page(SOURCE_PAGE_ROUTES.sourcesPage, {}, async (_, { query }) => {
    const { catalog, page } = query;
    if (catalog !== undefined) await findCatalog(store, catalog);
    const all = (await store.sources(catalog)).map(sourceDetail);
    const problems = all.filter(({ state, copy }) => state !== 'current' || (copy?.invalidEntries ?? 0) > 0);
    const link: SourcesLink = { catalog, hasProblems: query.problems !== undefined };
    const shown = {
      link,
      sources: paged(link.hasProblems === true ? problems : all, page),
      total: all.length,
      problems: problems.length,
      asked: query.asked === undefined ? undefined : all.find(({ source }) => source === query.asked),
    };
    return { head: { title: 'Sources', path: '/operate/sources' }, body: <SourcesPage shown={shown} /> };
  });

  pages.action(
    SOURCE_PAGE_ROUTES.askSource,
    { needs: CHANGES, form: z.object({}) },
    async (c, { params: { name, source } }, { token }) => {
      try {
        await syncSource(deps, { name, source }, callerOf(c, token));
      } catch (error) {
        // The sync continues, and the page shows its state.
        if (!(error instanceof KrmhubError) || error.code !== 'unavailable') throw error;
      }
      return c.redirect(site.at(sourcesPath({ catalog: name, synced: source })), 303);
    },
  );
}
