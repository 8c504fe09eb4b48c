import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { consumePorts } from '../registry/consume-ports.js';
import { catalogText } from '../testing/catalog-build.js';
import { testIo } from '../testing/command-line.js';

/** Servers that never end: with short limits, because those of a user are minutes. */

const GROUP = 'functions.example.com';
const LIMITS = {
  idleMilliseconds: 300,
  totalMilliseconds: 1_000,
  firstRetryMilliseconds: 10,
  maxAttempts: 2,
};

let folder: string;
let server: Server;
let origin: string;
let respond: (response: ServerResponse) => void;
const timers = new Set<NodeJS.Timeout>();

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-resolve-slow-'));
  server = createServer((_, response) => respond(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  for (const timer of timers) clearInterval(timer);
  timers.clear();
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

async function resolve(catalog: string): Promise<unknown> {
  const io = testIo({ cwd: folder, env: { HOME: folder, KRMHUB_CACHE: path.join(folder, 'cache') } });
  const options = { catalogs: [catalog], trustedCatalogs: [], offline: false };
  const resolver = await openResolver(consumePorts(io), options, LIMITS);
  try {
    return await resolver.resolve({ apiVersion: `${GROUP}/v1`, kind: 'SetLabels', catalogs: [] });
  } finally {
    await resolver.close();
  }
}

const text = catalogText(GROUP, ['SetLabels']);

it.each<[string, (response: ServerResponse) => void]>([
  ['never responds', () => undefined],
  [
    'responds with a byte at a time',
    (response) => {
      let sent = 0;
      timers.add(setInterval(() => response.write(text[sent++ % text.length]!), 50));
    },
  ],
  [
    'stops in the middle',
    (response) => {
      response.write(text.slice(0, 100));
    },
  ],
])('a server that %s is given up, as a catalog and as a registry', async (_, how) => {
  respond = how;
  const given = [`${origin}/catalog.yaml`, `${origin}/catalogs/default`].map((catalog) =>
    expect(resolve(catalog)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/no data from|took longer than/),
    }),
  );
  await Promise.all(given);
});
