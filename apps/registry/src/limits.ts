/** Limits of the server: each with its unit, and why. Limits on documents are in packages/schema/src/limits.ts. */
export const SERVER_LIMITS = {
  /** Bytes of a multipart body beyond its parts: boundaries and part headers. */
  maxMultipartOverheadBytes: 16_384,
  /** UTF-16 code units of what a refusal says, beside its diagnostics. */
  maxDetailLength: 8_192,
  /** Bytes of a JSON body: a reason or a token request. */
  maxJsonBytes: 65_536,
  /** Bytes of a form of a page, beside the text of a recipe, and its fields. */
  maxFormBytes: 65_536,
  maxFormFields: 50,
  /** Bytes of a form for each byte of a text in it: a line end is sent as `%0D%0A`. */
  formBytesOfTextByte: 6,
  /** Milliseconds for which somebody is signed in to the operators' pages: a working day. */
  sessionMilliseconds: 28_800_000,
  /** People who are signed in at once; who signed in first is signed out. */
  maxSessions: 1_000,
  /** Of these, with one token: none keeps others out. */
  maxSessionsOfToken: 10,
  /** Bytes of a body that is too large which are still read, so that its sender comes to read the answer. */
  maxDiscardedBytes: 4_194_304,
  /** Milliseconds for which that goes on. */
  discardMilliseconds: 1_000,
  /** Milliseconds in which a whole body must arrive: one mebibyte at 40 KB/s. */
  bodyMilliseconds: 30_000,
  /** Milliseconds in which the headers of a request must arrive. */
  headersMilliseconds: 10_000,
  /** Milliseconds in which a whole request must arrive; more than `bodyMilliseconds`, which answers with a reason. */
  requestMilliseconds: 60_000,
  /** Milliseconds for which an idle connection is kept: longer than the 60 s of common reverse proxies. */
  keepAliveMilliseconds: 65_000,
  /** Bytes of all headers of a request. */
  maxHeaderBytes: 16_384,
  /** Milliseconds that `wait=true` and a requested cut wait for the catalogs. */
  waitMilliseconds: 30_000,
  /** Milliseconds that a start waits for catalogs that are behind before it says where it listens. */
  startMilliseconds: 2_000,
  /** Milliseconds that a shutdown waits for requests in flight. */
  shutdownMilliseconds: 40_000,
  /** Bytes of a definition that is checked between two other requests; a larger one goes to a thread of its own. */
  maxPlannedAtOnceBytes: 16_384,
  /** Large definitions that wait for that thread; each holds its bytes. */
  maxPlansWaiting: 32,
  /** Milliseconds in which a large definition must be checked: ten times what the worst known takes. */
  planMilliseconds: 20_000,
  /** Mebibytes of memory that checking one takes at most. */
  maxPlanMegabytes: 512,
  /** Sources that are asked at once, and never two of one host. */
  maxRefreshes: 4,
  /** Of these, sources whose last look failed: each may take its whole deadline again, and others answer at once. */
  maxRefreshesOfFailed: 2,
  /** How often a source is asked anew when its recipe is changed meanwhile. */
  refreshAttempts: 3,
  /** Milliseconds in which a catalog elsewhere must be read: six times what 64 MiB of honest entries take. */
  readMilliseconds: 30_000,
  /** Milliseconds for which a process that has read one waits for the next: it holds some 100 MB. */
  readerIdleMilliseconds: 60_000,
  /** Mebibytes of the young part of the heap of each thread beside the main one. */
  maxYoungMegabytes: 12,
  /** Mebibytes of memory that reading one takes at most. */
  maxReadMegabytes: 1_024,
  /** Bytes of what is read of one: its entries as YAML, as JSON and what is known of them. */
  maxReadAnswerBytes: 402_653_184,
  /** Milliseconds that a request waits for a source that it has asked: less than clients wait for an answer. */
  refreshWaitMilliseconds: 40_000,
  /** Milliseconds that it then waits for the catalog to be cut. */
  refreshedCutMilliseconds: 15_000,
  /** Milliseconds that a requested cut waits for sources, before `waitMilliseconds` for itself. */
  unaskedWaitMilliseconds: 25_000,
  /** Milliseconds after which the schedule is looked at again, whatever it says: clocks are set. */
  refreshLookMilliseconds: 600_000,
  /** Milliseconds for which a copy that no source has is kept: a backup may be copying it. */
  keepCopyMilliseconds: 7_200_000,
  /** How often a change is planned anew when others change the same function or catalog. */
  planAttempts: 10,
  /** Threads that search; fewer where the machine has fewer processors. Each holds the facets of all functions. */
  maxSearchThreads: 2,
  /** Calls that wait for one thread: at 10 ms each, who comes later would wait for longer than ten seconds. */
  maxThreadCalls: 1_000,
  /** Requests that wait to change the same function, each with its body in memory. */
  maxTurnsWaiting: 64,
  /** Requests of one connection that wait for the answer before them; with more, the connection ends. */
  maxPipelinedRequests: 1_000,
  /** Milliseconds after which a connection ends on which nothing moves, such as an answer that nobody reads. */
  stalledMilliseconds: 120_000,
  /** Connections at once; more are refused, and the log says so. */
  maxConnections: 10_000,
  /** Parts of a form, and bytes of the header of each. */
  maxFormParts: 10,
  maxPartHeaderBytes: 16_384,
  /** Bytes of forms of old snapshots that are made again and kept; the oldest are forgotten before. */
  maxFormBytesMadeAgain: 268_435_456,
  /** Bytes of catalog forms that are kept in memory. One of more than half of it is read from the disk each time. */
  maxFormCacheBytes: 67_108_864,
  /** Bytes of single entries of catalogs that are kept in memory as they are sent. */
  maxEntryCacheBytes: 16_777_216,
  /** Bytes of what pages show of definitions and READMEs, kept in memory: it is made once for each. */
  maxPageCacheBytes: 33_554_432,
  /** Bytes of a form up to which it is compressed before its catalog is shown: that takes some 50 ms. */
  maxFormCompressedFirstBytes: 1_048_576,
  /** Milliseconds for which a catalog is left alone before its big forms are compressed. */
  compressAfterMilliseconds: 2_000,
  /** Milliseconds within which they are, although the catalog changes all the time. */
  compressWithinMilliseconds: 30_000,
  /** Characters of a form that are put together before they are written. */
  formPieceCharacters: 262_144,
  /** Entries that are written into a profile of a catalog before other work gets its turn: some 10 ms. */
  profileBatch: 20,
  /** Bytes of a profile up to which it is compressed before it is answered: once for each, in some 3 s. */
  maxProfileCompressedBytes: 67_108_864,
  /** Snapshots of a catalog whose forms stay stored; older ones are made again when asked for. */
  keptSnapshots: 3,
  /** Snapshots before these whose forms a cut forgets, should somebody have asked for them meanwhile. */
  forgottenSnapshots: 20,
  /** Exports of all functions at once: each reads all that there is. */
  maxExports: 8,
  /** Bytes of an export that are put together before they are sent. */
  exportPieceBytes: 65_536,
  /** Milliseconds for which an export is made before other work gets its turn. */
  exportTurnMilliseconds: 5,
  /** Functions handled by a cut before other work gets its turn. */
  cutBatch: 100,
  /** Milliseconds before a catalog that could not be cut is tried again; doubled each time. */
  minRetryMilliseconds: 1_000,
  maxRetryMilliseconds: 60_000,
  /** Bytes of the record of takedowns: some 100,000 of them. */
  maxTakedownRecordBytes: 67_108_864,
  /** Milliseconds between two records of a token's last use. */
  tokenUseMilliseconds: 60_000,
  /** Clients, and as many tokens, whose requests are counted; who was seen longest ago is forgotten. */
  maxCountedClients: 20_000,
  /** Bytes of a blob of an artifact. */
  maxBlobBytes: 10_737_418_240,
  /** Milliseconds in which a whole blob must arrive; a body elsewhere has `requestMilliseconds`. */
  uploadMilliseconds: 3_600_000,
  /** Milliseconds in which a manifest must arrive: four mebibytes at 140 KB/s. */
  manifestMilliseconds: 30_000,
  /** Manifests on their way in at once; each is in memory, in up to twice its bytes. */
  maxManifestsReceived: 64,
  /** Uploads of blobs that are open at once. */
  maxUploads: 1_000,
  /** Of these, uploads with one token: none keeps others from pushing. */
  maxUploadsOfToken: 200,
  /** Milliseconds after which an upload is ended that stands still. */
  uploadIdleMilliseconds: 3_600_000,
  /** Tags in an answer, and repositories. */
  maxPageEntries: 1_000,
  /** Referrers in an answer: clients do not all ask for a second page. */
  maxReferrers: 1_000,
  /** Bytes of such an answer, which holds annotations: as many as of a manifest, or of one referrer. */
  maxReferrersBytes: 4_194_304,
  /** Tags that one manifest is pushed under at once. */
  maxTagsAtOnce: 100,
  /** Scopes that a client asks an access token for. */
  maxTokenScopes: 100,
  /** Seconds for which an access token is good. */
  accessTokenSeconds: 300,
  /** Milliseconds between two records of when a blob was last seen by who pushes. */
  blobSeenMilliseconds: 600_000,
  /** Milliseconds for which a blob that no manifest names is kept after it was seen: a push may take so long. */
  collectDelayMilliseconds: 7_200_000,
  /** Milliseconds after a start, and between two looks for what nothing names. */
  collectFirstMilliseconds: 60_000,
  collectEveryMilliseconds: 3_600_000,
  /** Repositories, and files, that are looked at between other work. */
  collectBatch: 500,
  /** Milliseconds for which the files of the registry's keys are not read again. */
  readKeysMilliseconds: 60_000,
  /** Milliseconds between two looks for signatures that are to be renewed. */
  renewEveryMilliseconds: 60_000,
  /** Filters of a search page, and characters of its address: each of some hundred links on it holds all of them. */
  maxSearchFilters: 30,
  maxSearchAddressLength: 4_096,
  /** Catalogs and snapshots of which pages keep what they have counted. */
  maxKeptCounts: 5_000,
  /** Functions of a catalog, or of its report, on one page. */
  catalogPageFunctions: 50,
  /** Changed functions of a snapshot that lists of snapshots count; of more they say that there are more. */
  maxCountedChanges: 100,
  /** Changed functions between two snapshots that the page of these looks at, and those that it looks at closely. */
  maxComparedPlaces: 2_000,
  maxComparedClosely: 200,
  /** Bytes of the entries of one function, or of two definitions, up to which a page compares them: some 10 ms. */
  maxComparedEntryBytes: 131_072,
  /** Bytes of comparisons of snapshots that are kept in memory. */
  maxComparisonCacheBytes: 8_388_608,
  /** Bytes of all that is compared for one page. */
  maxComparedBytes: 4_194_304,
  /** Milliseconds for which the answer of a readiness check is used again: it writes to the disk. */
  readinessMilliseconds: 1_000,
} as const;
