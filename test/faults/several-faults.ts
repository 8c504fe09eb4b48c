import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Connections, Replica } from '../replicas/cluster.js';
import type { History } from '../replicas/history.js';

export interface FaultContext {
  cluster: Cluster;
  history: History;
  /** From 0 to 1. */
  random: () => number;
  /** Processes are apart until these have ended. */
  rejoining: Promise<unknown>[];
}

export interface Fault {
  /** How many of all faults are of this kind. */
  part: number;
  /** How many processes it breaks, or the server that all of them use. */
  breaks: 1 | 2 | 'all' | 'postgres' | 's3';
  /** Ends with everything in order. The processes can still be busy with what it left. */
  inject(context: FaultContext, broken: readonly Replica[]): Promise<void>;
}

const BRIEFLY_MS = 2_000;
/** Longer than other processes wait for one that does not respond. */
const LONG_MS = 15_000;
const PAUSE_MS = 30_000;
const AWAY_MS = 60_000;
/** Part of the processes that start again on a new machine. */
const REPLACED = 0.25;
/** Milliseconds after which a process that is ready again has read what it missed. */
const CATCH_UP_MS = 3_000;

/** Faults of a registry of several processes. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'kill of a process': { part: 8, breaks: 1, inject: kill },
  'kill of two processes': { part: 4, breaks: 2, inject: kill },
  'kill of all processes': { part: 1, breaks: 'all', inject: kill },
  'a process that stops for 30 seconds': {
    part: 4,
    breaks: 1,
    inject: (context, [replica]) => stop(context, replica!, PAUSE_MS),
  },
  'a process that stops briefly': {
    part: 6,
    breaks: 1,
    inject: (context, [replica]) => stop(context, replica!, context.random() * 2 * BRIEFLY_MS),
  },
  'a process cut off from PostgreSQL': {
    part: 3,
    breaks: 1,
    inject: (context, [replica]) =>
      apart(context, replica!, () => interrupt(context, replica!, 'postgres', 'cut')),
  },
  'a process whose connections to PostgreSQL hang': {
    part: 3,
    breaks: 1,
    inject: (context, [replica]) =>
      apart(context, replica!, () => interrupt(context, replica!, 'postgres', 'hold')),
  },
  'a process cut off from S3': {
    part: 2,
    breaks: 1,
    inject: (context, [replica]) => interrupt(context, replica!, 's3', 'cut'),
  },
  'a process whose connections to S3 hang': {
    part: 2,
    breaks: 1,
    inject: (context, [replica]) => interrupt(context, replica!, 's3', 'hold'),
  },
  'restart of PostgreSQL': {
    part: 5,
    breaks: 'postgres',
    inject: ({ cluster }) => cluster.postgres.restart(),
  },
  'connections of the database break': {
    part: 5,
    breaks: 'postgres',
    async inject({ cluster, random }) {
      for (let cut = 0; cut < 4; cut++) {
        await cluster.cutConnections(30 + random() * 70);
        await sleep((random() * BRIEFLY_MS) / 2);
      }
    },
  },
  'S3 is away': {
    part: 3,
    breaks: 's3',
    inject: ({ cluster, random }) => withoutS3(cluster, (1 + random()) * BRIEFLY_MS),
  },
  'S3 is away for a minute': {
    part: 1,
    breaks: 's3',
    inject: ({ cluster }) => withoutS3(cluster, AWAY_MS),
  },
  'S3 fails a tenth of the requests, and is slow': {
    part: 3,
    breaks: 's3',
    async inject({ cluster: { s3 }, random }) {
      Object.assign(s3.faults, { failing: 0.1, delay: random() * 200 });
      await sleep(2 * BRIEFLY_MS);
      Object.assign(s3.faults, { failing: 0, delay: 0 });
    },
  },
};

async function kill({ random }: FaultContext, broken: readonly Replica[]): Promise<void> {
  await Promise.all(broken.map((replica) => replica.stop('SIGKILL')));
  await sleep(random() * BRIEFLY_MS);
  for (const replica of broken) if (random() < REPLACED) replica.discard();
  await Promise.all(broken.map((replica) => replica.startAgain()));
}

async function stop(context: FaultContext, replica: Replica, milliseconds: number): Promise<void> {
  await apart(context, replica, async () => {
    replica.pause();
    await sleep(milliseconds);
    replica.resume();
  });
}

/** Half of these last until the others have given up a process. */
async function interrupt(
  { random }: FaultContext,
  { connections }: Replica,
  server: keyof Connections,
  how: 'hold' | 'cut',
): Promise<void> {
  connections[server][how]();
  await sleep(random() < 0.5 ? LONG_MS : random() * 2 * BRIEFLY_MS);
  connections[server].open();
}

/** Resolves after the fault. The record of the process ends when it has read what it missed. */
async function apart(
  { history, rejoining }: FaultContext,
  replica: Replica,
  fault: () => Promise<void>,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const recorded = history.record(replica.name, async () => {
      await fault();
      resolve();
      await replica.ready();
      await sleep(CATCH_UP_MS);
      return { do: 'apart' };
    });
    recorded.catch(reject);
    rejoining.push(recorded);
  });
}

async function withoutS3({ s3 }: Cluster, milliseconds: number): Promise<void> {
  s3.faults.away = true;
  await sleep(milliseconds);
  s3.faults.away = false;
}
