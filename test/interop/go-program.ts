import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from '../processes.js';
import { root } from '../running.js';
import { isInstalled } from './container-engine.js';

/** Milliseconds that Go may take to fetch modules and to compile them, on a busy machine too. */
const LONGEST_BUILD = 1_200_000;

export interface GoProgram {
  file: string;
  /** Why it could not be built; undefined if it was. */
  whyNot?: string;
}

/** Compiles a Go program of this folder to one static file. With the compiler's cache the second time is fast. */
export function buildGoProgram(name: string): GoProgram {
  const file = path.join(root, 'build/interop', name);
  if (!isInstalled('go')) return { file, whyNot: 'go is not installed' };
  mkdirSync(path.dirname(file), { recursive: true });
  // Test files run in parallel: each renames a whole program into place, which another may be running.
  const made = `${file}-${randomUUID()}`;
  const { status, stderr } = spawnSync('go', ['build', '-trimpath', '-buildvcs=false', '-o', made, '.'], {
    cwd: path.join(root, 'test/interop', name),
    encoding: 'utf8',
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly' },
    timeout: LONGEST_BUILD,
  });
  if (status !== 0)
    return { file, whyNot: `${name} cannot be built with Go: ${stderr.trim().split('\n').at(-1)}` };
  renameSync(made, file);
  return { file };
}
