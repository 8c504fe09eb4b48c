import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cacheFor, readableCaches } from '@krmhub/consume/cache/actor-cache';
import { Cache } from '@krmhub/consume/cache/cache';
import { CacheWriter } from '@krmhub/consume/cache/cache-writer';
import { DocumentFetcher } from '@krmhub/consume/cache/fetch-document';
import { RecordKey } from '@krmhub/consume/cache/record-key';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { type FetcherOptions, type SourceCredentials, SourceFetcher } from '@krmhub/sources';
import { actorName } from '@krmhub/sources/actor';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

/** A server with documents that are public, or for some tokens, and actors who share one cache. */

interface Served {
  text: string;
  /** Tokens that may read it; undefined for everyone. */
  readers: Set<string> | undefined;
  /** Where it is. */
  location?: string;
}

const documents = new Map<string, Served>();
/** Responds to everything, if it is set. */
let broken: number | undefined;
/** What a reader gets who may not read. */
let refusal = 404;
/** The field WWW-Authenticate of that. */
let challenge: string | undefined;
let server: Server;
let origin: string;
let folder: string;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const served = documents.get(request.url ?? '');
  const token = request.headers.authorization?.replace('Bearer ', '');
  if (broken !== undefined) response.writeHead(broken).end();
  else if (served === undefined) response.writeHead(404).end();
  else if (served.readers !== undefined && (token === undefined || !served.readers.has(token)))
    response
      .writeHead(token === undefined ? 401 : refusal, defined({ 'www-authenticate': token && challenge }))
      .end();
  else if (served.location !== undefined) response.writeHead(302, { location: served.location }).end();
  else if (request.headers['if-none-match'] === `"${served.text}"`) response.writeHead(304).end();
  else response.writeHead(200, { etag: `"${served.text}"` }).end(served.text);
}

beforeAll(async () => {
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-actors-'));
  documents.clear();
  broken = undefined;
  refusal = 404;
  challenge = undefined;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const sharedCache = () =>
  new Cache(
    folder,
    { now: () => new Date(), version: '1.0.0' },
    new RecordKey(path.join(folder, 'cache.key')),
  );

/** A run of the program by an actor, or by no one. */
function fetcher(token: string | undefined, offline: boolean, sources = open(token)): DocumentFetcher {
  const cache = sharedCache();
  return new DocumentFetcher({ cache, writer: new CacheWriter(cache) }, offline, async () => sources);
}

const open = (token: string | undefined) => openWith(token === undefined ? undefined : { token });

function openWith(
  credentials: SourceCredentials | undefined,
  options: Pick<FetcherOptions, 'onRefused'> = {},
): SourceFetcher {
  return new SourceFetcher({
    userAgent: 'test',
    allowedAddresses: ['127.0.0.1'],
    protocols: ['https'],
    temporaryFolder: path.join(folder, 'tmp'),
    limits: { maxAttempts: 1 },
    credentials: async (_, { refused }) => (refused === undefined ? undefined : credentials),
    ...options,
  });
}

/** The text of a document, or why it was not read. */
async function read(
  token: string | undefined,
  name: string,
  offline = false,
  sources?: SourceFetcher,
): Promise<string> {
  const address = { type: 'http' as const, url: `${origin}${name}` };
  try {
    const { bytes } = await fetcher(token, offline, sources).fetchBytes({ address, maxBytes: 1_000 });
    return Buffer.from(bytes).toString();
  } catch (error) {
    if (error instanceof KrmhubError) return error.code;
    throw error;
  }
}

const set = (name: string, text: string, readers?: string[]) =>
  documents.set(name, { text, readers: readers && new Set(readers) });

/** Everything in the cache outside of the parts of actors. */
async function sharedTexts(): Promise<string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.parentPath.startsWith(path.join(folder, 'private')),
  );
  const texts = files.map(({ parentPath, name }) => readFile(path.join(parentPath, name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

describe('a private document', () => {
  it('is cached for the actor who read it, and for no one else', async () => {
    set('/a', 'secret', ['alice', 'carol']);
    expect(await read('alice', '/a')).toBe('secret');
    expect(await read('alice', '/a', true)).toBe('secret');
    for (const other of ['bob', 'carol', undefined])
      expect(await read(other, '/a', true)).toBe('unavailable');
    expect(await read('bob', '/a')).toBe('not-found');
    expect(await read(undefined, '/a')).toBe('unauthorized');
    expect(await read('alice', '/a', true)).toBe('secret');
    expect(await sharedTexts()).not.toContain('secret');
    expect(JSON.stringify(readdirSync(folder, { recursive: true }))).not.toContain('alice');
  });

  it.each([401, 403, 404])('is removed after the server refuses it to its reader with %i', async (status) => {
    set('/a', 'secret', ['alice', 'bob']);
    set('/b', 'other secret', ['alice']);
    for (const name of ['/a', '/b']) await read('alice', name);
    await read('bob', '/a');
    refusal = status;
    set('/a', 'secret', ['bob']);
    expect(await read('alice', '/a')).toBe(status === 404 ? 'not-found' : 'unauthorized');
    // All of it: what else changed for this actor is not known.
    for (const name of ['/a', '/b']) expect(await read('alice', name, true)).toBe('unavailable');
    expect(await read('bob', '/a', true)).toBe('secret');
    expect(await read('alice', '/b')).toBe('other secret');
  });

  it('is removed also where a restored cache has it, which another machine wrote', async () => {
    set('/a', 'secret', ['alice']);
    await read('alice', '/a');
    await rm(path.join(folder, 'cache.key'));
    set('/a', 'secret', []);
    // Records of another machine are not used with the network, but without it.
    expect(await read('alice', '/a', true)).toBe('secret');
    expect(await read('alice', '/a')).toBe('not-found');
    expect(await read('alice', '/a', true)).toBe('unavailable');
  });

  it('is in one part with the artifacts of its server', async () => {
    const { host } = new URL(origin);
    const [http, oci] = await Promise.all([
      open('alice').actor({ type: 'http', url: `${origin}/a` }),
      openWith({ username: 'krmhub', password: 'alice' }).actor({ type: 'oci', reference: `${host}/a:1` }),
    ]);
    expect(http).toBeDefined();
    expect(oci).toBe(http);
    const parts = [
      cacheFor(sharedCache(), { type: 'http', url: `${origin}/a` }, http),
      cacheFor(sharedCache(), { type: 'oci', reference: `${host}/a:1` }, oci),
    ];
    expect(new Set(parts.map((part) => part.folder)).size).toBe(1);
  });

  it('reports credentials that the server refuses themselves, whatever was read', async () => {
    set('/a', 'secret', []);
    const reported: unknown[] = [];
    const onRefused = async (...refused: unknown[]) => void reported.push(refused);
    for (const [status, count] of [
      [404, 0],
      [403, 0],
      [401, 1],
    ] as const) {
      refusal = status;
      const sources = openWith({ token: 'alice' }, { onRefused });
      await read('alice', '/a', false, sources);
      expect([status, reported.length]).toEqual([status, count]);
    }
    const address = { type: 'http', url: `${origin}/a` };
    expect(reported).toEqual([[address, await actorName(new URL(origin).host, { token: 'alice' })]]);
  });

  it('stays while the server fails, and after another document is not found', async () => {
    set('/a', 'secret', ['alice']);
    await read('alice', '/a');
    broken = 503;
    expect(await read('alice', '/a')).toBe('unreachable');
    // A proxy requires credentials.
    broken = 407;
    expect(await read('alice', '/a')).toBe('unauthorized');
    broken = undefined;
    expect(await read('alice', '/none')).toBe('not-found');
    expect(await read('alice', '/a', true)).toBe('secret');
  });

  it.each([401, 404])(
    'stays while a registry cannot ask whose token it is, and responds with %i',
    async (status) => {
      set('/a', 'secret', ['alice']);
      await read('alice', '/a');
      set('/a', 'secret', []);
      [refusal, challenge] = [status, 'Bearer error="temporarily_unavailable", error_description="away"'];
      const reported: unknown[] = [];
      const onRefused = async (...refused: unknown[]) => void reported.push(refused);
      expect(await read('alice', '/a', false, openWith({ token: 'alice' }, { onRefused }))).toBe(
        'unreachable',
      );
      expect(reported).toEqual([]);
      expect(await read('alice', '/a', true)).toBe('secret');
    },
  );

  it('that becomes public is cached for everyone', async () => {
    set('/a', 'first', ['alice']);
    await read('alice', '/a');
    set('/a', 'second');
    expect(await read('alice', '/a')).toBe('second');
    expect(await read(undefined, '/a', true)).toBe('second');
    expect(await read('alice', '/a', true)).toBe('second');
  });

  it('that was public is not read again by those who may not', async () => {
    set('/a', 'first');
    await read(undefined, '/a');
    set('/a', 'second', ['alice']);
    expect(await read('alice', '/a')).toBe('second');
    expect(await read(undefined, '/a')).toBe('unauthorized');
    expect(await read(undefined, '/a', true)).toBe('first');
    expect(await read('alice', '/a', true)).toBe('second');
  });

  it('that another server has, for who was redirected there, is cached for them alone', async () => {
    set('/signed', 'secret');
    const other = origin.replace('127.0.0.1', 'localhost');
    documents.set('/a', { text: '', readers: new Set(['alice']), location: `${other}/signed` });
    for (let round = 0; round < 2; round++) expect(await read('alice', '/a')).toBe('secret');
    expect(await read('alice', '/a', true)).toBe('secret');
    for (const other of ['bob', undefined]) expect(await read(other, '/a', true)).toBe('unavailable');
    expect(await sharedTexts()).not.toContain('secret');
    documents.set('/a', { text: '', readers: new Set(), location: `${other}/signed` });
    expect(await read('alice', '/a')).toBe('not-found');
    expect(await read('alice', '/a', true)).toBe('unavailable');
  });

  it('is looked for only if someone has one of this server, so that no helper is started', async () => {
    let asked = 0;
    const watched = async () => {
      asked += 1;
      return open('alice');
    };
    const address = { type: 'http' as const, url: `${origin}/a` };
    expect(await readableCaches(sharedCache(), address, watched)).toHaveLength(1);
    expect(asked).toBe(0);
    set('/a', 'secret', ['alice']);
    await read('alice', '/a');
    expect(await readableCaches(sharedCache(), address, watched)).toHaveLength(2);
    const elsewhere = { type: 'http' as const, url: 'http://127.0.0.2/a' };
    expect(await readableCaches(sharedCache(), elsewhere, watched)).toHaveLength(1);
    expect(asked).toBe(1);
  });

  it('that was not used for a month is removed, with those of other tokens', async () => {
    set('/a', 'secret', ['alice', 'bob']);
    for (const token of ['alice', 'bob']) await read(token, '/a');
    const month = 31 * 86_400_000;
    const later = new Cache(
      folder,
      { now: () => new Date(Date.now() + month), version: '1.0.0' },
      new RecordKey(path.join(folder, 'cache.key')),
    );
    await later.writeBlob(Buffer.from('x'));
    await later.close();
    const [origins] = readdirSync(path.join(folder, 'private'));
    expect(readdirSync(path.join(folder, 'private', origins!))).toEqual([]);
    expect(existsSync(path.join(folder, 'blobs'))).toBe(true);
  });
});

describe('actors who share a cache', () => {
  it('get only what the server gave to everyone, or to them and did not refuse since', async () => {
    const actors = ['alice', 'bob', undefined] as const;
    const names = ['/a', '/b', '/c'];
    for (let seed = 0; seed < 20; seed++) {
      const random = new Random(seed);
      await rm(folder, { recursive: true, force: true });
      documents.clear();
      // One run of the program each: an actor is named once.
      const sources = new Map(actors.map((one) => [one, open(one)]));
      const publicTexts = new Set<string>();
      /** What each actor was given last, by document. */
      const held = new Map<string | undefined, Map<string, string>>(actors.map((one) => [one, new Map()]));
      for (let step = 0; step < 60; step++) {
        const name = random.pick(names);
        const actor = random.pick(actors);
        const place = `seed ${seed}, step ${step}, ${actor} ${name}`;
        const kind = random.pick(['change', 'read', 'read', 'offline', 'offline', 'break'] as const);
        const before = documents.get(name);
        if (kind === 'change') {
          const readers = random.pick([undefined, [], ['alice'], ['bob'], ['alice', 'bob']]);
          const text = before !== undefined && random.chance(0.5) ? before.text : `${name} ${seed}.${step}`;
          set(name, text, readers);
          continue;
        }
        broken = kind === 'break' ? 500 : undefined;
        refusal = random.pick([401, 403, 404]);
        const text = await read(actor, name, kind === 'offline', sources.get(actor));
        const own = held.get(actor)!;
        if (kind === 'break') expect([place, text]).toEqual([place, 'unreachable']);
        else if (kind === 'offline') {
          const given = [...publicTexts, ...own.values(), 'unavailable'];
          expect([place, given]).toEqual([place, expect.arrayContaining([text])]);
        } else if (before !== undefined && (before.readers?.has(actor ?? '') ?? true)) {
          expect([place, text]).toEqual([place, before.text]);
          if (before.readers === undefined) publicTexts.add(text);
          else own.set(name, text);
        } else {
          expect([place, text]).toEqual([place, expect.stringMatching(/^(?:not-found|unauthorized)$/)]);
          if (own.has(name)) own.clear();
        }
      }
    }
  });
});
