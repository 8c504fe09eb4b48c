import type { SearchQuery } from '@krmhub/catalog';
import { KrmhubError, sha256 } from '@krmhub/schema';

/** Sort values of the last item of a page. */
export type Position = (string | number)[];

/**
 * What the text of a query was taken for: words, an image reference, or misspelled words, then with the words that were
 * searched instead. It depends on which functions exist, so the first page decides for all pages.
 */
export type Reading = 'words' | 'image' | { corrected: string };

const MAX_CURSOR_LENGTH = 4_096;

/** Encodes a position with a fingerprint of its query, because it is invalid for any other query. */
export function writeCursor(query: SearchQuery, reading: Reading, position: Position): string {
  return Buffer.from(JSON.stringify([fingerprint(query), reading, ...position])).toString('base64url');
}

/**
 * Decodes a position: numbers, as many as the reading has, then the name. Throws `invalid-request` for a cursor of
 * another query.
 */
export function readCursor(
  query: SearchQuery,
  cursor: string,
  countNumbers: (reading: Reading) => number,
): { reading: Reading; position: Position } {
  const [of, reading, ...position] = parse(cursor);
  if (of === fingerprint(query) && isReading(reading)) {
    const numbers = countNumbers(reading);
    const fits =
      position.length === numbers + 2 &&
      position.every((value, at) => typeof value === (at < numbers ? 'number' : 'string'));
    if (fits) return { reading, position: position as Position };
  }
  throw new KrmhubError('invalid-request', 'the cursor does not belong to this search', {
    hint: 'Use the cursor of the previous page with the same text, filters, and order, or remove it.',
  });
}

function isReading(value: unknown): value is Reading {
  if (typeof value !== 'object' || value === null) return value === 'words' || value === 'image';
  return typeof (value as { corrected?: unknown }).corrected === 'string';
}

function parse(cursor: string): unknown[] {
  if (cursor.length > MAX_CURSOR_LENGTH) return [];
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function fingerprint(query: SearchQuery): string {
  const { limit: _limit, cursor: _cursor, text = '', sort = 'relevance', ...filters } = query;
  const given = Object.entries(filters)
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => [name, [...values].sort()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return sha256(JSON.stringify([text.trim(), sort, given])).slice('sha256:'.length, 'sha256:'.length + 16);
}
