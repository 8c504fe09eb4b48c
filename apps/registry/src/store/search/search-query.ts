import type { z } from '@hono/zod-openapi';
import type { SearchParameters } from '@krmhub/api/parameters';
import type { SearchQuery } from '@krmhub/catalog';

/** Converts the parameters of a request to a query for the store. */
export function searchQuery(parameters: z.output<typeof SearchParameters>): SearchQuery {
  const { q, limit, cursor, sort, ...filters } = parameters;
  const query: SearchQuery = { limit };
  if (q !== undefined && q.trim() !== '') query.text = q;
  if (cursor !== undefined) query.cursor = cursor;
  if (sort !== 'relevance') query.sort = sort;
  for (const name of Object.keys(filters) as (keyof typeof filters)[]) {
    const values = filters[name];
    if (values !== undefined) query[name] = [...new Set(values)];
  }
  return query;
}
