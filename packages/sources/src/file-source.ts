import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { SourceAddress } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema/digest';
import { printable } from '@krmhub/schema/network-reason';
import type { FetchedCatalog, FetchRequest, SourceContext } from './context.js';
import { SourceFailure, tooLargeFailure } from './failure.js';
import { siblingBundleNames } from './sibling-bundles.js';

/** A catalog in the folder of sources, and the bundles beside it. Rejects with SourceFailures only. */
export async function fetchFile(
  address: Extract<SourceAddress, { type: 'file' }>,
  { validators = {}, bundles, onProgress }: FetchRequest,
  context: SourceContext,
): Promise<FetchedCatalog> {
  const { limits, options } = context;
  if (options.fileFolder === undefined) {
    throw new SourceFailure(
      'forbidden-address',
      `${quote(address.path)} is a file, and no files are read here`,
      {
        hint: 'Whoever runs this has to name a folder of sources.',
      },
    );
  }
  const folder = await realpath(options.fileFolder).catch((error: unknown) => {
    throw new SourceFailure('internal', `the folder of sources cannot be read: ${reason(error)}`, {
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
  // What a link leads to counts, and not where the link is.
  const below = path.relative(folder, real);
  if (below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)) {
    throw new SourceFailure('forbidden-address', `${quote(name)} is not below the folder of sources`, {
      hint: 'Links that lead out of the folder are not followed.',
    });
  }
  // Without waiting for who writes to a pipe, and without a link that was put there meanwhile.
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
    const what = status.isDirectory() ? 'a folder' : 'no regular file';
    throw new SourceFailure('bad-answer', `${quote(name)} is ${what}`, {
      hint: 'Name the file of the catalog.',
    });
  }
  if (status.size > maxBytes) throw tooLargeFailure(quote(name), maxBytes);
  const pieces: Uint8Array[] = [];
  let size = 0;
  // One that grows while it is read ends at the limit too.
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
    return new SourceFailure('not-found', `${quote(name)} is not in the folder of sources`, {
      cause: error,
      hint: 'Files are read below the folder of sources of a registry, and by a build below that of the recipe.',
    });
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new SourceFailure('unauthorized', `${quote(name)} may not be read by the user that this runs as`, {
      cause: error,
    });
  }
  if (code === 'ENXIO') return new SourceFailure('bad-answer', `${quote(name)} is no regular file`);
  return new SourceFailure('bad-answer', `${quote(name)} cannot be read: ${reason(error)}`, { cause: error });
}

function quote(name: string): string {
  return `"${printable(name)}"`;
}

function reason(error: unknown): string {
  return printable(String((error as { code?: unknown }).code ?? error));
}
