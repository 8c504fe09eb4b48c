/**
 * Starts and stops the server: settings, wiring, the HTTP application, readiness, and metrics.
 *
 * open-registry.ts wires all modules without a socket, and app.ts makes the HTTP application of it. Cached catalogs and
 * large blobs are served on node:http, in front of the framework.
 *
 * @module
 */

import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { type DeletableBlobs, EVERY_GROUP_IS_OPEN } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { storedResponses } from '../catalogs/serve/stored-responses.js';
import { ensureAdminToken } from '../http/auth/tokens.js';
import { readTrustedProxies } from '../http/client-address.js';
import { requestTarget } from '../http/public-address.js';
import { SERVER_LIMITS } from '../limits.js';
import { sentBlobs } from '../oci/sent-blobs.js';
import { unknownHighlights } from '../web/home/highlights.js';
import { limitHeapGrowth } from '../workers/isolation/heap-growth.js';
import { createApp } from './app.js';
import type { Config } from './config.js';
import { prepareDraining } from './drain.js';
import { limitConnections } from './limit-connections.js';
import { listenForRequests } from './malformed-requests.js';
import { connectionsFor, openFileLimit } from './open-files.js';
import type { OpenOptions } from './open-options.js';
import { openRegistry } from './open-registry.js';
import { addProcessMetrics } from './process-metrics.js';
import { seenRegistry } from './seen-registry.js';
import { whenStoresAnswer } from './wait-for-stores.js';

export { createLog, type Log, LogOutput } from '../log.js';
export { type Config, readConfig } from './config.js';
export { loadConfig } from './config-file.js';
export { type ConfigOverrides, SETTINGS, type Setting } from './settings.js';

export interface RunningRegistry {
  /** Address of the server. */
  url: string;
  /** File of the first admin token. */
  adminTokenFile: string;
  /** Whether this start wrote that file. */
  adminTokenCreated: boolean;
  /** Why no admin token is usable, in words that follow "this file"; undefined if one is. */
  adminTokenProblem: string | undefined;
  /**
   * Serves requests for the configured delay, finishes those in flight, within SERVER_LIMITS.shutdownMilliseconds, then
   * closes the stores. It waits for a running build; ending the process earlier would lose no data.
   */
  close(): Promise<void>;
}

/**
 * Opens the registry and listens; waits for a database server or a store of blobs that is away. Rejects with a KrmhubError,
 * and with an AbortError if the signal is aborted while it waits.
 */
export async function startRegistry(
  options: { config: Config; signal?: AbortSignal; version?: string } & OpenOptions,
): Promise<RunningRegistry> {
  const { config, signal, version = 'unknown', ...given } = options;
  if (given.inThread === undefined) limitHeapGrowth();
  const openFiles = await openFileLimit();
  const maxConnections = connectionsFor(openFiles);
  await refuseTakenPort(config);
  const {
    opened: registry,
    port,
    stopWaiting,
  } = await whenStoresAnswer(config, { ...given, signal }, () => openRegistry(config, given));
  const { store, paths, snapshotBuilder, refresher, clock, log } = registry;
  const { collector, catalogPurge, missingWords, renewal, ownerChecks, auditKeeper } = registry;
  let server: Server | undefined;
  try {
    const admin = await ensureAdminToken(store, paths.adminToken, clock());
    if (admin.outcome === 'blocked') {
      log.warn(
        { file: paths.adminToken },
        `no usable admin token: this file ${admin.reason}. Empty it to create a new token at the next start`,
      );
    } else if (admin.outcome === 'created') {
      log.info({ file: paths.adminToken }, 'admin token written');
    }
    const routes = getRequestListener(createApp(registry).fetch);
    // They answer without looking for a token: what is not public goes to the routes.
    const seen = seenRegistry(registry);
    const listening = createServer(storedResponses(seen, sentBlobs(seen, routes)), requestTarget(config));
    server = listening;
    limitConnections(listening, {
      max: maxConnections,
      proxies: readTrustedProxies(config.trustedProxies).proxies,
      log,
    });
    listening.on('connection', () => registry.turns.postpone());
    if (maxConnections < SERVER_LIMITS.maxConnections) {
      log.warn({ openFiles, maxConnections }, 'fewer connections than usual: the limit of open files is low');
    }
    const drain = prepareDraining(listening);
    await stopWaiting();
    await listen(listening, { ...config, port });
    // Catalogs are up to date when the address is reported, unless this takes too long; then it continues in the
    // background. A process that does not lead serves what the leader has built.
    if (registry.processes.leads) {
      await snapshotBuilder.waitFor({
        event: await store.lastEvent(),
        milliseconds: SERVER_LIMITS.startMilliseconds,
      });
    }
    const url = formatUrl(config.host, listening.address() as AddressInfo);
    registry.startSearchThreads();
    registry.refusals.start();
    const { metrics, readiness, processes, searchLag } = registry;
    const { dataFolder } = config;
    addProcessMetrics(metrics.register, { version, readiness, processes, searchLag, dataFolder });
    await registry.processes.onLead({
      async start() {
        collector.start();
        auditKeeper.start();
        catalogPurge.start();
        missingWords.start();
        renewal.start();
        ownerChecks.start();
        // Without sources, it still deletes the copies that a purged catalog left.
        if ((await store.sources()).length > 0 || !(await isEmpty(registry.copies))) refresher.wake();
      },
      async stop() {
        const jobs = [collector, auditKeeper, catalogPurge, missingWords, renewal, ownerChecks];
        await Promise.all(jobs.map((job) => job.stop()));
        // They would grow old here.
        registry.metrics.retainCatalogs([]);
      },
    });
    for (const { group, kind } of await unknownHighlights(store, config.highlights)) {
      log.warn({ function: `${group}/${kind}` }, 'a function in KRMHUB_HIGHLIGHTS is not in this registry');
    }
    if (registry.access.rules.opensEveryGroup) log.warn(EVERY_GROUP_IS_OPEN);
    log.info({ url, dataFolder: config.dataFolder }, 'registry started');
    let closing: Promise<void> | undefined;
    const close = async () => {
      log.info('registry is shutting down');
      registry.shutdown.begun = true;
      await drain(SERVER_LIMITS.shutdownMilliseconds, config.shutdownDelaySeconds * 1_000);
      await registry.close();
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
    await stopWaiting();
    await registry.close();
    throw error;
  }
}

/**
 * Rejects if the registry could not listen, before it opens its data folder: a start that fails must not leave a
 * folder with keys and an admin token behind.
 */
async function refuseTakenPort(config: Config): Promise<void> {
  const probe = createHttpServer().on('connection', (socket) => socket.destroy());
  await listen(probe, config);
  probe.close();
  await once(probe, 'close');
}

/** `targetOf` converts the request target to the one that the listener expects. */
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
  // Node.js waits a second longer for the next request than it tells the client.
  keepTimerLists(server, [server.timeout, server.keepAliveTimeout + 1_000]);
  listenForRequests(server, (request, response) => {
    request.url = targetOf(request.url ?? '/');
    if (hasBody(request) && !UPLOADS.test(request.url)) limitBody(request);
    listener(request, response);
  });
  return server;
}

/**
 * Each request moves the timer of its connection from the idle timeout to the timeout of a request, and back. Node.js
 * has a list of timers for each duration, and removes an empty one: with few requests at a time, each would create and
 * remove one, which costs a microsecond. A timer of the same duration keeps the list.
 */
function keepTimerLists(server: Server, milliseconds: readonly number[]): void {
  const timers = milliseconds.map((duration) => setInterval(() => undefined, duration).unref());
  server.once('close', () => {
    for (const timer of timers) clearInterval(timer);
  });
}

/** Paths of distribution-spec that accept bodies of any size. */
const UPLOADS = /^\/v2\/[^?]*\/blobs\/uploads\//;

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Limits the time of a request. The server's own timeout allows for uploads. */
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
    const reason = code === 'EADDRINUSE' ? 'address already in use' : message;
    throw new KrmhubError('usage', `cannot listen on ${host}:${port}: ${reason}`, {
      hint:
        code === 'EADDRINUSE' || code === 'EACCES'
          ? 'Use another port with --port or KRMHUB_PORT.'
          : 'Use an address of this machine with --host or KRMHUB_HOST.',
      cause,
    });
  }
}

async function isEmpty(blobs: DeletableBlobs): Promise<boolean> {
  for await (const _ of blobs.list()) return false;
  return true;
}

function formatUrl(host: string, { port }: AddressInfo): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
