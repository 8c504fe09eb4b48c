import { beforeAll, describe, expect, it } from 'vitest';
import { definition, releasePath } from '../faults/workload.js';
import { replicasMissing } from '../replicas/missing.js';
import type { RunningRegistry } from '../running.js';
import { sharedSettings, useServers } from './servers.js';

/** What one publish may cost, whatever the size of the registry. */
const LIMITS = { requests: 12, releases: 13, builds: 30, search: 6, s3: 1 };
/** Publishes that are measured. */
const MEASURED = 12;

/** Statements by what they are for, and requests to the S3 server. */
type Cost = Record<'requests' | 'builds' | 'search' | 's3', number>;

describe.skipIf(replicasMissing)('a publish with PostgreSQL and S3 (needs PostgreSQL and versitygw)', () => {
  const servers = useServers({ postgres: true, s3: true });
  let registry: RunningRegistry;
  beforeAll(async () => {
    registry = await servers.start(servers.at('data'), {
      ...(await sharedSettings(servers, 'statements')),
      KRMHUB_WRITES_PER_MINUTE: '0',
    });
  });

  let functions = 0;
  let updated = 0;
  // Their order in the catalog is not that of their numbers: all parts of it grow.
  const kindOf = (number: number) => `Fn${((number * 7_919) % 100_003).toString(36).toUpperCase()}`;
  const publishNew = (query: string) => publish(kindOf(functions++), '1.0.0', query);
  const publishNext = (query: string) => publish(kindOf(updated++), '1.1.0', query);
  async function publish(kind: string, release: string, query: string): Promise<void> {
    const form = new FormData();
    form.append('definition', new Blob([definition(kind, release)], { type: 'application/yaml' }), 'd.yaml');
    form.append('readme', new Blob([`# ${kind} ${release}\n`], { type: 'text/markdown' }), 'README.md');
    const response = await fetch(`${registry.url}${releasePath({ kind, release })}${query}`, {
      method: 'PUT',
      body: form,
      headers: { authorization: `Bearer ${registry.token}` },
    });
    expect([response.status, await response.text()]).toEqual([201, expect.anything()]);
  }

  /** Publishes until the registry has so many functions. */
  async function fill(size: number): Promise<void> {
    const worker = async () => {
      while (functions < size) await publishNew('');
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    await publishNew('?wait=true');
  }

  async function cost(): Promise<Cost> {
    const text = await (await fetch(`${registry.url}/metrics`)).text();
    const sum = (name: string) =>
      [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
        (total, [, count]) => total + Number(count),
        0,
      );
    const statements = (work: string) => sum(`krmhub_database_statements_total\\{work="${work}"\\}`);
    return {
      requests: statements('requests'),
      builds: statements('builds'),
      search: statements('search'),
      s3: sum('krmhub_blob_store_requests_total'),
    };
  }

  /**
   * Returns what each of some publishes has cost, one at a time. Requests of most of them: a scrape that is late checks
   * the database, and every two seconds at most, the process reads the newest catalogs into memory.
   */
  async function measured(publishOne: () => Promise<void>): Promise<Cost> {
    const scrapes = [await cost(), await cost(), await cost()];
    // A scrape reads the database itself.
    const [ofScrape] = differences(scrapes, 'requests');
    const costs = [scrapes[2]!];
    for (let at = 0; at < MEASURED; at += 1) {
      await publishOne();
      costs.push(await cost());
    }
    const mean = (of: keyof Cost) => (costs[MEASURED]![of] - costs[0]![of]) / MEASURED;
    return {
      requests: differences(costs, 'requests')[MEASURED / 4]! - ofScrape!,
      builds: mean('builds'),
      search: mean('search'),
      s3: mean('s3'),
    };
  }

  /** Sorted. */
  function differences(costs: readonly Cost[], of: keyof Cost): number[] {
    return costs
      .slice(1)
      .map((one, at) => one[of] - costs[at]![of])
      .sort((one, other) => one - other);
  }

  it.each([100, 2_000])('costs the same with %i functions', async (size) => {
    await fill(size);
    const { requests, s3: stored } = await measured(() => publishNew(''));
    const { requests: releases } = await measured(() => publishNext(''));
    await publishNew('?wait=true');
    const { builds, search } = await measured(() => publishNew('?wait=true'));
    const each = { requests, releases, builds, search, s3: stored };
    const above = Object.entries(LIMITS).filter(([name, limit]) => {
      const count = each[name as keyof typeof LIMITS];
      // Its files are rows. Sometimes, the leader writes a copy of the search index.
      return !(count <= limit) || (name !== 's3' && count <= 0);
    });
    expect(above, JSON.stringify(each)).toEqual([]);
  });
});
