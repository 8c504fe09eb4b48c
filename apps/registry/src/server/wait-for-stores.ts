/**
 * A registry that starts before its database server or its S3-compatible store, as after a power cut, waits for them.
 * Meanwhile it listens, so that `/readyz` says why, and nothing restarts the process.
 */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Problem, Readiness } from '@krmhub/api/model';
import { PROBLEM_MEDIA_TYPE } from '@krmhub/api/problem';
import { defined } from '@krmhub/schema/defined';
import { requestTarget } from '../http/public-address.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import { reachBlobs } from '../store/blobs/blob-stores.js';
import { StoreAway } from '../store/store-away.js';
import type { Config } from './config.js';

export interface Waited<Opened> {
  opened: Opened;
  /** The port of the waiting server, if there was one: another process may know it. */
  port: number;
  /** Frees that port. */
  stopWaiting(): Promise<void>;
}

/**
 * Calls `open` when the stores answer. Rejects as `open` does, unless a store is away, and with an AbortError if the
 * signal is aborted while it waits.
 */
export async function whenStoresAnswer<Opened>(
  config: Config,
  { log, signal }: { log: Log; signal?: AbortSignal | undefined },
  open: () => Promise<Opened>,
): Promise<Waited<Opened>> {
  const { maxStartRetryMilliseconds: most, minStartRetryMilliseconds: least } = SERVER_LIMITS;
  let server: Server | undefined;
  let problem: StoreAway | undefined;
  const stopWaiting = async () => {
    if (server === undefined || !server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        await reachStores(config);
        const opened = await open();
        const port = server === undefined ? config.port : (server.address() as AddressInfo).port;
        if (problem !== undefined) log.info('the stores answer');
        return { opened, port, stopWaiting };
      } catch (error) {
        if (!(error instanceof StoreAway)) throw error;
        problem = error;
      }
      server ??= await listenWhileWaiting(config, () => problem!);
      const delay = Math.min(least * 2 ** attempt, most) * (0.5 + Math.random() / 2);
      log.warn({ err: problem, retryMilliseconds: Math.round(delay) }, 'cannot start yet; trying again');
      await wait(delay, undefined, { signal });
    }
  } catch (error) {
    await stopWaiting();
    throw error;
  }
}

/** Tries the servers before the registry is opened: an attempt to open it does much more. */
async function reachStores(config: Config): Promise<void> {
  if (config.databaseUrl !== undefined) {
    const { withClient } = await import('../store/postgres/client.js');
    await withClient(config.databaseUrl, (client) => client.query('SELECT 1'));
  }
  await reachBlobs(config);
}

async function listenWhileWaiting(config: Config, problem: () => StoreAway): Promise<Server> {
  const server = createServer(responses(config, problem));
  server.headersTimeout = SERVER_LIMITS.headersMilliseconds;
  server.requestTimeout = SERVER_LIMITS.requestMilliseconds;
  server.listen(config.port, config.host);
  await once(server, 'listening');
  return server;
}

function responses(config: Config, problem: () => StoreAway): RequestListener {
  const readTarget = requestTarget(config);
  return (request, response) => {
    const { check } = problem();
    // Without the address of the server: anyone may ask.
    const detail = `the ${check === 'store' ? 'database server' : 'store of the blobs'} does not answer; the registry starts when it does; see the log`;
    const send = (status: number, type: string, body: string) =>
      response
        .writeHead(status, {
          'Content-Type': type,
          'Cache-Control': 'no-store',
          Connection: 'close',
          ...defined({ 'Retry-After': status === 503 ? '5' : undefined }),
        })
        .end(body);
    const [path] = readTarget(request.url ?? '/').split('?');
    if (path === '/healthz') return send(200, 'application/json', JSON.stringify({ status: 'ok' }));
    if (path === '/readyz') {
      // Also if the probe excludes this check: the process serves nothing yet.
      const readiness: Readiness = {
        status: 'failing',
        checks: [{ name: check, status: 'failing', detail }],
      };
      return send(503, 'application/json', JSON.stringify(readiness));
    }
    const body: Problem = {
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      code: 'unavailable',
      detail,
      hint: 'Try again later.',
    };
    return send(503, PROBLEM_MEDIA_TYPE, JSON.stringify(body));
  };
}
