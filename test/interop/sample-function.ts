import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { root } from '../running.js';
import { isInstalled } from './container-engine.js';

const built = path.join(root, 'build/interop/sample-function');

/** Compiles the sample function in Go to one static file. With the compiler's cache the second time is fast. */
export function buildSampleFunction(): { ok: true; file: string } | { ok: false; reason: string } {
  if (!isInstalled('go')) return { ok: false, reason: 'go is not installed' };
  mkdirSync(path.dirname(built), { recursive: true });
  // Test files run in parallel: each renames a whole program into place.
  const made = `${built}-${randomUUID()}`;
  const { status, stderr } = spawnSync('go', ['build', '-trimpath', '-buildvcs=false', '-o', made, '.'], {
    cwd: path.join(root, 'test/interop/sample-function'),
    encoding: 'utf8',
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' },
  });
  if (status !== 0) {
    return { ok: false, reason: `the sample function cannot be built: ${stderr.trim().split('\n').at(-1)}` };
  }
  renameSync(made, built);
  return { ok: true, file: built };
}
