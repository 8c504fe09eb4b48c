import type { SearchQuery } from '@krmhub/catalog';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { FACET_NAMES } from '@krmhub/schema/facets';

/** The last item of a page, in its order. */
export interface Position {
  score: number;
  age: number;
  group: string;
  kind: string;
}

/**
 * What the text of a query was taken for: words, an image reference or a digest, or misspelled words, then with the text
 * that was searched instead, or words not all of which are needed. It depends on which functions exist, so the first page decides for all pages.
 */
export type Reading = 'words' | 'image' | 'some' | { corrected: string };

const MAX_CURSOR_LENGTH = 4_096;

/** Encodes a position with a fingerprint of its query, because it is invalid for any other query. */
export function writeCursor(
  query: SearchQuery,
  reading: Reading,
  { score, age, group, kind }: Position,
): string {
  const fields = [fingerprint(query), reading, score, age, group, kind];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** Decodes a position. Throws `invalid-request` for a cursor of another query. */
export function readCursor(query: SearchQuery, cursor: string): { reading: Reading; position: Position } {
  const [of, reading, score, age, group, kind] = parse(cursor);
  if (
    of === fingerprint(query) &&
    isReading(reading) &&
    typeof score === 'number' &&
    typeof age === 'number' &&
    typeof group === 'string' &&
    typeof kind === 'string'
  ) {
    return { reading, position: { score, age, group, kind } };
  }
  throw new KrmhubError('invalid-request', 'the cursor does not belong to this search', {
    hint: 'Use the cursor of the previous page with the same text, filters, and order, or remove it.',
  });
}

function isReading(value: unknown): value is Reading {
  if (typeof value !== 'object' || value === null)
    return value === 'words' || value === 'image' || value === 'some';
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
  const { text = '', sort = 'relevance' } = query;
  const given = FACET_NAMES.flatMap((name) => {
    const values = query[name] ?? [];
    return values.length === 0 ? [] : [[name, [...values].sort()]];
  });
  return sha256(JSON.stringify([text.trim(), sort, given])).slice('sha256:'.length, 'sha256:'.length + 16);
}
