/**
 * The mark of a move in a database: a table that only `krmhub move` makes. A registry does not start on a marked
 * database. The source of a move also has triggers, so that the database itself rejects changes of registries that
 * serve it: nothing else stops processes on other machines, and other writes cost nothing.
 */

import { KrmhubError } from '@krmhub/schema';
import type BetterSqlite3 from 'better-sqlite3';
import type pg from 'pg';
import { COPIED_TABLES } from './tables.js';

export interface MoveMark {
  /** `source`: moved, or being moved. `target`: a move to it is not complete. */
  role: 'source' | 'target';
  /** The other place. */
  other: string;
}

/** SQLSTATE of changes that a moved database rejects. */
export const MOVED_STATE = 'KRM01';
export const MOVED = 'the registry is moved to another place, and accepts no changes here';
export const MOVED_HINT = 'Try again later, or at the new address of the registry.';

const CREATE = `CREATE TABLE "move" ("role" text NOT NULL, "other" text NOT NULL)`;
const READ = 'SELECT "role", "other" FROM "move"';
const DROP = 'DROP TABLE IF EXISTS "move"';
/** A read with a token changes it. */
const UNBLOCKED = ['token.last_used_at'];

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const insertMark = ({ role, other }: MoveMark): string =>
  `INSERT INTO "move" VALUES (${quoted(role)}, ${quoted(other)})`;

/** Events of a table that are blocked. */
function blockedEvents({ name, columns }: (typeof COPIED_TABLES)[number]): Record<string, string> {
  const changed = columns.filter((column) => !UNBLOCKED.includes(`${name}.${column.name}`));
  return {
    insert: 'INSERT',
    delete: 'DELETE',
    update: `UPDATE OF ${changed.map((column) => `"${column.name}"`).join(', ')}`,
  };
}

/** Each trigger of each table. */
function triggers<Result>(make: (table: string, trigger: string, event: string) => Result): Result[] {
  return COPIED_TABLES.flatMap((table) =>
    Object.entries(blockedEvents(table)).map(([kind, event]) =>
      make(table.name, `moved_${kind}_${table.name}`, event),
    ),
  );
}

export function sqliteMark(client: BetterSqlite3.Database): MoveMark | undefined {
  const found = client.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'move'`).get();
  return found === undefined ? undefined : client.prepare<[], MoveMark>(READ).get();
}

/** In the transaction of the caller. */
export function setSqliteMark(client: BetterSqlite3.Database, mark: MoveMark): void {
  clearSqliteMark(client);
  client.exec(`${CREATE}; ${insertMark(mark)}`);
  if (mark.role === 'target') return;
  triggers((table, trigger, event) =>
    client.exec(
      `CREATE TRIGGER "${trigger}" BEFORE ${event} ON "${table}" BEGIN SELECT RAISE(ABORT, ${quoted(MOVED)}); END`,
    ),
  );
}

/** In the transaction of the caller. */
export function clearSqliteMark(client: BetterSqlite3.Database): void {
  client.exec(DROP);
  triggers((_, trigger) => client.exec(`DROP TRIGGER IF EXISTS "${trigger}"`));
}

export async function postgresMark(client: pg.Client): Promise<MoveMark | undefined> {
  const { rows } = await client.query<{ found: number }>(`SELECT to_regclass('move') IS NOT NULL AS found`);
  if (!rows[0]?.found) return undefined;
  return (await client.query<MoveMark>(READ)).rows[0];
}

/** In the transaction of the caller. */
export async function setPostgresMark(client: pg.Client, mark: MoveMark): Promise<void> {
  await clearPostgresMark(client);
  await client.query(`${CREATE}; ${insertMark(mark)}`);
  if (mark.role === 'target') return;
  await client.query(
    `CREATE FUNCTION krmhub_moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       RAISE EXCEPTION USING ERRCODE = '${MOVED_STATE}', MESSAGE = ${quoted(MOVED)};
     END $$;
     ${triggers(
       (table, trigger, event) =>
         `CREATE TRIGGER "${trigger}" BEFORE ${event} ON "${table}" FOR EACH ROW EXECUTE FUNCTION krmhub_moved();`,
     ).join('\n')}`,
  );
}

/** In the transaction of the caller. */
export async function clearPostgresMark(client: pg.Client): Promise<void> {
  await client.query(`${DROP}; DROP FUNCTION IF EXISTS krmhub_moved() CASCADE`);
}

/** Throws `unavailable` if a registry must not start on the database. */
export function refuseMoved(mark: MoveMark | undefined): void {
  if (mark === undefined) return;
  const { role, other } = mark;
  throw role === 'source'
    ? new KrmhubError('unavailable', `the registry is moved to ${other}`, {
        hint: 'Serve it there. If the move was interrupted, run the same command again. To serve it here again, run `krmhub move --undo`.',
      })
    : new KrmhubError(
        'unavailable',
        `the move of a registry from ${other} to this database is not complete`,
        {
          hint: 'Run the same `krmhub move` command again.',
        },
      );
}

/** The error of a rejected change. */
export function movedError(cause: unknown): KrmhubError {
  return new KrmhubError('unavailable', MOVED, { hint: MOVED_HINT, cause });
}
