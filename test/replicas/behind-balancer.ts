import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PostgresServer, startPostgres } from '../contracts/postgres.js';
import { S3_ENVIRONMENT, type S3Server, startS3Server } from '../interop/s3-server.js';
import { type RunningRegistry, startProcess } from '../running.js';
import { startRoundRobin } from './round-robin.js';

/** Registries of several processes that take the place of a registry of one process in the tests of that. */

/** What a load balancer asks a process. */
const READY = '/readyz?exclude=store&exclude=blobs&exclude=catalogs';
const BETWEEN_TRIES_MS = 50;

interface Engines {
  /** Of the objects. */
  folder: string;
  postgres: PostgresServer;
  s3: S3Server;
  /** By data folder. */
  settings: Map<string, Record<string, string>>;
}
/** Of all registries of this test file; they end with it. */
let engines: Promise<Engines> | undefined;

async function startEngines(): Promise<Engines> {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-s3-'));
  const [postgres, s3] = [await startPostgres(), await startS3Server(folder)];
  return { folder, postgres, s3, settings: new Map() };
}

/** Settings of the registry that has this data folder: a database and a prefix of its own. */
export async function replicaSettings(data: string): Promise<Record<string, string>> {
  engines ??= startEngines();
  const { postgres, s3, settings } = await engines;
  const known = settings.get(data);
  if (known !== undefined) return known;
  const created = {
    ...S3_ENVIRONMENT,
    KRMHUB_DATABASE_URL: await postgres.createDatabase(),
    KRMHUB_BLOB_URL: s3.blobUrl(`registry-${settings.size + 1}`),
    KRMHUB_KEYS: path.join(data, 'keys'),
  };
  settings.set(data, created);
  return created;
}

/** Starts that many processes. `data` is the data folder of the first one, which creates the keys and the administrator. */
export async function startBehindBalancer(
  data: string,
  settings: Record<string, string>,
  count: number,
): Promise<RunningRegistry> {
  const shared = await replicaSettings(data);
  const processes = [await startReady(data, { ...shared, ...settings })];
  for (let number = 2; number <= count; number++) {
    const other = `${data}-${number}`;
    mkdirSync(other, { recursive: true, mode: 0o700 });
    cpSync(path.join(data, 'admin.token'), path.join(other, 'admin.token'));
    processes.push(await startReady(other, { ...shared, ...settings }));
  }
  const balancer = await startRoundRobin(processes.map(({ url }) => url));
  const [first] = processes as [RunningRegistry];
  return {
    ...first,
    url: balancer.url,
    env: { ...first.env, ...shared, KRMHUB_REGISTRY: balancer.url },
    stop: async (signal) => {
      await balancer.close();
      const codes = await Promise.all(processes.map((running) => running.stop(signal)));
      const failed = codes.filter((code) => code !== 0);
      return failed.length === 0 ? 0 : failed[0]!;
    },
  };
}

/** A load balancer sends a process no requests before it is ready. */
async function startReady(data: string, settings: Record<string, string>): Promise<RunningRegistry> {
  const running = await startProcess(data, settings);
  while (!(await isReady(running.url))) await sleep(BETWEEN_TRIES_MS);
  return running;
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(url + READY, { headers: { connection: 'close' } });
  await response.body?.cancel();
  return response.status === 200;
}

/** Ends the database and the store, for programs that are no tests. */
export async function stopEngines(): Promise<void> {
  if (engines === undefined) return;
  const { folder, postgres, s3 } = await engines;
  engines = undefined;
  await s3.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
