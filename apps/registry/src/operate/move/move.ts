/**
 * Moves a registry to another data folder, database, or store of blobs (`krmhub move`).
 *
 * Most files are copied while the registry serves everything. Then its database rejects changes, and the other files
 * and all rows are copied; reads continue. The rows come last, in one transaction: until then, the target is marked and
 * no registry starts there. A move that fails lets the source change again. After one that was killed, the same command
 * continues.
 *
 * @module
 */

import { rm } from 'node:fs/promises';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { openBlobReaders, openBlobStores, type S3Settings } from '../../store/blobs/blob-stores.js';
import { openBlobFolder } from '../../store/blobs/folder.js';
import { readBlobFolder } from '../../store/blobs/reader.js';
import { FILE_PARTS, type FilePart, type NamedFiles } from '../../store/copy/named-files.js';
import { openRowState, type RowState } from '../../store/copy/state.js';
import { type DataPaths, dataPaths } from '../../store/data-folder.js';
import { type DatabasePlace, knownPlace } from '../../store/database-place.js';
import { copyRecords } from '../backup/backup.js';
import { CopiedFiles } from './copy-files.js';
import { describePlace, type RegistryPlace } from './place.js';
import { type MoveSource, moveSource } from './source.js';
import { openTarget } from './target.js';

export interface MoveInput extends S3Settings {
  from: Omit<RegistryPlace, 'blobPlace'> & { keysFolder?: string };
  to: RegistryPlace;
  now: Date;
  progress?: (line: string) => Promise<void>;
}

export interface Moved {
  from: string;
  to: string;
  /** Verified files; undefined if the registry was moved before. */
  files: number | undefined;
}

/**
 * Moves a registry, which may be running, to a place without one, and verifies the copy. Rejects with `usage` if the
 * target has another registry, `conflict` if the source is damaged, `storage-full`, and `unavailable`.
 */
export async function moveRegistry(input: MoveInput): Promise<Moved> {
  const { progress = async () => undefined, now } = input;
  const paths = dataPaths(input.from.dataFolder);
  const place = knownPlace(paths, input.from.databaseUrl);
  const names = { from: describePlace(input.from), to: describePlace(input.to) };
  const source = moveSource(place);
  const mark = await source.mark();
  if (mark !== undefined && (mark.role === 'target' || mark.other !== names.to)) {
    throw new KrmhubError(
      'usage',
      mark.role === 'target'
        ? `the move from ${mark.other} to ${names.from} is not complete`
        : `the registry is moved to ${mark.other} already`,
      { hint: 'Run that move again if it was interrupted. To give it up, run `krmhub move --undo`.' },
    );
  }
  // Rejects a database that is missing or not migrated, before anything is changed.
  await withState(place, async () => undefined);
  const target = await openTarget(input.to, { name: names.from, isMovedHere: mark !== undefined });
  if (target === undefined) return { ...names, files: undefined };
  let isCommitting = false;
  try {
    const files = await openFiles(input, paths);
    await copyFiles(files, await namedFiles(place), progress, { isLast: false });
    await progress('Stopping changes');
    await source.block(names.to);
    await copyFiles(files, await namedFiles(place), progress, { isLast: true });
    const { keysFolder = paths.keys } = input.from;
    await replaceRecords({ ...paths, keys: keysFolder }, dataPaths(input.to.dataFolder));
    await withState(place, ({ rows }) =>
      target.fill(rows, {
        progress,
        recorded: {
          ...{ at: now.toISOString(), by: 'krmhub', action: 'registry.move', object: 'registry' },
          ...{ outcome: 'done', detail: { from: names.from } },
        },
        beforeCommit: async () => {
          if (!(await isMovedTo(source, names.to))) {
            throw new KrmhubError('conflict', 'the move was canceled, or another move started', {
              hint: 'Nothing was moved. Run one `krmhub move` at a time.',
            });
          }
          isCommitting = true;
        },
      }),
    );
    return { ...names, files: FILE_PARTS.reduce((sum, part) => sum + files[part].count, 0) };
  } catch (error) {
    // If the connection broke during the commit, the target may be complete: the same command finds out.
    const isOpen = !isCommitting && (await giveUp(source, names.to));
    if (isOpen) throw error;
    throw new KrmhubError(
      'unavailable',
      `${(error as Error).message}; ${names.from} may still reject changes`,
      { hint: 'Run the same command again to continue, or `krmhub move --undo`.', cause: error },
    );
  } finally {
    await target.close();
  }
}

/** Reports whether the source is being moved to this place. */
async function isMovedTo(source: MoveSource, place: string): Promise<boolean> {
  const mark = await source.mark();
  return mark?.role === 'source' && mark.other === place;
}

/** Lets the source change again, unless another move began. Returns whether it does. */
async function giveUp(source: MoveSource, place: string): Promise<boolean> {
  try {
    if (await isMovedTo(source, place)) await source.unblock();
    return true;
  } catch {
    return false;
  }
}

/**
 * Lets a registry that was moved be served again where it was. Returns where it was moved; undefined if it was not.
 * Rejects with `usage` for the target of a move.
 */
export async function undoMove(from: MoveInput['from']): Promise<string | undefined> {
  const source = moveSource(knownPlace(dataPaths(from.dataFolder), from.databaseUrl));
  const mark = await source.mark();
  if (mark?.role === 'target') {
    throw new KrmhubError('usage', `${describePlace(from)} has an unfinished move from ${mark.other}`, {
      hint: 'Run `krmhub move --undo` with the place that was moved. Then you can delete this one.',
    });
  }
  if (mark !== undefined) await source.unblock();
  return mark?.other;
}

type Files = Record<FilePart, CopiedFiles>;

async function openFiles({ to, ...input }: MoveInput, from: DataPaths): Promise<Files> {
  const paths = dataPaths(to.dataFolder);
  const blobReader = await openBlobReaders(from, input.from.databaseUrl, input);
  const { openPart: blobStore } = await openBlobStores(
    paths,
    defined({ blobPlace: to.blobPlace, s3Credentials: input.s3Credentials }),
  );
  return {
    blobs: new CopiedFiles(blobReader('blobs'), await blobStore('blobs')),
    artifacts: new CopiedFiles(blobReader('artifacts'), await blobStore('artifacts')),
    copies: new CopiedFiles(readBlobFolder(from.copies), await openBlobFolder(paths.copies)),
  };
}

function namedFiles(place: DatabasePlace): Promise<NamedFiles> {
  return withState(place, (state) => state.namedFiles());
}

async function withState<Result>(
  place: DatabasePlace,
  work: (state: RowState) => Promise<Result>,
): Promise<Result> {
  const state = await openRowState(place);
  try {
    return await work(state);
  } finally {
    await state.close();
  }
}

async function copyFiles(
  files: Files,
  named: NamedFiles,
  progress: (line: string) => Promise<void>,
  { isLast }: { isLast: boolean },
): Promise<void> {
  for (const part of FILE_PARTS) {
    const missing = await files[part].copy(named[part], (count) =>
      progress(`${part}: ${count} files copied`),
    );
    // While the registry changes, it may delete files.
    if (!isLast) continue;
    // The next sync of an upstream catalog downloads it again.
    if (missing.length > 0 && part !== 'copies') {
      throw new KrmhubError('conflict', `the file ${missing[0]} in ${part} is missing or damaged`, {
        hint: 'Nothing was moved. Run `krmhub fsck`, and repair the registry first.',
      });
    }
    await files[part].deleteOthers(named[part]);
  }
}

/** Copies the admin token, the keys, and the takedown record. */
async function replaceRecords(from: DataPaths, to: DataPaths): Promise<void> {
  for (const file of [to.adminToken, to.takedowns, to.keys]) await rm(file, { recursive: true, force: true });
  await copyRecords(from, to);
}
