import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { postgresMissing, query } from '../contracts/postgres.js';
import { hasS3Server } from '../interop/s3-server.js';
import { checkHistory } from '../replicas/check-history.js';
import { Clients } from '../replicas/clients.js';
import { startCluster } from '../replicas/cluster.js';
import { History } from '../replicas/history.js';
import { randomNumbers } from '../replicas/random.js';
import { temporaryFolder } from '../running.js';

const CLIENTS = 6;

describe.skipIf(postgresMissing !== undefined || !hasS3Server)(
  'a standby server in the place of the primary (needs PostgreSQL and versitygw)',
  () => {
    const { folder, remove } = temporaryFolder();
    afterAll(remove);

    it('loses nothing, and every process goes on', async () => {
      const history = new History();
      const cluster = await startCluster({ folder, count: 3, standby: true, clockMinutes: 5 });
      const { replicas, token, postgres, standby } = cluster;
      let clients: Clients | undefined;
      try {
        const random = randomNumbers(Number(process.env.KRMHUB_TEST_SEED ?? 1));
        clients = await Clients.start({ targets: replicas, token, history, random });
        const { operations } = history;
        const count = (what: string) => operations.filter((one) => one.do === what).length;
        await clients.during(CLIENTS, async () => {
          await expect.poll(() => count('publish'), { timeout: 120_000 }).toBeGreaterThan(10);
          await postgres.kill();
          // Nobody can write meanwhile, and each process finds out for itself.
          await sleep(2_000);
          await query(standby!.urlOf('postgres'), 'SELECT pg_promote()');
          await cluster.ready();
          const before = count('publish');
          await expect.poll(() => count('publish'), { timeout: 120_000 }).toBeGreaterThan(before + 10);
        });
        for (const replica of replicas) await clients.readAll(replica);
        expect([...clients.requests.wrong, ...checkHistory(operations)]).toEqual([]);
        // The same rows as before, without a gap.
        const [events] = await query(
          standby!.urlOf('krmhub1'),
          'SELECT count(*)::int AS rows, max(sequence)::int AS last FROM event',
        );
        expect(events).toEqual({ rows: expect.any(Number), last: (events as { rows: number }).rows });
      } finally {
        await clients?.close();
        await cluster.close();
      }
    });
  },
);
