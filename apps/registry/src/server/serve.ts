import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { SnapshotRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { ensureAdminToken } from '../auth/tokens.js';
import type { CatalogBuilder } from '../catalogs/catalog-builder.js';
import { NewestSnapshots } from '../catalogs/newest-snapshots.js';
import { ProfileRenditions } from '../catalogs/renditions/profile-renditions.js';
import { SnapshotRenditions } from '../catalogs/renditions/snapshot-renditions.js';
import { storedResponses } from '../catalogs/stored-responses.js';
import { requestTarget } from '../http/public-address.js';
import { KeyedMutex } from '../isolation/keyed-mutex.js';
import { Planner } from '../isolation/planner.js';
import { refresherThread } from '../isolation/refresher-thread.js';
import { RwLock } from '../isolation/rw-lock.js';
import { startSearchThreads } from '../isolation/search-threads.js';
import { startSnapshotBuilderThread } from '../isolation/snapshot-builder-thread.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import { Collector } from '../oci/collector.js';
import { sentBlobs } from '../oci/sent-blobs.js';
import { storeMissingArtifacts } from '../oci/store-artifacts.js';
import { Uploads } from '../oci/uploads.js';
import { configuredRoot, SigningTrust } from '../publish/signing-trust.js';
import { ensureDefaultCatalog } from '../routes/catalogs.js';
import { ensureRegistryKey, RegistryKeys } from '../signatures/registry-keys.js';
import { SignatureRenewal } from '../signatures/renewal.js';
import { openBlobFolder } from '../store/blobs/folder.js';
import type { RegistryStore } from '../store/registry-store.js';
import { openSqliteStore } from '../store/sqlite/store.js';
import { openTakedownRecord } from '../takedown/record.js';
import { finishPendingTakedowns } from '../takedown/takedown.js';
import type { CatalogRefresher } from '../upstreams/catalog-refresher.js';
import { readCredentialsFile } from '../upstreams/credentials-file.js';
import { createApp } from './app.js';
import type { Config } from './config.js';
import { prepareDataFolder } from './data-folder.js';
import { prepareDraining } from './drain.js';
import type { RegistryParts } from './environment.js';
import { limitConnections } from './limit-connections.js';
import { listenForRequests } from './malformed-requests.js';
import { createMetrics } from './metrics.js';

export { createLog, type Log } from '../log.js';
export { type Config, type ConfigOverrides, readConfig, SETTINGS, type Setting } from './config.js';
export { loadConfig } from './config-file.js';

export interface RunningRegistry {
  /** Where it listens. */
  url: string;
  /** Of the first admin token. */
  adminTokenFile: string;
  /** Whether this start wrote that file. */
  adminTokenCreated: boolean;
  /** Why no token of an administrator is good, in words that follow "this file"; undefined where one is. */
  adminTokenProblem: string | undefined;
  /**
   * Finishes what is in flight, within SERVER_LIMITS.shutdownMilliseconds, then closes the stores. A cut under way is
   * waited for; ending the process before loses nothing of it.
   */
  close(): Promise<void>;
}

/** Opens the stores, cuts what is to be cut and listens. Rejects with a KrmhubError where that cannot be. */
export async function startRegistry(options: {
  config: Config;
  log: Log;
  clock?: () => Date;
}): Promise<RunningRegistry> {
  const { config, log, clock = () => new Date() } = options;
  const trust = new SigningTrust(await configuredRoot(config.trustedRoot));
  if (config.sourceCredentials !== undefined) await readCredentialsFile(config.sourceCredentials);
  const paths = await prepareDataFolder(config.dataFolder);
  const database = await openSqliteStore(paths.database);
  const searchThreads = startSearchThreads(paths.database, log);
  const store: RegistryStore = {
    ...database,
    search: searchThreads.search,
    close: async () => {
      await searchThreads.close();
      await database.close();
    },
  };
  let cutter: CatalogBuilder | undefined;
  let refresher: CatalogRefresher | undefined;
  let collector: Collector | undefined;
  let renewal: SignatureRenewal | undefined;
  let server: Server | undefined;
  const planner = new Planner();
  try {
    const blobs = await openBlobFolder(paths.blobs);
    const admin = await ensureAdminToken(store, paths.adminToken, clock());
    if (admin.outcome === 'blocked') {
      log.warn(
        { file: paths.adminToken },
        `there is no usable admin token, and this file ${admin.reason}: empty it to have a new one made at the next start`,
      );
    } else if (admin.outcome === 'created') {
      log.info({ file: paths.adminToken }, 'admin token written');
    }
    await ensureRegistryKey(paths.keys, { now: clock(), signed: await store.hasSignatures() });
    const keys = await RegistryKeys.open({ folder: paths.keys, clock, log });
    await ensureDefaultCatalog({ store, clock });
    const metrics = createMetrics({
      countFunctions: () => store.countFunctions(),
      sources: () => store.sources(),
      clock,
      process: true,
    });
    const formBlobs = await openBlobFolder(paths.forms);
    const renditions = new SnapshotRenditions({ store, blobs: formBlobs });
    const newestSnapshots = new NewestSnapshots(store);
    const onSnapshot = (snapshot: SnapshotRecord) => newestSnapshots.put(snapshot);
    const bytesLock = new RwLock();
    const artifacts = await openBlobFolder(paths.artifacts);
    const uploads = new Uploads({ blobs: artifacts, clock });
    const collecting = new Collector({ store, artifacts, uploads, bytesLock, clock, log, config });
    collector = collecting;
    await trust.reload(store);
    const takedownRecord = openTakedownRecord(paths.takedowns);
    const kept = {
      store,
      blobs,
      artifacts,
      renditions,
      newestSnapshots,
      bytesLock,
      keys,
      takedownRecord,
      log,
    };
    await finishPendingTakedowns(kept);
    const { database: file, forms: formsFolder, keys: keyFolder } = paths;
    const { snapshotValidDays } = config;
    const started = startSnapshotBuilderThread({
      database: file,
      formsFolder,
      keyFolder,
      snapshotValidDays,
      log,
      metrics,
      onSnapshot,
    });
    cutter = started;
    const copies = await openBlobFolder(paths.copies);
    // What an earlier process was fetching is of no use.
    await rm(paths.fetching, { recursive: true, force: true });
    const { sourceAddresses, sourceFolder, sourceCredentials } = config;
    const refreshing = refresherThread({
      database: file,
      copiesFolder: paths.copies,
      fetchingFolder: paths.fetching,
      ...(config.trustedRoot === undefined ? {} : { trustedRoot: config.trustedRoot }),
      settings: {
        sourceAddresses,
        ...(sourceFolder === undefined ? {} : { sourceFolder }),
        ...(sourceCredentials === undefined ? {} : { sourceCredentials }),
      },
      log,
      metrics,
      onChange: () => started.wake(),
    });
    refresher = refreshing;
    const parts: RegistryParts = {
      ...kept,
      profileRenditions: new ProfileRenditions({
        store,
        blobs: formBlobs,
        forms: renditions,
        gate: bytesLock,
      }),
      uploads,
      collector: collecting,
      snapshotBuilder: started,
      refresher: refreshing,
      copies,
      planner,
      trust,
      functionLocks: new KeyedMutex(),
      clock,
      metrics,
      config,
    };
    await storeMissingArtifacts(parts);
    const signing = { keys, clock, validDays: snapshotValidDays };
    const renewing = new SignatureRenewal({ store, signing, metrics, log });
    renewal = renewing;
    await renewing.renew({ thorough: true });
    const routes = getRequestListener(createApp(parts).fetch);
    const listening = createServer(storedResponses(parts, sentBlobs(parts, routes)), requestTarget(config));
    server = listening;
    limitConnections(listening, SERVER_LIMITS.maxConnections, log);
    const drain = prepareDraining(listening);
    await listen(listening, config);
    // Who is told the address finds the catalogs there; only a long catching up goes on behind.
    await started.waitFor(await store.lastEvent(), SERVER_LIMITS.startMilliseconds);
    const url = urlOf(config.host, listening.address() as AddressInfo);
    collecting.start();
    renewing.start();
    if ((await store.sources()).length > 0) refreshing.wake();
    log.info({ url, dataFolder: config.dataFolder }, 'registry started');
    let closing: Promise<void> | undefined;
    const close = async () => {
      log.info('registry is stopping');
      await drain(SERVER_LIMITS.shutdownMilliseconds);
      await renewing.stop();
      await collecting.stop();
      await uploads.close();
      await refreshing.stop();
      await started.stop();
      await planner.close();
      await store.close();
      log.info('registry stopped');
    };
    return {
      url,
      adminTokenFile: paths.adminToken,
      adminTokenCreated: admin.outcome === 'created',
      adminTokenProblem: admin.outcome === 'blocked' ? admin.reason : undefined,
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    server?.close();
    server?.closeAllConnections();
    await renewal?.stop();
    await collector?.stop();
    await refresher?.stop();
    await cutter?.stop();
    await planner.close();
    await store.close();
    throw error;
  }
}

/** `targetOf` gives the target that the listener knows. */
function createServer(listener: RequestListener, targetOf: (target: string) => string): Server {
  const options: ServerOptions = {
    maxHeaderSize: SERVER_LIMITS.maxHeaderBytes,
    headersTimeout: SERVER_LIMITS.headersMilliseconds,
    requestTimeout: SERVER_LIMITS.uploadMilliseconds,
    keepAliveTimeout: SERVER_LIMITS.keepAliveMilliseconds,
    connectionsCheckingInterval: 5_000,
  };
  const server = createHttpServer(options);
  server.timeout = SERVER_LIMITS.stalledMilliseconds;
  listenForRequests(server, (request, response) => {
    request.url = targetOf(request.url ?? '/');
    if (hasBody(request) && !UPLOADS.test(request.url)) limitBody(request);
    listener(request, response);
  });
  return server;
}

/** Where bodies of any size are taken, by paths of distribution-spec. */
const UPLOADS = /^\/v2\/[^?]*\/blobs\/uploads\//;

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** The server's own timeout leaves time for uploads. */
function limitBody(request: IncomingMessage): void {
  const timer = setTimeout(() => {
    if (!request.complete) request.socket.destroy();
  }, SERVER_LIMITS.requestMilliseconds);
  timer.unref();
  const clear = () => clearTimeout(timer);
  request.once('end', clear);
  request.once('close', clear);
}

async function listen(server: Server, { host, port }: Config): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? 'another program listens there' : message;
    throw new KrmhubError('usage', `Cannot listen on ${host}:${port}: ${reason}`, {
      hint:
        code === 'EADDRINUSE' || code === 'EACCES'
          ? 'Choose another port with --port or KRMHUB_PORT.'
          : 'Choose an address of this machine with --host or KRMHUB_HOST.',
      cause,
    });
  }
}

function urlOf(host: string, { port }: AddressInfo): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
