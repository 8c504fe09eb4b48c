import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS } from '../limits.js';
import { runInPlace } from './run-in-place.js';

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'krmhub-in-place-')));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const LIST = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n';

async function script(text: string): Promise<string> {
  const file = path.join(folder, 'function.sh');
  await writeFile(file, `#!/bin/sh\n${text}`, { mode: 0o700 });
  return file;
}

describe('runInPlace', () => {
  it('runs in the given folder, with the given environment', async () => {
    const file = await script('cat\nprintf "%s %s %s %s" "$PWD" "$0" "$A" "$*" >&2\nexit 3\n');
    const env = { PATH: process.env.PATH, A: 'b' };
    const result = await runInPlace(
      { file, args: ['x y', 'z'], cwd: folder, env },
      Buffer.from(LIST),
      DEFAULT_RUN_LIMITS,
    );
    expect(Buffer.from(result.output).toString()).toBe(LIST);
    expect(Buffer.from(result.stderr).toString()).toBe(`${folder} ${file} b x y z`);
    expect(result.exitCode).toBe(3);
  });

  it('accepts documents without a list only where the caller does', async () => {
    const file = await script('echo "kind: A"\n');
    const run = (acceptDocuments: boolean) =>
      runInPlace({ file, cwd: folder, env: process.env }, Buffer.from(LIST), {
        ...DEFAULT_RUN_LIMITS,
        acceptDocuments,
      });
    await expect(run(false)).rejects.toThrow('its output is not a ResourceList: it is an A');
    expect(Buffer.from((await run(true)).output).toString()).toBe('kind: A\n');
  });

  it('ends a function that takes too long', async () => {
    const file = await script('sleep 600\n');
    const run = runInPlace({ file, cwd: folder, env: process.env }, Buffer.from(LIST), {
      ...DEFAULT_RUN_LIMITS,
      timeout: 200,
    });
    await expect(run).rejects.toMatchObject({
      code: 'function-failed',
      message: 'function function.sh did not exit within 0.2 seconds',
    });
  });

  it('reports a file that cannot run', async () => {
    const file = path.join(folder, 'missing');
    const run = runInPlace({ file, cwd: folder, env: {} }, Buffer.from(LIST), DEFAULT_RUN_LIMITS);
    await expect(run).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('does not exist'),
    });
  });
});
