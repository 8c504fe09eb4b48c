import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, postgresMissing, startPostgres } from '../contracts/postgres.js';
import { definition, releasePath } from '../faults/workload.js';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { hasS3Server, S3_ENVIRONMENT, type S3Server, startS3Server } from './s3-server.js';

/** What one publish may cost, whatever the size of the registry. */
const LIMITS = { requests: 12, builds: 30, search: 30, s3: 6 };
/** Publishes that are measured. */
const MEASURED = 10;

/** Statements by what they are for, and requests to the S3 server. */
type Cost = Record<keyof typeof LIMITS, number>;

describe.skipIf(postgresMissing !== undefined || !hasS3Server)(
  'a publish with PostgreSQL and S3 (needs PostgreSQL and versitygw)',
  () => {
    const { folder, remove } = temporaryFolder();
    let postgres: PostgresServer;
    let s3: S3Server;
    let registry: RunningRegistry;
    beforeAll(async () => {
      postgres = await startPostgres();
      s3 = await startS3Server(folder);
      registry = await startRegistry(path.join(folder, 'data'), {
        ...S3_ENVIRONMENT,
        KRMHUB_DATABASE_URL: await postgres.createDatabase(),
        KRMHUB_BLOB_URL: s3.blobUrl('statements'),
        KRMHUB_WRITES_PER_MINUTE: '0',
      });
    });
    afterAll(async () => {
      await registry?.stop();
      await s3?.stop();
      await postgres?.stop();
      remove();
    });

    let published = 0;
    async function publish(query: string): Promise<void> {
      published += 1;
      // Their order in the catalog is that of a hash table: no part of it grows alone.
      const kind = `Fn${((published * 7_919) % 100_003).toString(36).toUpperCase()}`;
      const form = new FormData();
      form.append(
        'definition',
        new Blob([definition(kind, '1.0.0')], { type: 'application/yaml' }),
        'd.yaml',
      );
      form.append('readme', new Blob([`# ${kind}\n`], { type: 'text/markdown' }), 'README.md');
      const response = await fetch(`${registry.url}${releasePath({ kind, release: '1.0.0' })}${query}`, {
        method: 'PUT',
        body: form,
        headers: { authorization: `Bearer ${registry.token}` },
      });
      expect([response.status, await response.text()]).toEqual([201, expect.anything()]);
    }

    /** Publishes until the registry has so many functions. */
    async function fill(functions: number): Promise<void> {
      const worker = async () => {
        while (published < functions) await publish('');
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      await publish('?wait=true');
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

    /** Returns what each of some publishes has cost, one at a time. */
    async function measured(query: string): Promise<Cost> {
      // A scrape reads the database itself.
      const before = await cost();
      const scraped = await cost();
      for (let at = 0; at < MEASURED; at += 1) await publish(query);
      const after = await cost();
      const each = (of: keyof Cost, scrapes: number) =>
        (after[of] - scraped[of] - scrapes * (scraped[of] - before[of])) / MEASURED;
      return {
        requests: each('requests', 1),
        builds: each('builds', 0),
        search: each('search', 0),
        s3: each('s3', 0),
      };
    }

    it.each([100, 2_000])('costs the same with %i functions', async (functions) => {
      await fill(functions);
      const { requests, s3: stored } = await measured('');
      await publish('?wait=true');
      const { builds, search } = await measured('?wait=true');
      const each: Cost = { requests, builds, search, s3: stored };
      for (const of of Object.keys(LIMITS) as (keyof Cost)[]) {
        expect([of, each[of], JSON.stringify(each)]).toEqual([
          of,
          expect.toSatisfy((one) => one > 0 && one <= LIMITS[of]),
          expect.anything(),
        ]);
      }
    });
  },
);
