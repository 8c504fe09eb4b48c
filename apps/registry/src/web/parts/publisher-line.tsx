import { FACETS } from '@krmhub/schema/facets';
import { searchPath } from '../addresses.js';
import { useSite } from '../site.js';
import { Text } from './text.js';

const CLAIM = FACETS.publisher.title.toLowerCase();

/** Who a function says it is published by: free text of its author, which nothing verifies. */
export function PublisherLine({ publisher, max = 100 }: { publisher: string; max?: number }) {
  const { at } = useSite();
  return (
    <>
      {CLAIM}{' '}
      <a href={at(searchPath({ publisher: [publisher] }))} rel="nofollow">
        <Text value={publisher} max={max} />
      </a>
    </>
  );
}
