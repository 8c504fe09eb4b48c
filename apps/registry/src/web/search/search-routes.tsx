/**
 * The search page: results, facets, and suggestions for a search without results.
 *
 * @module
 */

import { createRoute } from '@hono/zod-openapi';
import { REQUEST_LIMITS, SearchParameters } from '@krmhub/api/parameters';
import type { FacetCount, SearchStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import { searchItem } from '../../http/presentation.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { SigningTrust } from '../../publish/trust/signing-trust.js';
import type { FindStore } from '../../store/find-record.js';
import { searchQuery } from '../../store/search/search-query.js';
import { readSearchText } from '../../store/search/search-text.js';
import { functionPath, releasePath, type SearchLink, searchPath } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { typedFilters } from './query-tokens.js';
import { SearchPage } from './search-page.js';
import type { Search } from './search-view.js';

export const SEARCH_ROUTES = {
  searchPage: createRoute({
    method: 'get',
    path: '/functions',
    request: { query: SearchParameters.omit({ limit: true }) },
    responses: { 200: { description: 'A page of functions' } },
  }),
} as const;

export interface SearchPageDeps {
  store: SearchStore & FindStore;
  trust: SigningTrust;
  site: Site;
}

export function searchRoutes(app: RegistryApp, { site, store, trust }: SearchPageDeps): void {
  const redirect = (c: RegistryContext, path: string) => c.redirect(site.at(path), 302);

  /** Returns the page of a function or release that the text names, with any case of the kind. */
  const namedPage = async (q: string): Promise<string | undefined> => {
    const { name } = readSearchText(q);
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
    const typed = typedFilters(q);
    if (typed !== undefined) {
      const merged = { ...search, q: typed.text, cursor: undefined };
      for (const [name, values] of Object.entries(typed.filters) as [
        keyof typeof typed.filters,
        string[],
      ][]) {
        merged[name] = [...new Set([...(search[name] ?? []), ...values])];
      }
      return redirect(c, searchPath(merged));
    }
    const found = await namedPage(q);
    if (found !== undefined) return redirect(c, found);

    const page = await store.search(searchQuery({ ...query, limit: REQUEST_LIMITS.defaultSearchLimit }));
    const result = { ...page, items: page.items.map((item) => searchItem(trust.policies, item)) };
    return pageResponse(c, site, {
      head: {
        title: q.trim() === '' ? 'Functions' : `${q.trim()} – functions`,
        description: 'Search the functions of this registry by words, tags, groups, publishers, and more.',
        path: '/functions',
        section: 'functions',
        isIndexed: false,
        search: null,
      },
      body: (
        <SearchPage search={search} result={result} tags={page.total === 0 ? await frequentTags() : []} />
      ),
    });
  });
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
