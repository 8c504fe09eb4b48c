import type { SearchResult } from '@krmhub/api/model';
import type { FacetCount } from '@krmhub/catalog';
import { HOME, searchPath } from '../addresses.js';
import { Empty } from '../parts/empty.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { chips, type Search } from './search-view.js';

const SAMPLES = 8;

/** Repeats the search with its filters, and suggests searches with results. */
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
        The <a href={at(HOME)}>first page</a> shows how to publish a function.
      </p>
    );
  }
  return (
    <Empty title={asked.length === 1 ? 'No function matches:' : 'No function matches all of these filters:'}>
      <ul>
        {asked.map(({ title, value, path }) => (
          <li>
            {title.toLowerCase()}{' '}
            <strong>
              <Text value={value} max={200} />
            </strong>
            {asked.length === 1 ? null : (
              <>
                {' – '}
                <a href={at(path)} rel="nofollow">
                  search without this filter
                </a>
              </>
            )}
          </li>
        ))}
      </ul>
      <p>
        Try shorter words or fewer filters. <a href={at(searchPath())}>Show all functions.</a>
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
    </Empty>
  );
}
