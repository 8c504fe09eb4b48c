/**
 * What operators' commands do with a data folder, besides serving it: checks, backups, moves, and keys.
 *
 * This file exports what the command line needs for them.
 *
 * @module
 */

export { parseTakedowns } from '../publish/takedown/record.js';
export { loadConfig } from '../server/config-file.js';
export { dataPaths, prepareDataFolder } from '../store/data-folder.js';
export { migrateDatabase } from '../store/migrate-database.js';
export { type BackupInput, backupRegistry } from './backup/backup.js';
export type { Manifest } from './backup/manifest.js';
export { type RestoreInput, restoreRegistry } from './backup/restore.js';
export { type CheckResult, checkRegistry } from './check/check.js';
export type { Finding } from './check/finding.js';
export { type Moved, type MoveInput, moveRegistry, undoMove } from './move/move.js';
export { type ListedKey, listRegistryKeys, rotateRegistryKey } from './operate-keys.js';
