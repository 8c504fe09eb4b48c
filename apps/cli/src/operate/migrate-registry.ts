import { dataPaths, migrateDatabase } from '@krmhub/registry/operate';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { resolveStorage } from './data-folder.js';

export interface MigrateOptions {
  data?: string;
  databaseUrl?: string;
  output: OutputFormat;
}

/** Applies the migrations of this version to the database of a registry. */
export async function migrateRegistry(io: Io, options: MigrateOptions): Promise<void> {
  const { dataFolder, databaseUrl } = await resolveStorage(io, options);
  const { place, applied } = await migrateDatabase(dataPaths(dataFolder), databaseUrl);
  await printData(io, options.output, { applied }, async () => undefined);
  const where = 'file' in place ? place.file : 'PostgreSQL';
  await printLine(
    io,
    applied === 0
      ? `the database in ${escapeControls(where)} has all migrations of this version`
      : `applied ${plural(applied, 'migration')} to the database in ${escapeControls(where)}`,
  );
}
