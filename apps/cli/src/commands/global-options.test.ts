import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tracedUrl } from '../io/trace.js';
import { expectEnd, fileRegistry, runTest, temporaryFolder } from '../testing/command-line.js';

const registry = fileRegistry();
const home = temporaryFolder();
/** Accepts connections, and never responds. */
let silent: Server;
let silentHost: string;
const sockets = new Set<Socket>();

beforeAll(async () => {
  silent = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  silentHost = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});

const run = (args: string[], more: { env?: Record<string, string>; stdin?: string } = {}) =>
  runTest(args, { cwd: home, ...more, env: { HOME: home, KRMHUB_REGISTRY: registry.url, ...more.env } });

describe('--verbose', () => {
  it('prints requests, the cache, and the source of credentials on stderr, and no secret', async () => {
    const { token } = registry;
    const io = await run(['--verbose', 'whoami', '-o', 'json'], { env: { KRMHUB_TOKEN: token } });
    expect([io.exitCode, JSON.parse(io.out()).name]).toEqual([0, 'admin']);
    expect(io.err()).toContain(`verbose: credentials for ${registry.url}: KRMHUB_TOKEN\n`);
    expect(io.err()).toMatch(/^verbose: > GET http:\S+, with credentials$/m);
    expect(io.err()).toMatch(/^verbose: < GET http:\S+: 200 \(\d+ ms\)$/m);
    await run(['login'], { stdin: token });
    const saved = await run(['whoami', '--verbose']);
    expect(saved.err()).toContain(
      `verbose: credentials for ${registry.url}: ${home}/.config/krmhub/credentials.json\n`,
    );
    await run(['catalog', 'pull', 'default', '--out', 'catalog.yaml']);
    const resolve = () => run(['resolve', 'example.com/v1', 'A', '-c', 'catalog.yaml', '--verbose']);
    await resolve();
    const found = await resolve();
    expect(found.err()).toContain(`verbose: cache: ${home}/.cache/krmhub\n`);
    expect(found.err()).toMatch(/^verbose: cached: index\/[0-9a-f]{64}$/m);
    expect([io, saved, found].map((one) => one.err()).join('')).not.toContain(token);
  });

  it('ends with the command', async () => {
    await run(['search', '--verbose']);
    expect((await run(['search'])).err()).not.toContain('verbose:');
  });

  it.each([
    ['https://user:secret@host/a?b=secret&c=#d', 'https://host/a?b=…&c=…#d'],
    ['/v2/a?secret', '/v2/a?…'],
  ])('shows %s without secrets', (url, shown) => {
    expect(tracedUrl(url)).toBe(shown);
  });
});

describe('--request-timeout', () => {
  it.each([
    [['search', '--request-timeout', '1s', '--registry']],
    [['search', '--timeout=1s', '--registry']],
    [['--timeout', '1s', 'search', '--registry']],
  ])('ends the wait for a registry: %j', async (args) => {
    expectEnd(await run([...args, `http://${silentHost}`]), 5, 'no response within 1 seconds');
  });

  it('ends the wait for a catalog and for an OCI registry', async () => {
    const url = `http://${silentHost}/catalog.yaml`;
    const catalog = await run(['resolve', 'example.com/v1', 'A', '-c', url, '--request-timeout', '1s']);
    expectEnd(catalog, 5, 'for 1 s');
    const oci = await run(['repo', 'tags', `${silentHost}/a/b`, '--request-timeout', '1s']);
    expectEnd(oci, 5, 'no data for 1 seconds');
  });

  it('is not the --timeout of functions', async () => {
    expectEnd(await run(['build', 'app', '--timeout', '25h']), 2, "option '--timeout <duration>'");
    const other = await run(['search', '--timeout', '25h']);
    expect(other.err()).toContain("option '--request-timeout <duration>'");
  });
});
