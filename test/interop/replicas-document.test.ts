import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, postgresMissing, startPostgres } from '../contracts/postgres.js';
import { blocks, documentBlocks, promised } from '../document-blocks.js';
import { finished, spawn } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';
import { freePort } from './free-port.js';
import { hasS3Server } from './s3-server.js';

const MARKER = '--end-of-block--';
const PAGE = 'docs/operate-replicas.md';

describe.skipIf(postgresMissing !== undefined || !hasS3Server)(
  'the page about several processes (needs PostgreSQL and versitygw)',
  () => {
    const { folder, remove } = temporaryFolder();
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(async () => {
      await server?.stop();
      remove();
    });

    it('works as written', async () => {
      for (const name of ['test', 'node_modules']) {
        symlinkSync(path.join(root, name), path.join(folder, name));
      }
      const ports = new Map<string, number>();
      for (const port of ['7070', '8081', '8082', '8083']) ports.set(port, await freePort());
      const local = (text: string) =>
        text
          .replaceAll('postgres://krmhub@db.example.com/krmhub', `'${server.urlOf('krmhub')}'`)
          .replace(/\b(?:7070|808[123])\b/g, (port) => String(ports.get(port)));
      const script = [
        // The programs that the page leaves running end with the session.
        "trap 'kill $(jobs -p); wait' EXIT",
        ...documentBlocks('docs/operate-replicas.md', 'replicas').map(
          (one) => `${local(one)}\necho; echo ${MARKER}`,
        ),
      ].join('\n');
      const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        cwd: folder,
        env: cleanEnvironment(folder, {
          PGHOST: server.folder,
          PGUSER: 'krmhub',
          PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
        }),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const { code, stdout, stderr } = await finished(child);
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      const outputs = stdout.split(`\n${MARKER}\n`);
      const found = blocks(readFileSync(path.join(root, PAGE), 'utf8')).filter(
        ({ needs }) => needs === 'replicas',
      );
      for (const [index, { output, line }] of found.entries()) {
        if (output !== undefined) expect(outputs[index], `${PAGE}:${line}`).toMatch(promised(output));
      }
      expect(outputs.at(-2)).toContain('1.1.0');
    });
  },
);
