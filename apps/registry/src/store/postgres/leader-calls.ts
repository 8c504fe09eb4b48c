import type pg from 'pg';
import type { CallOutcome, CallRows } from '../../workers/processes/shared-database.js';
import { translatePostgresError } from './errors.js';
import type { CountStatements } from './session.js';

/** Tells all processes that there is something to read here; events have a notification without a payload. */
export const ABOUT_LEADER = 'leader';
const NOTIFY = `pg_notify('krmhub', '${ABOUT_LEADER}')`;

const ADD = `WITH added AS (INSERT INTO leader_call (id, method, input) VALUES ($1, $2, $3) RETURNING id)
  SELECT ${NOTIFY} FROM added`;
const REMIND = `SELECT ${NOTIFY}`;
const OPEN = 'SELECT id, method, input FROM leader_call WHERE outcome IS NULL ORDER BY at, id LIMIT 1000';
const SETTLE = `WITH settled AS (UPDATE leader_call SET outcome = $2 WHERE id = $1 AND outcome IS NULL RETURNING id)
  SELECT ${NOTIFY} FROM settled`;
const OUTCOMES = 'SELECT id, outcome FROM leader_call WHERE id = ANY($1::text[])';
const DELETE = 'DELETE FROM leader_call WHERE id = ANY($1::text[])';
const DELETE_OLD = `DELETE FROM leader_call WHERE at < clock_timestamp() - $1 * interval '1 millisecond'`;
const PUT_STATUS = `WITH put AS (INSERT INTO leader_status (id, status, at) VALUES (1, $1, clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET status = excluded.status, at = excluded.at RETURNING id)
  SELECT ${NOTIFY} FROM put WHERE $2`;
const STATUS = `SELECT status, extract(epoch FROM clock_timestamp() - at) * 1000 AS age FROM leader_status`;

/**
 * Calls to the leader as rows of tables that are not logged: they are only worth something while processes wait for
 * them, so they need no sync of the disk and no lock of writers.
 */
export function leaderCallRows(pool: pg.Pool, count: CountStatements = () => undefined): CallRows {
  const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => {
    count(1);
    try {
      return (await pool.query<Record<string, unknown>>({ text, values })).rows;
    } catch (error) {
      throw translatePostgresError(error);
    }
  };
  return {
    add: async (call) => {
      await query(ADD, [call.id, call.method, JSON.stringify(call.input)]);
    },
    remind: async () => {
      await query(REMIND);
    },
    open: async () =>
      (await query(OPEN)).map(({ id, method, input }) => ({
        id: id as string,
        method: method as string,
        input: JSON.parse(input as string) as unknown,
      })),
    settle: async (id, outcome) => {
      await query(SETTLE, [id, JSON.stringify(outcome)]);
    },
    outcomes: async (ids) =>
      (await query(OUTCOMES, [ids])).map(({ id, outcome }) => ({
        id: id as string,
        outcome: outcome === null ? undefined : (JSON.parse(outcome as string) as CallOutcome),
      })),
    delete: async (ids) => {
      await query(DELETE, [ids]);
    },
    deleteOld: async (milliseconds) => {
      await query(DELETE_OLD, [milliseconds]);
    },
    putStatus: async (status, isNew) => {
      await query(PUT_STATUS, [JSON.stringify(status), isNew]);
    },
    status: async () => {
      const [row] = await query(STATUS);
      return row && { status: JSON.parse(row.status as string) as unknown, age: row.age as number };
    },
  };
}
