import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, postgresMissing, startPostgres } from '../contracts/postgres.js';
import { blocks, documentBlocks, promised } from '../document-blocks.js';
import { finished, spawn } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';
import { freePort } from './free-port.js';

const MARKER = '--end-of-block--';
const PAGE = 'docs/operate-postgres.md';

describe.skipIf(postgresMissing)('the page about PostgreSQL (needs PostgreSQL)', () => {
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
    for (const name of ['test', 'node_modules']) symlinkSync(path.join(root, name), path.join(folder, name));
    const port = await freePort();
    const local = (text: string) =>
      text
        .replace(/postgres:\/\/krmhub@db\.example\.com\/(\w+)/g, (_, name) => `'${server.urlOf(name)}'`)
        .replaceAll('localhost:8080', `localhost:${port}`);
    const script = [
      // The programs that the page leaves running end with the session.
      "trap 'kill $(jobs -p); wait' EXIT",
      ...documentBlocks('docs/operate-postgres.md', 'postgres').map(
        (one) => `${local(one)}\necho; echo ${MARKER}`,
      ),
    ].join('\n');
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: cleanEnvironment(folder, {
        KRMHUB_PORT: String(port),
        PGHOST: server.folder,
        PGUSER: 'krmhub',
        PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await finished(child);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const outputs = stdout.split(`\n${MARKER}\n`);
    for (const [index, { output, line }] of blocks(readFileSync(path.join(root, PAGE), 'utf8')).entries()) {
      if (output !== undefined) expect(outputs[index], `${PAGE}:${line}`).toMatch(promised(output));
    }
  });
});
