import type { CatalogEntryRow } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import type { catalogFunctions } from '../schema/schema.js';

/** Columns of an entry row as SQL returns them. */
export interface EntryRow {
  group: string;
  kind: string;
  entry: Digest | null;
  /** JSON. */
  selection: string;
}

export function toEntryRow({ selection, ...row }: EntryRow): CatalogEntryRow {
  return fromEntryRow({ ...row, selection: JSON.parse(selection) as StoredSelection });
}

type StoredSelection = (typeof catalogFunctions.$inferSelect)['selection'];

export function fromEntryRow(
  row: Omit<EntryRow, 'selection'> & { selection: StoredSelection },
): CatalogEntryRow {
  const { group, kind, entry, selection } = row;
  return { group, kind, ...selection, ...(entry !== null && { entry }) };
}
