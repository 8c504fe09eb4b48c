/**
 * Limits of the server: the unit and the reason for each. Limits on documents are in
 * packages/schema/src/documents/limits.ts.
 */
export const SERVER_LIMITS = {
  /** Size of a multipart body without its parts: boundaries and part headers. */
  maxMultipartOverheadBytes: 16_384,
  /** Length of a problem detail without its diagnostics, in UTF-16 code units. */
  maxDetailLength: 8_192,
  /** Size of a JSON body: a reason or a token request. */
  maxJsonBytes: 65_536,
  /** Size of a SCIM request: a group with all its members. */
  maxScimBytes: 2_097_152,
  /** Users of a directory. */
  maxDirectoryUsers: 50_000,
  /** Groups of a directory. */
  maxDirectoryGroups: 5_000,
  /** Members of a group of a directory, and of all groups in one response, unless the first group has more. */
  maxDirectoryMembers: 10_000,
  /** Groups of one user in a directory: each request of the user reads them. */
  maxDirectoryGroupsOfUser: 500,
  /** Size of an HTML form without the text of a recipe. */
  maxFormBytes: 65_536,
  /** Fields of an HTML form. */
  maxFormFields: 50,
  /** Bytes of a form for each byte of its text: a line end is sent as `%0D%0A`. */
  formBytesPerTextByte: 6,
  /** Lifetime of a session on the operator pages: a working day. */
  sessionMilliseconds: 28_800_000,
  /** Interval at which the registry asks the identity provider about the user of a session in use. */
  confirmMilliseconds: 60_000,
  /** Time after which a session ends if the provider does not confirm its user. */
  unconfirmedMilliseconds: 3_600_000,
  /** Time after which another process asks if the first one does not finish. */
  claimMilliseconds: 60_000,
  /** Difference between the clocks of two processes, at most. */
  clockMilliseconds: 300_000,
  /** Time to sign in at the provider. */
  flowMilliseconds: 600_000,
  /** Sessions at the same time. A new session ends the oldest session. */
  maxSessions: 10_000,
  /** Sessions of one token or user, so that nobody can use up all sessions. */
  maxSessionsOfToken: 10,
  /** Usable tokens of one user, and as many others, which the user still sees. */
  maxTokensOfUser: 100,
  /** Time during which a user can allow a program to sign in. */
  loginRequestMilliseconds: 600_000,
  /** Programs that wait for that. */
  maxLoginRequests: 10_000,
  /** Of these, programs of one network. */
  maxLoginRequestsOfNetwork: 50,
  /** Of these, programs of one site of IPv6, which has many networks. */
  maxLoginRequestsOfSite: 500,
  /** Logins of one network that were used or denied within that time: they are stored as long. */
  maxEndedLoginsOfNetwork: 200,
  /** Logins of one site of IPv6 that were. */
  maxEndedLoginsOfSite: 1_000,
  /** Refused requests of one token that have a row of the audit log each, in an hour. Others are counted. */
  recordedRefusalsPerHour: 30,
  /** Tokens and networks whose refused requests are counted apart, in an hour. */
  maxCountedRefusals: 200,
  /** Interval at which the registry checks whether the hour of such counts is over. */
  countedRefusalsMilliseconds: 60_000,
  /** Time for which the report about a package counts. */
  consumerMilliseconds: 7_776_000_000,
  /** Packages that one team, user, or token reports. */
  maxConsumers: 1_000,
  /** Names of public packages in a response. */
  maxConsumerNames: 50,
  /** Rows of the audit log in memory during an export. */
  auditBatch: 500,
  /** Rows of the audit log that one transaction deletes. */
  prunedAuditRows: 10_000,
  /** Interval at which the registry writes the head of the audit log to its own log, and prunes the audit log. */
  auditHeadMilliseconds: 86_400_000,
  /** Secrets of new tokens of one session that wait for the page that shows them. */
  maxSecretsOfSession: 10,
  /** Time until such a secret is dropped. A browser asks for its page at once. */
  secretMilliseconds: 5 * 60_000,
  /** Part of an oversized body that the registry still reads, so that the client can read the response. */
  maxDiscardedBytes: 4_194_304,
  /** Time during which the registry reads an oversized body. */
  discardMilliseconds: 1_000,
  /** Timeout for a request body: one mebibyte at 40 KB/s. */
  bodyMilliseconds: 30_000,
  /** Memory for all request bodies, from their first byte to the response. Uploads of blobs need none. */
  maxBodyMemoryBytes: 268_435_456,
  /**
   * Memory for the request bodies of one token, or of one address without a token: about 14 of the largest publishes.
   */
  maxBodyMemoryOfClientBytes: 67_108_864,
  /** Timeout for request headers. */
  headersMilliseconds: 10_000,
  /** Timeout for a whole request. It is longer than `bodyMilliseconds`, because that response contains a reason. */
  requestMilliseconds: 60_000,
  /** Time during which an idle connection stays open: longer than the 60 s of common reverse proxies. */
  keepAliveMilliseconds: 65_000,
  /** Size of all headers of a request. */
  maxHeaderBytes: 16_384,
  /** Time during which `wait=true` and a requested build wait for the catalogs. */
  waitMilliseconds: 30_000,
  /** Time during which the start waits for outdated catalogs before the registry reports its address. */
  startMilliseconds: 2_000,
  /** Time during which a shutdown waits for requests in flight. */
  shutdownMilliseconds: 40_000,
  /** Size of a definition that the main thread checks. A separate process checks larger definitions. */
  maxPlannedInlineBytes: 16_384,
  /**
   * Cost of the patterns and CEL rules that the main thread checks, in instructions of a pattern: about 20 milliseconds.
   * Twenty fields with the pattern of a name have 200.
   */
  maxInlineCheckCost: 10_000,
  /**
   * Size of a definition or a README that the registry stores as a row of the database. Larger ones are files in
   * `blobs/`, whose publishes wait for more syncs.
   */
  maxFileRowBytes: 65_536,
  /**
   * Size of a pushed blob, or of a bundle of a release, that the registry stores as a row of the database. Larger ones
   * are files in `artifacts/`, whose pushes wait for more syncs. The bytes of all open uploads of this size can be in memory.
   */
  maxBlobRowBytes: 32_768,
  /** Large definitions that wait for that process. All of them are in memory. */
  maxPlansWaiting: 32,
  /** Timeout for the check of a large definition: ten times the time of the worst known definition. */
  planMilliseconds: 20_000,
  /** Memory for the check of one large definition. */
  maxPlanMegabytes: 512,
  /** Size of a publish plan: the definition, the README, and the function with all its releases. */
  maxPlanResultBytes: 67_108_864,
  /** Time after which another process replaces a process that checks definitions. */
  planProcessMilliseconds: 60_000,
  /** Sources that the registry syncs at the same time. It syncs only one source per host. */
  maxRefreshes: 4,
  /** Of these, sources with a failed last sync. Each of them can use its whole timeout again and delay others. */
  maxRefreshesOfFailed: 2,
  /** Attempts to sync a source if its recipe changes during the sync. */
  refreshAttempts: 3,
  /** Timeout for parsing an upstream catalog: six times the time of 64 MiB of ordinary entries. */
  readMilliseconds: 30_000,
  /** Size of waiting upstream catalogs from which the registry starts another process to parse them. */
  startReadBytes: 524_288,
  /**
   * Size of the upstream catalogs that the registry parses at the same time. It parses a larger catalog alone: parsing
   * can require a hundred times the size.
   */
  maxReadBytesAtOnce: 4_194_304,
  /** Time during which the registry keeps an idle process for catalogs beyond the first. */
  idleReadMilliseconds: 2_000,
  /** Memory with which the registry replaces a process that parsed an upstream catalog. It usually uses about 100. */
  reuseReadMegabytes: 192,
  /** Time during which the registry keeps an idle process for definitions or catalogs. It uses about 100 MB. */
  idleProcessMilliseconds: 60_000,
  /** Young generation of the heap of each worker thread. */
  maxYoungMegabytes: 12,
  /** Memory for parsing one upstream catalog. */
  maxReadMegabytes: 1_024,
  /** Size of a parsed upstream catalog: its entries as YAML and JSON, with their metadata. */
  maxReadResultBytes: 402_653_184,
  /** Time during which a request waits for the sync that it started: shorter than common client timeouts. */
  refreshWaitMilliseconds: 40_000,
  /** Time during which the request then waits for the snapshot. */
  refreshedBuildMilliseconds: 15_000,
  /** Time during which a requested build waits for sources, before `waitMilliseconds` for the build itself. */
  sourceWaitMilliseconds: 25_000,
  /** Longest time between two reads of the sync schedule, because the system clock can change. */
  schedulePollMilliseconds: 600_000,
  /** Time during which the registry keeps an unused copy of a source, because a backup may be reading it. */
  retainCopyMilliseconds: 7_200_000,
  /** Attempts to plan a change while concurrent requests change the same function or catalog. */
  planAttempts: 10,
  /** Search threads. Machines with fewer processors have fewer. Each thread stores the facets of all functions. */
  maxSearchThreads: 2,
  /** Calls that wait for one thread. At 10 ms per call, a further call would wait for more than ten seconds. */
  maxThreadCalls: 1_000,
  /**
   * Documents that the registry derives for requests at the same time. With more, one client delays others for longer.
   */
  derivationsAtOnce: 2,
  /** Requests that wait for a derived document. */
  maxDerivationsWaiting: 1_000,
  /** Requests that wait to change the same function. The bodies of all of them are in memory. */
  maxLockWaiters: 64,
  /**
   * Pipelined requests of one connection that wait for a response. With more requests, the registry closes the
   * connection.
   */
  maxPipelinedRequests: 1_000,
  /**
   * Time after which the registry closes a connection without progress, for example if the client does not read the
   * response.
   */
  stalledMilliseconds: 120_000,
  /**
   * Connections at the same time, a quarter of them from one client address, and half of them from one IPv6 /48. The
   * registry rejects and logs further connections.
   */
  maxConnections: 10_000,
  /**
   * Files that the process must be able to open. Half of them are for connections. An idle registry has about 70 open
   * files.
   */
  minOpenFiles: 256,
  /** Log lines that wait because no process reads the log. The registry drops and counts further lines. */
  maxWaitingLogBytes: 1_048_576,
  /** Logged requests of one client address per minute, without changes. No client can fill the disk with log lines. */
  loggedRequestsPerMinute: 600,
  /** Parts of a multipart body. */
  maxFormParts: 10,
  /** Size of the headers of one part. */
  maxPartHeaderBytes: 16_384,
  /** Total size of profiles of old snapshots. The registry deletes the oldest first. */
  maxOldProfileBytes: 268_435_456,
  /** Memory for cached catalogs. The registry streams a catalog of more than half this size from its entries. */
  maxDocumentCacheBytes: 67_108_864,
  /** Memory for cached profiles. The registry reads a profile of more than half this size from disk each time. */
  maxProfileCacheBytes: 16_777_216,
  /** Memory for cached single catalog entries. */
  maxEntryCacheBytes: 16_777_216,
  /** Memory for cached pages, schemas, and reports. The worker thread that derives them caches the same amount. */
  maxPageCacheBytes: 33_554_432,
  /** Size of a catalog that the registry also compresses with brotli, in about 50 ms on the first request. */
  maxBrotliBytes: 1_048_576,
  /** Characters of a profile that the registry writes in one step. */
  profilePieceCharacters: 262_144,
  /** Entries that the registry converts to a profile in one step: about 10 ms. */
  profileBatch: 20,
  /** Size of a profile that the registry compresses before it sends the profile, once in about 3 s. */
  maxProfileCompressedBytes: 67_108_864,
  /** Snapshots of a catalog with stored profiles. The registry writes profiles of older snapshots on request. */
  retainedSnapshots: 3,
  /** Older snapshots whose profiles the registry deletes. */
  evictedSnapshots: 20,
  /** Exports of all functions at the same time. Each export reads every function. */
  maxExports: 8,
  /** Bytes of an export that the registry sends in one step. */
  exportPieceBytes: 65_536,
  /** Time after which a response that is still being sent checks its token again. */
  recheckReaderMilliseconds: 30_000,
  /** Time after which a change checks its token again before it is stored. */
  recheckWriterMilliseconds: 1_000,
  /** Time during which an export runs before other work. */
  exportSliceMilliseconds: 5,
  /** Changed functions of a build that other builds wait for. A larger build runs in parallel. */
  maxSmallBuildFunctions: 1_000,
  /**
   * Rest after builds that nobody waits for, as a multiple of their time. While many publish, builds use no more than a
   * quarter of a core.
   */
  buildRestFactor: 3,
  /** Longest such rest. */
  maxBuildRestMilliseconds: 1_000,
  /**
   * Functions of a large catalog, whose builds hash much: other builds do not wait for them, and a second thread
   * hashes. The thread takes about 15 MB of memory.
   */
  largeCatalogFunctions: 20_000,
  /** Functions that a build processes before other work runs. */
  buildBatch: 100,
  /** Delay before the first retry of a failed build. Each further retry doubles the delay. */
  minRetryMilliseconds: 1_000,
  /** Longest delay before a retry of a failed build. */
  maxRetryMilliseconds: 60_000,
  /** Size of the takedown record: about 100,000 takedowns. */
  maxTakedownRecordBytes: 67_108_864,
  /** Shortest interval between two updates of the last use of a token. */
  tokenUseMilliseconds: 60_000,
  /**
   * Clients, and the same number of tokens, with counted requests. The registry evicts the client with the oldest
   * request.
   */
  maxCountedClients: 20_000,
  /** Size of one artifact blob. */
  maxBlobBytes: 10_737_418_240,
  /** Timeout for a blob upload. Other bodies use `requestMilliseconds`. */
  uploadMilliseconds: 3_600_000,
  /** Timeout for a manifest upload: four mebibytes at 140 KB/s. */
  manifestMilliseconds: 30_000,
  /** Open blob uploads. */
  maxUploads: 1_000,
  /** Open blob uploads of one token, so that one token cannot block other publishers. */
  maxUploadsOfToken: 200,
  /** Time after which an idle upload ends. */
  uploadIdleMilliseconds: 3_600_000,
  /** Time between two signs of life of a request that writes to an upload that several processes share. */
  uploadRenewMilliseconds: 5_000,
  /** Time without one after which another request can continue the upload: several missed ones. */
  uploadLostMilliseconds: 30_000,
  /** Size of a piece of such an upload in the object store. */
  uploadPieceBytes: 8_388_608,
  /** Size of a piece while many uploads wait. */
  minUploadPieceBytes: 262_144,
  /** Memory for pieces from which they are stored early. */
  maxUploadPiecesBytes: 134_217_728,
  /** Tags or repositories in one response. */
  maxPageEntries: 1_000,
  /** Referrers in one response, because not every client requests a second page. */
  maxReferrers: 1_000,
  /** Size of a list of referrers with annotations: the limit of a manifest, or one referrer. */
  maxReferrersBytes: 4_194_304,
  /** Tags of one manifest push. */
  maxTagsAtOnce: 100,
  /** Scopes in one request for an access token. */
  maxTokenScopes: 100,
  /** Lifetime of an access token. */
  accessTokenSeconds: 300,
  /** Shortest interval between two updates of the time at which a client last checked a blob. */
  blobSeenMilliseconds: 600_000,
  /**
   * Time during which the registry keeps an unreferenced blob after a client last checked it. A push can take that
   * long.
   */
  collectDelayMilliseconds: 7_200_000,
  /** Delay of the first garbage collection after the start. */
  collectFirstMilliseconds: 60_000,
  /** Interval between two garbage collections. */
  collectEveryMilliseconds: 3_600_000,
  /** Interval between two purges of catalogs that can no longer be restored. */
  purgeEveryMilliseconds: 3_600_000,
  /** Repositories or files that garbage collection processes before other work runs. */
  collectBatch: 500,
  /** Time during which the registry does not read its key files again. */
  readKeysMilliseconds: 60_000,
  /** Interval between two checks for signatures to renew. */
  renewEveryMilliseconds: 300_000,
  /** Filters of a search page. Each of about a hundred links on the page repeats them. */
  maxSearchFilters: 30,
  /** Length of the URL of a search page, for the same reason. */
  maxSearchAddressLength: 4_096,
  /** Releases with cached records: about 1 KB each. */
  maxCachedReleases: 10_000,
  /** States of one entry that a request for the history of a catalog reads. A build adds at most one. */
  maxHistoryStates: 500,
  /** Size of a definition that such a request reads for its images; most have a few KB. */
  maxHistoryDefinitionBytes: 65_536,
  /** Catalogs and snapshots with cached counts for pages. */
  maxCachedCounts: 5_000,
  /** Functions of a catalog, or of its report, on one page. */
  catalogPageFunctions: 50,
  /** Changed functions that a list of snapshots counts. Above this number, the page shows that there are more. */
  maxCountedChanges: 100,
  /** Changed functions between two snapshots that one page lists. */
  maxComparedEntries: 2_000,
  /** Of these, changed functions that the page compares in detail. */
  maxComparedInDetail: 200,
  /** Size of the entries of one function, or of two definitions, that a page compares in about 10 ms. */
  maxComparedEntryBytes: 131_072,
  /** Memory for cached comparisons of snapshots. */
  maxComparisonCacheBytes: 8_388_608,
  /** Total size of the entries that one page compares. */
  maxComparedBytes: 4_194_304,
  /** First delay between two attempts to reach the database server or the store of the blobs at the start. */
  minStartRetryMilliseconds: 500,
  /** Longest of these delays: each is twice as long as the last one, and up to a half of it is random. */
  maxStartRetryMilliseconds: 15_000,
  /** Time during which the registry reuses a readiness result, because the check writes to the disk. */
  readinessMilliseconds: 1_000,
  /** Time after which a readiness check that has no result fails: less than the timeout of a probe. */
  readinessCheckMilliseconds: 3_000,
} as const;
