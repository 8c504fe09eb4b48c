import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';

/**
 * better-sqlite3 12, where Node is older than 22, else 13. No one release serves both: 12 ends the process when a
 * statement is collected on Node 24.19 and later (nodejs/node#65446), 13 is made for Node 22 and later.
 */
export function driverFor(nodeVersion: string): 'better-sqlite3' | 'better-sqlite3-13' {
  return Number(nodeVersion.split('.')[0]) < 22 ? 'better-sqlite3' : 'better-sqlite3-13';
}

export const Database: typeof BetterSqlite3 = createRequire(import.meta.url)(
  driverFor(process.versions.node),
);
