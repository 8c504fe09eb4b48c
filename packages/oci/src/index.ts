/**
 * A client for OCI registries, the manifests of artifacts, and the contract of a manifest store.
 *
 * @module
 */

export { type ArchiveFile, storedGzip, tarArchive } from './archive.js';
export * from './artifact.js';
export { type Credentials, ForeignTokenService } from './auth.js';
export * from './bundle-manifest.js';
export { type ClientOptions, OciClient, referrersTag, type StoredManifest } from './client.js';
export { type Content, readLimited, toContent } from './connection.js';
export { IDLE_TIMEOUT, TooManyRedirects } from './connection-errors.js';
export { type CopyProgress, type CopyResult, copyArtifact } from './copy.js';
export { computeDigest, isOciDigest, type OciDigest } from './digest.js';
export * from './flux-artifact.js';
export * from './manifest.js';
export * from './manifest-store.js';
export * from './readme-images.js';
export {
  formatReference,
  isRepository,
  isTag,
  parseReference,
  type Reference,
  type RepositoryReference,
} from './reference.js';
export { bundlesFirst, type ReferrerBundleLimits, readReferrerBundles } from './referrer-bundles.js';
export * from './referrer-manifest.js';
export { runInParallel } from './run-in-parallel.js';
export {
  errorBody,
  OCI_STATUS,
  OciError,
  type OciErrorCode,
} from './server/oci-error.js';
export { type ByteRange, readChunkRange, readRange } from './server/range.js';
export {
  OCI_API_VERSION,
  OCI_METHODS,
  type OciRoute,
  type OciRouteName,
  PUBLISHED_HEADER,
  parseDigest,
  parseOciPath,
} from './server/route.js';
