import path from 'node:path';
import { backupRegistry } from '@krmhub/registry/operate';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { resolveStorage } from './data-folder.js';

export interface BackupOptions {
  data?: string;
  databaseUrl?: string;
  out: string;
  output: OutputFormat;
}

/** Copies a data folder and verifies the copy. A signal stops it and removes what was copied. */
export async function backUpRegistry(io: Io, options: BackupOptions): Promise<void> {
  const out = path.resolve(io.cwd, options.out);
  const storage = await resolveStorage(io, options);
  const progress = new Progress(io);
  let stopped = false;
  void io.waitForStop().then(() => {
    stopped = true;
  });
  const manifest = await backupRegistry({
    ...storage,
    out,
    now: io.now(),
    progress: async (line) => {
      if (stopped) {
        throw new KrmhubError('unavailable', `backup to ${out} interrupted: nothing was written`, {
          hint: 'Run the same command again.',
        });
      }
      await progress.show(line);
    },
  }).finally(() => progress.clear());
  await printData(io, options.output, { folder: out, ...manifest }, async () => undefined);
  const { functions, releases } = manifest.counts;
  const counts = `${plural(functions, 'function')} and ${plural(releases, 'release')}`;
  await printLine(io, `backed up ${counts} to ${escapeControls(out)}; the copy is verified`);
}
