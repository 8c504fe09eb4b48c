import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { Writable } from 'node:stream';
import { beforeEach, expect, it } from 'vitest';
import { runProgram } from '../program.js';
import { expectEnd, runTest, type TestIo, temporaryFolder, testIo } from '../testing/command-line.js';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

async function started(io: TestIo, running: Promise<void>): Promise<string> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    // The last line: what is above it is printed too.
    if (io.err().includes('krmhub publish')) return /http:\/\/localhost:\d+/.exec(io.err())![0];
    const ended = await Promise.race([
      running.then(() => true),
      new Promise((resolve) => setTimeout(resolve, 20)),
    ]);
    if (ended === true || Date.now() > deadline) throw new Error(`it does not serve: ${io.err()}`);
  }
}

it('reads settings from a file, which variables and options override', async () => {
  await writeFile(path.join(folder, 'krmhub.yaml'), 'port: 1\ndata: from-file\nlogLevel: debug\n');
  const io = testIo({ cwd: folder, env: { KRMHUB_LOG_LEVEL: 'silent' } });
  const running = runProgram(['serve', '--config', 'krmhub.yaml', '--port', '0'], io);
  await started(io, running);
  expect(io.err()).toContain(path.join(folder, 'from-file', 'admin.token'));
  expect(io.out()).toBe('');
  io.stop();
  await running;
  await writeFile(path.join(folder, 'wrong.yaml'), 'prot: 1\nlogLevel: loud\n');
  const wrong = await runTest(['serve', '--config', 'wrong.yaml'], { cwd: folder });
  expectEnd(wrong, 2, 'wrong.yaml:1:1: unknown setting "prot"');
  expect(wrong.err()).toContain('wrong.yaml:2:11: logLevel: "loud" is not one of');
});

it('serves until it is stopped, and prints the next steps', async () => {
  const io = testIo({ cwd: folder });
  const running = runProgram(['serve', '--port', '0', '--data', 'my data'], io);
  const url = await started(io, running);
  const token = path.join(folder, 'my data', 'admin.token');
  expect(io.err()).toContain(`admin token (new): ${token}`);
  expect(io.err()).toContain(
    `  export KRMHUB_REGISTRY=${url}\n  export KRMHUB_TOKEN=$(cat '${token}')\n  krmhub init example.com/SetOwner --runtime starlark\n`,
  );
  expect(io.err().trimEnd().split('\n').length).toBeLessThanOrEqual(9);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const secret = (await readFile(token, 'utf8')).trim();
  const whoami = await runTest(['whoami'], { env: { KRMHUB_TOKEN: secret, KRMHUB_REGISTRY: url } });
  expect(whoami.out()).toContain('\tadmin\t');
  io.stop();
  await running;
  expect(io.exitCode).toBe(0);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  const lines = io
    .out()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['registry started', 'registry stopped']),
  );
  expect(io.out() + io.err()).not.toContain(secret);

  const again = testIo({ cwd: folder, env: { KRMHUB_DATA: 'my data', KRMHUB_PORT: '0' } });
  const second = runProgram(['serve'], again);
  await started(again, second);
  expect(again.err()).toContain(`admin token: ${token}`);
  again.stop();
  await second;
});

it('reports every problem of its configuration at once', async () => {
  const io = await runTest(['serve', '--port', 'eighty', '--host', 'a b'], {
    cwd: folder,
    env: { KRMHUB_LOG_LEVEL: 'loud', KRMHUB_PROT: '1' },
  });
  expect(io.exitCode).toBe(2);
  expect(io.err()).not.toContain('␊');
  for (const part of ['--port', '--host', 'KRMHUB_LOG_LEVEL', 'KRMHUB_PROT']) {
    expect(io.err()).toContain(part);
  }
});

it('reports that the port is in use, with a hint', async () => {
  const io = testIo({ cwd: folder });
  const running = runProgram(['serve', '--port', '0', '--data', 'a'], io);
  const { port } = new URL(await started(io, running));
  const other = await runTest(['serve', '--port', port, '--data', 'b'], { cwd: folder });
  expectEnd(other, 5, `127.0.0.1:${port}`);
  expect(other.err()).toContain('--port');
  // A start that fails leaves no folder with an admin token and a key behind.
  expect(existsSync(path.join(folder, 'b'))).toBe(false);
  const same = await runTest(['serve', '--port', '0', '--data', 'a'], { cwd: folder });
  expect(same.exitCode).toBe(5);
  expect(same.err()).not.toContain('fault of krmhub');
  io.stop();
  await running;
});

it('reports that the data folder cannot be created', async () => {
  await writeFile(path.join(folder, 'file'), '');
  const elsewhere = existsSync('/proc/self') ? ['/proc/x/data'] : [];
  for (const data of ['file', 'file/data', ...elsewhere]) {
    const io = await runTest(['serve', '--port', '0', '--data', data], { cwd: folder });
    expectEnd(io, 5, path.resolve(folder, data));
    expect(io.err()).toContain('--data');
    expect(io.err()).not.toContain('fault of krmhub');
  }
});

it('keeps every file private in a folder that others can read', async () => {
  const data = path.join(folder, 'data');
  await mkdir(data, { mode: 0o755 });
  const before = process.umask(0o022);
  try {
    const io = Object.assign(testIo({ cwd: folder }), { setUmask: (mask: number) => process.umask(mask) });
    const running = runProgram(['serve', '--port', '0', '--data', data], io);
    await started(io, running);
    const names = await readdir(data, { recursive: true });
    expect(names).toEqual(expect.arrayContaining(['registry.db', 'registry.db-wal', 'blobs/sha256']));
    const modes = await Promise.all(names.map(async (name) => (await stat(path.join(data, name))).mode));
    expect(names.filter((_, at) => (modes[at]! & 0o077) !== 0)).toEqual([]);
    io.stop();
    await running;
  } finally {
    process.umask(before);
  }
});

it('continues if it cannot write its log and messages', async () => {
  const io = testIo({ cwd: folder });
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  const isFull = { write: (_chunk: unknown, _encoding: unknown, done: (error: Error) => void) => done(full) };
  io.stdout = new Writable(isFull);
  io.stderr = Object.assign(
    new Writable(isFull).on('error', () => undefined),
    { isLossy: true },
  );
  const port = String(await freePort());
  const running = runProgram(['serve', '--port', port, '--data', 'data'], io);
  await expect
    .poll(() =>
      fetch(`http://127.0.0.1:${port}/no-such-path`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(404);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  io.stop();
  await running;
  expect(io.exitCode).toBe(0);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it('shows people on a terminal lines of text, and commands that work as they stand', async () => {
  const io = testIo({ cwd: folder, tty: true, env: { npm_lifecycle_event: 'start', NO_COLOR: '1' } });
  const running = runProgram(['serve', '--port', '0', '--data', 'data'], io);
  const url = await started(io, running);
  await fetch(`${url}/no`);
  await expect.poll(() => io.out()).toMatch(/^\d\d:\d\d:\d\d {2}GET \/no 404 \d+ ms$/m);
  const [commands = ''] = /(?<=^to publish, run in another terminal:\n)(?: {2}.*\n)+/m.exec(io.err()) ?? [];
  const token = readFileSync(path.join(folder, 'data/admin.token'), 'utf8').trim();
  const env = { KRMHUB_REGISTRY: url, KRMHUB_TOKEN: token };
  for (const [, args = ''] of commands.matchAll(/^ {2}(?:npx krmhub |(?=sed ))(.*)$/gm)) {
    if (args.startsWith('sed ')) execFileSync('sh', ['-c', args], { cwd: folder });
    else {
      const ran = await runTest(args.split(' '), { cwd: folder, env });
      expect([args, ran.exitCode, ran.err()]).toEqual([args, 0, expect.any(String)]);
    }
  }
  io.stop();
  await running;
  expect(io.out()).not.toContain('{"');
  expect(io.out()).toMatch(/^\d\d:\d\d:\d\d {2}registry stopped$/m);
  expect(commands.split('\n').map((line) => line.slice(2, 40))).toEqual([
    expect.stringMatching(/^cd \//),
    expect.stringMatching(/^export KRMHUB_REGISTRY=http/),
    expect.stringMatching(/^export KRMHUB_TOKEN=\$\(cat \//),
    'npx krmhub init example.com/SetOwner --runtime starlark'.slice(0, 38),
    expect.stringMatching(/^sed -i/),
    'npx krmhub test set-owner',
    'npx krmhub publish set-owner/definition.yaml'.slice(0, 38),
    '',
  ]);
});
