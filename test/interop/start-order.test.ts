import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { spawn } from '../processes.js';
import { replicasMissing } from '../replicas/missing.js';
import { startTcpProxy } from '../replicas/tcp-proxy.js';
import { cleanEnvironment, command, root } from '../running.js';
import { freePort } from './free-port.js';
import { startFaultyProxy } from './s3-proxy.js';
import { S3_ENVIRONMENT } from './s3-server.js';
import { useServers } from './servers.js';

describe.skipIf(replicasMissing)(
  'a registry that starts before its servers (needs PostgreSQL and versitygw)',
  () => {
    const servers = useServers({ postgres: true, s3: true });

    it('waits for both of them, on the port that it then serves', async () => {
      const [, database] = /\/([^/?]+)\?/.exec(await servers.postgres.createDatabase())!;
      const blobs = await startFaultyProxy(servers.s3.endpoint);
      blobs.faults.away = true;
      const port = await freePort();
      const proxy = await startTcpProxy({ path: path.join(servers.postgres.folder, '.s.PGSQL.5432') });
      proxy.cut();
      const child = spawn(
        process.execPath,
        [command, 'serve', '--port', String(port), '--data', servers.at('data')],
        {
          cwd: root,
          env: cleanEnvironment(tmpdir(), {
            ...S3_ENVIRONMENT,
            KRMHUB_DATABASE_URL: `postgres://krmhub@127.0.0.1:${proxy.port}/${database}`,
            KRMHUB_BLOB_URL: servers.s3.blobUrl('order', blobs.endpoint),
          }),
          stdio: 'ignore',
        },
      );
      const closed = once(child, 'close');
      const ready = async () => {
        const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
        const body = (await response?.json()) as {
          checks: { name: string; status: string; detail?: string }[];
        };
        return body?.checks.find(({ status }) => status === 'failing')?.detail ?? response?.status;
      };
      await expect.poll(ready).toContain('database server');
      proxy.open();
      await expect.poll(ready).toContain('store of the blobs');
      blobs.faults.away = false;
      await expect.poll(ready).toBe(200);
      const metric = async (name: string) => {
        const response = await fetch(`http://127.0.0.1:${port}/metrics`);
        expect(response.status).toBe(200);
        const [, value] = new RegExp(`^${name} (.*)$`, 'm').exec(await response.text()) ?? [];
        return value === undefined ? undefined : Number(value);
      };
      expect(await metric('krmhub_processes')).toBe(1);
      await expect.poll(() => metric('krmhub_search_lag_events')).toBe(0);
      // Metrics are needed most while a server is away.
      proxy.cut();
      await expect.poll(() => metric('krmhub_ready{check="store"}')).toBe(0);
      expect(await metric('krmhub_functions')).toBeUndefined();
      expect(await metric('krmhub_database_errors_total{work="requests"}')).toBeGreaterThan(0);
      proxy.open();
      await expect.poll(() => metric('krmhub_ready{check="store"}')).toBe(1);
      child.kill('SIGTERM');
      expect((await closed)[0]).toBe(0);
      await proxy.close();
      await blobs.close();
    });
  },
);
