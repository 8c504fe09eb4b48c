import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillPath } from '@krmhub/api/paths';
import type { CatalogClient } from '../replicas/catalog-client.js';
import { checkHistory } from '../replicas/check-history.js';
import { Clients } from '../replicas/clients.js';
import { type Cluster, startCluster } from '../replicas/cluster.js';
import { History } from '../replicas/history.js';
import { randomNumbers } from '../replicas/random.js';
import { faultsInOrder, injectTogether } from './schedule.js';
import type { FaultContext } from './several-faults.js';

const CLIENTS = 8;
/** Faults between two checks. */
const FAULTS_PER_GROUP = 25;
/** Faults before the registry is replaced by a new one, so that a check stays quick. */
const FAULTS_PER_REGISTRY = 50;
/** Reads of each process after a group. */
const SAMPLE = 40;
/** Seeds of the registries of a campaign are this far from those of the next seed. */
const SEEDS = 10_000;
const TRIES = 300;
const BETWEEN_TRIES_MS = 100;

export interface SeveralProcesses {
  /** Number of faults to inject. */
  count: number;
  processes: number;
  /** Registries at the same time. */
  workers: number;
  /** Of the requests, and of the order and the places of the faults. */
  seed: number;
  scratch: string;
  /** Minutes between the clocks of two processes. */
  clockMinutes?: number;
  report(group: Group): void;
}

/** Faults that were injected one after the other or together, and what was found after them. */
export interface Group {
  /** From 1. */
  registry: number;
  faults: readonly string[];
  operations: number;
  /** Reads that got 503. */
  unavailableReads: number;
  /** Requests without a response in time: their process had ended, or did not run, or waited for a server. */
  unanswered: number;
  losses: string[];
  milliseconds: number;
}

/** Injects faults into registries of several processes under load, and checks for losses. */
export async function injectInSeveral(campaign: SeveralProcesses): Promise<void> {
  mkdirSync(campaign.scratch, { recursive: true });
  const order = faultsInOrder(campaign.count, randomNumbers(campaign.seed));
  let registries = 0;
  const work = async () => {
    while (order.length > 0) {
      const kinds = order.splice(0, FAULTS_PER_REGISTRY);
      const registry = ++registries;
      const folder = path.join(campaign.scratch, `registry-${registry}`);
      if (await injectInOne(campaign, { registry, folder, kinds })) {
        rmSync(folder, { recursive: true, force: true });
      }
    }
  };
  await Promise.all(Array.from({ length: campaign.workers }, work));
}

/** Returns whether nothing was lost. */
async function injectInOne(
  campaign: SeveralProcesses,
  { registry, folder, kinds }: { registry: number; folder: string; kinds: string[] },
): Promise<boolean> {
  const { processes: count, clockMinutes = 0, seed } = campaign;
  const random = randomNumbers(seed * SEEDS + registry);
  const history = new History();
  const told = new Set<string>();
  let cluster: Cluster | undefined;
  let clients: Clients | undefined;
  /** Reports what is new since the last group. */
  const group = async (faults: readonly string[], work: () => Promise<string[]>): Promise<boolean> => {
    const began = performance.now();
    const operations = history.operations.length;
    const before = { ...clients?.requests.counts };
    let injected = faults;
    const losses = await work().catch((error: Error) => {
      injected = [];
      return [error.stack ?? error.message];
    });
    losses.push(...(clients?.requests.wrong ?? []), ...checkHistory(history.operations));
    // More operations make a problem longer.
    const found = losses.filter((loss) => !told.has(loss.split(': [')[0]!));
    for (const loss of found) told.add(loss.split(': [')[0]!);
    campaign.report({
      registry,
      faults: injected,
      operations: history.operations.length - operations,
      unavailableReads: (clients?.requests.counts.unavailableReads ?? 0) - (before.unavailableReads ?? 0),
      unanswered: (clients?.requests.counts.unanswered ?? 0) - (before.unanswered ?? 0),
      losses: found.map((loss) => `${loss} (seed ${seed}, registry ${registry})`),
      milliseconds: performance.now() - began,
    });
    return injected === faults;
  };
  try {
    const isStarted = await group([], async () => {
      cluster = await startCluster({ folder, count, clockMinutes });
      clients = await Clients.start({ targets: cluster.replicas, token: cluster.token, history, random });
      return [];
    });
    if (!isStarted) return false;
    const context: FaultContext = { cluster: cluster!, history, random, rejoining: [] };
    while (kinds.length > 0) {
      const some = kinds.splice(0, FAULTS_PER_GROUP);
      const isLast = kinds.length === 0;
      if (!(await group(some, () => injectGroup(some, { context, clients: clients!, isLast })))) break;
    }
  } finally {
    if (told.size > 0) writeFileSync(path.join(folder, 'history.json'), JSON.stringify(history.operations));
    await clients?.close();
    await cluster?.close();
  }
  return told.size === 0;
}

async function injectGroup(
  kinds: readonly string[],
  { context, clients, isLast }: { context: FaultContext; clients: Clients; isLast: boolean },
): Promise<string[]> {
  const { cluster, rejoining } = context;
  await clients.during(CLIENTS, async () => {
    await injectTogether(kinds, context);
    await cluster.ready();
    await Promise.all(rejoining.splice(0));
  });
  const losses = await sameEverywhere(cluster, clients);
  for (const replica of cluster.replicas) {
    if (isLast) await clients.readAll(replica);
    else await clients.readSome(replica, SAMPLE);
  }
  return losses;
}

/** Every process gets to the same newest snapshots, with the newest version of the upstream. */
async function sameEverywhere(cluster: Cluster, clients: Clients): Promise<string[]> {
  const { replicas } = cluster;
  const first = replicas[0]!;
  if (!(await repeated(() => clients.upstream.sync(first)))) return ['the upstream is not synced'];
  const losses: string[] = [];
  for (const catalog of [clients.catalog, clients.collected]) {
    if (!(await repeated(() => build(cluster, catalog)))) {
      losses.push(`catalog ${catalog.name} is not built`);
      continue;
    }
    const newest = await catalog.readNewest(first);
    for (const replica of replicas) {
      const isThere = async () => (await catalog.readNewest(replica))?.serial === newest?.serial;
      if (newest === undefined || !(await repeated(isThere))) {
        losses.push(`process ${replica.name} does not get to the newest snapshot of ${catalog.name}`);
      }
    }
    if (catalog === clients.collected && newest?.version !== clients.upstream.version) {
      losses.push(`${catalog.name} has version ${newest?.version} of ${clients.upstream.version}`);
    }
  }
  return losses;
}

async function build({ replicas, token }: Cluster, { name }: CatalogClient): Promise<boolean> {
  const url = `${replicas[0]!.url}${fillPath('cut', { name })}`;
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  await response.body?.cancel();
  return response.status === 200;
}

async function repeated(attempt: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    if (await attempt()) return true;
    await sleep(BETWEEN_TRIES_MS);
  }
  return false;
}
