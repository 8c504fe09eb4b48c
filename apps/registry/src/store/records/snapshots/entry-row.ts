import type { CatalogEntryRow, RenderedEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type StatementCall, text } from '../../sql/statement.js';
import type { catalogFunctions } from '../schema/schema.js';

/** Columns of an entry row as SQL returns them. */
export interface EntryRow {
  group: string;
  kind: string;
  entry: Digest | null;
  /** JSON. */
  selection: string;
}

const add = text(
  'INSERT INTO entry (digest, yaml, json) VALUES (:digest, :yaml, :json) ON CONFLICT (digest) DO NOTHING',
);

/** Stores a rendered entry, unless it is stored. */
export function addEntry({ digest, yaml, json }: RenderedEntry): StatementCall {
  return add.later({ digest, yaml, json });
}

/** SQL condition: an entry row is one at a serial. */
export const AT_SERIAL = 'from_serial <= :serial AND (to_serial IS NULL OR to_serial > :serial)';

export function toEntryRow({ selection, ...row }: EntryRow): CatalogEntryRow {
  return fromEntryRow({ ...row, selection: JSON.parse(selection) as StoredSelection });
}

type StoredSelection = (typeof catalogFunctions.$inferSelect)['selection'];

export function fromEntryRow(
  row: Omit<EntryRow, 'selection'> & { selection: StoredSelection },
): CatalogEntryRow {
  const { group, kind, entry, selection } = row;
  return { group, kind, ...selection, ...defined({ entry: entry ?? undefined }) };
}
