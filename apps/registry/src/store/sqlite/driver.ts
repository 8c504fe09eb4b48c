import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';

/**
 * Returns better-sqlite3 12 for Node older than 22, else 13. No single version supports both: 12 crashes when a
 * statement is collected on Node 24.19 and later (nodejs/node#65446), and 13 requires Node 22.
 */
export function driverFor(nodeVersion: string): 'better-sqlite3' | 'better-sqlite3-13' {
  return Number(nodeVersion.split('.')[0]) < 22 ? 'better-sqlite3' : 'better-sqlite3-13';
}

export const Database: typeof BetterSqlite3 = createRequire(import.meta.url)(
  driverFor(process.versions.node),
);
