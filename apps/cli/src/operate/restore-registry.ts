import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { parseTakedowns, restoreRegistry } from '@krmhub/registry/operate';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printWarning } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { resolveStorage } from './data-folder.js';

export interface RestoreOptions {
  data?: string;
  databaseUrl?: string;
  blobUrl?: string;
  takedowns?: string;
  output: OutputFormat;
}

/** Creates a data folder from a backup, after verifying the backup. */
export async function restoreFromBackup(io: Io, backup: string, options: RestoreOptions): Promise<void> {
  const storage = await resolveStorage(io, options);
  const { dataFolder } = storage;
  const { takedowns: file } = options;
  const takedowns = file === undefined ? [] : parseTakedowns(await readTakedowns(io, file), file);
  const progress = new Progress(io);
  const manifest = await restoreRegistry({
    ...storage,
    backup: path.resolve(io.cwd, backup),
    takedowns,
    now: io.now(),
    progress: (line) => progress.show(line),
  }).finally(() => progress.clear());
  await printData(io, options.output, { folder: dataFolder, ...manifest }, async () => undefined);
  const { functions, releases } = manifest.counts;
  const counts = `${plural(functions, 'function')} and ${plural(releases, 'release')}`;
  await printLine(
    io,
    `restored ${counts} from the backup of ${manifest.madeAt} to ${escapeControls(dataFolder)}`,
  );
  await printWarning(io, manifest.notice);
  await printWarning(
    io,
    `Tokens, users, the Access document, owners, trusted publishers, and signing policies are as they were at ${manifest.madeAt}: a token or a signer that was revoked later is valid again, and what was made private later is public again. Start the registry where only you can reach it, and repeat these changes: \`krmhub token list\`, \`krmhub user list\`, \`krmhub access show\`, \`krmhub owner list\`, \`krmhub publisher list\`, and \`krmhub policy list\` show what there is.`,
  );
  await printLine(
    io,
    'catalogs keep their digests; the registry regenerates catalog files at the first request',
  );
}

async function readTakedowns(io: Io, file: string): Promise<Uint8Array> {
  try {
    return await readFile(path.resolve(io.cwd, file));
  } catch (error) {
    throw diskError(error, `cannot read ${file}`);
  }
}
