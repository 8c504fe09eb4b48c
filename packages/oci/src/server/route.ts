import { isOciDigest, type OciDigest } from '../digest.js';
import { isRepository } from '../reference.js';
import { OciError } from './oci-error.js';

/** What a request to the API of distribution-spec asks for. */
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

/** Methods of each, GET with HEAD (distribution-spec, "Endpoints"). */
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

/** Header field of every answer: older clients look for it to know that they found a registry. */
export const OCI_API_VERSION = { 'Docker-Distribution-API-Version': 'registry/2.0' } as const;

/** Header field of the answer to a manifest that published a release: GROUP/KIND@RELEASE. */
export const PUBLISHED_HEADER = 'Krmhub-Published';

const UPLOAD_ID = /^[a-f0-9-]{36}$/;
/** A repository's name may itself hold these words: the last one in the path counts. */
const SUFFIX =
  /^(.*)\/(?:tags\/(list)|manifests\/([^/]+)|blobs\/uploads\/([^/]*)|blobs\/(uploads)|blobs\/([^/]+)|referrers\/([^/]+))$/;

/**
 * Reads a path below `/v2`, percent-encoding already undone or not: nothing of it may be encoded. Undefined where
 * there is no such endpoint; throws an OciError for names and digests that are none.
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
    throw new OciError('NAME_INVALID', 'The repository has no name that a repository can have', {
      hint: 'Names are lower case: letters, digits, and single separators between them.',
    });
  }
  if (tags !== undefined) return { what: 'tags', repository };
  if (reference !== undefined)
    return { what: 'manifest', repository, reference: parseManifestReference(reference) };
  if (uploads !== undefined || uploadId === '') return { what: 'uploads', repository };
  if (uploadId !== undefined) {
    if (!UPLOAD_ID.test(uploadId)) throw new OciError('BLOB_UPLOAD_UNKNOWN', 'There is no such upload');
    return { what: 'upload', repository, id: uploadId };
  }
  if (blob !== undefined) return { what: 'blob', repository, digest: parseDigest(blob) };
  return { what: 'referrers', repository, digest: parseDigest(subject ?? '') };
}

export function parseDigest(text: string): OciDigest {
  if (isOciDigest(text)) return text;
  throw new OciError(
    'DIGEST_INVALID',
    'The digest is not sha256: and 64 or sha512: and 128 hexadecimal digits',
  );
}

/** A tag never holds a colon, and a digest always does. What is no tag names nothing, until somebody pushes to it. */
function parseManifestReference(text: string): string {
  return text.includes(':') ? parseDigest(text) : text;
}
