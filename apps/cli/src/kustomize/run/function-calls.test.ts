import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BuildFolder, makeBuildFolder } from './build-folder.js';
import { type CallResult, type FunctionCall, FunctionCalls } from './function-calls.js';

let folder: BuildFolder;
let calls: FunctionCalls | undefined;
beforeEach(async () => {
  folder = await makeBuildFolder();
});
afterEach(async () => {
  await calls?.close();
  calls = undefined;
  await folder.remove();
});

const bytes = (text: string) => new TextEncoder().encode(text);
const result = (text: string, exitCode = 0): CallResult => ({
  exitCode,
  output: bytes(text),
  stderr: bytes('log\n'),
});

async function docker(args: string[], input: string | Uint8Array) {
  const child = spawn(path.join(folder.bin, 'docker'), args);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (piece) => out.push(piece));
  child.stderr.on('data', (piece) => err.push(piece));
  // It may end before it has read everything.
  child.stdin.on('error', () => undefined).end(input);
  const [code] = await once(child, 'close');
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

async function serve(handle: (call: FunctionCall) => Promise<CallResult>): Promise<void> {
  calls = await FunctionCalls.serve(folder, 2, handle);
}

describe('the private docker', () => {
  it('passes on arguments, input, output, messages and the exit code', async () => {
    await serve(async ({ args, input }) => result(`${JSON.stringify(args)}${Buffer.from(input)}`, 3));
    const args = ['run', '--rm', '-e', "a='b' $c\nd", '', 'image@sha256:abc'];
    expect(await docker(args, 'input')).toEqual({
      code: 3,
      out: `${JSON.stringify(args)}input`,
      err: 'log\n',
    });
    expect(calls!.failure).toBeUndefined();
  });

  it('takes large input and several calls at the same time', async () => {
    await serve(async ({ input }) => ({ exitCode: 0, output: input, stderr: bytes('') }));
    const texts = ['a', 'b', 'c'].map((text) => text.repeat(3_000_000));
    const done = await Promise.all(texts.map((text) => docker(['run', 'x'], text)));
    expect(done.map(({ code, out }, index) => [code, out === texts[index]])).toEqual([
      [0, true],
      [0, true],
      [0, true],
    ]);
  });

  it('fails if the function cannot run, and keeps the first reason', async () => {
    const reasons = ['first', 'second'];
    await serve(async () => {
      throw new KrmhubError('untrusted', reasons.shift()!);
    });
    expect(await docker(['run', 'x'], '')).toEqual({ code: 125, out: '', err: '' });
    expect((await docker(['run', 'x'], '')).code).toBe(125);
    expect(calls!.failure).toMatchObject({ code: 'untrusted', message: 'first' });
  });

  it('refuses many more calls than there are functions', async () => {
    await serve(async () => result('ok'));
    const done = [];
    for (let call = 0; call < 19; call++) done.push(await docker(['run', 'x'], ''));
    expect(done.slice(0, 18).map(({ code }) => code)).toEqual(Array(18).fill(0));
    expect(done[18]).toMatchObject({ code: 125, out: '', err: 'more calls of functions than functions\n' });
  });

  it('ignores what is not a call', async () => {
    await serve(async () => result('ok'));
    const other = spawn('/bin/sh', [
      '-c',
      `echo ../../etc > '${folder.calls}/queue'; echo > '${folder.calls}/queue'`,
    ]);
    await once(other, 'close');
    expect((await docker(['run', 'x'], '')).out).toBe('ok');
    expect(calls!.failure).toBeUndefined();
  });

  it('has its own path in it, also one that a shell would read otherwise', async () => {
    const own = path.join(folder.calls, "$& it's $'");
    await mkdir(own);
    calls = await FunctionCalls.serve({ ...folder, calls: own }, 2, async () => result('ok'));
    const quoted = `'${folder.calls}/$& it'\\''s $'\\'''`;
    expect(await readFile(path.join(folder.bin, 'docker'), 'utf8')).toContain(`cd ${quoted}\n`);
    expect((await docker(['run', 'x'], '')).out).toBe('ok');
  });
});
