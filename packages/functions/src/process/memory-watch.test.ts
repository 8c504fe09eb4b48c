import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS } from '../limits.js';
import { peakMemory } from './memory-watch.js';
import { runProgram } from './run-program.js';

/** Still there when its output has been read. */
const HOLD = 'process.stdout.write("done"); setTimeout(() => undefined, 2000);';
const BYTES = 200_000_000;
const ALLOCATE = `const bytes = Buffer.alloc(${BYTES}, 1);`;

function run(code: string, measuresMemory = true) {
  const limits = { ...DEFAULT_RUN_LIMITS, measuresMemory };
  return runProgram({ program: process.execPath, args: ['-e', code], env: {}, limits });
}

describe.skipIf(!existsSync('/proc/self/status'))('the memory of a program', () => {
  it('is the most that it was seen with', async () => {
    const { peakBytes } = await run(ALLOCATE + HOLD);
    expect(peakBytes).toBeGreaterThan(BYTES);
    expect((await run(HOLD)).peakBytes).toBeLessThan(BYTES);
  });

  it('includes its children', async () => {
    const code = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(ALLOCATE + HOLD)}], { stdio: 'inherit' });`;
    const { peakBytes, output } = await run(code);
    expect(Buffer.from(output).toString()).toBe('done');
    expect(peakBytes).toBeGreaterThan(BYTES);
  });

  it('is measured only if that is asked for', async () => {
    expect(await run(HOLD, false)).not.toHaveProperty('peakBytes');
  });
});

it('is unknown for a process that has ended', () => {
  expect(peakMemory('Name:\tcat\nState:\tZ (zombie)\n')).toBeUndefined();
  expect(peakMemory('Name:\tcat\nVmHWM:\t    1684 kB\n')).toBe(1_724_416);
});
