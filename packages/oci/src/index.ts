export * from './artifact.js';
export type { Credentials } from './auth.js';
export * from './bundle-manifest.js';
export { type ClientOptions, fallbackTag, OciClient, type StoredManifest } from './client.js';
export {
  type Content,
  contentOf,
  IDLE,
  limitedBytes,
  TooManyRedirects,
} from './connection.js';
export { type Copied, type CopyProgress, copyArtifact } from './copy.js';
export { digestOf, isOciDigest, type OciDigest } from './digest.js';
export { inParallel } from './in-parallel.js';
export * from './manifest.js';
export * from './manifest-store.js';
export { formatReference, isRepository, isTag, parseReference, type Reference } from './reference.js';
export { type ByteRange, readChunkRange, readRange } from './server/range.js';
export { OCI_STATUS, type OciErrorCode, OciRefusal, refusalBody } from './server/refusal.js';
export {
  checkedDigest,
  OCI_API_VERSION,
  OCI_METHODS,
  type OciRoute,
  type OciRouteName,
  PUBLISHED,
  parseOciPath,
} from './server/route.js';
