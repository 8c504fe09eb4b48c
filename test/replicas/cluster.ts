import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PostgresServer, query, startPostgres } from '../contracts/postgres.js';
import { type FaultyProxy, startFaultyProxy } from '../interop/s3-proxy.js';
import { S3_ENVIRONMENT, type S3Server, startS3Server } from '../interop/s3-server.js';
import { type RunningRegistry, root, startRegistry } from '../running.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

/** A registry of several processes with one PostgreSQL database and one S3 store, which can fail. */
export interface Cluster {
  replicas: readonly Replica[];
  postgres: PostgresServer;
  standby: PostgresServer | undefined;
  /** Between the processes and the S3 store. */
  s3: FaultyProxy;
  token: string;
  /** Breaks connections of the database; that many of a hundred. */
  cutConnections(percent: number): Promise<void>;
  /** Resolves when all processes are ready. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Tries of a check for readiness, and milliseconds between two: a busy machine needs longer. */
const TRIES = 2_400;
const BETWEEN_TRIES_MS = 100;
/** A start costs more than a check. */
const STARTS_PER_TRY = 10;

/** The connections of one process to the servers. */
export interface Connections {
  postgres: TcpProxy;
  s3: TcpProxy;
}

/** Where nothing listens: above the ports that a system gives out. */
const NOWHERE = 'http://127.255.255.254:65535';

/** One process of the registry, which can end and start again with its data folder. */
export class Replica {
  readonly name: string;
  readonly connections: Connections;
  readonly #data: string;
  readonly #start: () => Promise<RunningRegistry>;
  #running: RunningRegistry | undefined;
  #url = NOWHERE;
  #paused = false;

  constructor(
    name: string,
    {
      data,
      connections,
      start,
    }: { data: string; connections: Connections; start: () => Promise<RunningRegistry> },
  ) {
    this.name = name;
    this.connections = connections;
    this.#data = data;
    this.#start = start;
  }

  /** Where it listens. Its port changes with each start: a process of another registry may have the old one by now. */
  get url(): string {
    return this.#url;
  }

  async start(): Promise<RunningRegistry> {
    this.#running = await this.#start();
    this.#url = this.#running.url;
    return this.#running;
  }

  /** Starts until it succeeds, as a supervisor: a process ends if it needs a server that is away. */
  async startAgain(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return void (await this.start());
      } catch (error) {
        if (tries === TRIES / STARTS_PER_TRY) throw error;
        await sleep(STARTS_PER_TRY * BETWEEN_TRIES_MS);
      }
    }
  }

  /** Deletes the data folder of a process that has ended, as a machine that is replaced. */
  discard(): void {
    rmSync(this.#data, { recursive: true });
  }

  /** Returns the exit code; `null` after a signal that it did not handle. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const running = this.#running;
    if (running === undefined) return 0;
    this.resume();
    this.#running = undefined;
    const ended = running.url;
    const code = await running.stop(signal);
    if (this.#url === ended) this.#url = NOWHERE;
    return code;
  }

  /** Stops its work, as a machine that hangs. */
  pause(): void {
    this.#paused = true;
    process.kill(this.#running!.pid, 'SIGSTOP');
  }

  resume(): void {
    if (this.#paused) process.kill(this.#running!.pid, 'SIGCONT');
    this.#paused = false;
  }

  /** Resolves when it is ready. */
  async ready(): Promise<void> {
    for (let tries = 1; !(await this.#isReady()); tries++) {
      if (tries === TRIES) throw new Error(`process ${this.name} does not become ready`);
      await sleep(BETWEEN_TRIES_MS);
    }
  }

  async #isReady(): Promise<boolean> {
    const response = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(10_000) }).catch(
      () => undefined,
    );
    await response?.body?.cancel();
    return response?.status === 200;
  }
}

export interface ClusterOptions {
  folder: string;
  /** Number of processes. */
  count: number;
  settings?: Record<string, string>;
  /** Minutes by which the clock of each further process is ahead or behind. */
  clockMinutes?: number;
  /** Whether the database has a standby server, which the processes know. */
  standby?: boolean;
}

/** Starts all; the first process creates the keys and the administrator, whose files the others get. */
export async function startCluster({
  folder,
  count,
  settings = {},
  clockMinutes = 0,
  standby: hasStandby = false,
}: ClusterOptions): Promise<Cluster> {
  mkdirSync(folder, { recursive: true });
  const postgres = await startPostgres();
  const standby = hasStandby ? await startPostgres({ standbyOf: postgres }) : undefined;
  let store: S3Server | undefined;
  let s3: FaultyProxy | undefined;
  const replicas: Replica[] = [];
  const proxies: TcpProxy[] = [];
  const close = async () => {
    for (const replica of replicas) await replica.stop('SIGKILL');
    for (const proxy of proxies) await proxy.close();
    await s3?.close();
    await store?.stop();
    await standby?.stop();
    await postgres.stop();
  };
  try {
    store = await startS3Server(folder);
    s3 = await startFaultyProxy(store.endpoint);
    const database = new URL((await postgres.createDatabase()).replace('@/', '@localhost/')).pathname;
    const shared = path.join(folder, 'shared');
    for (let at = 0; at < count; at++) {
      const name = String.fromCharCode('a'.charCodeAt(0) + at);
      const data = path.join(folder, name);
      // One process ahead, the next one behind.
      const minutes = clockMinutes * Math.ceil(at / 2) * (at % 2 === 1 ? 1 : -1);
      const connections = {
        postgres: await startTcpProxy({ path: path.join(postgres.folder, '.s.PGSQL.5432') }),
        s3: await startTcpProxy({ port: Number(new URL(s3.endpoint).port) }),
      };
      proxies.push(connections.postgres, connections.s3);
      let hosts = `127.0.0.1:${connections.postgres.port}`;
      if (standby !== undefined) {
        const other = await startTcpProxy({ path: path.join(standby.folder, '.s.PGSQL.5432') });
        proxies.push(other);
        hosts += `,127.0.0.1:${other.port}`;
      }
      const attributes = standby === undefined ? '' : '?target_session_attrs=read-write';
      const env = {
        ...S3_ENVIRONMENT,
        KRMHUB_DATABASE_URL: `postgres://krmhub@${hosts}${database}${attributes}`,
        KRMHUB_BLOB_URL: store.blobUrl('registry', `http://127.0.0.1:${connections.s3.port}`),
        KRMHUB_WRITES_PER_MINUTE: '0',
        KRMHUB_REQUESTS_PER_MINUTE: '0',
        KRMHUB_FAILED_LOGINS_PER_MINUTE: '0',
        KRMHUB_SOURCE_ADDRESSES: '127.0.0.1',
        ...(minutes === 0 ? {} : otherClock(minutes)),
        ...settings,
      };
      const start = () => {
        if (!existsSync(data)) {
          mkdirSync(data, { mode: 0o700 });
          if (existsSync(shared)) cpSync(shared, data, { recursive: true });
        }
        return startRegistry(data, env, path.join(folder, `${name}.log`));
      };
      replicas.push(new Replica(name, { data, connections, start }));
    }
    const { token, data: first } = await replicas[0]!.start();
    for (const file of ['keys', 'admin.token']) {
      cpSync(path.join(first, file), path.join(shared, file), { recursive: true });
    }
    await Promise.all(replicas.slice(1).map((replica) => replica.start()));
    return {
      replicas,
      postgres,
      standby,
      s3,
      token,
      close,
      async cutConnections(percent) {
        await query(
          postgres.urlOf('postgres'),
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname LIKE 'krmhub%' AND pid <> pg_backend_pid() AND random() * 100 < ${percent}`,
        );
      },
      async ready() {
        for (const replica of replicas) await replica.ready();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Settings of Node.js that move the clock of a process and its threads. */
function otherClock(minutes: number): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${path.join(root, 'test/replicas/other-clock.mjs')}`,
    TEST_CLOCK_MINUTES: String(minutes),
  };
}
