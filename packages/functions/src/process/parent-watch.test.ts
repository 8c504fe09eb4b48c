import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS } from '../limits.js';
import { processesWith, sampleInput } from '../testing/runtime-contract.js';
import { runProgram } from './run-program.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-watch-'));
const here = path.dirname(fileURLToPath(import.meta.url));
const START_INSTANTS = 20;

/** A module of the built package, in a script. */
const built = (module: string) => JSON.stringify(`@krmhub/functions/${module}`);
/** Runs a function, as krmhub does. */
const RUN = `
import { runProgram } from ${built('process/run-program')};
import { DEFAULT_RUN_LIMITS } from ${built('limits')};
process.stdin.once('data', async (input) => {
  process.stdin.destroy();
  console.log('starts');
  const args = process.argv.slice(1);
  await runProgram({ program: process.execPath, args, input, limits: DEFAULT_RUN_LIMITS });
  console.log('ended');
});`;
/** Starts a cleanup, and takes it back if it is told to. */
const CLEAN = `
import { watchCleanup } from ${built('process/parent-watch')};
const end = watchCleanup({ program: '/bin/sh', args: process.argv.slice(1), env: {} });
if (process.env.ENDS === 'true') end();
else setInterval(() => undefined, 1_000);
console.log('watched');`;

function start(script: string, args: readonly string[], env: Record<string, string> = {}) {
  return spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...args], {
    cwd: here,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Processes with a variable in their environment. */
function findProcesses(variable: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(variable);
    } catch {
      return false;
    }
  });
}

describe('a killed krmhub', () => {
  /** A copy of the sample function under a name that no other process has. */
  function sample(): string {
    const file = path.join(folder, `${randomUUID()}.mjs`);
    copyFileSync(path.join(here, '../testing/sample-function.mjs'), file);
    return file;
  }

  it('ends its function with all of its processes, also those that ignore SIGTERM', async () => {
    const file = sample();
    const krmhub = start(RUN, [file]);
    krmhub.stdin.end(sampleInput('fork'));
    await expect.poll(() => processesWith(file).join('\n')).toMatch(/ child$/m);
    await kill(krmhub);
    await expect.poll(() => processesWith(file)).toEqual([]);
  });

  it('leaves no function behind, whenever it was killed', async () => {
    for (let instant = 0; instant < START_INSTANTS; instant++) {
      const file = sample();
      const krmhub = start(RUN, [file]);
      krmhub.stdin.end(sampleInput('hang'));
      await once(krmhub.stdout, 'data');
      await new Promise((resolve) => setTimeout(resolve, instant / 2));
      await kill(krmhub);
      await expect.poll(() => processesWith(file)).toEqual([]);
    }
  });

  it('leaves no process that watches, also if it ends by itself', async () => {
    const mark = `MARK=${randomUUID()}`;
    const krmhub = start(RUN, [sample()], { MARK: mark.slice('MARK='.length) });
    krmhub.stdin.end(sampleInput('echo'));
    let printed = '';
    krmhub.stdout.on('data', (text) => {
      printed += text;
    });
    await once(krmhub, 'close');
    expect(printed).toBe('starts\nended\n');
    await expect.poll(() => findProcesses(mark)).toEqual([]);
  });

  it('runs a cleanup until there is something to clean up, and none that has ended', async () => {
    const script = 'if [ -e "$1" ]; then : >"$1.done"; else : >"$1"; echo "no such container" >&2; fi';
    const [first, second] = [path.join(folder, 'first'), path.join(folder, 'second')];
    const krmhub = start(CLEAN, ['-c', script, 'sh', first]);
    await once(krmhub.stdout, 'data');
    expect(existsSync(first)).toBe(false);
    await kill(krmhub);
    await expect.poll(() => existsSync(`${first}.done`)).toBe(true);
    const mark = randomUUID();
    const other = start(CLEAN, ['-c', script, 'sh', second], { ENDS: 'true', MARK: mark });
    await once(other, 'close');
    await expect.poll(() => findProcesses(mark)).toEqual([]);
    expect(existsSync(second)).toBe(false);
  });
});

describe('a program', () => {
  const run = (program: string, args: readonly string[] = []) =>
    runProgram({ program, args, env: {}, input: Buffer.from('first\nsecond\n'), limits: DEFAULT_RUN_LIMITS });

  it('gets its input whole', async () => {
    expect(Buffer.from((await run('/bin/cat')).output).toString()).toBe('first\nsecond\n');
  });

  it.each([
    ['that does not exist', undefined, 0o700, 'does not exist'],
    ['that is not executable', '#!/bin/sh\n', 0o600, 'is not executable'],
    ['whose interpreter does not exist', '#!/no/such/interpreter\n', 0o700, 'does not exist'],
  ])('%s cannot be started', async (_, text, mode, reason) => {
    const file = path.join(folder, `program-${mode}`);
    rmSync(file, { force: true });
    if (text !== undefined) writeFileSync(file, text, { mode });
    await expect(run(file)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(new RegExp(`^cannot start ${file}: the file.* ${reason}$`)),
      hint: expect.any(String),
    });
  });

  it.each([126, 127])('may itself exit with %s', async (exitCode) => {
    const result = await run('/bin/sh', ['-c', `echo "sh: 1: exec: not found" >&2; exit ${exitCode}`]);
    expect(result.end).toEqual({ type: 'exited', exitCode });
  });
});
