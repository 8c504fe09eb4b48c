/** Limits on the use of an S3-compatible store, which can be slow, fail, and lie. */
export const S3_LIMITS = {
  /** Attempts of a request that fails or gets a 429 or 5xx. */
  maxAttempts: 4,
  /** Delay before the second attempt; each further one doubles it, and half of it is random. */
  minRetryMilliseconds: 100,
  /** Time until the headers of a response arrive, besides the time to send a body. */
  responseMilliseconds: 10_000,
  /** Time for all attempts of a request, besides the time to send a body: less than a client waits for a response. */
  requestMilliseconds: 25_000,
  /**
   * Time in which a blob is deleted or the request ends. With several processes, one that was given up must not delete
   * what the others store again: this is less than half the time after which they give it up.
   */
  deleteMilliseconds: 4_000,
  /** Slowest speed at which a body is sent, in bytes per millisecond. */
  minSendRate: 100,
  /** Slowest speed at which the store joins the parts of a blob, in bytes per millisecond. */
  minJoinRate: 10_000,
  /** Time between two pieces of a response. */
  idleMilliseconds: 15_000,
  /** Requests at the same time. Streamed reads count only until their headers arrive. */
  maxRequests: 64,
  /** Size of a response that is not a blob: a list of 1,000 objects has up to 1.5 MB. */
  maxDocumentBytes: 4_194_304,
  /** Pages of one list: 1,000 objects each. */
  maxListPages: 1_000_000,
  /** Size of a part of a multipart upload. A blob that is not larger is sent in one request. */
  partBytes: 8_388_608,
  /** Age of a multipart upload that no process completes any more. A request that sends one takes minutes. */
  abandonedMilliseconds: 86_400_000,
  /** Parts in memory at the same time, of all uploads. */
  maxParts: 8,
  /** Size of a blob that is read into memory. */
  maxMemoryBytes: 268_435_456,
  /** Size of a blob in the cache. A larger one is streamed from the store. */
  maxCachedBytes: 67_108_864,
  /** Cached bytes are not more than this part of the whole cache, so that one blob does not evict all others. */
  maxCachedShare: 0.25,
  /** Temporary credentials are replaced so long before they expire. */
  renewMilliseconds: 300_000,
  /** Time after which a file with credentials is read again: a program may replace it. */
  fileMilliseconds: 600_000,
  /** Time for the first response of the instance metadata service: only some machines have one. */
  metadataMilliseconds: 1_000,
  /** Length of a response with credentials. */
  maxCredentialsLength: 65_536,
  /** Validity of a presigned URL, for its first byte: a blob can be made private. */
  presignedSeconds: 60,
} as const;
