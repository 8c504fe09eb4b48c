import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawnSync } from '../../processes.js';

/** What a program printed, and its error; undefined if it succeeded. */
export interface Outcome {
  output: string;
  error: string | undefined;
}

/** The command of starlark-go. */
const COMMAND = 'starlark';
const TIMEOUT_MS = 20_000;

/** Returns why the command cannot be used, or undefined. */
export function whyNoOracle(): string | undefined {
  const { stderr } = spawnSync(COMMAND, ['-c', 'print(1 + 1)'], { encoding: 'utf8' });
  return stderr === '2\n' ? undefined : 'the command starlark of go.starlark.net is not installed';
}

/** Runs a program with starlark-go; undefined if it took too long. */
export function runOracle(program: string): Outcome | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), 'starlark-'));
  try {
    const file = path.join(folder, 'test.star');
    writeFileSync(file, program);
    const { stderr, status } = spawnSync(COMMAND, ['-globalreassign', '-recursion', file], {
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, GOMEMLIMIT: '512MiB', TZ: 'UTC' },
    });
    if (status === null) return undefined;
    if (status === 0) return { output: stderr, error: undefined };
    const failure =
      /^(?:Traceback \(most recent call last\):\n(?: .*\n)*Error[^:\n]*: |[^\n]*test\.star:\d+:\d+: )/m;
    const found = failure.exec(stderr);
    return found === null
      ? { output: stderr, error: '' }
      : {
          output: stderr.slice(0, found.index),
          error: stderr.slice(found.index + found[0].length).trimEnd(),
        };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
