import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { SourceAddress } from '@krmhub/catalog';
import { printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { SourceContext } from './context.js';
import type { Consume, DownloadRequest } from './download-request.js';
import { SourceFailure, tooLargeFailure } from './failure.js';

/** Downloads a file without holding it in memory, except one of a git repository. */
export async function download<Result>(
  request: DownloadRequest,
  context: SourceContext,
  consume: Consume<Result>,
): Promise<Result> {
  const { address } = request;
  let failed: unknown;
  // An error of the consumer is not a network error.
  const own: Consume<Result> = async (body) => {
    let broken: { error: unknown } | undefined;
    const watched = async function* () {
      try {
        yield* body;
      } catch (error) {
        broken = { error };
        throw error;
      }
    };
    try {
      return await consume(watched());
    } catch (error) {
      // The consumer may have wrapped it.
      if (broken !== undefined) throw broken.error;
      failed = error;
      throw error;
    }
  };
  try {
    return await read(address, request, context, own);
  } catch (error) {
    throw failed ?? error;
  }
}

async function read<Result>(
  address: SourceAddress,
  request: DownloadRequest,
  context: SourceContext,
  consume: Consume<Result>,
): Promise<Result> {
  const { maxBytes, onProgress } = request;
  switch (address.type) {
    case 'http': {
      const { streamFile } = await import('./http/get-file.js');
      const { guardedAgents } = await import('./http/guarded-agents.js');
      const url = parseUrl(address.url);
      if (url === undefined) throw new SourceFailure('bad-answer', `${printable(address.url)} is not a URL`);
      const agents = guardedAgents(context);
      return streamFile(url, { agents, context, maxBytes, onProgress }, consume);
    }
    case 'oci': {
      const { downloadArtifact } = await import('./oci-file.js');
      return downloadArtifact(address.reference, request, context, consume);
    }
    case 'git': {
      const { fetchGit } = await import('./git/git-source.js');
      const { bytes } = await fetchGit(address, { address, bundles: false }, context);
      if (bytes === undefined)
        throw new TypeError('a response without a file for a request without validators');
      return consume(onlyPiece(bytes));
    }
    case 'file':
      return readLocalFile(address.path, request, context, consume);
  }
}

async function* onlyPiece(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** A file of the user, who named the folder. Its digest says whether it is the right one. */
async function readLocalFile<Result>(
  name: string,
  { maxBytes, onProgress }: DownloadRequest,
  { options, deadline }: SourceContext,
  consume: Consume<Result>,
): Promise<Result> {
  if (options.fileFolder === undefined) {
    throw new SourceFailure(
      'forbidden-address',
      `a catalog from another machine refers to the file ${printable(name)}`,
    );
  }
  const file = path.resolve(options.fileFolder, name);
  const status = await stat(file).catch((cause: unknown) => {
    throw new SourceFailure('not-found', `cannot read ${printable(file)}`, { cause });
  });
  if (!status.isFile()) throw new SourceFailure('bad-answer', `${printable(file)} is not a regular file`);
  if (status.size > maxBytes) throw tooLargeFailure(printable(file), maxBytes);
  onProgress?.(status.size);
  const stream = createReadStream(file, { end: maxBytes, signal: deadline.signal });
  return consume(stream as AsyncIterable<Uint8Array>);
}
