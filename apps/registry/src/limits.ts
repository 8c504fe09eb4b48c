/** Limits of the server: the unit and the reason for each. Limits on documents are in packages/schema/src/documents/limits.ts. */
export const SERVER_LIMITS = {
  /** Size of a multipart body beyond its parts: boundaries and part headers. */
  maxMultipartOverheadBytes: 16_384,
  /** Length of a problem detail without its diagnostics, in UTF-16 code units. */
  maxDetailLength: 8_192,
  /** Size of a JSON body: a reason or a token request. */
  maxJsonBytes: 65_536,
  /** Size of an HTML form without the text of a recipe. */
  maxFormBytes: 65_536,
  /** Fields of an HTML form. */
  maxFormFields: 50,
  /** Bytes of a form for each byte of its text: a line end is sent as `%0D%0A`. */
  formBytesPerTextByte: 6,
  /** Lifetime of a session on the operators' pages: a working day. */
  sessionMilliseconds: 28_800_000,
  /** Sessions at once; a new one ends the oldest. */
  maxSessions: 1_000,
  /** Sessions of one token, so that one token cannot use up all sessions. */
  maxSessionsOfToken: 10,
  /** Part of an oversized body that is still read, so that the client gets to read the response. */
  maxDiscardedBytes: 4_194_304,
  /** Time for which an oversized body is still read. */
  discardMilliseconds: 1_000,
  /** Timeout for a request body: one mebibyte at 40 KB/s. */
  bodyMilliseconds: 30_000,
  /** Timeout for request headers. */
  headersMilliseconds: 10_000,
  /** Timeout for a whole request; longer than `bodyMilliseconds`, whose response has a reason. */
  requestMilliseconds: 60_000,
  /** Time for which an idle connection stays open: longer than the 60 s of common reverse proxies. */
  keepAliveMilliseconds: 65_000,
  /** Size of all headers of a request. */
  maxHeaderBytes: 16_384,
  /** Time for which `wait=true` and a requested build wait for the catalogs. */
  waitMilliseconds: 30_000,
  /** Time for which the start waits for catalogs that are out of date, before the registry reports its address. */
  startMilliseconds: 2_000,
  /** Time for which a shutdown waits for requests in flight. */
  shutdownMilliseconds: 40_000,
  /** Size of a definition that is checked on the main thread; a larger one is checked in a process of its own. */
  maxPlannedInlineBytes: 16_384,
  /** Large definitions that wait for that process; each one is in memory. */
  maxPlansWaiting: 32,
  /** Timeout for checking a large definition: ten times what the worst known one takes. */
  planMilliseconds: 20_000,
  /** Memory for checking one large definition. */
  maxPlanMegabytes: 512,
  /** Size of a publish plan: the definition, the README, and the function with all its releases. */
  maxPlanResultBytes: 67_108_864,
  /** Time that a process spends on plans before another one replaces it. */
  planProcessMilliseconds: 60_000,
  /** Sources that are synced at once, and never two of one host. */
  maxRefreshes: 4,
  /** Of these, sources whose last sync failed: each may use its whole timeout again and delay others. */
  maxRefreshesOfFailed: 2,
  /** Attempts to sync a source whose recipe changes meanwhile. */
  refreshAttempts: 3,
  /** Timeout for parsing an upstream catalog: six times what 64 MiB of ordinary entries take. */
  readMilliseconds: 30_000,
  /** Time for which an idle process that plans definitions or parses catalogs is kept: it uses about 100 MB. */
  idleProcessMilliseconds: 60_000,
  /** Young generation of the heap of each worker thread. */
  maxYoungMegabytes: 12,
  /** Memory for parsing one upstream catalog. */
  maxReadMegabytes: 1_024,
  /** Size of a parsed upstream catalog: its entries as YAML and JSON, with their metadata. */
  maxReadResultBytes: 402_653_184,
  /** Time for which a request waits for the sync that it started: shorter than common client timeouts. */
  refreshWaitMilliseconds: 40_000,
  /** Time for which the request then waits for the snapshot. */
  refreshedBuildMilliseconds: 15_000,
  /** Time for which a requested build waits for sources, before `waitMilliseconds` for the build itself. */
  sourceWaitMilliseconds: 25_000,
  /** Longest time until the sync schedule is read again: the system clock can be changed. */
  schedulePollMilliseconds: 600_000,
  /** Time for which an unused copy of a source is kept: a backup may be reading it. */
  retainCopyMilliseconds: 7_200_000,
  /** Attempts to plan a change while concurrent requests change the same function or catalog. */
  planAttempts: 10,
  /** Search threads; fewer on a machine with fewer processors. Each holds the facets of all functions. */
  maxSearchThreads: 2,
  /** Calls that wait for one thread: at 10 ms each, a later one would wait for more than ten seconds. */
  maxThreadCalls: 1_000,
  /** Requests that wait to change the same function; the body of each is in memory. */
  maxLockWaiters: 64,
  /** Pipelined requests of one connection that wait for a response; with more, the connection is closed. */
  maxPipelinedRequests: 1_000,
  /** Time after which a connection without progress is closed, for example when the client does not read the response. */
  stalledMilliseconds: 120_000,
  /** Connections at once, a quarter of them of one client address; more are refused and logged. */
  maxConnections: 10_000,
  /** Files that the process must be able to open, half of them for connections: an idle registry has about 70. */
  minOpenFiles: 256,
  /** Log lines that wait because nothing reads the log; further ones are dropped and counted. */
  maxWaitingLogBytes: 1_048_576,
  /** Requests of one client address that are logged per minute, besides changes: nobody can fill the disk with lines. */
  loggedRequestsPerMinute: 600,
  /** Parts of a multipart body. */
  maxFormParts: 10,
  /** Size of the headers of one part. */
  maxPartHeaderBytes: 16_384,
  /** Total size of regenerated renditions of old snapshots; the oldest are evicted first. */
  maxRegeneratedBytes: 268_435_456,
  /** Memory for cached renditions. A rendition larger than half of it is read from disk each time. */
  maxRenditionCacheBytes: 67_108_864,
  /** Memory for cached single catalog entries. */
  maxEntryCacheBytes: 16_777_216,
  /** Memory for cached pages, schemas, and reports; the thread that derives them caches as much. */
  maxPageCacheBytes: 33_554_432,
  /** Size of a rendition that is compressed before its snapshot is published: that takes about 50 ms. */
  maxCompressedFirstBytes: 1_048_576,
  /** Time without changes after which the large renditions of a catalog are compressed. */
  compressAfterMilliseconds: 2_000,
  /** Longest delay of that compression for a catalog that changes all the time. */
  compressWithinMilliseconds: 30_000,
  /** Characters of a rendition that are written at once. */
  renditionPieceCharacters: 262_144,
  /** Entries that are converted to a profile before other work runs: about 10 ms. */
  profileBatch: 20,
  /** Size of a profile that is compressed before it is sent: once for each, in about 3 s. */
  maxProfileCompressedBytes: 67_108_864,
  /** Snapshots of a catalog whose renditions stay stored; older ones are regenerated on request. */
  retainedSnapshots: 3,
  /** Older snapshots whose renditions a build evicts, if a request has regenerated them. */
  evictedSnapshots: 20,
  /** Exports of all functions at once: each reads every function. */
  maxExports: 8,
  /** Bytes of an export that are sent at once. */
  exportPieceBytes: 65_536,
  /** Time for which an export runs before other work runs. */
  exportSliceMilliseconds: 5,
  /** Changed functions of a build that others wait for; a larger build runs beside them. */
  maxSmallBuildFunctions: 1_000,
  /** Functions that a build handles before other work runs. */
  buildBatch: 100,
  /** Delay before a failed build is retried; each further retry doubles it. */
  minRetryMilliseconds: 1_000,
  /** Longest delay before a failed build is retried. */
  maxRetryMilliseconds: 60_000,
  /** Size of the takedown record: about 100,000 takedowns. */
  maxTakedownRecordBytes: 67_108_864,
  /** Shortest interval between two updates of a token's last use. */
  tokenUseMilliseconds: 60_000,
  /** Clients, and as many tokens, whose requests are counted; the one with the oldest request is evicted. */
  maxCountedClients: 20_000,
  /** Size of one artifact blob. */
  maxBlobBytes: 10_737_418_240,
  /** Timeout for a blob upload; other bodies have `requestMilliseconds`. */
  uploadMilliseconds: 3_600_000,
  /** Timeout for a manifest upload: four mebibytes at 140 KB/s. */
  manifestMilliseconds: 30_000,
  /** Manifests that are received at once; each needs up to twice its size in memory. */
  maxManifestsReceived: 64,
  /** Open blob uploads. */
  maxUploads: 1_000,
  /** Open blob uploads of one token, so that one token cannot block other publishers. */
  maxUploadsOfToken: 200,
  /** Time after which an idle upload ends. */
  uploadIdleMilliseconds: 3_600_000,
  /** Tags or repositories in one response. */
  maxPageEntries: 1_000,
  /** Referrers in one response: not every client asks for a second page. */
  maxReferrers: 1_000,
  /** Size of a list of referrers, which includes annotations: the same as of a manifest, or one referrer. */
  maxReferrersBytes: 4_194_304,
  /** Tags of one manifest push. */
  maxTagsAtOnce: 100,
  /** Scopes in one request for an access token. */
  maxTokenScopes: 100,
  /** Lifetime of an access token. */
  accessTokenSeconds: 300,
  /** Shortest interval between two updates of when a client last checked a blob. */
  blobSeenMilliseconds: 600_000,
  /** Time for which an unreferenced blob is kept after a client last checked it: a push may take so long. */
  collectDelayMilliseconds: 7_200_000,
  /** Delay of the first garbage collection after the start. */
  collectFirstMilliseconds: 60_000,
  /** Interval between two garbage collections. */
  collectEveryMilliseconds: 3_600_000,
  /** Repositories or files that garbage collection handles before other work runs. */
  collectBatch: 500,
  /** Time for which the registry's key files are not read again. */
  readKeysMilliseconds: 60_000,
  /** Interval between two checks for signatures to renew. */
  renewEveryMilliseconds: 60_000,
  /** Filters of a search page: each of about a hundred links on the page repeats them. */
  maxSearchFilters: 30,
  /** Length of the address of a search page, for the same reason. */
  maxSearchAddressLength: 4_096,
  /** Releases of functions whose records are cached: about 1 KB each. */
  maxCachedReleases: 10_000,
  /** Catalogs and snapshots whose counts are cached for pages. */
  maxCachedCounts: 5_000,
  /** Functions of a catalog, or of its report, on one page. */
  catalogPageFunctions: 50,
  /** Changed functions that a list of snapshots counts; beyond that it shows that there are more. */
  maxCountedChanges: 100,
  /** Changed functions between two snapshots that a page lists. */
  maxComparedEntries: 2_000,
  /** Of these, changed functions that the page compares in detail. */
  maxComparedInDetail: 200,
  /** Size of the entries of one function, or of two definitions, that a page compares: about 10 ms. */
  maxComparedEntryBytes: 131_072,
  /** Memory for cached comparisons of snapshots. */
  maxComparisonCacheBytes: 8_388_608,
  /** Total size of what one page compares. */
  maxComparedBytes: 4_194_304,
  /** Time for which a readiness result is reused: the check writes to the disk. */
  readinessMilliseconds: 1_000,
} as const;
