import type { SearchResult } from '@krmhub/api/model';
import type { FacetCount } from '@krmhub/catalog';
import { searchPath } from '../addresses.js';
import { FacetText } from '../parts/facet-text.js';
import { Pages } from '../parts/pages.js';
import { SearchBox } from '../parts/search-box.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { Facets } from './facets.js';
import { NoResults } from './no-results.js';
import { SearchResultItem } from './search-result.js';
import {
  type Chip,
  chips,
  facetViews,
  firstPage,
  orderLinks,
  otherParameters,
  type Search,
} from './search-view.js';

export function SearchPage({
  search,
  result,
  tags,
}: {
  search: Search;
  result: SearchResult;
  /** The most frequent tags of the registry, if nothing was found. */
  tags: readonly FacetCount[];
}) {
  const { at } = useSite();
  const { total, items, next } = result;
  const filters = chips(search, result);
  const isEmpty = total === 0 && filters.length === 0;
  return (
    <div class="search-page">
      <h1 class={filters.length === 0 ? '' : 'unseen'}>Functions</h1>
      <SearchBox id="search" value={search.q ?? ''} kept={otherParameters(search)} />
      {filters.length === 0 ? null : <Chips chips={filters} />}
      <div class="search-columns">
        {isEmpty ? null : <Facets views={facetViews(search, result)} />}
        <section class="found" aria-labelledby="found-title">
          <div class="found-head">
            <h2 id="found-title">{foundTitle(total, filters.length)}</h2>
            {total > 1 ? <Order search={search} /> : null}
          </div>
          {result.corrected === undefined ? null : (
            <p class="found-corrected">
              No function has the words “
              <Text value={search.q ?? ''} max={200} />
              ”. These are the results for{' '}
              <a href={at(searchPath({ ...firstPage(search), q: result.corrected }))} rel="nofollow">
                <Text value={result.corrected} max={200} />
              </a>
              .
            </p>
          )}
          {result.partial === true ? (
            <p class="found-corrected">
              No function has all of the words “
              <Text value={search.q ?? ''} max={200} />
              ”. These have most of them.
            </p>
          ) : null}
          {total === 0 ? (
            <NoResults search={search} result={result} tags={tags} />
          ) : (
            <ol class="found-list">
              {items.map((item) => (
                <SearchResultItem item={item} />
              ))}
            </ol>
          )}
          <Pages
            first={search.cursor === undefined ? undefined : searchPath(firstPage(search))}
            next={next === undefined ? undefined : searchPath({ ...search, cursor: next })}
          />
        </section>
      </div>
    </div>
  );
}

function foundTitle(total: number, filters: number): string {
  if (total === 0 && filters === 0) return 'No functions yet';
  if (total === 0) return `No function matches${filters === 1 ? '' : ' all of these filters'}`;
  return total === 1 ? '1 function' : `${total.toLocaleString('en')} functions`;
}

function Chips({ chips: all }: { chips: readonly Chip[] }) {
  const { at } = useSite();
  return (
    <ul class="chips" aria-label="Filters">
      {all.map(({ facet, title, value, path }) => (
        <li>
          <a class="chip" href={at(path)} rel="nofollow">
            <span class="chip-title">{title}</span> <FacetText facet={facet} value={value} max={60} />
            <span class="chip-remove" aria-hidden="true">
              ×
            </span>
            <span class="unseen"> – remove</span>
          </a>
        </li>
      ))}
      {all.length < 2 ? null : (
        <li>
          <a href={at(searchPath())}>Clear all</a>
        </li>
      )}
    </ul>
  );
}

function Order({ search }: { search: Search }) {
  const { at } = useSite();
  return (
    <nav class="order" aria-label="Order">
      <ul>
        {orderLinks(search).map(({ title, isChosen, path }) => (
          <li>
            <a href={at(path)} rel="nofollow" aria-current={isChosen ? 'true' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
