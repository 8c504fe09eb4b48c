import type { TokenRecord } from '@krmhub/catalog';
import { isRepository, type OciDigest, OciError, parseDigest, readChunkRange } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { latestToken, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryContext } from '../http/context.js';
import { bodyPieces } from '../http/request-body.js';
import { SERVER_LIMITS } from '../limits.js';
import { repositoryKind } from '../store/artifacts/repositories.js';
import { canPushOnlyScripts } from './access.js';
import { newChange, quotaRefusal, withinQuota } from './change.js';
import type { OciDeps } from './oci-deps.js';
import { refuseLargeScript } from './pushed-script.js';
import type { UploadSession } from './upload-sessions.js';

/**
 * POST of an upload (distribution-spec, "Pushing Blobs"): starts a session, stores a whole blob, or mounts
 * one.
 */
export async function startUpload(c: RegistryContext, deps: OciDeps, repository: string): Promise<Response> {
  const token = await authorizeUpload(c, deps, repository);
  const { mount, from, digest } = c.req.query();
  // Publishers of scripts upload them: a mounted blob can have any size.
  if (mount !== undefined && !canPushOnlyScripts(deps.access.rules, token, repository)) {
    const mounted = parseDigest(mount);
    if (from !== undefined && !isRepository(from)) {
      throw new OciError('NAME_INVALID', 'invalid repository name in the parameter from');
    }
    const source = from !== undefined && (await deps.repositoryAccess.covers(c, from)) ? from : undefined;
    const done = await withinQuota(repository, () =>
      deps.store.mountBlob(source, repository, mounted, newChange(deps, callerOf(c, token))),
    );
    if (done) return created(c, repository, mounted);
  }
  const wanted = digest === undefined ? undefined : parseDigest(digest);
  const upload = await deps.uploads.start(repository, token.id, { isLast: wanted !== undefined });
  if (wanted === undefined) return progress(c, upload, 202);
  try {
    return await deps.uploads.exclusive(upload, () =>
      receiveLast(c, deps, { upload, digest: wanted, token }),
    );
  } catch (error) {
    // The client does not know the session, so it cannot continue it.
    await deps.uploads.end(upload);
    throw error;
  }
}

/** GET of an upload: its progress. */
export async function uploadStatus(
  c: RegistryContext,
  deps: OciDeps,
  { repository, id }: { repository: string; id: string },
): Promise<Response> {
  await deps.repositoryAccess.authorize(c, repository, 'push');
  return progress(c, await deps.uploads.find(repository, id), 204);
}

/** PATCH: a chunk with its range, or a stream without one. */
export async function continueUpload(
  c: RegistryContext,
  deps: OciDeps,
  { repository, id }: { repository: string; id: string },
): Promise<Response> {
  const token = await authorizeUpload(c, deps, repository);
  const upload = await deps.uploads.find(repository, id);
  return deps.uploads.exclusive(upload, async () => {
    await receive(c, deps, { upload, token, isLast: false });
    return progress(c, upload, 202);
  });
}

/** PUT: the end of an upload, with or without its last bytes. */
export async function finishUpload(
  c: RegistryContext,
  deps: OciDeps,
  { repository, id }: { repository: string; id: string },
): Promise<Response> {
  const token = await authorizeUpload(c, deps, repository);
  const upload = await deps.uploads.find(repository, id);
  const { digest } = c.req.query();
  if (digest === undefined) {
    throw new OciError('DIGEST_INVALID', 'missing digest: finish the upload with ?digest=sha256:…');
  }
  const wanted = parseDigest(digest);
  return deps.uploads.exclusive(upload, () => receiveLast(c, deps, { upload, digest: wanted, token }));
}

export async function cancelUpload(
  c: RegistryContext,
  deps: OciDeps,
  { repository, id }: { repository: string; id: string },
): Promise<Response> {
  await deps.repositoryAccess.authorize(c, repository, 'push');
  const upload = await deps.uploads.find(repository, id);
  await deps.uploads.exclusive(upload, () => deps.uploads.end(upload));
  return c.body(null, 204);
}

async function authorizeUpload(c: RegistryContext, deps: OciDeps, repository: string): Promise<TokenRecord> {
  const kind = repositoryKind(repository);
  if (kind.of === 'nothing') throw new OciError('DENIED', `cannot push to this repository: ${kind.why}`);
  return deps.repositoryAccess.authorize(c, repository, 'push');
}

async function receive(
  c: RegistryContext,
  deps: OciDeps,
  { upload, token, isLast }: { upload: UploadSession; token: TokenRecord; isLast: boolean },
): Promise<void> {
  const range = c.req.header('content-range');
  if (range !== undefined) checkPlace(range, upload, c.req.header('content-length'));
  const { quota } = newChange(deps, callerOf(c, token));
  const stored = quota === undefined ? 0 : await deps.store.countBytes(upload.repository);
  // Bytes of open uploads count too, or many concurrent uploads would fill the disk.
  const others = quota === undefined ? () => 0 : await deps.uploads.bytesOfOthers(upload);
  const onlyScripts = () => canPushOnlyScripts(deps.access.rules, latestToken(c, token), upload.repository);
  const onlyScriptsBefore = onlyScripts();
  const refuse = (size: number): void => {
    if (onlyScriptsBefore) refuseLargeScript(size);
    if (size > SERVER_LIMITS.maxBlobBytes) {
      throw new OciError('SIZE_INVALID', `the blob exceeds ${SERVER_LIMITS.maxBlobBytes} bytes`);
    }
    if (quota === undefined) return;
    const bytes = stored + others() + size;
    if (bytes > quota) throw quotaRefusal(upload.repository, { bytes, quota });
  };
  try {
    refuse(upload.size + Number(c.req.header('content-length') ?? 0));
    await deps.uploads.receive(upload, bodyPieces(c), { refuse, isLast });
    // The token was read again after the last piece.
    if (onlyScripts()) refuseLargeScript(upload.size);
  } catch (error) {
    // Only a client that sends chunks with ranges continues after a failure. If a refused client learned that
    // the session is still open, it would retry, and some clients retry forever.
    if (range === undefined || error instanceof OciError) await deps.uploads.end(upload);
    throw error;
  }
}

/** Checks that a chunk starts where the last one ended. If not, the session does not change. */
function checkPlace(header: string, upload: UploadSession, length: string | undefined): void {
  const range = readChunkRange(header);
  const wrong =
    range === undefined
      ? 'invalid Content-Range: expected START-END, both inclusive'
      : range.start !== upload.size
        ? `the chunk starts at ${range.start}, expected ${upload.size}`
        : length !== undefined && Number(length) !== range.end - range.start
          ? `the chunk has ${length} bytes, but its Content-Range has ${range.end - range.start}`
          : undefined;
  if (wrong === undefined) return;
  const { Range, ...headers } = sessionHeaders(upload);
  // An empty upload has no range. A client reads `0-0` as one byte, continues after it, and is refused
  // forever.
  throw new OciError('RANGE_INVALID', wrong, {
    headers: {
      ...headers,
      ...defined({ Range: upload.size > 0 && Range !== undefined ? Range : undefined }),
    },
  });
}

async function receiveLast(
  c: RegistryContext,
  deps: OciDeps,
  { upload, digest, token }: { upload: UploadSession; digest: OciDigest; token: TokenRecord },
): Promise<Response> {
  const { repository } = upload;
  await receive(c, deps, { upload, token, isLast: true });
  const { file, size, writer, bytes } = await deps.uploads.verify(upload, digest);
  if (bytes !== undefined) {
    await recheckToken(c)('if-old');
    await withinQuota(repository, () =>
      deps.store.addBlob(
        repository,
        { digest, file, place: 'rows', size, bytes },
        newChange(deps, callerOf(c, token)),
      ),
    );
    return stored(c, repository, digest);
  }
  let isStored = false;
  try {
    await deps.bytesLock.read(async () => {
      // Durable before the row that names it.
      await writer.commit();
      isStored = true;
      await recheckToken(c)('if-old');
      const change = newChange(deps, callerOf(c, token));
      await withinQuota(repository, () =>
        deps.store.addBlob(repository, { digest, file, place: 'artifacts', size }, change),
      );
    });
  } catch (error) {
    if (isStored) deps.collector.removeSoon(file);
    else await writer.discard();
    throw error;
  }
  return stored(c, repository, digest);
}

/** Of a blob whose row this request stored. */
function stored(c: RegistryContext, repository: string, digest: OciDigest): Response {
  c.set('isDurable', true);
  return created(c, repository, digest);
}

function created(c: RegistryContext, repository: string, digest: OciDigest): Response {
  return c.body(null, 201, {
    Location: `/v2/${repository}/blobs/${digest}`,
    'Docker-Content-Digest': digest,
    'Content-Length': '0',
  });
}

/** Uploads are not rows, or their rows do not promise anything. */
function progress(c: RegistryContext, upload: UploadSession, status: 202 | 204): Response {
  c.set('isDurable', true);
  return c.body(null, status, {
    ...sessionHeaders(upload),
    ...defined({ 'Content-Length': status === 202 ? '0' : undefined }),
  });
}

function sessionHeaders({ repository, id, size }: UploadSession): Record<string, string> {
  return {
    Location: `/v2/${repository}/blobs/uploads/${id}`,
    Range: `0-${Math.max(size - 1, 0)}`,
    'Docker-Upload-UUID': id,
  };
}
