import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { spawnSync } from './processes.js';
import { root, temporaryFolder } from './running.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

it('npm run demo shows the whole flow and leaves nothing behind', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts/demo.mjs')], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder },
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  expect(stdout).toContain('SetLabels');
  expect(stdout).toContain('status of the request with that ETag: 304');
  expect(readdirSync(folder).filter((name) => name.startsWith('krmhub-demo-'))).toEqual([]);
});
