import type { FacetCount } from '@krmhub/catalog';
import { searchPath } from '../addresses.js';
import { Empty } from '../parts/empty.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { chips, type Search } from './search-view.js';

const SAMPLES = 8;

/** Says what was looked for and what could be left out, and offers what would be found. */
export function NothingFound({ search, tags }: { search: Search; tags: readonly FacetCount[] }) {
  const { at } = useSite();
  const asked = chips(search);
  if (asked.length === 0) {
    return (
      <Empty title="This registry has no functions yet.">
        <p>
          The <a href={at('/')}>first page</a> says how to publish one.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing is found for all of this together.">
      <p>Search without</p>
      <ul>
        {asked.map(({ title, value, path }) => (
          <li>
            <a href={at(path)} rel="nofollow">
              {title.toLowerCase()} “<Text value={value} max={100} />”
            </a>
          </li>
        ))}
        <li>
          <a href={at(searchPath())}>all of it: every function</a>
        </li>
      </ul>
      {tags.length === 0 ? null : (
        <>
          <p>Tags of functions here:</p>
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
