import { type MoveInput, moveRegistry, undoMove } from '@krmhub/registry/operate';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { resolveStorage } from './data-folder.js';

export interface MoveOptions {
  data?: string;
  databaseUrl?: string;
  toData?: string;
  toDatabaseUrl?: string;
  toBlobUrl?: string;
  undo?: boolean;
  output: OutputFormat;
}

/** Moves a registry, or gives a move up. A signal stops a move, and the registry accepts changes again. */
export async function moveOrUndo(io: Io, options: MoveOptions): Promise<void> {
  const { s3Credentials, blobPlace: _, ...from } = await resolveStorage(io, options);
  if (options.undo === true) return undo(io, from, options);
  if (options.toData === undefined) {
    throw new KrmhubError('usage', '--to-data is missing', {
      hint: 'Set the data folder of the copy, for example: krmhub move --to-data new',
    });
  }
  const to = await resolveTarget(io, { ...options, toData: options.toData });
  const progress = new Progress(io);
  let stopped = false;
  void io.waitForStop().then(() => {
    stopped = true;
  });
  const moved = await moveRegistry({
    from,
    to,
    now: io.now(),
    ...defined({ s3Credentials }),
    progress: async (line) => {
      if (stopped) {
        throw new KrmhubError('unavailable', 'move interrupted: the registry is where it was', {
          hint: 'To continue, run the same command again.',
        });
      }
      await progress.show(line);
    },
  }).finally(() => progress.clear());
  await printData(io, options.output, moved, async () => undefined);
  const what =
    moved.files === undefined
      ? 'the registry was moved'
      : `moved the registry with ${plural(moved.files, 'file')}`;
  await printLine(io, `${what} from ${escapeControls(moved.from)} to ${escapeControls(moved.to)}`);
  if (moved.files !== undefined) await printLine(io, 'every file and row of the copy is verified by digest');
  await printLine(
    io,
    `serve it with the data folder ${escapeControls(to.dataFolder)}, then stop the other one`,
  );
}

async function undo(io: Io, from: MoveInput['from'], { output }: MoveOptions): Promise<void> {
  const other = await undoMove(from);
  await printData(io, output, { to: other ?? null }, async () => undefined);
  await printLine(
    io,
    other === undefined
      ? 'the registry was not moved'
      : `the registry can be served here again; do not serve the copy in ${escapeControls(other)}`,
  );
}

/** Settings of the environment are those of the registry that is moved. */
async function resolveTarget(io: Io, options: MoveOptions & { toData: string }): Promise<MoveInput['to']> {
  const { KRMHUB_DATABASE_URL: _, KRMHUB_BLOB_URL: __, KRMHUB_CONFIG: ___, ...env } = io.env;
  const { dataFolder, databaseUrl, blobPlace } = await resolveStorage(
    io,
    { data: options.toData, databaseUrl: options.toDatabaseUrl, blobUrl: options.toBlobUrl },
    env,
  );
  return {
    dataFolder,
    ...defined({ databaseUrl, blobPlace }),
  };
}
