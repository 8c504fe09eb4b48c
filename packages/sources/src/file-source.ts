import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { SourceAddress } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema/digest';
import { printable } from '@krmhub/schema/network-reason';
import type { FetchedCatalog, FetchRequest, SourceContext } from './context.js';
import { SourceFailure, tooLargeFailure } from './failure.js';
import { siblingBundleNames } from './sibling-bundles.js';

/** Reads a catalog file and its bundles from the folder for file sources. Rejects with SourceFailures only. */
export async function fetchFile(
  address: Extract<SourceAddress, { type: 'file' }>,
  { validators = {}, bundles, onProgress }: FetchRequest,
  context: SourceContext,
): Promise<FetchedCatalog> {
  const { limits, options } = context;
  if (options.fileFolder === undefined) {
    throw new SourceFailure('forbidden-address', `file sources are disabled: ${quote(address.path)}`, {
      hint: 'Ask the operator to configure a folder for file sources.',
    });
  }
  const folder = await realpath(options.fileFolder).catch((error: unknown) => {
    throw new SourceFailure('internal', `cannot read the folder for file sources: ${reason(error)}`, {
      cause: error,
    });
  });
  const bytes = await readFileBelow(folder, address.path, limits.maxCatalogBytes, context);
  onProgress?.(bytes.byteLength);
  const digest = sha256(bytes);
  const found: Uint8Array[] = [];
  for (const name of bundles ? siblingBundleNames(path.basename(address.path)) : []) {
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
    ...(digest === validators.digest ? {} : { bytes }),
    validators: { digest },
    bundles: found,
  };
}

async function readFileBelow(
  folder: string,
  name: string,
  maxBytes: number,
  { deadline }: SourceContext,
): Promise<Uint8Array> {
  const wanted = path.resolve(folder, name);
  const real = await realpath(wanted).catch((error: unknown) => {
    throw unreadable(name, error);
  });
  // The target of a link has to be below the folder.
  const below = path.relative(folder, real);
  if (below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)) {
    throw new SourceFailure('forbidden-address', `${quote(name)} is outside of the folder for file sources`, {
      hint: 'Use a file in the folder: links to other folders are not followed.',
    });
  }
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
      hint: 'Paths are relative to the folder for file sources of the registry, or in a build to the folder of the recipe.',
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
