import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { functionDefinition, functionVersion } from '@krmhub/schema/testing/functions';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Finished, krmhub, temporaryFolder } from '../running.js';

/**
 * Catalogs that attack the machine of a user who resolves a function: each ends in one clear error, in bounded memory,
 * prints nothing that a terminal acts on, and leaves nothing behind that a later run would use.
 */

const GROUP = 'functions.example.com';
const HEX = 'a'.repeat(64);
const MEBIBYTE = 1_048_576;
const { folder, remove } = temporaryFolder();
const cache = path.join(folder, 'cache');

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
let answer: Answer;
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  remove();
});
beforeEach(() => rmSync(cache, { recursive: true, force: true }));

function resolve(catalog: string, ...args: string[]): Promise<Finished> {
  return krmhub(['resolve', `${GROUP}/v1`, 'SetLabels', '-c', catalog, ...args], {
    cwd: folder,
    // Garbage that is not collected would hide how much is needed.
    env: { KRMHUB_CACHE: cache, NODE_OPTIONS: '--max-old-space-size=600' },
    maxProcessorSeconds: 300,
  });
}

/** One error of at most a few lines, and no defect of krmhub. */
function expectRefused({ code, stdout, stderr }: Finished, exitCode: number): void {
  expect([code, stdout], stderr).toEqual([exitCode, '']);
  expect(stderr).toMatch(/^error: /);
  expect(stderr).not.toContain('internal error');
  expect(stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
  expect(stderr.length).toBeLessThan(5_000);
}

const head =
  'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata:\n  name: hostile\nspec:\n  krmFunctions:\n';
const entry = (more = '') =>
  `  - group: ${GROUP}\n    names:\n      kind: SetLabels\n    versions:\n    - name: v1\n      runtime:\n        container:\n          image: a.example.com/b@sha256:${HEX}\n${more}`;
const good = head + entry();

const text =
  (body: string | Uint8Array, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(200, headers).end(body);
  };
const TERMINAL = '\u001b[2J\u001b]0;owned\u0007\u202eevil';

describe('a catalog that is fetched', () => {
  it('is resolved if it is a good one', async () => {
    answer = text(good);
    expect(await resolve(`${origin}/catalog.yaml`)).toMatchObject({ code: 0 });
  });

  it.each<[string, number, Answer]>([
    ['an entry of 100 MB', 1, text(`${head}${entry(`    description: ${'x'.repeat(100 * MEBIBYTE)}\n`)}`)],
    [
      '100 MB in a layout that has to be parsed',
      1,
      text(`# hand-written\n${head}${entry(`    description: ${'x'.repeat(100 * MEBIBYTE)}\n`)}`),
    ],
    [
      'aliases that multiply',
      1,
      text(`${head}  - &a [${'x,'.repeat(20)}]\n${'  - [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n'.repeat(20)}`),
    ],
    [
      'aliases in its entry',
      1,
      text(
        `${head}${entry(`    tags: &a [${'x,'.repeat(100)}]\n${Array.from({ length: 9 }, (_, at) => `    k${at}: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n`).join('')}`)}`,
      ),
    ],
    ['deep nesting', 1, text(`${head}${entry(`    home: ${'['.repeat(100_000)}\n`)}`)],
    ['deep nesting in JSON', 1, text(`${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`)],
    [
      'ten thousand keys',
      1,
      text(`${head}${entry(Array.from({ length: 10_000 }, (_, at) => `    k${at}: 1\n`).join(''))}`),
    ],
    [
      'a million entries',
      1,
      text(head + `  - group: ${GROUP}\n    names:\n      kind: Other\n`.repeat(1_000_000)),
    ],
    ['nothing', 1, text('')],
    ['NUL bytes', 1, text(Buffer.alloc(1_000_000))],
    ['a web page', 5, text('<html><title>Log in</title></html>', { 'content-type': 'text/html' })],
    [
      'terminal escapes in its texts',
      1,
      text(
        `${head}  - group: ${GROUP}\n    names:\n      kind: SetLabels\n    ${JSON.stringify(TERMINAL)}: 1\n`,
      ),
    ],
    ['a bomb of gzip', 1, text(gzipSync(Buffer.alloc(600 * MEBIBYTE, 0x20)), { 'content-encoding': 'gzip' })],
    ['an unknown coding', 5, text(good, { 'content-encoding': 'x-evil' })],
    ['a length that is too large', 1, text('x', { 'content-length': String(10 ** 12) })],
    [
      'fewer bytes than promised',
      5,
      (_, response) => {
        response.writeHead(200, { 'content-length': String(good.length + 100) });
        response.write(good);
        response.destroy();
      },
    ],
    [
      'redirects in a circle',
      5,
      (request, response) => {
        response.writeHead(302, { location: `${request.url}x` }).end();
      },
    ],
    [
      'a redirect to a file',
      6,
      (_, response) => {
        response.writeHead(302, { location: 'file:///etc/passwd' }).end();
      },
    ],
    [
      'a redirect with credentials',
      6,
      (_, response) => {
        response.writeHead(302, { location: 'http://user:password@127.0.0.1/' }).end();
      },
    ],
    [
      'an error with terminal escapes',
      5,
      (_, response) => {
        response.writeHead(500, { 'content-type': 'application/problem+json' });
        response.end(JSON.stringify({ code: TERMINAL, detail: TERMINAL }));
      },
    ],
    [
      'no HTTP',
      5,
      (request) => {
        request.socket.end('SSH-2.0-OpenSSH\r\n');
      },
    ],
  ])('with %s ends in an error', async (_, exitCode, how) => {
    answer = how;
    expectRefused(await resolve(`${origin}/catalog.yaml`), exitCode);
    // Nothing of it is used afterwards.
    answer = text(good);
    expect(await resolve(`${origin}/catalog.yaml`)).toMatchObject({ code: 0 });
  });
});

describe('a registry', () => {
  const api = `/api/v1/catalogs/default/functions/${GROUP}/SetLabels`;
  const served =
    (value: unknown): Answer =>
    (request, response) => {
      if (request.url !== api) return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(typeof value === 'string' ? value : JSON.stringify(value));
    };
  const runtime = { container: { image: 'a.example.com/b', sha256: HEX } };
  const definition = functionDefinition({ group: GROUP, versions: [functionVersion('v1', { runtime })] });
  const versions = [{ name: 'v1', source: 'ours', release: '1.0.0', definition: `sha256:${HEX}` }];
  const whole = { catalog: 'default', serial: 7, digest: `sha256:${HEX}`, definition, versions };

  it('is believed if it responds as one', async () => {
    answer = served(whole);
    expect(await resolve(`${origin}/catalogs/default`)).toMatchObject({ code: 0 });
  });

  it.each<[string, number, unknown]>([
    ['an entry of another catalog', 5, { ...whole, catalog: 'other' }],
    ['an entry of another function', 3, { ...whole, definition: { ...definition, names: { kind: 'Evil' } } }],
    [
      'an entry without a runtime',
      1,
      { ...whole, definition: { ...definition, versions: [{ ...definition.versions[0], runtime: {} }] } },
    ],
    ['an entry with terminal escapes', 1, { ...whole, definition: { ...definition, description: TERMINAL } }],
    [
      'an entry of 100 MB',
      1,
      { ...whole, definition: { ...definition, description: 'x'.repeat(100 * MEBIBYTE) } },
    ],
    ['JSON that is nested deeply', 3, '['.repeat(1_000_000)],
    ['another JSON document', 3, { serial: 'seven' }],
    ['a prototype key', 1, JSON.stringify(whole).replace('"names":{', '"names":{"__proto__":{"x":1},')],
  ])('with %s ends in an error', async (_, exitCode, value) => {
    answer = served(value);
    expectRefused(await resolve(`${origin}/catalogs/default`), exitCode);
  });

  it('is not asked for addresses that a name makes', async () => {
    const asked: string[] = [];
    answer = (request, response) => {
      asked.push(request.url!);
      response.writeHead(404).end();
    };
    for (const kind of ['..%2f..%2fadmin', '../../admin', 'a?b#c', 'a%00b']) {
      await krmhub(['resolve', `${GROUP}/v1`, kind, '-c', `${origin}/catalogs/default`], {
        cwd: folder,
        env: { KRMHUB_CACHE: cache },
      });
    }
    expect(asked.length).toBeGreaterThan(0);
    expect(
      asked.every(
        (url) => url.startsWith('/catalogs/default') || url.startsWith('/api/v1/catalogs/default/functions/'),
      ),
    ).toBe(true);
    expect(asked.every((url) => !url.includes('/../') && !/[?#]/.test(url))).toBe(true);
  });
});

describe('a catalog on this disk', () => {
  it.each([
    ['a folder', '/etc', 5],
    ['a device', '/dev/zero', 5],
    ['a file that is not a catalog', '/etc/passwd', 1],
    ['a file that does not exist', '/nonexistent/catalog.yaml', 3],
  ])('that is %s ends in an error that does not quote it', async (_, file, exitCode) => {
    const refused = await resolve(file);
    expectRefused(refused, exitCode);
    expect(refused.stderr).not.toContain('root:');
  });

  it('cannot make an index that points elsewhere', async () => {
    writeFileSync(path.join(folder, 'catalog.yaml'), good);
    expect((await resolve('catalog.yaml')).code).toBe(0);
    // Same size, other content, before the clock of the file system moves on.
    writeFileSync(path.join(folder, 'catalog.yaml'), good.replace('a.example.com', 'z.example.com'));
    expect((await resolve('catalog.yaml')).stdout).toContain('z.example.com/b');
  });
});
