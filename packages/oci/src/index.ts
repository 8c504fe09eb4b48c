export * from './artifact.js';
export type { Credentials } from './auth.js';
export { type ClientOptions, fallbackTag, OciClient, type StoredManifest } from './client.js';
export { type Content, contentOf } from './connection.js';
export { type Copied, type CopyProgress, copyArtifact } from './copy.js';
export { digestOf, isOciDigest, type OciDigest } from './digest.js';
export { inParallel } from './in-parallel.js';
export * from './manifest.js';
export { formatReference, parseReference, type Reference } from './reference.js';
