export { invalidRanges } from './address-guard.js';
export type {
  FetchedCatalog,
  FetcherOptions,
  FetchRequest,
  SourceCredentials,
} from './context.js';
export type { Consume, DownloadRequest } from './download-request.js';
export { SourceFailure } from './failure.js';
export { SourceFetcher, type TreeRequest } from './fetcher.js';
export type { ServiceRequest, ServiceResponse } from './http/send-request.js';
export { SOURCE_LIMITS, type SourceLimits } from './limits.js';
