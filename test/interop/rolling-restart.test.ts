import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresMissing } from '../contracts/postgres.js';
import { definition, GROUP, releasePath } from '../faults/workload.js';
import { Balancer } from '../replicas/balancer.js';
import { type Cluster, startCluster } from '../replicas/cluster.js';
import { temporaryFolder } from '../running.js';
import { hasS3Server } from './s3-server.js';

const READY = '/readyz?exclude=store&exclude=blobs&exclude=catalogs';
const CLIENTS = 4;

describe.skipIf(postgresMissing !== undefined || !hasS3Server)(
  'a rolling restart of three processes (needs PostgreSQL and versitygw)',
  () => {
    const { folder, remove } = temporaryFolder();
    let cluster: Cluster;
    let balancer: Balancer;
    beforeAll(async () => {
      cluster = await startCluster({
        folder: path.join(folder, 'cluster'),
        count: 3,
        settings: { KRMHUB_SHUTDOWN_DELAY_SECONDS: '5' },
      });
      balancer = new Balancer(cluster.replicas, READY);
      await balancer.sees(...cluster.replicas);
    });
    afterAll(async () => {
      await balancer?.close();
      await cluster?.close();
      remove();
    });

    it('fails no request of clients behind a load balancer', async () => {
      const headers = { authorization: `Bearer ${cluster.token}` };
      let ended = false;
      let sent = 0;
      const failed: string[] = [];
      const ask = async (target: string, init: RequestInit = {}) => {
        sent += 1;
        const response = await balancer.fetch(target, init).catch((error: Error) => error);
        if (response instanceof Error) {
          failed.push(`${target}: ${response.message} ${String(response.cause)}`);
        } else {
          const text = await response.text().catch((error: Error) => error.message);
          if (response.status !== 200 && response.status !== 201) {
            failed.push(`${target}: ${response.status} ${text}`);
          }
        }
      };
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let round = 0; !ended; round++) {
          const release = { kind: `Client${client}`, release: `1.${round}.0` };
          await ask(`${releasePath(release)}${round % 2 === 0 ? '?wait=true' : ''}`, {
            method: 'PUT',
            body: definition(release.kind, release.release),
            headers: { ...headers, 'content-type': 'application/yaml' },
          });
          await ask(`${releasePath(release)}/definition.yaml`);
          await ask('/catalogs/default/catalog.yaml');
          await ask(`/api/v1/functions?q=${release.kind}`);
          await ask(`/functions/${GROUP}/${release.kind}`);
          await ask('/api/v1/whoami', { headers });
          await sleep(20);
        }
      });
      for (const replica of cluster.replicas) {
        expect(await replica.stop('SIGTERM')).toBe(0);
        await replica.start();
        await balancer.sees(replica);
      }
      ended = true;
      await Promise.all(clients);
      expect(failed).toEqual([]);
      expect(sent).toBeGreaterThan(100);
    });
  },
);
