import type { z } from '@hono/zod-openapi';
import type { SearchParameters } from '@krmhub/api/parameters';
import type { SearchQuery } from '@krmhub/catalog';

/** A search as the store takes it, from the parameters of a request. */
export function searchQuery(parameters: z.output<typeof SearchParameters>): SearchQuery {
  const { q, limit, cursor, sort, ...filters } = parameters;
  const wanted: SearchQuery = { limit };
  if (q !== undefined && q.trim() !== '') wanted.text = q;
  if (cursor !== undefined) wanted.cursor = cursor;
  if (sort !== 'relevance') wanted.sort = sort;
  for (const name of Object.keys(filters) as (keyof typeof filters)[]) {
    const values = filters[name];
    if (values !== undefined) wanted[name] = [...new Set(values)];
  }
  return wanted;
}
