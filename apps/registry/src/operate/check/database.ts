import { type Check, damage, FROM_BACKUP } from './finding.js';

/** Largest number of problems that SQLite reports. */
const MAX_PROBLEMS = 100;

/** Runs SQLite's own checks: pages, indexes, constraints, foreign keys. */
export const checkDatabase: Check = async function* ({ client }) {
  const problems = client.pragma(`integrity_check(${MAX_PROBLEMS})`) as { integrity_check: string }[];
  for (const { integrity_check: problem } of problems) {
    if (problem !== 'ok') yield damage('registry.db', problem, FROM_BACKUP);
  }
  const references = client.pragma('foreign_key_check') as { table: string; rowid: number; parent: string }[];
  for (const { table, rowid, parent } of references) {
    yield damage(`row ${rowid} of ${table}`, `refers to a missing row of ${parent}`, FROM_BACKUP);
  }
};
