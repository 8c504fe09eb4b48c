import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS } from '../limits.js';
import { processesWith } from '../testing/runtime-contract.js';
import { StarlarkSession } from './starlark-session.js';

const INPUT = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n';
/** Of these processes only. */
const megabytes = 1_357;

let session = new StarlarkSession();
afterEach(() => {
  session.close();
  session = new StarlarkSession();
});

async function run(
  script: string,
  { timeout = 120_000, signal }: { timeout?: number; signal?: AbortSignal } = {},
) {
  const limits = { ...DEFAULT_RUN_LIMITS, timeout };
  const task = { name: 'main.star', script: Buffer.from(script), megabytes };
  const result = await session.run(task, Buffer.from(INPUT), limits, signal);
  const text = (piece: Uint8Array) => Buffer.from(piece).toString();
  return { ...result, output: text(result.output), stderr: text(result.stderr) };
}

const running = () =>
  processesWith('starlark-process').filter((found) => {
    const environment = readFileSync(`/proc/${Number.parseInt(found, 10)}/environ`, 'utf8');
    return environment.includes(`--max-old-space-size=${megabytes}`);
  });

describe.skipIf(!existsSync('/proc'))('a session', () => {
  it('runs scripts in one process, of which none sees what another did', async () => {
    expect(await run('x = 1\nprint("one")\n')).toMatchObject({ exitCode: 0, output: INPUT, stderr: 'one\n' });
    const [first] = running();
    expect(await run('fail("two")\n')).toMatchObject({ exitCode: 1 });
    expect(await run('print(x)\n')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('undefined: x'),
    });
    expect(await run('load("json.star", "json")\nprint(json.encode([3]))\n')).toMatchObject({
      stderr: '[3]\n',
    });
    const long = 'print("y" * 100000)\n'.repeat(3);
    expect((await run(long)).stderr).toBe(`${'y'.repeat(100_000)}\n`.repeat(3));
    expect(running()).toEqual([first]);
  });

  it('has another process after a script that was ended', async () => {
    await run('');
    const [first] = running();
    // Few steps take long, so that their limit does not end it.
    const loop = 'def f():\n  a = "x" * 20000000\n  b = "x" * 20000000\n  while a == b:\n    pass\nf()\n';
    await expect(run(loop, { timeout: 1_000 })).rejects.toThrow('did not exit within 1 second');
    expect(await run('print("again")\n')).toMatchObject({ stderr: 'again\n' });
    const [second, ...others] = running();
    expect([others, second === first]).toEqual([[], false]);
  });

  it('says how much memory a script took, if that is asked for', async () => {
    const limits = { ...DEFAULT_RUN_LIMITS, measuresMemory: true };
    const task = { name: 'main.star', script: Buffer.from('print("a")\n'), megabytes };
    const { peakBytes } = await session.run(task, Buffer.from(INPUT), limits);
    expect(peakBytes).toBeGreaterThan(10_000_000);
    expect(await run('')).not.toHaveProperty('peakBytes');
  });

  it('runs scripts at the same time', async () => {
    const results = await Promise.all([1, 2, 3].map((number) => run(`print(${number})\n`)));
    expect(results.map(({ stderr }) => stderr)).toEqual(['1\n', '2\n', '3\n']);
  });

  it('leaves no process behind', async () => {
    await run('');
    expect(running()).toHaveLength(1);
    session.close();
    await expect.poll(running, { timeout: 10_000 }).toEqual([]);
  });
});
