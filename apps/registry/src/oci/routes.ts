/**
 * The OCI registry at `/v2/`: pulls, pushes, and releases that are published by a push.
 *
 * A repository is rows: its blobs, its manifests with their exact bytes, what each manifest names, and tags. Only large
 * blobs are files, written and hashed as they arrive, and named by a row once they are durable.
 *
 * - Every release and snapshot gets its manifest and tag in the transaction that creates it. The manifest is built from
 *   the content, so its digest is stable. The row of its blob refers to the file of the release or the rendition, so
 *   reads have no special case.
 * - Under `functions/`, pushing a tag publishes, through the same plan (publish-artifact.ts). Under `catalogs/`, only
 *   referrers of a snapshot are accepted.
 * - What is public needs no credentials. `/v2/token` exchanges a token of the registry for a short-lived signed one, as OCI
 *   clients expect.
 * - The collector removes blobs that no manifest names and no client used for two hours, then the files that no row
 *   names.
 *
 * @module
 */

import { HTTP_STATUS } from '@krmhub/api/problem';
import {
  errorBody,
  isOciDigest,
  OCI_API_VERSION,
  OCI_METHODS,
  OciError,
  type OciErrorCode,
  type OciRoute,
  type OciRouteName,
  parseOciPath,
} from '@krmhub/oci';
import { type ErrorCode, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Attempt, RateLimitClass, RegistryApp, RegistryContext } from '../http/context.js';
import { discardBody } from '../http/request-body.js';
import { TooManyRequests } from '../http/too-many-requests.js';
import { SERVER_LIMITS } from '../limits.js';
import { deleteBlob, readBlob } from './blobs.js';
import { deleteManifest, listReferrers, listRepositories, listTags, manifestResponse } from './manifests.js';
import type { OciDeps } from './oci-deps.js';
import { cancelUpload, continueUpload, finishUpload, startUpload, uploadStatus } from './push-blob.js';
import { putManifest } from './push-manifest.js';
import { refuseDeletedCatalog } from './taken-down.js';
import { OCI_TEMPLATES } from './templates.js';

/** The start of an upload counts all its steps. */
const READ_CLASSES: Record<OciRouteName, RateLimitClass> = {
  base: 'free',
  token: 'read',
  repositories: 'read',
  tags: 'read',
  manifest: 'free',
  blob: 'free',
  uploads: 'write',
  upload: 'free',
  referrers: 'read',
};

/** The OCI error code for every error code of the HTTP API, unless a handler chooses another. */
const OCI_CODES = {
  usage: 'UNSUPPORTED',
  'invalid-request': 'UNSUPPORTED',
  'invalid-document': 'MANIFEST_INVALID',
  unauthorized: 'UNAUTHORIZED',
  forbidden: 'DENIED',
  'not-found': 'NAME_UNKNOWN',
  gone: 'DENIED',
  'method-not-allowed': 'UNSUPPORTED',
  conflict: 'DENIED',
  'too-large': 'SIZE_INVALID',
  'unsupported-media-type': 'MANIFEST_INVALID',
  'rate-limited': 'TOOMANYREQUESTS',
  unavailable: 'UNAVAILABLE',
  'storage-full': 'UNAVAILABLE',
  unreachable: 'UNAVAILABLE',
  'digest-mismatch': 'DIGEST_INVALID',
  untrusted: 'DENIED',
  'function-failed': 'UNKNOWN',
  unsupported: 'UNSUPPORTED',
  internal: 'UNKNOWN',
} satisfies Record<ErrorCode, OciErrorCode>;

const PREFIX = '/v2';

/** Adds the OCI registry (distribution-spec 1.1) at `/v2/`. This file parses the paths, not the framework. */
export function ociRoutes(app: RegistryApp, deps: OciDeps): void {
  const handle = async (c: RegistryContext): Promise<Response> => {
    try {
      const response = await serve(c, deps);
      for (const [name, value] of Object.entries(OCI_API_VERSION)) response.headers.set(name, value);
      return response;
    } catch (error) {
      await discardBody(c);
      return refusalResponse(c, error);
    }
  };
  app.all(PREFIX, handle);
  app.all(`${PREFIX}/*`, handle);
}

async function serve(c: RegistryContext, deps: OciDeps): Promise<Response> {
  const { method } = c.req;
  c.set('route', `${PREFIX}/…`);
  // The undecoded path: a percent-encoded name is not valid.
  const route = parseOciPath(new URL(c.req.url).pathname.slice(PREFIX.length));
  if (route === undefined) {
    throw new OciError('NAME_UNKNOWN', 'path not found', {
      hint: 'See the OCI distribution specification for the paths below /v2/.',
    });
  }
  c.set('route', OCI_TEMPLATES[route.what]);
  const methods = OCI_METHODS[route.what];
  if (!methods.includes(method)) {
    throw new OciError('UNSUPPORTED', `method ${method} is not allowed`, {
      headers: { Allow: methods.join(', ') },
      hint: `Use ${methods.join(', ')}.`,
    });
  }
  const reads = method === 'GET' || method === 'HEAD';
  if (!reads && 'repository' in route) c.set('attempt', attemptOn(method, route));
  c.get('limits').countBy(c, reads || route.what === 'upload' ? READ_CLASSES[route.what] : 'write');
  if (!reads || !('repository' in route) || route.what === 'upload') return dispatch(c, deps, route);
  const { repository } = route;
  await deps.repositoryAccess.challengeUnlessCovered(c, repository);
  // Of a repository that is absent, it would list none.
  if (route.what === 'referrers') await deps.repositoryAccess.challengeUnlessVisible(c, repository);
  try {
    return await dispatch(c, deps, route);
  } catch (error) {
    if (error instanceof OciError && error.status === 404) {
      await deps.repositoryAccess.challengeUnlessVisible(c, repository);
    }
    throw error;
  }
}

/** Returns what a request to change a repository tries. */
function attemptOn(method: string, route: Extract<OciRoute, { repository: string }>): Attempt {
  const name = `repository/${route.repository}`;
  if (method !== 'DELETE') return { action: 'artifact.push', object: name };
  if (route.what === 'blob') return { action: 'artifact.delete-blob', object: `${name}@${route.digest}` };
  if (route.what !== 'manifest') return { action: 'artifact.push', object: name };
  const { reference } = route;
  return isOciDigest(reference)
    ? { action: 'artifact.delete', object: `${name}@${reference}` }
    : { action: 'artifact.untag', object: `${name}:${reference}` };
}

async function dispatch(c: RegistryContext, deps: OciDeps, route: OciRoute): Promise<Response> {
  const { method } = c.req;
  if ('repository' in route) await refuseDeletedCatalog(deps, route.repository);
  switch (route.what) {
    case 'base':
      await deps.repositoryAccess.checkCredentials(c);
      return c.json({}, 200, { 'Cache-Control': 'no-store' });
    case 'token':
      return c.json(await deps.repositoryAccess.issue(c), 200, { 'Cache-Control': 'no-store' });
    case 'repositories':
      await deps.repositoryAccess.challengeUnlessListing(c);
      return listRepositories(c, deps);
    case 'tags':
      return listTags(c, deps, route);
    case 'referrers':
      return listReferrers(c, deps, route);
    case 'manifest':
      if (method === 'PUT') return putManifest(c, deps, route);
      return method === 'DELETE' ? deleteManifest(c, deps, route) : manifestResponse(c, deps, route);
    case 'blob':
      return method === 'DELETE' ? deleteBlob(c, deps, route) : readBlob(c, deps, route);
    case 'uploads':
      return startUpload(c, deps, route.repository);
    case 'upload':
      if (method === 'PATCH') return continueUpload(c, deps, route);
      if (method === 'PUT') return finishUpload(c, deps, route);
      return method === 'DELETE' ? cancelUpload(c, deps, route) : uploadStatus(c, deps, route);
  }
}

/**
 * Returns any failure as an error of distribution-spec ("Error Codes"). Clients show the message, so it
 * includes the hint.
 */
function refusalResponse(c: RegistryContext, failure: unknown): Response {
  const { code, status, message, hint, detail, headers } = asRefusal(failure);
  if (status >= 500) c.set('failure', { code, err: failure });
  // As the framework does for errors that it handles.
  else if (failure instanceof Error) c.error = failure;
  const text = hint === undefined ? message : `${message}. ${hint}`;
  const body = errorBody(code, text.slice(0, SERVER_LIMITS.maxDetailLength), withErrorCode(failure, detail));
  return c.body(body, status as ContentfulStatusCode, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...OCI_API_VERSION,
    ...defined({
      'Retry-After': status === 503 ? '1' : undefined,
      // The rest of an oversized body is not read.
      Connection: status === 413 ? 'close' : undefined,
    }),
    ...headers,
  });
}

/** Adds the error code of the HTTP API to a detail, for clients of krmhub. */
function withErrorCode(failure: unknown, detail: unknown): unknown {
  const error = failure instanceof OciError ? failure.cause : failure;
  return error instanceof KrmhubError ? { code: error.code, ...(detail as object | undefined) } : detail;
}

function asRefusal(failure: unknown): OciError {
  if (failure instanceof OciError) return failure;
  if (!(failure instanceof KrmhubError)) {
    return new OciError('UNKNOWN', 'internal error', {
      hint: 'The operator can find the cause in the log with this request ID.',
    });
  }
  const { code, message, hint, takedowns, diagnostics } = failure;
  const found = [
    ...(takedowns.length > 0 ? [['takedowns', takedowns] as const] : []),
    ...(diagnostics.length > 0 ? [['diagnostics', diagnostics] as const] : []),
  ];
  return new OciError(OCI_CODES[code], message, {
    status: HTTP_STATUS[code],
    ...defined({
      hint,
      detail: found.length > 0 ? Object.fromEntries(found) : undefined,
      headers:
        failure instanceof TooManyRequests ? { 'Retry-After': String(failure.retryAfterSeconds) } : undefined,
    }),
  });
}
