import type { SearchResult } from '@krmhub/api/model';
import type { FacetCount } from '@krmhub/catalog';
import { HOME, searchPath } from '../addresses.js';
import { FacetText } from '../parts/facet-text.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { chips, type Search } from './search-view.js';

const SAMPLES = 8;

/** Suggests searches with results: without one of several filters, or for a tag. */
export function NoResults({
  search,
  result,
  tags,
}: {
  search: Search;
  result: SearchResult;
  tags: readonly FacetCount[];
}) {
  const { at } = useSite();
  const asked = chips(search, result);
  if (asked.length === 0) {
    return (
      <p class="found-corrected">
        The <a href={at(HOME)}>home page</a> shows how to publish a function.
      </p>
    );
  }
  return (
    <div class="empty">
      {asked.length === 1 ? null : (
        <ul>
          {asked.map(({ facet, title, value, path }) => (
            <li>
              {title.toLowerCase()}{' '}
              <strong>
                <FacetText facet={facet} value={value} max={200} />
              </strong>
              {' – '}
              <a href={at(path)} rel="nofollow">
                search without this filter
              </a>
            </li>
          ))}
        </ul>
      )}
      <p>
        Try {asked.length === 1 ? 'shorter or other words' : 'shorter words or fewer filters'}.{' '}
        <a href={at(searchPath())}>Show all functions.</a>
      </p>
      {tags.length === 0 ? null : (
        <>
          <p>Tags in this registry:</p>
          <ul class="tags">
            {tags.slice(0, SAMPLES).map(({ value, count }) => (
              <li>
                <a href={at(searchPath({ tag: [value] }))}>
                  <Text value={value} max={80} /> <span class="quiet">{count.toLocaleString('en')}</span>
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
