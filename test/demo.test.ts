import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { spawnSync } from './processes.js';
import { root } from './running.js';

it('npm run demo shows the whole flow and leaves nothing behind', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts/demo.mjs')], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  expect(stdout).toContain('SetLabels');
  expect(stdout).toContain('status of the request with that ETag: 304');
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('krmhub-demo-'))).toEqual([]);
});
