import { ANONYMOUS } from '@krmhub/catalog';
import {
  EMPTY_CONFIG,
  type ManifestReader,
  type OciDigest,
  OciError,
  type RepositoryBlob,
  readRange,
} from '@krmhub/oci';
import { callerOf } from '../http/auth/caller.js';
import { asActor, currentActor } from '../http/auth/request-actor.js';
import { CACHE_FOREVER } from '../http/bytes-response.js';
import type { RegistryContext } from '../http/context.js';
import { matchingTag } from '../http/negotiated-document.js';
import { checkedPieces, whileReadable } from '../http/reader-checks.js';
import { SERVER_LIMITS } from '../limits.js';
import { openStoredBlob, type PartReader } from '../store/artifacts/stored-blob.js';
import { newChange } from './change.js';
import type { OciDeps } from './oci-deps.js';
import { isPushedBlob } from './pushed-blob.js';
import { goneOrNotFound } from './taken-down.js';

/** A pushed blob must not run in a browser on the registry's origin. */
const PUSHED = {
  'Content-Type': 'application/octet-stream',
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "default-src 'none'; sandbox",
};

/** Returns the header fields of a blob or of a range of it. */
export function blobHeaders(digest: string): Record<string, string> {
  return {
    ...PUSHED,
    ETag: `"${digest}"`,
    'Cache-Control': CACHE_FOREVER,
    'Docker-Content-Digest': digest,
    'Accept-Ranges': 'bytes',
  };
}

interface BlobRoute {
  repository: string;
  digest: OciDigest;
}

/** GET and HEAD of a blob (distribution-spec, "Pulling blobs"), whole or one range of it. */
export async function readBlob(c: RegistryContext, deps: OciDeps, route: BlobRoute): Promise<Response> {
  const { repository, digest } = route;
  const found = await findBlob(deps, route);
  const tag = `"${digest}"`;
  const headers = new Headers(blobHeaders(digest));
  if (c.req.method === 'HEAD') {
    await seen(c, deps, repository, found);
    headers.set('Content-Length', String(found.size));
    return new Response(null, { headers });
  }
  if (matchingTag(c.req.header('if-none-match'), [tag]) !== undefined) {
    return new Response(null, { status: 304, headers });
  }
  const asked = c.req.header('if-range') ?? tag;
  const range = asked === tag ? readRange(c.req.header('range'), found.size) : undefined;
  if (range === 'unsatisfiable') {
    throw new OciError('RANGE_INVALID', `range not satisfiable: the blob has ${found.size} bytes`, {
      headers: { 'Content-Range': `bytes */${found.size}` },
    });
  }
  const { start, end } = range ?? { start: 0, end: found.size };
  headers.set('Content-Length', String(end - start));
  if (range !== undefined) headers.set('Content-Range', `bytes ${start}-${end - 1}/${found.size}`);
  const status = range === undefined ? 200 : 206;
  const location = await locate(deps, repository, found);
  if (location !== undefined) return redirect(digest, location);
  if (start === end) return new Response(new Uint8Array(), { status, headers });
  const read = await found.open();
  if (read === undefined)
    throw await goneOrNotFound(deps, 'BLOB_UNKNOWN', 'blob not found in this repository', route);
  c.set('isStream', true);
  const pieces = read({ start, end });
  const isPublic = deps.repositoryAccess.isPublic(repository);
  const actor = isPublic ? ANONYMOUS : currentActor();
  const isReadable = () => asActor(actor, () => isStored(deps.store, route));
  const sent = whileReadable(isReadable, isPublic ? pieces : checkedPieces(c, pieces));
  return new Response(toStream(sent), { status, headers });
}

/** Reports whether a repository has a blob that the client may read. */
export async function isStored(store: ManifestReader, { repository, digest }: BlobRoute): Promise<boolean> {
  return (await store.blob(repository, digest)) !== undefined;
}

/**
 * Returns a URL for a pushed blob that is large enough for a second request. Everybody who has the URL can read the blob
 * for some time, so only what is public has one.
 */
async function locate(
  { artifacts, repositoryAccess }: OciDeps,
  repository: string,
  { row }: FoundBlob,
): Promise<string | undefined> {
  if (!repositoryAccess.isPublic(repository)) return undefined;
  if (row?.place !== 'artifacts' || row.size < MIN_REDIRECTED_BYTES) return undefined;
  return artifacts.locate?.(row.file);
}

const MIN_REDIRECTED_BYTES = 65_536;

/** The URL expires, so that the redirect is not cached. The client repeats its Range there. */
function redirect(digest: string, location: string): Response {
  const headers = { Location: location, 'Docker-Content-Digest': digest, 'Cache-Control': 'no-store' };
  return new Response(null, { status: 307, headers });
}

interface FoundBlob {
  size: number;
  row?: RepositoryBlob;
  open(): Promise<PartReader | undefined>;
}

async function findBlob(deps: OciDeps, route: BlobRoute): Promise<FoundBlob> {
  const { repository, digest } = route;
  const row = await deps.store.blob(repository, digest);
  if (row !== undefined) return { size: row.size, row, open: () => openStoredBlob(deps, repository, row) };
  if (await isPushedBlob(deps.store, repository, digest)) {
    const pieces: PartReader = async function* ({ start, end }) {
      yield EMPTY_CONFIG.subarray(start, end);
    };
    return { size: EMPTY_CONFIG.byteLength, open: async () => pieces };
  }
  throw await goneOrNotFound(deps, 'BLOB_UNKNOWN', 'blob not found in this repository', route);
}

/** Records that a pushing client saw the blob: the blob must last until the manifest arrives. */
async function seen(
  c: RegistryContext,
  deps: OciDeps,
  repository: string,
  { row }: FoundBlob,
): Promise<void> {
  if (row === undefined) return;
  const now = deps.clock();
  if (now.getTime() - Date.parse(row.seenAt) < SERVER_LIMITS.blobSeenMilliseconds) return;
  if (!(await deps.repositoryAccess.mayPush(c, repository))) return;
  await deps.store.touchBlob(repository, row.digest, now.toISOString());
}

/** DELETE of a blob. A blob that a manifest names is refused, because the manifest would break. */
export async function deleteBlob(c: RegistryContext, deps: OciDeps, route: BlobRoute): Promise<Response> {
  const { repository, digest } = route;
  const caller = callerOf(c, await deps.repositoryAccess.authorize(c, repository, 'delete'));
  const outcome = await deps.store.deleteBlob(repository, digest, newChange(deps, caller));
  if (outcome === 'unknown') throw new OciError('BLOB_UNKNOWN', 'blob not found in this repository');
  if (outcome === 'named') {
    throw new OciError('UNSUPPORTED', 'a manifest refers to this blob', {
      hint: 'Delete the manifest. The registry then removes the blob.',
    });
  }
  return c.body(null, 202, { 'Content-Length': '0' });
}

/** Streams the bytes in the type of the framework. Cancelling closes the file. */
export function toStream(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(pieces) as ReadableStream<Uint8Array<ArrayBuffer>>;
}
