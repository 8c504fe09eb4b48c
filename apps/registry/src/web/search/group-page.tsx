import type { SearchResult } from '@krmhub/api/model';
import { groupPath, searchPath } from '../addresses.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { SearchResultItem } from './search-result.js';

/** Publishers that a group's page names. */
const MAX_PUBLISHERS = 5;

/** The functions of a group, by name. */
export function GroupPage({
  group,
  result,
  cursor,
}: {
  group: string;
  result: SearchResult;
  cursor: string | undefined;
}) {
  const { at } = useSite();
  const { total, items, next, facets } = result;
  const publishers = facets.publisher.filter(({ value }) => value !== '').slice(0, MAX_PUBLISHERS);
  return (
    <div class="search-page">
      <h1>{group}</h1>
      <p>
        {total === 1 ? '1 function' : `${total.toLocaleString('en')} functions`}
        {publishers.length === 0 ? null : (
          <>
            {publishers.length === 1 ? '; the publisher is ' : '; the publishers are '}
            {publishers.map(({ value }, at_) => (
              <>
                {at_ === 0 ? '' : ', '}
                <Text value={value} max={80} />
              </>
            ))}
          </>
        )}
        . <a href={at(searchPath({ group: [group] }))}>Search in this group</a>
      </p>
      <ol class="found-list">
        {items.map((item) => (
          <SearchResultItem item={item} />
        ))}
      </ol>
      <Pages
        first={cursor === undefined ? undefined : groupPath(group)}
        next={next === undefined ? undefined : groupPath(group, { cursor: next })}
      />
    </div>
  );
}
