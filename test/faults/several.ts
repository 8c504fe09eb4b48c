import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkHistory } from '../replicas/check-history.js';
import { Clients, randomNumbers } from '../replicas/clients.js';
import { type Cluster, startCluster } from '../replicas/cluster.js';
import { History } from '../replicas/history.js';
import type { Outcome } from './kill.js';

/** Longer than other processes wait for one that does not respond. */
const PAUSE_MS = 13_000;
const BRIEFLY_MS = 1_500;
const CLIENTS = 6;
/** Faults before the registry is replaced by a new one, so that a check stays quick. */
const FAULTS_PER_CLUSTER = 12;

export interface SeveralProcesses {
  /** Number of faults to inject. */
  count: number;
  processes: number;
  /** Of the requests, and of the order and the places of the faults. */
  seed: number;
  scratch: string;
  /** Minutes between the clocks of two processes. */
  clockMinutes?: number;
  report(outcome: Outcome): void;
}

type Fault = (cluster: Cluster, random: () => number) => Promise<void>;

/** Each ends with everything in order, except what the fault has broken for good. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'kill of a process': async ({ replicas }, random) => {
    const replica = one(replicas, random);
    await sleep(random() * BRIEFLY_MS);
    await replica.stop('SIGKILL');
    await sleep(random() * BRIEFLY_MS);
    await replica.start();
  },
  'kill of all processes': async ({ replicas }, random) => {
    await sleep(random() * BRIEFLY_MS);
    await Promise.all(replicas.map((replica) => replica.stop('SIGKILL')));
    await Promise.all(replicas.map((replica) => replica.start()));
  },
  'a process that hangs until it is lost': async ({ replicas }, random) => {
    const replica = one(replicas, random);
    replica.pause();
    await sleep(PAUSE_MS);
    replica.resume();
    await sleep(BRIEFLY_MS);
  },
  'a process that hangs briefly': async ({ replicas }, random) => {
    const replica = one(replicas, random);
    replica.pause();
    await sleep(random() * 2 * BRIEFLY_MS);
    replica.resume();
  },
  'restart of PostgreSQL': async ({ postgres }, random) => {
    await sleep(random() * BRIEFLY_MS);
    await postgres.restart();
    await sleep(BRIEFLY_MS);
  },
  'connections of the database break': async ({ cutConnections }, random) => {
    for (let cut = 0; cut < 4; cut++) {
      await sleep((random() * BRIEFLY_MS) / 2);
      await cutConnections(30 + random() * 70);
    }
  },
  'S3 is away': async ({ s3 }, random) => {
    s3.faults.away = true;
    await sleep((1 + random()) * BRIEFLY_MS);
    s3.faults.away = false;
  },
  'S3 fails a part of the requests, and is slow': async ({ s3 }, random) => {
    Object.assign(s3.faults, { failing: 0.1 + random() * 0.3, delay: random() * 100 });
    await sleep(2 * BRIEFLY_MS);
    Object.assign(s3.faults, { failing: 0, delay: 0 });
  },
};

/**
 * Injects faults into registries of several processes under load, and checks after each for losses. Returns how many
 * operations clients recorded.
 */
export async function injectInSeveral(campaign: SeveralProcesses): Promise<number> {
  let operations = 0;
  mkdirSync(campaign.scratch, { recursive: true });
  const random = randomNumbers(campaign.seed);
  // Each kind as often as others, in another order each time.
  const queue = Array.from({ length: Math.ceil(campaign.count / Object.keys(FAULTS).length) }, () =>
    shuffled(Object.keys(FAULTS), random),
  )
    .flat()
    .slice(0, campaign.count);
  for (let part = 0; queue.length > 0; part++) {
    const folder = path.join(campaign.scratch, `several-${part}`);
    const kinds = queue.splice(0, FAULTS_PER_CLUSTER);
    const result = await injectInOne(campaign, { folder, kinds, random });
    operations += result.operations;
    if (result.lossless) rmSync(folder, { recursive: true, force: true });
  }
  return operations;
}

async function injectInOne(
  { processes, clockMinutes, seed, report }: SeveralProcesses,
  { folder, kinds, random }: { folder: string; kinds: readonly string[]; random: () => number },
): Promise<{ lossless: boolean; operations: number }> {
  const cluster = await startCluster({
    folder,
    count: processes,
    ...(clockMinutes === undefined ? {} : { clockMinutes }),
  });
  const history = new History();
  const clients = new Clients({
    targets: cluster.replicas,
    token: cluster.token,
    history,
    random,
  });
  const told = new Set<string>();
  /** The problems that are new since the last fault; more operations make a problem longer. */
  const problems = (): string[] =>
    [...clients.wrong, ...checkHistory(history.operations)].flatMap((problem) => {
      const [what = ''] = problem.split(': [');
      if (told.has(what)) return [];
      told.add(what);
      return [`${problem} (seed ${seed})`];
    });
  try {
    await clients.during(CLIENTS, () => sleep(BRIEFLY_MS));
    for (const kind of kinds) {
      const losses: string[] = [];
      await clients.during(CLIENTS, async () => {
        await FAULTS[kind]!(cluster, random);
        await cluster.ready();
      });
      losses.push(...problems());
      report({ fault: kind, injected: 1, losses });
    }
    const losses = [...(await sameEverywhere(cluster, clients)), ...problems()];
    report({ fault: 'all reads of all processes at the end', injected: 0, losses });
    if (told.size > 0) writeFileSync(path.join(folder, 'history.json'), JSON.stringify(history.operations));
    return { lossless: told.size === 0 && losses.length === 0, operations: history.operations.length };
  } finally {
    await cluster.close();
  }
}

/** Every process has all of it, and gets to the same newest snapshot. */
async function sameEverywhere({ replicas, token }: Cluster, clients: Clients): Promise<string[]> {
  const built = await fetch(`${replicas[0]!.url}/api/v1/catalogs/default/cut`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  if (built.status !== 200) return [`the catalog is not built: ${built.status} ${await built.text()}`];
  await built.body?.cancel();
  const newest = await clients.readNewest(replicas[0]!);
  const losses: string[] = [];
  for (const replica of replicas) {
    for (let tries = 0; (await clients.readNewest(replica)) !== newest; tries++) {
      if (tries === 300) {
        losses.push(`process ${replica.name} does not get to the snapshot ${newest} of the catalog`);
        break;
      }
      await sleep(100);
    }
    await clients.readAll(replica);
  }
  return losses;
}

function one<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)]!;
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
