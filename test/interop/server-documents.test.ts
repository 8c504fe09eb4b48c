import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocks, documentBlocks, promised } from '../document-blocks.js';
import { finished, spawn } from '../processes.js';
import { postgresMissing, replicasMissing } from '../replicas/missing.js';
import { cleanEnvironment, root } from '../running.js';
import { freePort } from './free-port.js';
import { hasS3Server } from './s3-server.js';
import { type Servers, useServers } from './servers.js';

const MARKER = '--end-of-block--';

/** Runs the blocks of a page, with ports of this machine, and expects the outputs that it shows. Returns all outputs. */
async function runPage(
  page: string,
  scripts: readonly string[],
  {
    folder,
    ports,
    change = (text) => text,
    environment = () => ({}),
  }: {
    folder: string;
    ports: readonly string[];
    change?: (text: string) => string;
    environment?: (ports: ReadonlyMap<string, number>) => Record<string, string>;
  },
): Promise<string[]> {
  for (const name of ['test', 'node_modules']) symlinkSync(path.join(root, name), path.join(folder, name));
  const free = new Map<string, number>();
  for (const port of ports) free.set(port, await freePort());
  const local = (text: string) =>
    change(text).replace(new RegExp(`\\b(?:${ports.join('|')})\\b`, 'g'), (port) => String(free.get(port)));
  const script = [
    // The programs that the page leaves running end with the session.
    "trap 'kill $(jobs -p); wait' EXIT",
    ...scripts.map((one) => `${local(one)}\necho; echo ${MARKER}`),
  ].join('\n');
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: cleanEnvironment(folder, {
      PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      ...environment(free),
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, stdout, stderr } = await finished(child);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const outputs = stdout.split(`\n${MARKER}\n`);
  const found = blocks(readFileSync(path.join(root, page), 'utf8')).filter(({ script }) =>
    scripts.includes(script),
  );
  for (const [index, { output, line }] of found.entries()) {
    if (output !== undefined) expect(outputs[index], `${page}:${line}`).toMatch(promised(output));
  }
  return outputs;
}

const postgresUser = ({ postgres }: Servers) => ({ PGHOST: postgres.folder, PGUSER: 'krmhub' });

describe.skipIf(postgresMissing)('the page about PostgreSQL (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });

  it('works as written', async () => {
    await runPage('docs/operate-postgres.md', documentBlocks('docs/operate-postgres.md', 'postgres'), {
      folder: servers.folder,
      ports: ['8080'],
      change: (text) =>
        text.replace(
          /postgres:\/\/krmhub@db\.example\.com\/(\w+)/g,
          (_, name) => `'${servers.postgres.urlOf(name)}'`,
        ),
      environment: (ports) => ({ KRMHUB_PORT: String(ports.get('8080')), ...postgresUser(servers) }),
    });
  });
});

describe.skipIf(replicasMissing)('the page about several processes (needs PostgreSQL and versitygw)', () => {
  const servers = useServers({ postgres: true });

  it('works as written', async () => {
    const database = () => `'${servers.postgres.urlOf('krmhub')}'`;
    const outputs = await runPage(
      'docs/operate-replicas.md',
      documentBlocks('docs/operate-replicas.md', 'replicas'),
      {
        folder: servers.folder,
        ports: ['7070', '8081', '8082', '8083'],
        change: (text) => text.replaceAll('postgres://krmhub@db.example.com/krmhub', database),
        environment: () => postgresUser(servers),
      },
    );
    expect(outputs.at(-2)).toContain('1.1.0');
  });
});

describe.skipIf(!hasS3Server)('the page about S3 (needs versitygw)', () => {
  const { folder } = useServers();

  it('works as written', async () => {
    await runPage('docs/operate-s3.md', documentBlocks('docs/operate-s3.md', 's3'), {
      folder,
      ports: ['7070', '8080'],
      environment: (ports) => ({
        KRMHUB_PORT: String(ports.get('8080')),
        KRMHUB_REGISTRY: `http://localhost:${ports.get('8080')}`,
      }),
    });
  });
});
