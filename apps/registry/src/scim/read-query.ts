import { hasUnseen } from '@krmhub/catalog';
import type { JsonObject } from '@krmhub/schema';
import type { DirectoryFilter, Slice } from '../store/directory-store.js';
import { type Filterable, readFilter } from './read-path.js';
import { ScimError } from './scim-error.js';

/** Resources of a page: at most, and unless the request has another number. */
export const PAGE_SIZE = { max: 200, usual: 100 };
const MAX_START = 1_000_000_000;

/** Reads what a list has (RFC 7644, section 3.4.2). The filter is `none` if nothing can match it. */
export function readListQuery(
  query: URLSearchParams,
  filterable: Filterable,
): { filter: DirectoryFilter | 'none' | undefined; slice: Slice; startIndex: number } {
  const startIndex = Math.min(Math.max(readNumber(query, 'startIndex', 1), 1), MAX_START);
  const limit = Math.min(Math.max(readNumber(query, 'count', PAGE_SIZE.usual), 0), PAGE_SIZE.max);
  const text = query.get('filter');
  const filter = text === null ? undefined : readFilter(text, filterable);
  const canMatch = filter === undefined || !hasUnseen(filter.value);
  return { filter: canMatch ? filter : 'none', slice: { offset: startIndex - 1, limit }, startIndex };
}

function readNumber(query: URLSearchParams, name: string, usual: number): number {
  const text = query.get(name);
  if (text === null || text === '') return usual;
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new ScimError('invalidValue', `${name} is not a number`);
}

/** Which attributes a client wants of resources. */
export interface Projection {
  has(attribute: string): boolean;
  of(resource: JsonObject): JsonObject;
}

const ALWAYS: readonly string[] = ['schemas', 'id'];

/** Reads `attributes` and `excludedAttributes` (RFC 7644, section 3.9), of which the first part of each counts. */
export function readProjection(query: URLSearchParams): Projection {
  const names = (name: string) =>
    query
      .get(name)
      ?.split(',')
      .map((text) =>
        text
          .trim()
          .replace(/^urn:[^,]*:(?=[a-z]+(?:\.|$))/i, '')
          .replace(/\..*$/, '')
          .toLowerCase(),
      );
  const [wanted, excluded = []] = [names('attributes'), names('excludedAttributes')];
  const has = (attribute: string) => {
    const name = attribute.toLowerCase();
    return ALWAYS.includes(name) || ((wanted?.includes(name) ?? true) && !excluded.includes(name));
  };
  return {
    has,
    of: (resource) => Object.fromEntries(Object.entries(resource).filter(([name]) => has(name))),
  };
}
