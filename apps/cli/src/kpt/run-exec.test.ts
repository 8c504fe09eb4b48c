import { mkdtempSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { arch, platform } from 'node:os';
import path from 'node:path';
import { processesWith } from '@krmhub/functions/testing/runtime-contract';
import { sha256 } from '@krmhub/schema/digest';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runTest, type TestIo, temporaryFolder, testIo } from '../testing/command-line.js';
import { runExec } from './run-exec.js';

const root = temporaryFolder();
const served = new Map<string, string>();
let server: Server;
let origin: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const body = served.get(request.url!);
    if (body === undefined) response.writeHead(404).end();
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(root, 'test-'));
  served.clear();
});

const here = `${platform()}/${{ x64: 'amd64' }[arch() as string] ?? arch()}`;
const INPUT = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n';

/** Serves a shell script, and returns the argument that names it. */
function serve(script: string, name = 'fn', target = here): string {
  const text = `#!/bin/sh\n${script}\n`;
  served.set(`/${name}`, text);
  return `${target}=${origin}/${name}#sha256=${sha256(text).slice('sha256:'.length)}`;
}

const environment = () => ({
  cwd,
  env: { KRMHUB_CACHE: path.join(cwd, 'cache'), TMPDIR: cwd, PATH: '/usr/bin:/bin' },
});
const exec = (args: string[], stdin = INPUT): Promise<TestIo> =>
  runTest(['kpt', 'exec', ...args], { ...environment(), stdin });

describe('krmhub kpt exec', () => {
  it('runs the executable of this platform, and then from the cache', async () => {
    const other = serve('exit 9', 'other', here === 'linux/arm64' ? 'linux/amd64' : 'linux/arm64');
    const executable = serve('echo "a note" >&2; sed s/items:/items:/');
    const io = await exec([other, executable]);
    expect([io.exitCode, io.out(), io.err()]).toEqual([0, INPUT, expect.stringContaining('a note')]);
    served.clear();
    expect((await exec([other, executable])).out()).toBe(INPUT);
  });

  it('prints the results of a function that fails, and ends with 1', async () => {
    const results = `${INPUT}results:\n- message: no owner\n`;
    const io = await exec([serve("cat; echo 'results:'; echo '- message: no owner'; exit 3")]);
    expect([io.exitCode, io.out()]).toEqual([1, results]);
  });

  it('runs a Starlark script, and prints why it failed', async () => {
    const script = (text: string) => {
      served.set('/fn.star', text);
      return `starlark=${origin}/fn.star#sha256=${sha256(Buffer.from(text)).slice('sha256:'.length)}`;
    };
    const good = await exec([script('print("a note")\n')]);
    expect([good.exitCode, good.out(), good.err()]).toEqual([0, INPUT, 'a note\n']);
    const bad = await exec([script('fail("no owner")\n')]);
    expect([bad.exitCode, bad.out()]).toEqual([
      1,
      `${INPUT}results:\n- message: 'fail: no owner'\n  severity: error\n`,
    ]);
    expect(bad.err()).toContain('fn.star:1:5: in <toplevel>');
  });

  it('runs nothing with another digest', async () => {
    const executable = serve('touch ran; cat');
    served.set('/fn', `${served.get('/fn')} `);
    const io = await exec([executable]);
    expect([io.exitCode, io.out()]).toEqual([4, '']);
    expect(readdirSync(cwd)).not.toContain('ran');
  });

  it.each<[string, () => string[], string, number, string]>([
    ['a file that is not an executable', () => ['fn'], INPUT, 2, 'cannot read the executable "fn"'],
    [
      'a file of this machine',
      () => [`${here}=./fn#sha256=${'0f'.repeat(32)}`],
      INPUT,
      6,
      'cannot run the executable fn: cannot fetch ./fn',
    ],
    [
      'executables for other platforms',
      () => [serve('cat', 'fn', here === 'linux/arm64' ? 'linux/amd64' : 'linux/arm64')],
      INPUT,
      3,
      `no executable for ${here}`,
    ],
    ['output that is not a ResourceList', () => [serve('echo hello')], INPUT, 1, 'not a ResourceList'],
  ])('refuses %s', async (_, args, stdin, code, message) => {
    const io = await exec(args(), stdin);
    expect([io.exitCode, io.out(), io.err()]).toEqual([code, '', expect.stringContaining(message)]);
  });

  it.skipIf(platform() !== 'linux')(
    'ends the function when it is stopped, and leaves nothing behind',
    async () => {
      const seconds = `${600 + Math.random()}`;
      const executable = serve(`exec sleep ${seconds}`);
      const io = testIo({ ...environment(), stdin: INPUT });
      const ran = runExec(io, [executable]);
      ran.catch(() => undefined);
      await expect.poll(() => processesWith(`sleep ${seconds}`)).toHaveLength(1);
      io.stop();
      await expect(ran).rejects.toMatchObject({ code: 'unavailable' });
      expect(processesWith(`sleep ${seconds}`)).toEqual([]);
      expect(readdirSync(cwd).filter((name) => name.startsWith('krmhub-'))).toEqual([]);
    },
  );
});
