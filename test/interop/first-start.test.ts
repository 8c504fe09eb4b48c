import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { query } from '../contracts/postgres.js';
import { spawn } from '../processes.js';
import { replicasMissing } from '../replicas/missing.js';
import { cleanEnvironment, command, listeningUrl, root } from '../running.js';
import { S3_ENVIRONMENT } from './s3-server.js';
import { useServers } from './servers.js';

/** Processes that start together on an empty database, with one folder of keys. */
describe.skipIf(replicasMissing)('the first start (needs PostgreSQL and versitygw)', () => {
  const servers = useServers({ postgres: true, s3: true });

  it.each(['one', 'two', 'three'])(
    'of three processes makes one key and one administrator: %s',
    async (name) => {
      const url = await servers.postgres.createDatabase();
      const place = servers.at(name);
      const keys = path.join(place, 'keys');
      mkdirSync(keys, { recursive: true, mode: 0o700 });
      const started = ['a', 'b', 'c'].map((one) => {
        const data = path.join(place, one);
        const child = spawn(process.execPath, [command, 'serve', '--port', '0', '--data', data], {
          cwd: root,
          env: cleanEnvironment(tmpdir(), {
            ...S3_ENVIRONMENT,
            KRMHUB_DATABASE_URL: url,
            KRMHUB_BLOB_URL: servers.s3.blobUrl(name),
            KRMHUB_KEYS: keys,
          }),
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        return { data, child, exited: once(child, 'close') as Promise<[number | null]> };
      });
      try {
        const urls = await Promise.all(started.map(({ child, exited }) => listeningUrl(child, exited)));
        const names = readdirSync(keys);
        expect(names).toHaveLength(1);
        const recorded = await query<{ value: string }>(
          url,
          `SELECT value FROM setting WHERE name = 'registry-key'`,
        );
        expect(recorded[0]?.value).toContain(names[0]!.slice(-'0123456789abcdef.pem'.length, -'.pem'.length));
        const files = started
          .map(({ data }) => path.join(data, 'admin.token'))
          .filter((file) => existsSync(file));
        expect(files).toHaveLength(1);
        expect(await query(url, 'SELECT id FROM token')).toHaveLength(1);
        const token = readFileSync(files[0]!, 'utf8').trim();
        for (const one of urls) {
          const response = await fetch(`${one}/api/v1/whoami`, {
            headers: { authorization: `Bearer ${token}` },
          });
          expect(response.status).toBe(200);
          const published = await fetch(`${one}/.well-known/krmhub-keys.json`);
          expect([published.status, await published.text()]).toEqual([
            200,
            expect.stringContaining(recorded[0]!.value),
          ]);
        }
      } finally {
        for (const { child } of started) child.kill('SIGTERM');
        await Promise.all(started.map(({ exited }) => exited));
      }
    },
  );
});
