import { Hono } from 'hono';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RegistryApp, RegistryEnv } from '../../http/context.js';
import type { RegistryStore } from '../../store/registry-store.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import type { Derivation, Derive } from './derivation.js';
import { DerivedDocuments } from './derived-documents.js';

/** Reads of definitions and of all entries of a snapshot, which only deriving a document needs. */
const READS = ['release', 'definitionsJson', 'entries', 'snapshotEntryRows', 'latestEntryRows'] as const;

let registry: TestRegistry;
let reads: string[] = [];

function counted(store: RegistryStore): RegistryStore {
  const counting = { ...store };
  for (const name of READS) {
    const read = store[name] as (...input: unknown[]) => unknown;
    Object.assign(counting, {
      [name]: (...input: unknown[]) => {
        reads.push(name);
        return read(...input);
      },
    });
  }
  return counting;
}

beforeAll(async () => {
  registry = await openTestRegistry({ wrapStore: counted });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  await registry.publish({ kind: 'SetLabels', release: '1.1.0', description: 'Sets more labels.' });
});
afterAll(() => registry.close());

async function read(target: string, headers: Record<string, string> = {}): Promise<Response> {
  reads = [];
  const accept = target.startsWith('/functions') ? 'text/html' : '*/*';
  return registry.request(target, { headers: { Accept: accept, ...headers } });
}

const FUNCTION = '/functions/example.com/SetLabels';
const DERIVED = [
  FUNCTION,
  `${FUNCTION}/releases/1.0.0`,
  `${FUNCTION}?version=v1`,
  `${FUNCTION}/compare?from=1.0.0&to=1.1.0`,
  '/schemas/example.com/v1/SetLabels.json',
  '/catalogs/default/snapshots/1/snapshot.json',
  '/catalogs/default/snapshots/1/report.json',
  '/api/v1/catalogs/default/report',
  '/catalogs/default/catalog.yaml?profile=kpt-list',
];
/** They contain the definition as it is stored. */
const DETAILS = [
  '/api/v1/functions/example.com/SetLabels',
  '/api/v1/functions/example.com/SetLabels/releases/1.0.0',
];
/** Finding a function in a catalog reads its one row in the newest snapshot. */
const ENTRY_PROFILE = '/catalogs/default/functions/example.com/SetLabels.yaml?profile=kpt-list';

describe.each([...DERIVED, ENTRY_PROFILE])('%s', (target) => {
  const others = target === ENTRY_PROFILE ? ['snapshotEntryRows'] : readsOfCatalogs(target);

  it('is derived once', async () => {
    const first = await read(target);
    expect(first.status, await first.clone().text()).toBe(200);
    const text = await first.text();
    const second = await read(target);
    expect([second.status, await second.text(), reads]).toEqual([200, text, others]);
    const compressed = await read(target, { 'Accept-Encoding': 'br' });
    expect([compressed.status, reads]).toEqual([200, others]);
  });

  it('is not read for a client that has it', async () => {
    const etag = (await read(target)).headers.get('etag')!;
    const response = await read(target, { 'If-None-Match': etag });
    expect([response.status, reads]).toEqual([304, others]);
  });
});

/** A page of a function lists its catalogs with the row of each. */
function readsOfCatalogs(target: string): string[] {
  return target.startsWith(FUNCTION) && !target.includes('compare') ? ['latestEntryRows'] : [];
}

describe.each(DETAILS)('%s', (target) => {
  it('contains the definition as it is stored, and is not read for a client that has it', async () => {
    const response = await read(target);
    expect([response.status, reads]).toEqual([200, ['definitionsJson']]);
    const body = (await response.json()) as { newest?: object; definition?: object };
    expect(body.newest ?? body).toMatchObject({
      definition: { names: { kind: 'SetLabels' } },
      readme: false,
    });
    const again = await read(target, { 'If-None-Match': response.headers.get('etag')! });
    expect([again.status, reads]).toEqual([304, []]);
  });
});

it('derives a document once for concurrent clients', async () => {
  await registry.publish({ kind: 'Busy', release: '1.0.0' });
  reads = [];
  const target = '/schemas/example.com/v1/Busy.json';
  const responses = await Promise.all(Array.from({ length: 8 }, () => registry.request(target)));
  expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(reads).toEqual(['release']);
});

it('derives a document again when what it depends on changes', async () => {
  await registry.publish({ kind: 'Changing', release: '1.0.0' });
  const page = '/functions/example.com/Changing';
  const detail = '/api/v1/functions/example.com/Changing';
  const etags = async () => [
    (await read(page)).headers.get('etag'),
    (await read(detail)).headers.get('etag'),
  ];
  const before = await etags();
  expect(await etags()).toEqual(before);
  const yanked = await registry.send('POST', `${detail}/releases/1.0.0/yank`, { reason: 'broken' });
  expect(yanked.status).toBe(200);
  const after = await etags();
  expect(after[0]).not.toBe(before[0]);
  expect(after[1]).not.toBe(before[1]);
  expect(await (await read(page)).text()).toContain('This release was yanked');
});

describe('clients that ask for derived documents', () => {
  const DOCUMENT: Derivation<string> = { name: 'test', derive: async () => new Uint8Array() };
  let begun: string[];
  let ends: Map<string, () => void>;
  let derived: DerivedDocuments;
  let app: RegistryApp;
  beforeEach(() => {
    begun = [];
    ends = new Map();
    const derive = (_: unknown, name: string) => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, () => resolve(Buffer.from(`bytes of ${name}`))));
    };
    derived = new DerivedDocuments(derive as unknown as Derive);
    app = new Hono<RegistryEnv>();
    app.get('/:name', (c) => {
      c.set('client', c.req.header('client')!);
      const document = { mediaType: 'text/plain', cacheControl: 'no-cache', coded: true };
      return derived.respond(c, DOCUMENT, c.req.param('name'), document);
    });
  });

  const ask = async (client: string, name: string) => {
    const response = await app.request(`/${name}`, { headers: { client } });
    return [response.status, await response.text()];
  };
  const settle = () => new Promise((resolve) => setTimeout(resolve, 1));
  const end = async (name: string) => {
    await expect.poll(() => ends.has(name)).toBe(true);
    ends.get(name)!();
    await settle();
  };

  it('take turns, also for a document for which another one waits already', async () => {
    const flood = ['1', '2', '3', '4', '5', 'page'].map((name) => ask('192.0.2.1', name));
    await settle();
    const other = ask('192.0.2.2', 'page');
    await settle();
    for (const name of ['1', '2', '3', 'page', '4', '5']) await end(name);
    expect(await other).toEqual([200, 'bytes of page']);
    expect(await Promise.all(flood)).toHaveLength(6);
    // Derived once, right after the work that had begun, and at most one more.
    expect(begun.indexOf('page')).toBeLessThan(4);
    expect(begun.filter((name) => name === 'page')).toHaveLength(1);
  });

  it('count by network: one subscriber has many addresses', async () => {
    const flood = ['1', '2', '3', '4'].map((name, at) => ask(`2001:db8::${at}`, name));
    await settle();
    const other = ask('2001:db8:0:1::1', 'page');
    await settle();
    for (const name of ['1', '2', '3', 'page', '4']) await end(name);
    expect((await other)[0]).toBe(200);
    await Promise.all(flood);
    expect(begun.indexOf('page')).toBeLessThan(4);
  });

  it('get the same ETag from every process, and a 304 without a second derivation', async () => {
    const readEtag = async () => {
      const asked = app.request('/page', { headers: { client: '192.0.2.1' } });
      await end('page');
      return (await asked).headers.get('etag')!;
    };
    const etag = await readEtag();
    const headers = { client: '192.0.2.2', 'if-none-match': etag };
    expect([(await app.request('/page', { headers })).status, begun]).toEqual([304, ['page']]);
    derived = new DerivedDocuments((async (_: unknown, name: string) =>
      Buffer.from(`bytes of ${name}`)) as unknown as Derive);
    const other = await app.request('/page', { headers });
    expect([other.status, other.headers.get('etag')]).toEqual([304, etag]);
  });

  it('get no document from before a takedown after it', async () => {
    const before = ask('192.0.2.1', 'page');
    await expect.poll(() => begun).toEqual(['page']);
    derived.clear();
    await end('page');
    await before;
    const after = ask('192.0.2.1', 'page');
    await expect.poll(() => begun).toEqual(['page', 'page']);
    await end('page');
    await after;
  });
});
