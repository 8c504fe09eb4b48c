import { rm } from 'node:fs/promises';
import type { BlobStore, SnapshotRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { LedBuilder } from '../catalogs/build/led-builder.js';
import { SnapshotBuilder } from '../catalogs/build/snapshot-builder.js';
import { startSnapshotBuilderThread } from '../catalogs/build/snapshot-builder-thread.js';
import { CatalogPurge } from '../catalogs/catalog-purge.js';
import { ProfileDocuments } from '../catalogs/profiles/profile-documents.js';
import { CatalogDocuments } from '../catalogs/segments/catalog-documents.js';
import { DocumentHasher } from '../catalogs/segments/document-hasher.js';
import { NewestResponses } from '../catalogs/serve/newest-responses.js';
import { NewestSnapshots } from '../catalogs/serve/newest-snapshots.js';
import { ensureRegistryKey, RegistryKeys } from '../catalogs/sign/registry-keys.js';
import { SignatureRenewal } from '../catalogs/sign/renewal.js';
import { configuredRoot } from '../catalogs/sign/trusted-root.js';
import { Refusals } from '../http/auth/refusals.js';
import { RequestLog } from '../http/auth/request-log.js';
import { pickPublicUrl } from '../http/public-address.js';
import { SERVER_LIMITS } from '../limits.js';
import { Collector } from '../oci/collector.js';
import { openUploads } from '../oci/open-uploads.js';
import { storeMissingArtifacts } from '../oci/store-artifacts.js';
import { OwnerChecks } from '../owners/owner-checks.js';
import { FunctionLocks } from '../publish/function-locks.js';
import { MissingWords } from '../publish/missing-words.js';
import { Planner } from '../publish/planner.js';
import { openTakedownRecord } from '../publish/takedown/record.js';
import { finishPendingTakedowns } from '../publish/takedown/takedown.js';
import { SigningTrust } from '../publish/trust/signing-trust.js';
import { ensureDefaultCatalog } from '../routes/catalogs.js';
import { openSignIns } from '../sign-in/sign-ins.js';
import { openBlobStores } from '../store/blobs/blob-stores.js';
import { openBlobFolder } from '../store/blobs/folder.js';
import { prepareDataFolder } from '../store/data-folder.js';
import { databasePlace, writingFor } from '../store/database-place.js';
import { openStore } from '../store/open-store.js';
import { rowsLast } from '../store/pushed-rows.js';
import { intactFirst } from '../store/release-files.js';
import { trustedSearch } from '../store/search/trusted-search.js';
import { RegistryAccess } from '../store/stored-access.js';
import { exposureChecks } from '../upstreams/credentialed-sources.js';
import { readCredentialsFile } from '../upstreams/credentials-file.js';
import { ledRefresher } from '../upstreams/led-refresher.js';
import { Refresher } from '../upstreams/refresher.js';
import { refresherThread } from '../upstreams/refresher-thread.js';
import { sharedCopies } from '../upstreams/shared-copies.js';
import { sourceFetcher } from '../upstreams/source-fetcher.js';
import { UpstreamReader } from '../upstreams/upstream-reader.js';
import { deriveHere } from '../workers/derive/derivation.js';
import { DerivedDocuments } from '../workers/derive/derived-documents.js';
import { RwLock } from '../workers/locks/rw-lock.js';
import { Turns } from '../workers/locks/turns.js';
import { Following } from '../workers/processes/following.js';
import { LEADER_HERE } from '../workers/processes/leader.js';
import { startFollowing } from './apply-events.js';
import { AuditKeeper } from './audit-keeper.js';
import { deletedWhileCurrent } from './deleted-while-current.js';
import { deriverThread } from './deriver-thread.js';
import { createMetrics } from './metrics.js';
import type { OpenConfig, OpenOptions } from './open-options.js';
import { outsideProofs } from './outside-proofs.js';
import { readinessChecks } from './readiness.js';
import { Stopping } from './stopping.js';

export type OpenRegistry = Awaited<ReturnType<typeof openRegistry>>;

/**
 * Opens a registry on its data folder, which may be empty: creates the stores and everything that uses them, and
 * completes interrupted work. All dependencies are wired here. Rejects with a KrmhubError.
 */
export async function openRegistry(config: OpenConfig, options: OpenOptions) {
  const { log, clock = () => new Date(), inThread, cacheSizes = {} } = options;
  const trust = new SigningTrust(await configuredRoot(config.trustedRoot));
  if (config.sourceCredentials !== undefined) await readCredentialsFile(config.sourceCredentials);
  const inFolder = await prepareDataFolder(config.dataFolder);
  const paths = { ...inFolder, keys: config.keysFolder ?? inFolder.keys };
  const database = await databasePlace(inFolder, config.databaseUrl);
  const threads = inThread === undefined;
  const metrics = createMetrics({
    countFunctions: () => store.countFunctions(),
    sources: () => store.sources(),
    clock,
    process: inThread === undefined,
    ...defined({ unwrittenLogLines: options.unwrittenLogLines }),
  });
  const opened = await openStore(database, {
    paths: inFolder,
    sharedBlobs: config.blobPlace !== undefined,
    threads,
    log,
    metrics,
  });
  const access = new RegistryAccess();
  const store = trustedSearch(options.wrapStore?.(opened.store) ?? opened.store, { trust, access });
  const { processes, shared } = opened;
  const { bytesLock } = processes;
  const turns = new Turns();
  const { planner = new Planner({ turns }) } = options;
  const wrapped = async (folder: string, blobs: Promise<BlobStore>): Promise<BlobStore> =>
    options.wrapBlobs?.(await blobs, folder) ?? blobs;
  const guarded = async (folder: string, blobs: Promise<BlobStore>): Promise<BlobStore> =>
    deletedWhileCurrent(await wrapped(folder, blobs), processes);
  const openBlobs = (folder: string) => wrapped(folder, openBlobFolder(folder));
  const stopping = new Stopping();
  stopping.add(
    () => store.close(),
    () => planner.close(),
  );
  try {
    let isBuilding = false;
    // Nothing of the database is in memory yet.
    const following = shared && (await Following.open({ shared, leads: () => isBuilding, processes, log }));
    const leader = following ?? LEADER_HERE;
    await ensureRegistryKey(paths.keys, {
      now: clock(),
      signed: await store.hasSignatures(),
      ...defined({ shared: 'url' in database ? store : undefined }),
    });
    const keys = await RegistryKeys.open({ folder: paths.keys, clock, log, audit: store });
    await ensureDefaultCatalog({ store, clock });
    const { openPart, pieces } = await openBlobStores(
      paths,
      { ...config, ...defined({ shared: 'url' in database ? store : undefined }) },
      metrics,
    );
    const indexCopies = opened.startSearchIndex?.(pieces?.('search'));
    const blobs = intactFirst(store, await guarded(paths.blobs, openPart('blobs')));
    const artifacts = rowsLast(store, await guarded(paths.artifacts, openPart('artifacts')));
    const profileBlobs = await openBlobs(paths.profiles);
    const documents = new CatalogDocuments({ ...cacheSizes, store });
    const { derive, close: closeDeriver } =
      inThread === undefined
        ? deriverThread(
            {
              database,
              blobSource: {
                folders: { blobs: paths.blobs, artifacts: paths.artifacts },
                ...defined({ blobPlace: config.blobPlace, s3Credentials: config.s3Credentials }),
              },
              profilesFolder: paths.profiles,
              config: pickPublicUrl(config),
            },
            { log, metrics },
          )
        : {
            derive: deriveHere({ store, blobs, artifacts, profileBlobs, config }),
            close: async () => undefined,
          };
    stopping.add(closeDeriver);
    const derived = new DerivedDocuments(derive);
    const newestSnapshots = new NewestSnapshots(store);
    const newestResponses = new NewestResponses({ config, documents });
    await trust.reload(store);
    await access.reload(store);
    const takedownRecord = openTakedownRecord(paths.takedowns);
    const { findProof, issuerKeys } = outsideProofs(config, options, {
      temporaryFolder: paths.fetching,
      clock,
    });
    const signing = { keys, clock, validDays: config.snapshotValidDays };
    const profileDocuments = new ProfileDocuments({
      store,
      blobs: profileBlobs,
      bytesLock,
      derive,
      signing: { store, signing },
    });
    const building = {
      log,
      metrics,
      onSnapshot: (snapshot: SnapshotRecord) => {
        newestSnapshots.put(snapshot);
        opened.searchSoon?.();
      },
    };
    const startInThread: (() => void)[] = [];
    const snapshotBuilder = new LedBuilder(() => {
      if (inThread === undefined) {
        const { snapshotValidDays } = config;
        return startSnapshotBuilderThread({
          ...building,
          database: writingFor(database, processes.id),
          keyFolder: paths.keys,
          snapshotValidDays,
        });
      }
      const builder = new SnapshotBuilder({
        ...building,
        store,
        hasher: new DocumentHasher(store),
        signing,
        clock,
      });
      if (inThread.start) startInThread.push(() => builder.start());
      return builder;
    }, leader);
    processes.pauses(snapshotBuilder);
    const copies = await openBlobs(paths.copies);
    const sourceCopies = sharedCopies(copies, leader);
    // Partial downloads of an earlier process are useless.
    await rm(paths.fetching, { recursive: true, force: true });
    const { trustedRoot, sourceAddresses, sourceFolder, sourceCredentials } = config;
    const settings = defined({ sourceAddresses, sourceFolder, sourceCredentials });
    const syncing = { log, metrics, onChange: () => snapshotBuilder.wake() };
    const syncs = ledRefresher(() => {
      if (inThread === undefined) {
        return refresherThread({
          ...syncing,
          database: writingFor(database, processes.id),
          copiesFolder: paths.copies,
          fetchingFolder: paths.fetching,
          ...defined({ trustedRoot }),
          settings,
        });
      }
      const led = new Refresher({
        ...syncing,
        store,
        copies,
        copiesLock: new RwLock(),
        fetcher: sourceFetcher(settings, { temporaryFolder: paths.fetching, log }),
        reader: new UpstreamReader(),
        root: trust.root,
        clock,
        random: inThread.random,
      });
      if (inThread.start) startInThread.push(() => led.start());
      return led;
    }, leader);
    const { refresher } = syncs;
    const uploads = openUploads({
      store,
      pieces: 'url' in database ? pieces?.('uploads') : undefined,
      blobs: artifacts,
      // An operator who has blobs in another store expects them there.
      maxRowBytes: config.blobPlace === undefined ? SERVER_LIMITS.maxBlobRowBytes : 0,
      clock,
      log,
    });
    const collector = new Collector({ store, artifacts, uploads, bytesLock, clock, log, config });
    const refusals = new Refusals({ store, clock, log });
    const catalogPurge = new CatalogPurge({
      store,
      documents,
      profileDocuments,
      bytesLock,
      clock,
      log,
    });
    const missingWords = new MissingWords({ store, blobs, log, searchSoon: opened.searchSoon });
    const renewal = new SignatureRenewal({ store, signing, metrics, log });
    stopping.add(
      () => uploads.close(),
      () => refusals.stop(),
      () => processes.stop(),
    );
    let missingCatalogs: (() => readonly string[]) | undefined;
    if (following !== undefined) {
      stopping.add(() => following.stop());
      const stored = { store, blobs, artifacts, trust, access };
      const caches = { newestSnapshots, documents, derived, profileDocuments };
      const led = {
        methods: { ...snapshotBuilder.methods, ...syncs.methods, ...sourceCopies.methods },
        status: () => snapshotBuilder.ownStatus(),
      };
      const work = { snapshotBuilder, refresher, led, log };
      const kept = await startFollowing(following, { ...opened, ...stored, ...caches, ...work });
      stopping.add(() => kept.stop());
      missingCatalogs = () => kept.missing();
    }
    const shutdown = { begun: false };
    await processes.onLead({
      async start() {
        // An older version stored all documents as files. A killed process may leave segments and profiles.
        await bytesLock.write(() => profileDocuments.deleteUnused());
        await store.deleteUnusedSegments();
        await finishPendingTakedowns({
          store,
          blobs,
          artifacts,
          documents,
          profileDocuments,
          newestSnapshots,
          bytesLock,
          takedownRecord,
          indexCopies,
          log,
        });
        await snapshotBuilder.lead();
        syncs.led.lead();
        isBuilding = true;
        await storeMissingArtifacts({ store, blobs, documents, log });
        await renewal.renew({ thorough: true });
        for (const start of startInThread.splice(0)) start();
      },
      async stop() {
        isBuilding = false;
        await syncs.led.follow();
        await snapshotBuilder.follow();
      },
    });
    return {
      store,
      blobs,
      artifacts,
      uploads,
      collector,
      auditKeeper: new AuditKeeper({ store, clock, log, config }),
      refusals,
      catalogPurge,
      missingWords,
      documents,
      profileDocuments,
      derive,
      derived,
      newestSnapshots,
      newestResponses,
      snapshotBuilder,
      refresher,
      copies,
      sourceCopies,
      planner,
      /** Work of requests on this thread. */
      turns,
      functionLocks: new FunctionLocks(),
      bytesLock,
      processes,
      trust,
      access,
      /** Whether this process knows which rights had ended a minute ago. */
      isCurrent: () => leader.isCurrent(),
      ...exposureChecks({ config, access, store }),
      findProof,
      issuerKeys,
      ...openSignIns(config, { store, temporaryFolder: paths.fetching, clock, log }),
      ownerChecks: new OwnerChecks({ store, access, findProof, snapshotBuilder, clock, config, log }),
      keys,
      takedownRecord,
      indexCopies,
      renewal,
      clock,
      log,
      requestLog: new RequestLog({ log, clock, onDrop: () => metrics.logLineDropped() }),
      metrics,
      searchLag: opened.searchLag,
      shutdown,
      readiness: readinessChecks({
        store,
        blobs,
        artifacts,
        snapshotBuilder,
        ...defined({ missingCatalogs, searchProblem: opened.searchProblem }),
        log,
        shutdown,
      }),
      config,
      paths,
      /** Starts the threads that the first searches would wait for. */
      startSearchThreads: () => opened.startSearch(),
      /** Stops everything; the stores last. */
      close: () => stopping.stop(),
    };
  } catch (error) {
    await stopping.stop();
    throw error;
  }
}
