import { type ChangedEntry, renderEntry, type SnapshotRecord, type SnapshotStore } from '@krmhub/catalog';
import { type Digest, type FunctionDefinition, sha256 } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { type DeriveDeps, deriveHere } from '../../workers/derive/derivation.js';
import { SnapshotComparer } from './read-comparison.js';

const { maxComparedEntries: maxComparedPlaces, maxComparedBytes, maxComparedEntryBytes } = SERVER_LIMITS;

function definition(kind: string, description: string): FunctionDefinition {
  return {
    group: 'example.com',
    names: { kind },
    description,
    publisher: 'Example Co',
    versions: [
      {
        name: 'v1',
        schema: { openAPIV3Schema: { type: 'object' } },
        idempotent: true,
        runtime: { container: { image: 'registry.example.com/one:v1' } },
        usage: 'https://example.com/usage',
        examples: ['https://example.com/example'],
        license: 'MIT',
      },
    ],
  };
}

const snapshot = (serial: number) => ({ catalog: 'c', serial }) as SnapshotRecord;

/** Returns a store in which `count` functions changed their description, to one of `length` characters. */
function changing(count: number, length: number) {
  const read = { entries: 0, bytes: 0, asked: [] as number[] };
  const entries = new Map<Digest, ReturnType<typeof renderEntry>>();
  const row = (kind: string, text: string) => {
    const entry = renderEntry(definition(kind, text));
    entries.set(entry.digest, entry);
    const versions = [{ name: 'v1', source: 'ours', definition: sha256(text) }];
    return { group: 'example.com', kind, versions, shadowed: [], yanked: [], entry: entry.digest };
  };
  const changed = Array.from({ length: count }, (_, at): ChangedEntry => {
    const kind = `Kind${String(at).padStart(4, '0')}`;
    const before = row(kind, 'x'.repeat(length));
    return { group: 'example.com', kind, before, after: row(kind, 'y'.repeat(length)) };
  });
  const store: Pick<SnapshotStore, 'changedEntries' | 'entries'> = {
    async changedEntries(_, __, limit) {
      read.asked.push(limit);
      return { changed: changed.slice(0, limit), isAll: changed.length <= limit };
    },
    async entries(digests) {
      read.entries += digests.length;
      return new Map(digests.map((digest) => [digest, entries.get(digest)!]));
    },
  };
  return { comparer: new SnapshotComparer(deriveHere({ store } as unknown as DeriveDeps)), read };
}

it('compares all of a few functions, and caches the result', async () => {
  const { comparer, read } = changing(3, 10);
  const first = await comparer.compare(snapshot(1), snapshot(2), '192.0.2.1');
  expect(first.counts).toEqual({ added: 0, removed: 0, changed: 3, isAll: true });
  expect(first.changes.map(({ kind, class: name }) => `${kind} ${name}`)).toEqual([
    'Kind0000 texts-changed',
    'Kind0001 texts-changed',
    'Kind0002 texts-changed',
  ]);
  expect(await comparer.compare(snapshot(1), snapshot(2), '192.0.2.1')).toBe(first);
  expect(read).toMatchObject({ entries: 6, asked: [maxComparedPlaces] });
});

it('compares a limited number of functions, and reports that there are more', async () => {
  const { comparer } = changing(maxComparedPlaces + 1, 1);
  const { counts, uncompared, changes } = await comparer.compare(snapshot(1), snapshot(2), '192.0.2.1');
  expect(counts).toMatchObject({ changed: maxComparedPlaces, isAll: false });
  expect(changes.length + uncompared).toBe(maxComparedPlaces);
});

it('skips a function that is too large', async () => {
  const fitting = changing(1, maxComparedEntryBytes / 2 - 1_000);
  expect((await fitting.comparer.compare(snapshot(1), snapshot(2), '192.0.2.1')).tooLarge).toEqual([]);
  const large = changing(1, maxComparedEntryBytes / 2);
  const { tooLarge, changes } = await large.comparer.compare(snapshot(1), snapshot(2), '192.0.2.1');
  expect([tooLarge, changes]).toEqual([[{ group: 'example.com', kind: 'Kind0000' }], []]);
});

it('stops after a limited number of bytes', async () => {
  const length = 60_000;
  const fitting = Math.ceil(maxComparedBytes / (2 * length));
  const { comparer, read } = changing(fitting + 5, length);
  const { uncompared } = await comparer.compare(snapshot(1), snapshot(2), '192.0.2.1');
  expect(uncompared).toBeGreaterThanOrEqual(5);
  expect(read.entries).toBeLessThanOrEqual(2 * fitting);
});
