import { createRequire } from 'node:module';
import { KrmhubError } from '@krmhub/schema/error';
import type BetterSqlite3 from 'better-sqlite3';

/**
 * Returns better-sqlite3 12 for Node older than 22, else 13. No single version supports both: 12 crashes when a
 * statement is collected on Node 24.19 and later (nodejs/node#65446), and 13 requires Node 22.
 */
export function driverFor(nodeVersion: string): { name: string; version: 12 | 13 } {
  return Number(nodeVersion.split('.')[0]) < 22
    ? { name: 'better-sqlite3', version: 12 }
    : { name: 'better-sqlite3-13', version: 13 };
}

/** The oldest minor versions that are tested. An older SQLite takes `wal_checkpoint(NOOP)` for a real checkpoint. */
const OLDEST_MINOR = { 12: 11, 13: 2 };

/**
 * Loads the driver. A checkout has both versions under two names; a user who installed krmhub with npm installs one of
 * them beside it, under its own name. Throws `unsupported` if there is none, or the wrong one.
 */
export function loadDriver(require: NodeJS.Require, nodeVersion: string): typeof BetterSqlite3 {
  const { name, version } = driverFor(nodeVersion);
  const missing = (problem: string, cause?: unknown) =>
    new KrmhubError('unsupported', `${problem}, which a registry needs`, {
      hint: `Run: npm install --global better-sqlite3@${version}`,
      cause,
    });
  for (const found of new Set([name, 'better-sqlite3'])) {
    try {
      const installed = require(`${found}/package.json`) as { version: string };
      const [major, minor] = installed.version.split('.').map(Number);
      if (major !== version)
        throw missing(`better-sqlite3 ${installed.version} does not support Node.js ${nodeVersion}`);
      const oldest = OLDEST_MINOR[version];
      if (minor! < oldest)
        throw missing(`better-sqlite3 ${installed.version} is older than ${version}.${oldest}`);
      return require(found) as typeof BetterSqlite3;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw missing('SQLite is not installed');
}

export const Database: typeof BetterSqlite3 = loadDriver(
  createRequire(import.meta.url),
  process.versions.node,
);
