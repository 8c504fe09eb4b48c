import { existsSync } from 'node:fs';
import { KrmhubError } from '@krmhub/schema';
import type pg from 'pg';
import type { RowReader } from '../../store/copy/copy-rows.js';
import { type FillOptions, fillPostgres, fillSqlite, hasRows } from '../../store/copy/fill.js';
import {
  clearPostgresMark,
  clearSqliteMark,
  postgresMark,
  setPostgresMark,
  setSqliteMark,
  sqliteMark,
} from '../../store/copy/move-mark.js';
import { COPIED_TABLES } from '../../store/copy/tables.js';
import { dataPaths, prepareDataFolder } from '../../store/data-folder.js';
import { recordPostgres } from '../../store/database-place.js';
import { findLostDatabase } from '../../store/lost-database.js';
import { connect } from '../../store/postgres/client.js';
import { migratePostgres } from '../../store/postgres/migrate.js';
import { openConnection } from '../../store/sqlite/connection.js';
import { refuseRegistry } from '../backup/restore.js';
import { storeSharedSettings } from '../backup/shared-settings.js';
import { describePlace, type RegistryPlace } from './place.js';

/** The lock of the move to a database. */
const MOVE_LOCK = 0x6b726d76;

/** The database that a move fills. */
export interface MoveTarget {
  /** Stores all rows, and that the move is complete. */
  fill(rows: RowReader, options: FillOptions): Promise<void>;
  close(): Promise<void>;
}

/**
 * Prepares a place without a registry, or continues an interrupted move from the same source. Until it is filled, no
 * registry starts there. Returns undefined if the same source was moved there completely. Rejects with `usage` if it
 * has another registry.
 */
export async function openTarget(
  place: RegistryPlace,
  source: { name: string; isMovedHere: boolean },
): Promise<MoveTarget | undefined> {
  const { databaseUrl, dataFolder } = place;
  return databaseUrl === undefined
    ? sqliteTarget(dataFolder, source)
    : postgresTarget({ ...place, databaseUrl }, source);
}

async function sqliteTarget(
  dataFolder: string,
  { name, isMovedHere }: { name: string; isMovedHere: boolean },
): Promise<MoveTarget | undefined> {
  const { database } = dataPaths(dataFolder);
  const exists = existsSync(database);
  if (!exists || findLostDatabase(dataPaths(dataFolder)) !== undefined) await refuseRegistry(dataFolder);
  await prepareDataFolder(dataFolder);
  const connection = openConnection(database, { isMove: true });
  const { client } = connection;
  const mark = sqliteMark(client);
  if (exists && mark === undefined) {
    // A killed move may have made the database, and nothing else.
    const isFilled = COPIED_TABLES.some(
      ({ name: table }) => client.prepare(`SELECT 1 FROM "${table}" LIMIT 1`).get() !== undefined,
    );
    if (isFilled || !isMovedHere) connection.close();
    if (isFilled && isMovedHere) return undefined;
    if (!isMovedHere) await refuseRegistry(dataFolder);
  }
  if (mark !== undefined && (mark.role !== 'target' || mark.other !== name)) {
    connection.close();
    throw otherMove(dataFolder, mark.other);
  }
  client.transaction(() => setSqliteMark(client, { role: 'target', other: name })).immediate();
  return {
    fill: (rows, options) =>
      fillSqlite(connection, rows, {
        ...options,
        beforeCommit: async () => {
          clearSqliteMark(client);
          await options.beforeCommit?.();
        },
      }),
    close: async () => connection.close(),
  };
}

async function postgresTarget(
  place: RegistryPlace & { databaseUrl: string },
  { name, isMovedHere }: { name: string; isMovedHere: boolean },
): Promise<MoveTarget | undefined> {
  const { databaseUrl: url, dataFolder } = place;
  await migratePostgres(url, { isMove: true });
  const client = await connect(url);
  try {
    await lockTarget(client, place);
    const mark = await postgresMark(client);
    if (mark === undefined) {
      if (isMovedHere && (await hasRows(client))) {
        await client.end();
        return undefined;
      }
      await refuseRegistry(dataFolder);
    } else if (mark.role !== 'target' || mark.other !== name) {
      throw otherMove(describePlace(place), mark.other);
    }
    if (await hasRows(client)) throw otherRegistry(describePlace(place));
    await recordPostgres(await prepareDataFolder(dataFolder));
    await client.query('BEGIN');
    await setPostgresMark(client, { role: 'target', other: name });
    await client.query('COMMIT');
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return {
    fill: (rows, options) =>
      fillPostgres(client, rows, {
        ...options,
        beforeCommit: async () => {
          await clearPostgresMark(client);
          await storeSharedSettings(client, dataPaths(dataFolder));
          await options.beforeCommit?.();
        },
      }),
    close: () => client.end().catch(() => undefined),
  };
}

async function lockTarget(client: pg.Client, place: RegistryPlace): Promise<void> {
  const { rows } = await client.query<{ locked: number }>(
    `SELECT pg_try_advisory_lock(${MOVE_LOCK}) AS locked`,
  );
  if (rows[0]?.locked) return;
  throw new KrmhubError('unavailable', `another process moves a registry to ${describePlace(place)}`, {
    hint: 'Wait for it, or stop it.',
  });
}

function otherRegistry(name: string): KrmhubError {
  return new KrmhubError('usage', `${name} already contains a registry`, {
    hint: 'Nothing was changed. Move to an empty database.',
  });
}

function otherMove(name: string, other: string): KrmhubError {
  return new KrmhubError('usage', `${name} has an unfinished move from ${other}, or was moved`, {
    hint: 'Continue that move, or use an empty place.',
  });
}
