import { fillPath } from '@krmhub/api/paths';
import { type AggregateServer, CATALOG } from './aggregate-server.js';
import { catalogPath } from './catalog-resources.js';
import { clientLoad } from './load.js';
import type { LoadPlan, LoadRequest } from './load-client.js';
import { alternate, type Latency, latency } from './measure.js';
import { newFunctions, publishRequest } from './publishing.js';
import { searchPath } from './queries.js';
import type { Bench } from './row.js';
import type { Upstreams } from './upstreams.js';

/** More connections than requests in flight: a blocked server must not delay the clients. */
const CONNECTIONS = 32;
const PER_SECOND = { reads: 100, searches: 20, publishes: 10 } as const;
const SECONDS = 6;
const MAX_ROUNDS = 3;
/** Entries and words that are requested in turn. */
const DISTINCT_REQUESTS = 100;

export type Client = keyof typeof PER_SECOND;
/** The request that each kind of client makes. */
export type Waits = Record<Client, Latency>;

/**
 * Measures readers, searchers and publishers of a registry in rounds: once while the registry is otherwise
 * idle, and once while it refreshes all upstreams, in which everything is new, and rebuilds their catalog
 * all the time.
 */
export async function measureStalls(
  { tools, folders, effort }: Bench,
  registry: AggregateServer,
  upstreams: Upstreams,
  { functions, rounds }: { functions: number; rounds: number },
): Promise<Record<'idle' | 'busy', Waits[]>> {
  const { server } = registry;
  const seconds = effort.quick ? 0.3 : SECONDS;
  const next = newFunctions();
  const publishes = (count: number) => Array.from({ length: count }, () => publishRequest(server, next()));
  const run = async (plan: Omit<LoadPlan, 'origin' | 'connections'>): Promise<Latency> => {
    const whole = { origin: server.url, connections: CONNECTIONS, ...plan };
    return latency((await clientLoad(tools, whole, await folders.scratch(), 'any')).milliseconds);
  };
  // `default` has an entry from the start.
  await run({ requests: publishes(20) });
  await registry.settle();
  const sampled = upstreams.catalogs.flatMap(({ entries }) => entries.slice(0, DISTINCT_REQUESTS / 20));
  const get = (path: string): LoadRequest => ({ method: 'GET', path });
  const requests = {
    reads: sampled.flatMap(({ group, kind }) => [
      get(catalogPath('default')),
      get(fillPath('catalogEntry', { name: CATALOG, group, kind })),
    ]),
    searches: sampled.map(({ kind }) => get(searchPath({ text: kind }))),
  };
  const load = async (): Promise<Waits> => {
    const milliseconds = seconds * 1_000;
    const [reads, searches, published] = await Promise.all([
      run({ requests: requests.reads, milliseconds, perSecond: PER_SECOND.reads }),
      run({ requests: requests.searches, milliseconds, perSecond: PER_SECOND.searches }),
      run({
        requests: publishes(Math.ceil(seconds * PER_SECOND.publishes)),
        perSecond: PER_SECOND.publishes,
      }),
    ]);
    return { reads, searches, publishes: published };
  };
  if (!effort.quick) await load();
  return alternate(Math.min(rounds, MAX_ROUNDS), {
    idle: load,
    async busy() {
      let done = false;
      const working = (async () => {
        while (!done) {
          await upstreams.change('all', functions);
          await registry.apply(functions);
        }
      })();
      try {
        return await load();
      } finally {
        done = true;
        await working;
      }
    },
  });
}
