import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS } from '../limits.js';
import { FunctionFailure } from '../output/function-failure.js';
import { builtEntry } from '../process/built-entry.js';
import { processesWith } from '../testing/runtime-contract.js';
import { writeTask } from './script-task.js';
import { StarlarkSession } from './starlark-session.js';

const INPUT = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web # of the app
  spec:
    replicas: 1
functionConfig:
  data: {replicas: "5"}
`;

async function run(
  script: string,
  options: { input?: string; timeout?: number; signal?: AbortSignal; megabytes?: number } = {},
) {
  const { input = INPUT, timeout = 120_000, signal, megabytes } = options;
  const limits = { ...DEFAULT_RUN_LIMITS, timeout };
  const bytes = Buffer.from(script);
  const task = { name: 'main.star', script: bytes, ...(megabytes === undefined ? {} : { megabytes }) };
  const session = new StarlarkSession();
  const running = session.run(task, Buffer.from(input), limits, signal);
  const result = await running.finally(() => session.close());
  const text = (piece: Uint8Array) => Buffer.from(piece).toString();
  return { ...result, output: text(result.output), stderr: text(result.stderr) };
}

describe('a script', () => {
  it('changes the resources, and keeps the comments', async () => {
    const result = await run(
      'for r in ctx.resource_list["items"]:\n  r["spec"]["replicas"] = int(ctx.resource_list["functionConfig"]["data"]["replicas"])\n',
    );
    expect(result.exitCode).toBe(0);
    expect(result.output).toContain('    name: web # of the app\n  spec:\n    replicas: 5\n');
  });

  it('finds the schemas of Kubernetes and the variables of functions, and none of the user', async () => {
    const script = `print(ctx.open_api["definitions"]["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"][0]["kind"])
print(ctx.environment)
print(dir(ctx))
`;
    const { exitCode, output, stderr } = await run(script);
    expect([exitCode, output]).toEqual([0, INPUT]);
    expect(stderr).toBe(
      'Deployment\n{"LOG_TO_STDERR": "true", "STRUCTURED_RESULTS": "true"}\n["environment", "open_api", "resource_list"]\n',
    );
  });

  it('gives results', async () => {
    const { results, exitCode } = await run(
      'ctx.resource_list["results"] = [{"message": "m", "severity": "warning", "field": {"path": "spec.replicas"}}]\n',
    );
    expect([exitCode, results]).toEqual([
      0,
      [{ message: 'm', severity: 'warning', field: { path: 'spec.replicas' } }],
    ]);
  });

  it('fails with its message, the call stack, and the line', async () => {
    const { exitCode, results, stderr, output } = await run(
      'def check(r):\n  fail("no owner:", r["kind"])\n\nprint("checking")\n[check(r) for r in ctx.resource_list["items"]]\n',
    );
    expect([exitCode, results]).toEqual([1, [{ message: 'fail: no owner: Deployment', severity: 'error' }]]);
    expect(stderr).toBe(`checking
Traceback (most recent call last):
  main.star:5:7: in <toplevel>
  main.star:2:7: in check
Error: fail: no owner: Deployment
   2 |   fail("no owner:", r["kind"])
     |       ^
`);
    expect(output).toBe(`${INPUT}results:\n- message: 'fail: no owner: Deployment'\n  severity: error\n`);
  });

  it('fails with the position of a syntax error, as in kpt', async () => {
    const { exitCode, results } = await run('x = 1 and\n');
    expect([exitCode, results]).toEqual([
      1,
      [{ message: 'main.star:1:10: got newline, want primary expression', severity: 'error' }],
    ]);
  });

  it.each([
    ['a file', 'load("lib.star", "x")', /cannot load lib\.star: no such module; functions have krmfn\.star/],
    ['http', 'load("http.star", "http")\nhttp.get("https://example.com")', /http\.get is not available/],
    ['JavaScript', 'ctx.constructor', /struct has no \.constructor/],
    ['a prototype', '{}.__proto__', /dict has no \.__proto__/],
    ['a frozen value', 'x = [1]\nctx.resource_list["items"] = print', /cannot write ctx\.resource_list/],
    ['too many steps', 'while True:\n  pass\n', /too many steps/],
    ['too much memory', 'x = []\nwhile True:\n  x.append([1] * 1000)\n', /too much memory/],
    [
      'an int of too many digits',
      'load("yaml.star", "yaml")\nyaml.decode("1" * 100001)',
      /more than 100000 digits/,
    ],
    [
      'YAML that is too large',
      'load("yaml.star", "yaml")\nyaml.encode(["x" * 10000000] * 1000)',
      /too much memory/,
    ],
    [
      'CSV that is too large',
      'load("csv.star", "csv")\ncsv.write_all([["x" * 10000000] * 1000])',
      /too much memory/,
    ],
    ['too deep calls', 'def f(n):\n  return f(n + 1)\nf(0)\n', /more than 400 nested calls/],
  ])('fails with %s', async (_, script, message) => {
    const { exitCode, results } = await run(script);
    expect([exitCode, results[0]?.message]).toEqual([1, expect.stringMatching(message)]);
  });

  it('fails for input that is not a ResourceList', async () => {
    const { exitCode, results } = await run('', { input: 'kind: List\nitems: []\n' });
    expect([exitCode, results]).toEqual([
      1,
      [{ message: 'the input is not a ResourceList', severity: 'error' }],
    ]);
  });
});

describe('a script that runs too long', () => {
  // Few steps take long, so that their limit does not end it.
  const LOOP =
    'print("started")\ndef f():\n  a = "x" * 20000000\n  b = "x" * 20000000\n  while a == b:\n    pass\nf()\n';

  it('is ended after the timeout, and what it printed is there', async () => {
    const failure = await run(LOOP, { timeout: 5_000 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FunctionFailure);
    expect((failure as FunctionFailure).message).toMatch(/main\.star did not exit within 5 seconds/);
    expect(Buffer.from((failure as FunctionFailure).stderr).toString()).toBe('started\n');
  });

  it('is ended by the signal, in the middle of its loop', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('stopped')), 200);
    await expect(run(LOOP, { signal: stop.signal })).rejects.toThrow('stopped');
    await expect(run('', { signal: stop.signal })).rejects.toThrow('stopped');
  });
});

it('fails in time for a ResourceList with many lines', async () => {
  const input = `${INPUT}${'# comment\n'.repeat(300_000)}`;
  const { exitCode, output } = await run('fail("no")\n', { input });
  expect([exitCode, output.startsWith(input)]).toEqual([1, true]);
});

it.skipIf(!existsSync('/proc'))('ends with the process that started it', async () => {
  // Few steps take long, so that their limit does not end it.
  const text = 'def f():\n  a = "x" * 20000000\n  b = "x" * 20000000\n  while a == b:\n    pass\nf()\n';
  const script = Buffer.from(text);
  const task = writeTask({ name: 'main.star', script, input: Buffer.from(INPUT), environment: {} });
  const heap = '--max-old-space-size=1357';
  const start = `
const { spawn } = require('node:child_process');
const child = spawn(process.execPath, [${JSON.stringify(heap)}, ${JSON.stringify(builtEntry('starlark-process'))}, String(process.pid)]);
child.stdin.end(Buffer.from(${JSON.stringify(task.toString('base64'))}, 'base64'));`;
  const parent = spawn(process.execPath, ['-e', start], { stdio: 'ignore' });
  const running = () => processesWith(`${heap} /`);
  const limits = { timeout: 10_000 };
  await expect.poll(running, limits).toHaveLength(1);
  parent.kill('SIGKILL');
  await expect.poll(running, limits).toEqual([]);
});

describe('a script that uses too much memory', () => {
  const message = 'function main.star used more memory than 64 MiB';

  it('is ended with its process, and what it printed is there', async () => {
    const script = `print("started")\nx = [[i] * 20 for i in range(1000000)]\n`;
    const failure = await run(script, { megabytes: 64 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FunctionFailure);
    expect(failure).toMatchObject({ code: 'function-failed', message });
    expect(Buffer.from((failure as FunctionFailure).stderr).toString()).toBe('started\n');
  });

  it('is ended while its ResourceList is read', async () => {
    const input = `kind: ResourceList\nitems: [${'1,'.repeat(1_000_000)}]\n`;
    await expect(run('', { input, megabytes: 64 })).rejects.toMatchObject({
      code: 'function-failed',
      message,
    });
  });
});

it('cuts a message that a script makes long', async () => {
  const { exitCode, results, stderr } = await run('fail("x" * 200000000)\n');
  expect([exitCode, results[0]?.message.length]).toEqual([1, 65_537]);
  expect(stderr.length).toBeLessThan(70_000);
});
