import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { spawn } from '../processes.js';
import { cleanEnvironment, command, krmhub, temporaryFolder } from '../running.js';

const FULL = '/dev/full';

it.skipIf(!existsSync(FULL))('a registry goes on while the disk under its log is full', async () => {
  const { folder, remove } = temporaryFolder();
  const child = spawn(
    process.execPath,
    [command, 'serve', '--port', '0', '--data', path.join(folder, 'data')],
    { env: cleanEnvironment(folder), stdio: ['ignore', openSync(FULL, 'w'), 'pipe'] },
  );
  const closed = once(child, 'close');
  try {
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr!.setEncoding('utf8').on('data', (text) => {
        output += text;
        const address = /http:\/\/localhost:\d+/.exec(output);
        if (address) resolve(address[0]);
      });
      closed.then(() => reject(new Error(`the registry ended:\n${output}`)));
    });
    for (let at = 0; at < 10; at++) expect((await fetch(`${url}/no-such-path`)).status).toBe(404);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const dropped = /^krmhub_log_lines_dropped_total\{reason="unwritable"\} (\d+)$/m.exec(metrics)?.[1];
    expect(Number(dropped)).toBeGreaterThanOrEqual(10);
    child.kill('SIGTERM');
    expect(await closed).toEqual([0, null]);
    expect(output).not.toContain('error');
  } finally {
    child.kill('SIGKILL');
    await closed;
    remove();
  }
});

it.skipIf(process.platform !== 'linux').each([60, 100])(
  'a registry that may open %i files says so, and writes nothing',
  async (files) => {
    const { folder, remove } = temporaryFolder();
    try {
      const data = path.join(folder, 'data');
      const { code, stderr } = await krmhub(['serve', '--port', '0', '--data', data], {
        maxOpenFiles: files,
      });
      expect(code).toBe(5);
      expect(stderr).toMatch(/^error: cannot .*open files/);
      expect(stderr).toContain('ulimit -n');
      expect(stderr.split('\n')).toHaveLength(3);
      expect(existsSync(data)).toBe(false);
    } finally {
      remove();
    }
  },
);
