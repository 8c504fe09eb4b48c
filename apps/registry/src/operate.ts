/** What operators' commands do with a data folder, without serving it. */
export { type BackupInput, backupRegistry } from './backup/backup.js';
export type { Manifest } from './backup/manifest.js';
export { type RestoreInput, restoreRegistry } from './backup/restore.js';
export { type CheckResult, checkRegistry } from './check/check.js';
export type { Finding } from './check/finding.js';
export { type Moved, type MoveInput, moveRegistry, undoMove } from './move/move.js';
export { loadConfig } from './server/config-file.js';
export { type ListedKey, listRegistryKeys, rotateRegistryKey } from './signatures/operate-keys.js';
export { dataPaths, prepareDataFolder } from './store/data-folder.js';
export { migrateDatabase } from './store/migrate-database.js';
export { parseTakedowns } from './takedown/record.js';
