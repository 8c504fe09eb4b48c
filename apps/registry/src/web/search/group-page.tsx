import type { SearchResult } from '@krmhub/api/model';
import { groupPath, searchPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Pages } from '../parts/pages.js';
import { NamePart } from '../parts/text.js';
import { useSite } from '../site.js';
import { SearchResultItem } from './search-result.js';

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
  const { total, items, next } = result;
  return (
    <div class="search-page">
      <h1>
        <NamePart value={group} />
      </h1>
      <p>
        {counted(total, 'function')}. <a href={at(searchPath({ group: [group] }))}>Search in this group</a>
      </p>
      <h2 class="unseen">Functions</h2>
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
