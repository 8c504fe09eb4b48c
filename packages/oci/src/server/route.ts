/**
 * Routes, ranges, and errors of the OCI distribution specification, for servers.
 *
 * @module
 */

import { isOciDigest, type OciDigest } from '../digest.js';
import { isRepository } from '../reference.js';
import { OciError } from './oci-error.js';

/** The route of a request to the API of distribution-spec. */
export type OciRoute =
  | { what: 'base' }
  | { what: 'token' }
  | { what: 'repositories' }
  | { what: 'tags'; repository: string }
  | { what: 'manifest'; repository: string; reference: string }
  | { what: 'blob'; repository: string; digest: OciDigest }
  | { what: 'uploads'; repository: string }
  | { what: 'upload'; repository: string; id: string }
  | { what: 'referrers'; repository: string; digest: OciDigest };

export type OciRouteName = OciRoute['what'];

/** Methods of each route (distribution-spec, "Endpoints"). */
export const OCI_METHODS: Record<OciRouteName, readonly string[]> = {
  base: ['GET', 'HEAD'],
  token: ['GET', 'HEAD'],
  repositories: ['GET', 'HEAD'],
  tags: ['GET', 'HEAD'],
  manifest: ['GET', 'HEAD', 'PUT', 'DELETE'],
  blob: ['GET', 'HEAD', 'DELETE'],
  uploads: ['POST'],
  upload: ['GET', 'HEAD', 'PATCH', 'PUT', 'DELETE'],
  referrers: ['GET', 'HEAD'],
};

/** A header of every response: older clients need it to detect a registry. */
export const OCI_API_VERSION = { 'Docker-Distribution-API-Version': 'registry/2.0' } as const;

/** Response header for a manifest push that published a release: GROUP/KIND@RELEASE. */
export const PUBLISHED_HEADER = 'Krmhub-Published';

const UPLOAD_ID = /^[a-f0-9-]{36}$/;
/** A repository name may contain these words too: the last one in the path counts. */
const SUFFIX =
  /^(.*)\/(?:tags\/(list)|manifests\/([^/]+)|blobs\/uploads\/([^/]*)|blobs\/(uploads)|blobs\/([^/]+)|referrers\/([^/]+))$/;

/**
 * Parses a path below `/v2`, which contains no percent-encoding. Returns undefined for an unknown endpoint, throws an
 * OciError for invalid names and digests.
 */
export function parseOciPath(path: string): OciRoute | undefined {
  if (path === '' || path === '/') return { what: 'base' };
  if (path === '/token') return { what: 'token' };
  if (path === '/_catalog') return { what: 'repositories' };
  const match = SUFFIX.exec(path);
  if (match === null) return undefined;
  const [, before = '', tags, reference, uploadId, uploads, blob, subject] = match;
  const repository = before.slice(1);
  if (!isRepository(repository)) {
    throw new OciError('NAME_INVALID', 'invalid repository name', {
      hint: 'Use lower-case letters and digits, with single separators between them.',
    });
  }
  if (tags !== undefined) return { what: 'tags', repository };
  if (reference !== undefined)
    return { what: 'manifest', repository, reference: parseManifestReference(reference) };
  if (uploads !== undefined || uploadId === '') return { what: 'uploads', repository };
  if (uploadId !== undefined) {
    if (!UPLOAD_ID.test(uploadId)) throw new OciError('BLOB_UPLOAD_UNKNOWN', 'unknown upload');
    return { what: 'upload', repository, id: uploadId };
  }
  if (blob !== undefined) return { what: 'blob', repository, digest: parseDigest(blob) };
  return { what: 'referrers', repository, digest: parseDigest(subject ?? '') };
}

export function parseDigest(text: string): OciDigest {
  if (isOciDigest(text)) return text;
  throw new OciError(
    'DIGEST_INVALID',
    'invalid digest: expected sha256: with 64 hexadecimal digits, or sha512: with 128',
  );
}

/** A digest contains a colon, a tag does not. An invalid tag is unknown on pull and rejected on push. */
function parseManifestReference(text: string): string {
  return text.includes(':') ? parseDigest(text) : text;
}
