/**
 * The search page: results, facets, and suggestions for a search without results.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import type { SearchResult } from '@krmhub/api/model';
import { Group, REQUEST_LIMITS, SearchParameters } from '@krmhub/api/parameters';
import {
  formatSearch,
  namedThing,
  parseSearch,
  type SearchExpression,
  type SearchFilters,
} from '@krmhub/api/search-syntax';
import type { FacetCount, SearchStore, SearchPage as StoredPage } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import { searchItem } from '../../http/presentation.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { SigningTrust } from '../../publish/trust/signing-trust.js';
import type { FindStore } from '../../store/find-record.js';
import { searchQuery } from '../../store/search/search-query.js';
import { functionPath, groupPath, releasePath, type SearchLink, searchPath } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { GroupPage } from './group-page.js';
import { SearchPage } from './search-page.js';
import { chips, type Search } from './search-view.js';

export const SEARCH_ROUTES = {
  searchPage: createRoute({
    method: 'get',
    path: '/functions',
    request: { query: SearchParameters.omit({ limit: true }) },
    responses: { 200: { description: 'A page of functions' } },
  }),
  groupPage: createRoute({
    method: 'get',
    path: '/functions/{group}',
    request: {
      params: z.object({ group: Group }),
      query: SearchParameters.pick({ cursor: true }),
    },
    responses: { 200: { description: 'The functions of a group' } },
  }),
} as const;

/** Functions on a page of a group. */
const GROUP_PAGE = 50;

export interface SearchPageDeps {
  store: SearchStore & FindStore;
  trust: SigningTrust;
  site: Site;
}

export function searchRoutes(app: RegistryApp, { site, store, trust }: SearchPageDeps): void {
  const redirect = (c: RegistryContext, path: string) => c.redirect(site.at(path), 302);

  /** Returns the page of a function or release that the text names, with any case of the kind, or by a digest. */
  const namedPage = async (expression: SearchExpression): Promise<string | undefined> => {
    if (expression.terms.length !== 1) return undefined;
    const { name, digest } = namedThing(expression);
    if (digest !== undefined) {
      const [release, ...others] = await store.releasesWith(digest);
      return release === undefined || others.length > 0 ? undefined : releasePath(release);
    }
    if (name === undefined) return undefined;
    const { group, kind, release } = name;
    const fn = await store.function(group, kind);
    const hasRelease = fn?.releases.some((one) => one.release === release);
    if (fn !== undefined && release !== undefined && hasRelease === true) {
      return releasePath({ ...fn, release });
    }
    const found =
      fn ?? (await store.servedEntries(group, kind))[0] ?? (await store.takedowns(group, kind))[0];
    return found && functionPath(found);
  };

  const shown = (page: StoredPage) => ({
    ...page,
    items: page.items.map((item) => searchItem(trust.policies, item)),
  });

  /** Tags with results, to suggest if nothing was found. */
  const frequentTags = async (): Promise<FacetCount[]> => (await store.search({ limit: 1 })).facets.tag;

  servePage(app, SEARCH_ROUTES.searchPage, {}, async (c, { query }) => {
    const { q = '', sort: order, cursor, ...given } = query;
    const filters = Object.fromEntries(
      Object.entries(given).map(([name, values]) => [name, values && [...new Set(values)]]),
    ) as typeof given;
    // URLs omit default values.
    const sort = order === 'relevance' ? undefined : order;
    const search: Search = { ...filters, q, sort, cursor };
    refuseTooMany(filters, search);
    const expression = parseSearch(q);
    const typed = Object.entries(expression.filters) as [keyof SearchFilters, string[]][];
    if (typed.length > 0) {
      // Filters are links of the page, so they leave the text.
      const merged = { ...search, q: formatSearch({ ...expression, filters: {} }), cursor: undefined };
      for (const [name, values] of typed) merged[name] = [...new Set([...(search[name] ?? []), ...values])];
      return redirect(c, searchPath(merged));
    }
    const found = await namedPage(expression);
    if (found !== undefined) return redirect(c, found);

    const result = shown(
      await store.search(searchQuery({ ...query, limit: REQUEST_LIMITS.defaultSearchLimit })),
    );
    return pageResponse(c, site, {
      head: {
        title: searchTitle(search, result),
        description: 'Search the functions of this registry by words, tags, groups, owners, and more.',
        path: '/functions',
        section: 'functions',
        isIndexed: false,
        search: null,
      },
      body: (
        <SearchPage search={search} result={result} tags={result.total === 0 ? await frequentTags() : []} />
      ),
    });
  });

  servePage(app, SEARCH_ROUTES.groupPage, {}, async (c, { params: { group }, query: { cursor } }) => {
    const found = await store.search({
      group: [group],
      sort: 'name',
      limit: GROUP_PAGE,
      ...defined({ cursor }),
    });
    if (found.total === 0) {
      throw new KrmhubError('not-found', `group ${group} has no functions`, {
        hint: 'Search for the function.',
      });
    }
    return pageResponse(c, site, {
      head: {
        title: `Functions of ${group}`,
        description: `The KRM functions of the group ${group} in this registry.`,
        path: groupPath(group),
        section: 'functions',
        isIndexed: cursor === undefined,
      },
      body: <GroupPage group={group} result={shown(found)} cursor={cursor} />,
    });
  });
}

function searchTitle(search: Search, result: SearchResult): string {
  const asked = chips(search, result).map(({ title, value }) =>
    title === 'Text' ? value.trim() : `${title.toLowerCase()} ${value}`,
  );
  return asked.length === 0 ? 'Functions' : `${asked.join(', ')} – functions`;
}

/** Throws `invalid-request`: each link to another search on the page repeats all of this one. */
function refuseTooMany(
  filters: Readonly<Record<string, readonly string[] | undefined>>,
  search: Search,
): void {
  const { maxSearchFilters, maxSearchAddressLength } = SERVER_LIMITS;
  const count = Object.values(filters).reduce((sum, values = []) => sum + values.length, 0);
  const link: SearchLink = { ...search, cursor: undefined };
  if (count <= maxSearchFilters && searchPath(link).length <= maxSearchAddressLength) return;
  throw new KrmhubError('invalid-request', 'too many search filters', {
    hint: `Use at most ${maxSearchFilters} filters, and a URL of at most ${maxSearchAddressLength} characters.`,
  });
}
