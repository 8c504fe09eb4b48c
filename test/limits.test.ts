import { existsSync } from 'node:fs';
import path from 'node:path';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { LOCK_LIMITS, PUBLISH_LIMITS, RECIPE_LIMITS } from '@krmhub/catalog';
import { DOCUMENT_LIMITS } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../apps/registry/src/limits.js';
import { documents, locks, recipes } from './limits/document-limits.js';
import { requestLimits } from './limits/request-limits.js';
import { root } from './running.js';

/** Every limit has a test on both of its sides: most are in test/limits, which is a part of the campaign. */
describe('the tests of limits', () => {
  /** Limits that no client reaches with its requests, and those tested in other files. */
  const TESTED_IN_OTHER_FILES: Record<string, string> = {
    maxEntryLength: 'packages/catalog/src/plan/publish.test.ts',
    recheckWriterMilliseconds: 'test/authorization/revoked-while-checked.test.ts',
    bodyMilliseconds: 'test/limits/limits.test.ts, test/hostile/socket.test.ts',
    headersMilliseconds: 'test/hostile/socket.test.ts',
    requestMilliseconds: 'test/hostile/socket.test.ts',
    discardMilliseconds: 'maxDiscardedBytes',
    maxHeaderBytes: 'test/limits/limits.test.ts',
    maxPlannedInlineBytes: 'apps/registry/src/publish/planner.test.ts',
    maxInlineCheckCost: 'apps/registry/src/publish/planner.test.ts',
    maxPlansWaiting: 'apps/registry/src/publish/planner.test.ts',
    planMilliseconds: 'apps/registry/src/publish/planner.test.ts',
    maxPlanMegabytes: 'apps/registry/src/publish/planner.test.ts',
    maxPlanResultBytes: 'apps/registry/src/publish/planner.test.ts',
    maxThreadCalls: 'apps/registry/src/workers/isolation/thread.test.ts',
    maxCachedReleases: 'apps/registry/src/store/records/functions/function-records.test.ts',
    derivationsAtOnce: 'apps/registry/src/workers/derive/derived-documents.test.ts',
    maxDerivationsWaiting: 'apps/registry/src/workers/locks/fair-queue.test.ts',
    maxLockWaiters: 'apps/registry/src/workers/locks/keyed-mutex.test.ts',
    minStartRetryMilliseconds: 'apps/registry/src/server/wait-for-stores.test.ts',
    maxStartRetryMilliseconds: 'apps/registry/src/server/wait-for-stores.test.ts',
    maxConnections: 'apps/registry/src/server/limit-connections.test.ts',
    minOpenFiles: 'apps/registry/src/server/open-files.test.ts',
    maxWaitingLogBytes: 'apps/registry/src/log.test.ts',
    loggedRequestsPerMinute: 'apps/registry/src/http/auth/request-log.test.ts',
    maxPipelinedRequests: 'test/hostile/socket.test.ts',
    maxBlobBytes: 'apps/registry/src/oci/uploads.test.ts',
    maxScriptBytes: 'apps/registry/src/oci/pushed-script.test.ts',
    maxBodyMemoryBytes: 'apps/registry/src/http/body-memory.test.ts',
    maxBodyMemoryOfClientBytes: 'test/end-to-end/artifacts.test.ts',
    maxUploads: 'apps/registry/src/oci/uploads.test.ts',
    maxUploadsOfToken: 'apps/registry/src/oci/uploads.test.ts',
    uploadIdleMilliseconds: 'apps/registry/src/oci/uploads.test.ts',
    uploadLostMilliseconds: 'apps/registry/src/oci/shared-uploads.test.ts',
    uploadPieceBytes: 'apps/registry/src/oci/shared-uploads.test.ts',
    maxPageEntries: 'apps/registry/src/oci/listing.test.ts',
    maxReferrers: 'apps/registry/src/oci/listing.test.ts',
    maxReferrersBytes: 'apps/registry/src/oci/listing.test.ts',
    maxTagsAtOnce: 'apps/registry/src/oci/push.test.ts',
    maxTokenScopes: 'apps/registry/src/oci/access.test.ts',
    accessTokenSeconds: 'apps/registry/src/oci/access.test.ts',
    collectDelayMilliseconds: 'apps/registry/src/oci/collector.test.ts',
    blobSeenMilliseconds: 'apps/registry/src/oci/collector.test.ts',
    maxOldProfileBytes: 'apps/registry/src/catalogs/profiles/profiles.test.ts',
    maxTakedownRecordBytes: 'apps/registry/src/publish/takedown/record.test.ts',
    maxCountedClients: 'apps/registry/src/http/auth/rate-limit.test.ts',
    planAttempts: 'apps/registry/src/store/retry-on-conflict.test.ts',
    readMilliseconds: 'apps/registry/src/upstreams/upstream-reader.test.ts',
    maxReadMegabytes: 'apps/registry/src/upstreams/upstream-reader.test.ts',
    maxReadResultBytes: 'apps/registry/src/upstreams/upstream-reader.test.ts',
    startReadBytes: 'apps/registry/src/upstreams/upstream-reader.test.ts',
    maxReadBytesAtOnce: 'apps/registry/src/upstreams/upstream-reader.test.ts',
    reuseReadMegabytes: 'apps/registry/src/upstreams/upstream-reader.test.ts',
    maxExports: 'apps/registry/src/routes/functions-export.test.ts',
    maxHistoryComparisons: 'apps/registry/src/routes/release-changes.test.ts',
    maxHistoryTextLength: 'apps/registry/src/routes/release-changes.test.ts',
    maxHistoryFunctions: 'apps/registry/src/routes/catalog-releases.test.ts',
    maxHistoryReleases: 'apps/registry/src/routes/catalog-releases.test.ts',
    maxHistoryDefinitionBytes: 'apps/registry/src/routes/catalog-releases.test.ts',
    maxHistoryStates: 'test/contracts/snapshot-store-releases.ts',
    ...Object.fromEntries(
      [
        'consumerMilliseconds',
        'maxConsumers',
        'maxConsumerNames',
        'maxReportedReleases',
        'maxReportedFields',
      ].map((name) => [name, 'apps/registry/src/routes/consumers.test.ts']),
    ),
    maxFormBytes: 'apps/registry/src/web/operate/forms.test.ts',
    maxFileRowBytes: 'apps/registry/src/publish/publish.test.ts',
    maxBlobRowBytes: 'apps/registry/src/oci/uploads.test.ts',
    maxFormFields: 'apps/registry/src/web/operate/forms.test.ts',
    formBytesPerTextByte: 'apps/registry/src/web/operate/recipes.test.ts',
    sessionMilliseconds: 'apps/registry/src/web/operate/sign-in.test.ts',
    confirmMilliseconds: 'apps/registry/src/sign-in/sign-ins.test.ts',
    unconfirmedMilliseconds: 'apps/registry/src/sign-in/sign-ins.test.ts',
    claimMilliseconds: 'apps/registry/src/sign-in/sign-ins.test.ts',
    clockMilliseconds: 'apps/registry/src/sign-in/sign-ins.test.ts',
    flowMilliseconds: 'apps/registry/src/web/operate/provider-sign-in.test.ts',
    maxSessions: 'apps/registry/src/web/operate/sessions.test.ts',
    recordedRefusalsPerHour: 'apps/registry/src/routes/audit.test.ts',
    maxCountedRefusals: 'apps/registry/src/routes/audit.test.ts',
    auditBatch: 'apps/registry/src/routes/audit.test.ts',
    prunedAuditRows: 'test/contracts/audit-store.ts',
    maxScimBytes: 'apps/registry/src/scim/scim-routes.test.ts',
    loginRequestMilliseconds: 'apps/registry/src/sign-in/device-login.test.ts',
    maxLoginRequests: 'test/contracts/login-store.ts',
    maxLoginRequestsOfNetwork:
      'apps/registry/src/sign-in/device-login.test.ts, test/contracts/login-store.ts',
    maxLoginRequestsOfSite: 'apps/registry/src/sign-in/device-login.test.ts, test/contracts/login-store.ts',
    maxEndedLoginsOfNetwork: 'apps/registry/src/sign-in/device-login.test.ts, test/contracts/login-store.ts',
    maxEndedLoginsOfSite: 'test/contracts/login-store.ts',
    maxDirectoryUsers: 'test/contracts/directory-store.ts',
    maxDirectoryGroups: 'test/contracts/directory-store.ts',
    maxDirectoryMembers: 'test/contracts/directory-store.ts',
    maxDirectoryGroupsOfUser: 'test/contracts/directory-store.ts',
    maxTokenDays: 'apps/registry/src/http/auth/issue-token.test.ts',
    maxTokenLimits: 'apps/registry/src/http/auth/issue-token.test.ts',
    maxSecretsOfSession: 'apps/registry/src/web/operate/one-time-secrets.test.ts',
    secretMilliseconds: 'apps/registry/src/web/operate/one-time-secrets.test.ts',
    maxSessionsOfToken: 'apps/registry/src/web/operate/sessions.test.ts',
    maxTokensOfUser: 'apps/registry/src/http/auth/personal-tokens.test.ts',
    maxSearchFilters: 'apps/registry/src/web/search/search.test.ts',
    maxSearchAddressLength: 'apps/registry/src/web/search/search.test.ts',
    catalogPageFunctions: 'apps/registry/src/web/catalog/catalog-states.test.ts',
    maxComparedInDetail: 'apps/registry/src/web/catalog/catalog-states.test.ts',
    maxComparedEntries: 'apps/registry/src/web/catalog/read-comparison.test.ts',
    maxComparedEntryBytes: 'apps/registry/src/web/catalog/read-comparison.test.ts',
    maxComparedBytes: 'apps/registry/src/web/catalog/read-comparison.test.ts',
    minRefreshSeconds: 'packages/catalog/src/recipe/read-policy.test.ts',
    defaultRefreshSeconds: 'a default',
    defaultSearchLimit: 'a default',
    defaultEventLimit: 'a default',
    defaultSnapshotLimit: 'a default',
    defaultTokenDays: 'a default',
    defaultUserLimit: 'a default',
  };
  /** Limits of work that the registry does by itself. */
  const INTERNAL =
    /^(keepAlive|wait|start|shutdown|minRetry|maxRetry|tokenUse|readiness|readinessCheck|stalled|upload|uploadRenew|manifest|collectFirst|collectEvery|purgeEvery|maxBuildRest|readKeys|renewEvery|idleProcess|idleRead|planProcess|refreshWait|refreshedBuild|sourceWait|schedulePoll|retainCopy|exportSlice|countedRefusals|auditHead|recheckReader)Milliseconds$|^(maxRefreshes|maxRefreshesOfFailed|refreshAttempts|profileBatch|maxProfileCompressedBytes|exportPieceBytes|minUploadPieceBytes|maxUploadPiecesBytes|maxDocumentCacheBytes|maxProfileCacheBytes|maxEntryCacheBytes|retainedSnapshots|evictedSnapshots|buildBatch|buildRestFactor|maxSearchThreads|maxBrotliBytes|profilePieceCharacters|collectBatch|maxYoungMegabytes|maxPageCacheBytes|maxCachedCounts|maxComparisonCacheBytes|maxCountedChanges|maxSmallBuildFunctions|largeCatalogFunctions)$/;

  it('contain every limit that has a name', () => {
    const tested = new Set(
      [
        ...documents,
        ...recipes,
        ...locks,
        ...requestLimits(() => {
          throw new Error('no registry runs');
        }),
      ].map(({ name }) => name),
    );
    const named = [
      DOCUMENT_LIMITS,
      SERVER_LIMITS,
      PUBLISH_LIMITS,
      RECIPE_LIMITS,
      LOCK_LIMITS,
      REQUEST_LIMITS,
    ].flatMap((limits) => Object.keys(limits));
    expect(
      named.filter(
        (name) => !tested.has(name) && !Object.hasOwn(TESTED_IN_OTHER_FILES, name) && !INTERNAL.test(name),
      ),
    ).toEqual([]);
  });

  it('are in the files that the table names', () => {
    const files = Object.values(TESTED_IN_OTHER_FILES).flatMap((text) => text.split(', '));
    const missing = files.filter((file) => file.endsWith('.ts') && !existsSync(path.join(root, file)));
    expect(missing).toEqual([]);
  });
});
