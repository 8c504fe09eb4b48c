import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../store/registry-store.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

/** Reads of definitions and of all entries of a snapshot, which only deriving a document needs. */
const READS = ['release', 'definitionJson', 'entries', 'snapshotEntryRows', 'latestEntryRows'] as const;

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
/** Finding a function in a catalog reads its one row. */
const ENTRY_PROFILE = '/catalogs/default/functions/example.com/SetLabels.yaml?profile=kpt-list';

describe.each([...DERIVED, ENTRY_PROFILE])('%s', (target) => {
  const others = target === ENTRY_PROFILE ? ['latestEntryRows'] : readsOfCatalogs(target);

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
    expect([response.status, reads]).toEqual([200, ['definitionJson']]);
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
  const { secret } = await registry.token({});
  const yanked = await registry.request(`${detail}/releases/1.0.0/yank`, {
    method: 'POST',
    body: JSON.stringify({ reason: 'broken' }),
    headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
  });
  expect(yanked.status).toBe(200);
  const after = await etags();
  expect(after[0]).not.toBe(before[0]);
  expect(after[1]).not.toBe(before[1]);
  expect(await (await read(page)).text()).toContain('This release was yanked');
});
