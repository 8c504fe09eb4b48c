import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { spawn } from './processes.js';
import { cleanEnvironment, listeningUrl, root, temporaryFolder } from './running.js';

it('npm start builds and runs a registry, which stops on SIGINT', async () => {
  const { folder, remove } = temporaryFolder();
  const data = path.join(folder, 'data');
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: cleanEnvironment(folder, { KRMHUB_DATA: data, KRMHUB_PORT: '0' }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const closed = once(child, 'close');
  try {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    const url = await listeningUrl(child, closed);
    // It listens before its first snapshot is built.
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await fetch(`${url}/catalogs/default/catalog.yaml`)).status).toBe(200);
    expect(existsSync(path.join(data, 'admin.token'))).toBe(true);
    expect(statSync(path.join(data, 'admin.token')).mode & 0o777).toBe(0o600);
    expect(output).toContain('admin.token');
  } finally {
    // The whole group, like Ctrl-C in a terminal.
    process.kill(-child.pid!, 'SIGINT');
    await closed;
    remove();
  }
});
