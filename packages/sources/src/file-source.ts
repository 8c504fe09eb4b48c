import { constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { SourceAddress } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import { printable } from '@krmhub/schema/network-reason';
import type { FetchedCatalog, FetchRequest, FolderRequest, SourceContext } from './context.js';
import { SourceFailure, tooLargeFailure } from './failure.js';
import { chooseFiles, FolderFiles, joinPaths } from './folder-files.js';
import { siblingBundleNames } from './sibling-bundles.js';

/** Reads a catalog file and its bundles from the folder for file sources. Rejects with SourceFailures only. */
export async function fetchFile(
  address: Extract<SourceAddress, { type: 'file' }>,
  { validators = {}, bundles, folder: asFolder, onProgress }: FetchRequest,
  context: SourceContext,
): Promise<FetchedCatalog> {
  const { limits, options } = context;
  if (options.fileFolder === undefined) {
    throw new SourceFailure('forbidden-address', `file sources are disabled: ${quote(address.path)}`, {
      hint: 'Ask the operator to set KRMHUB_SOURCE_FOLDER.',
    });
  }
  const folder = await realpath(options.fileFolder).catch((error: unknown) => {
    throw new SourceFailure('internal', `cannot read the folder for file sources: ${reason(error)}`, {
      cause: error,
    });
  });
  const isFolder = asFolder !== undefined && (await isFolderBelow(folder, address.path));
  const bytes = isFolder
    ? await readFolderBelow(folder, address.path, asFolder, context)
    : await readFileBelow(folder, address.path, limits.maxCatalogBytes, context);
  onProgress?.(bytes.byteLength);
  const digest = sha256(bytes);
  const found: Uint8Array[] = [];
  for (const name of bundles && !isFolder ? siblingBundleNames(path.basename(address.path)) : []) {
    const sibling = path.join(path.dirname(address.path), name);
    const bundle = await readFileBelow(folder, sibling, limits.maxBundleBytes, context).catch(
      (error: unknown) => {
        if (error instanceof SourceFailure && error.problem === 'not-found') return undefined;
        throw error;
      },
    );
    if (bundle !== undefined) found.push(bundle);
  }
  return {
    ...defined({ bytes: digest === validators.digest ? undefined : bytes }),
    validators: { digest },
    bundles: found,
  };
}

/** Files of other types per file that may be read: no more are listed. */
const MAX_OTHER_FILES = 10;

async function isFolderBelow(folder: string, name: string): Promise<boolean> {
  const status = await stat(path.resolve(folder, name)).catch(() => undefined);
  return status?.isDirectory() === true;
}

/** Reads the YAML and JSON files below a folder. Links are not followed. */
async function readFolderBelow(
  folder: string,
  name: string,
  request: FolderRequest,
  context: SourceContext,
): Promise<Uint8Array> {
  const { limits } = context;
  const root = await realPathBelow(folder, name);
  const files = new FolderFiles(quote(name), limits);
  const listed: { path: string; file: string }[] = [];
  for (const below of joinPaths('', request)) {
    const start = await realPathBelow(folder, path.join(root, below));
    const entries = await opendir(start, { recursive: true }).catch((error: unknown) => {
      throw unreadable(path.join(name, below), error);
    });
    for await (const entry of entries) {
      context.deadline.signal.throwIfAborted();
      const file = path.join(entry.parentPath, entry.name);
      if (entry.isFile()) listed.push({ path: path.relative(root, file).split(path.sep).join('/'), file });
      files.checkCount(listed.length / MAX_OTHER_FILES);
    }
  }
  for (const { path: relative, file } of chooseFiles(listed, request)) {
    context.deadline.signal.throwIfAborted();
    const { size } = await lstat(file);
    if (!files.accepts(relative, size)) continue;
    files.add(relative, await readFileBelow(folder, file, limits.maxFolderFileBytes, context));
  }
  return files.bytes();
}

/** Resolves links. The target has to be below the folder. Outside of it, a file that is missing is as one that is there. */
async function realPathBelow(folder: string, name: string): Promise<string> {
  const written = path.resolve(folder, name);
  const real = await realpath(written).catch(async (error: unknown) => {
    const isInside = isBelow(folder, await nearestRealPath(path.dirname(written)));
    throw isInside ? unreadable(name, error) : outside(name);
  });
  if (!isBelow(folder, real)) throw outside(name);
  return real;
}

/** Resolves the links of a path, or of the nearest folder above it that can be resolved. */
async function nearestRealPath(written: string): Promise<string> {
  const above = path.dirname(written);
  return realpath(written).catch(() => (above === written ? written : nearestRealPath(above)));
}

function isBelow(folder: string, real: string): boolean {
  const below = path.relative(folder, real);
  return below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below);
}

function outside(name: string): SourceFailure {
  return new SourceFailure('forbidden-address', `${quote(name)} is outside the folder for file sources`, {
    hint: 'Use a file in the folder. Links to other folders are not followed.',
  });
}

async function readFileBelow(
  folder: string,
  name: string,
  maxBytes: number,
  { deadline }: SourceContext,
): Promise<Uint8Array> {
  const real = await realPathBelow(folder, name);
  // Do not wait for the writer of a pipe, and do not follow a link that was created after the check.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const file = await open(real, flags).catch((error: unknown) => {
    throw unreadable(name, error);
  });
  try {
    return await readWhole(file, name, maxBytes, deadline.signal);
  } finally {
    await file.close();
  }
}

async function readWhole(
  file: FileHandle,
  name: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const status = await file.stat();
  if (!status.isFile()) {
    const what = status.isDirectory() ? 'a folder' : 'not a regular file';
    throw new SourceFailure('bad-answer', `${quote(name)} is ${what}`, {
      hint: 'Use the path of the catalog file.',
    });
  }
  if (status.size > maxBytes) throw tooLargeFailure(quote(name), maxBytes);
  const pieces: Uint8Array[] = [];
  let size = 0;
  // A file that grows during the read ends at the limit too.
  for await (const piece of file.createReadStream({ autoClose: false, end: maxBytes, signal })) {
    size += piece.byteLength;
    pieces.push(piece);
  }
  if (size > maxBytes) throw tooLargeFailure(quote(name), maxBytes);
  return Buffer.concat(pieces, size);
}

function unreadable(name: string, error: unknown): SourceFailure {
  const code = (error as { code?: unknown }).code;
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new SourceFailure('not-found', `${quote(name)} does not exist in the folder for file sources`, {
      cause: error,
      hint: 'In a registry, paths are relative to KRMHUB_SOURCE_FOLDER. In a build, they are relative to the recipe.',
    });
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new SourceFailure('unauthorized', `no permission to read ${quote(name)}`, {
      cause: error,
    });
  }
  if (code === 'ENXIO') return new SourceFailure('bad-answer', `${quote(name)} is not a regular file`);
  return new SourceFailure('bad-answer', `cannot read ${quote(name)}: ${reason(error)}`, { cause: error });
}

function quote(name: string): string {
  return `"${printable(name)}"`;
}

function reason(error: unknown): string {
  return printable(String((error as { code?: unknown }).code ?? error));
}
