import { readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { blocks, documentBlocks, promised } from '../document-blocks.js';
import { finished, spawn } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';
import { freePort } from './free-port.js';
import { hasS3Server } from './s3-server.js';

const MARKER = '--end-of-block--';

describe.skipIf(!hasS3Server)('the page about S3 (needs versitygw)', () => {
  const { folder, remove } = temporaryFolder();
  afterAll(remove);

  it('works as written', async () => {
    for (const name of ['test', 'node_modules']) symlinkSync(path.join(root, name), path.join(folder, name));
    const ports = { 7070: await freePort(), 8080: await freePort() };
    const local = (text: string) =>
      text
        .replaceAll('127.0.0.1:7070', `127.0.0.1:${ports[7070]}`)
        .replaceAll('localhost:8080', `localhost:${ports[8080]}`);
    const scripts = documentBlocks('docs/operate-s3.md', 's3');
    const script = [
      // The programs that the page leaves running end with the session.
      "trap 'kill $(jobs -p); wait' EXIT",
      ...scripts.map((one) => `${local(one)}\necho; echo ${MARKER}`),
    ].join('\n');
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: cleanEnvironment(folder, {
        KRMHUB_PORT: String(ports[8080]),
        KRMHUB_REGISTRY: `http://localhost:${ports[8080]}`,
        PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await finished(child);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const outputs = stdout.split(`\n${MARKER}\n`);
    const found = blocks(readFileSync(path.join(root, 'docs/operate-s3.md'), 'utf8'));
    for (const [index, { output, line }] of found.entries()) {
      if (output !== undefined)
        expect(outputs[index], `docs/operate-s3.md:${line}`).toMatch(promised(output));
    }
  });
});
