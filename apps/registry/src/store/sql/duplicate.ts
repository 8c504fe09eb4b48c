/** What the databases say of a row whose key another row has. */
const DUPLICATE = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY', '23505']);

/** Reports whether a statement failed because a row with the same key exists. */
export function isDuplicate(error: unknown): boolean {
  return DUPLICATE.has((error as { code?: string }).code ?? '');
}
