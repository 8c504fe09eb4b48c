import { type CatalogEntryRow, type EntryQuery, RevisionConflict, type SnapshotBuild } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_RENDITIONS, type SnapshotRendition, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { AT, applySample, changeOf } from './sample-records.js';

const entryOf = (text: string) => ({ digest: sha256(text), yaml: text, json: JSON.stringify(text) });

function place(
  kind: string,
  entry: string | undefined,
  yanked: CatalogEntryRow['yanked'] = [],
): CatalogEntryRow {
  const versions =
    entry === undefined
      ? []
      : [{ name: 'v1', source: 'ours', release: '1.0.0', definition: sha256(`${kind} ${entry}`) }];
  return {
    group: 'example.com',
    kind,
    versions,
    shadowed: [],
    yanked,
    ...(entry !== undefined && { entry: sha256(entry) }),
  };
}

function digestsOf(text: string): Record<SnapshotRendition, Digest> {
  return Object.fromEntries(SNAPSHOT_RENDITIONS.map((form) => [form, sha256(`${form} ${text}`)])) as Record<
    SnapshotRendition,
    Digest
  >;
}

export function catalogContract(store: () => RegistryStore): void {
  const apply = (name: string, recipe: string, expectedRecipe?: string) =>
    applySample(store(), name, recipe, expectedRecipe);

  /** Builds from the stored state; `text` is the content of a new snapshot. */
  const cut = async (
    name: string,
    changed: CatalogEntryRow[],
    text?: string,
    more: Partial<SnapshotBuild> = {},
  ) => {
    const throughEvent = await store().lastEvent();
    const catalog = await store().catalog(name);
    const serial = (catalog?.newest?.serial ?? 0) + 1;
    const snapshot = text !== undefined && {
      catalog: name,
      serial,
      previous: catalog?.newest?.digests['catalog.yaml'] ?? null,
      digests: digestsOf(text),
      ...(text === 'b' && { labels: { team: 'a', 'app.example.com/name': '漢' } }),
      functions: 1,
      createdAt: AT,
    };
    return store().commitSnapshot({
      catalog: name,
      expectedThroughEvent: catalog?.throughEvent ?? 0,
      throughEvent,
      changed,
      entries: changed.flatMap(({ entry }) => (entry === undefined ? [] : [entryOf(texts.get(entry)!)])),
      ...(snapshot && {
        snapshot,
        event: { type: 'catalog.cut', at: AT, by: 'krmhub', catalog: name, serial },
      }),
      ...more,
    });
  };
  const texts = new Map(['one', 'two', 'three', "a\u0000b '", '漢字'].map((text) => [sha256(text), text]));
  const kindsAt = async (name: string, serial: number) =>
    (await store().snapshotEntryRows(name, serial)).map(
      ({ kind, entry }) => `${kind} ${entry && texts.get(entry)}`,
    );

  describe('deleted catalogs', () => {
    const deletion = { at: AT, by: 'admin', reason: 'merged', restorableUntil: '2031-01-01T00:00:00.000Z' };
    const event = { type: 'catalog.deleted' as const, at: AT, by: 'admin', catalog: 'platform' };
    const remove = (name = 'platform') => store().deleteCatalog({ name, deletion, event });
    const restore = (name = 'platform') =>
      store().restoreCatalog({ name, at: AT, event: { ...event, type: 'catalog.restored' } });

    it('are excluded with everything that names them, and come back whole', async () => {
      await apply('another', 'kept');
      await store().applyRecipe({
        name: 'platform',
        recipe: 'first',
        sources: [{ source: 'theirs', url: 'https://example.com/catalog.yaml' }],
        expectedRecipe: undefined,
        at: AT,
        by: 'admin',
        event: { type: 'catalog.applied', at: AT, by: 'admin', catalog: 'platform' },
      });
      await cut('platform', [place('A', 'one')], 'x');
      const before = await store().catalog('platform');
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['platform']);
      expect(await remove()).toMatchObject({ type: 'catalog.deleted', sequence: 4 });

      expect(await store().catalog('platform')).toBeUndefined();
      expect((await store().catalogs()).map(({ name }) => name)).toEqual(['another']);
      expect(await store().deletedCatalog('platform')).toEqual({ name: 'platform', ...deletion });
      expect(await store().deletedCatalogs()).toEqual([{ name: 'platform', ...deletion }]);
      expect(await store().deletedCatalog('another')).toBeUndefined();
      expect(await store().catalogsContaining('example.com', 'A')).toEqual([]);
      expect([await store().sources(), await store().sources('platform')]).toEqual([[], []]);
      expect(await store().source('platform', 'theirs')).toBeUndefined();
      await expect(apply('platform', 'second')).rejects.toThrow(RevisionConflict);
      await expect(apply('platform', 'second', 'first')).rejects.toThrow(RevisionConflict);
      await expect(cut('platform', [place('A', 'two')], 'y')).rejects.toMatchObject({ code: 'not-found' });
      expect(await kindsAt('platform', 1)).toEqual(['A one']);

      expect(await restore()).toMatchObject({ type: 'catalog.restored', sequence: 5 });
      expect(await store().catalog('platform')).toEqual({ ...before, throughEvent: 0 });
      expect(await store().deletedCatalogs()).toEqual([]);
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['platform']);
      expect(await store().source('platform', 'theirs')).toMatchObject({ nextAt: AT });
    });

    it('are deleted and restored once', async () => {
      await expect(remove()).rejects.toThrow(RevisionConflict);
      await apply('platform', 'first');
      await expect(restore()).rejects.toThrow(RevisionConflict);
      await remove();
      await expect(remove()).rejects.toThrow(RevisionConflict);
      await restore();
      await expect(restore()).rejects.toThrow(RevisionConflict);
      expect(await store().lastEvent()).toBe(3);
    });

    it('reject a build that was planned before', async () => {
      await apply('platform', 'first');
      const planned = { expectedThroughEvent: 0, throughEvent: await store().lastEvent() };
      await remove();
      await restore();
      await expect(cut('platform', [place('A', 'one')], 'x', planned)).rejects.toThrow(RevisionConflict);
    });
  });

  describe('catalogs', () => {
    it('store a recipe, which is replaced only by a client that has seen it', async () => {
      expect(await store().catalogs()).toEqual([]);
      expect(await store().catalog('platform')).toBeUndefined();
      const event = await apply('platform', 'first');
      expect(event).toEqual({
        sequence: 1,
        type: 'catalog.applied',
        at: AT,
        by: 'admin',
        catalog: 'platform',
      });
      const record = {
        name: 'platform',
        recipe: 'first',
        appliedAt: AT,
        appliedBy: 'admin',
        throughEvent: 0,
        clock: AT,
      };
      expect(await store().catalog('platform')).toEqual(record);
      await expect(apply('platform', 'second')).rejects.toThrow(RevisionConflict);
      await expect(apply('platform', 'second', 'other')).rejects.toThrow(RevisionConflict);
      await expect(apply('new', 'text', 'other')).rejects.toThrow(RevisionConflict);
      expect(await store().lastEvent()).toBe(1);
      await cut('platform', [], 'x');
      expect(await store().catalog('platform')).toMatchObject({ throughEvent: 1 });
      await apply('platform', 'second', 'first');
      await apply('another', 'r\u0000');
      expect(await store().catalog('platform')).toMatchObject({
        recipe: 'second',
        throughEvent: 0,
        newest: { serial: 1 },
      });
      expect((await store().catalogs()).map(({ name, recipe }) => [name, recipe])).toEqual([
        ['another', 'r\u0000'],
        ['platform', 'second'],
      ]);
    });

    it('store every snapshot, by serial and by digest', async () => {
      await apply('c', 'r');
      for (const text of ['a', 'b', 'a']) await cut('c', [], text);
      const snapshots = await store().snapshots('c', 10);
      expect(snapshots.map(({ serial, previous }) => [serial, previous])).toEqual([
        [3, digestsOf('b')['catalog.yaml']],
        [2, digestsOf('a')['catalog.yaml']],
        [1, null],
      ]);
      expect(snapshots.map(({ labels }) => labels)).toEqual([
        undefined,
        { team: 'a', 'app.example.com/name': '漢' },
        undefined,
      ]);
      expect(await store().snapshots('c', 1)).toEqual([snapshots[0]]);
      expect(await store().snapshots('none', 10)).toEqual([]);
      expect(await store().snapshot('c', 2)).toEqual(snapshots[1]);
      expect(await store().snapshot('c', digestsOf('b')['catalog.yaml'])).toEqual(snapshots[1]);
      expect(await store().snapshot('c', digestsOf('a')['catalog.yaml'])).toEqual(snapshots[0]);
      expect(await store().snapshot('c', 4)).toBeUndefined();
      expect(await store().snapshot('c', sha256('none'))).toBeUndefined();
      expect((await store().catalog('c'))?.newest).toEqual(snapshots[0]);
    });

    it('know the entries as of every serial', async () => {
      await apply('c', 'r');
      await cut('c', [place('B', 'one'), place('A', 'two')], 'first');
      await cut('c', [place('A', 'three'), place('C', 'one')], 'second');
      await cut('c', [place('B', undefined)], 'third');
      expect(await kindsAt('c', 0)).toEqual([]);
      expect(await kindsAt('c', 1)).toEqual(['A two', 'B one']);
      expect(await kindsAt('c', 2)).toEqual(['A three', 'B one', 'C one']);
      expect(await kindsAt('c', 3)).toEqual(['A three', 'B undefined', 'C one']);
      expect(await store().snapshotEntryRows('c', 1)).toEqual([place('A', 'two'), place('B', 'one')]);
      expect(await store().latestEntryRows('c')).toEqual([
        place('A', 'three'),
        place('B', undefined),
        place('C', 'one'),
      ]);
      const names = [
        { group: 'example.com', kind: 'C' },
        { group: 'example.com', kind: 'D' },
      ];
      expect(await store().latestEntryRows('c', names)).toEqual([place('C', 'one')]);
      expect(await store().latestEntryRows('c', [])).toEqual([]);
      expect(await store().latestEntryRows('other')).toEqual([]);
    });

    it('return the entries of the newest snapshot in order, with their sizes', async () => {
      await apply('c', 'r');
      await cut('c', [place('B', 'one'), place('A', '漢字'), place('D', 'two')], 'first');
      await cut('c', [place('A', 'three'), place('C', '漢字'), place('D', undefined)], 'second');
      await cut('c', [place('B', 'two')]);
      const held = async (serial: number, from?: string) => {
        const start = from === undefined ? undefined : { group: 'example.com', kind: from };
        const found: string[] = [];
        for await (const { kind, digest, yaml, json } of store().entryTexts('c', serial, start)) {
          expect(sha256(yaml)).toBe(digest);
          expect(JSON.parse(Buffer.from(json).toString())).toBe(Buffer.from(yaml).toString());
          found.push(`${kind} ${Buffer.from(yaml)}`);
        }
        for (const syntax of ['yaml', 'json'] as const) {
          const pages: Uint8Array[] = [];
          for await (const page of store().entryPages('c', serial, syntax, start)) pages.push(...page);
          const text = (one: string) => one.slice(one.indexOf(' ') + 1);
          expect(pages.map((one) => Buffer.from(one).toString())).toEqual(
            found.map((one) => (syntax === 'yaml' ? text(one) : JSON.stringify(text(one)))),
          );
        }
        return found;
      };
      expect(await held(1)).toEqual(['A 漢字', 'B one', 'D two']);
      expect(await held(2)).toEqual(['A three', 'B one', 'C 漢字']);
      expect(await held(3, 'B')).toEqual(['B two', 'C 漢字']);
      expect(await held(2, 'Bb')).toEqual(['C 漢字']);
      expect(await held(2, 'D')).toEqual([]);
      const run = async (
        serial: number,
        between: string,
        ...ranges: [from?: string | undefined, to?: string][]
      ) => {
        const name = (kind: string) => ({ group: 'example.com', kind });
        const reading = {
          syntax: 'yaml' as const,
          between,
          ranges: ranges.map(([from, to]) => ({
            ...(from === undefined ? {} : { from: name(from) }),
            ...(to === undefined ? {} : { to: name(to) }),
          })),
        };
        const found: string[] = [];
        for await (const { text, functions } of store().entryRuns('c', serial, reading))
          found.push(`${functions} ${Buffer.from(text)}`);
        return found;
      };
      expect(await run(1, ', ', [])).toEqual(['3 漢字, one, two']);
      expect(await run(2, '', [undefined, 'B'], ['B', 'D'])).toEqual(['1 three', '2 one漢字']);
      expect(await run(2, ',', ['Bb', 'C'], ['C'])).toEqual(['0 ', '1 漢字']);
      const yaml = Buffer.byteLength('threeone漢字');
      expect(await store().entryBytes('c', 2)).toEqual({ yaml, json: yaml + 6 });
    });

    it('hold changed reports back until the next snapshot', async () => {
      await apply('c', 'r');
      await cut('c', [place('A', 'one')], 'first');
      const yanked = (release: string) => place('A', 'one', [{ release, source: 'ours' }]);
      await cut('c', [yanked('1.1.0')]);
      await cut('c', [yanked('1.2.0')]);
      expect(await store().snapshotEntryRows('c', 1)).toEqual([place('A', 'one')]);
      expect(await store().latestEntryRows('c')).toEqual([yanked('1.2.0')]);
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['c']);
      await cut('c', [place('B', 'two')], 'second');
      expect(await store().snapshotEntryRows('c', 2)).toEqual([yanked('1.2.0'), place('B', 'two')]);
      expect(await store().snapshotEntryRows('c', 1)).toEqual([place('A', 'one')]);
    });

    it('return their entries page by page, and count them by source', async () => {
      await apply('c', 'r');
      const shadowed = [{ version: 'v1', source: 'late', by: { source: 'ours' } }];
      const refused = [
        { version: 'v1', source: 'late', reasons: [{ code: 'denied' as const, message: 'no' }] },
      ];
      const of = (source: string, entry: CatalogEntryRow) => ({
        ...entry,
        versions: entry.versions.map((version) => ({ ...version, source })),
      });
      const places = [
        place('A', 'one'),
        of('theirs', { ...place('B', 'two'), shadowed }),
        { ...place('C', undefined), refused },
        of('theirs', place('D', 'three', [{ release: '1.1.0', source: 'ours' }])),
        { ...place('E', 'one'), group: 'other.example' },
      ];
      await cut('c', places, 'first');
      await cut('c', [{ ...place('A', undefined), refused }, place('C', 'one')], 'second');
      await cut('c', [{ ...place('E', 'one'), group: 'other.example', shadowed }]);
      const page = (query: Partial<EntryQuery>) =>
        store().entryPage({ catalog: 'c', serial: 1, of: 'held', limit: 9, ...query });
      const kinds = async (query: Partial<EntryQuery>) => (await page(query)).rows.map(({ kind }) => kind);
      expect(await page({})).toEqual({ rows: [places[0], places[1], places[3], places[4]] });
      expect(await kinds({ serial: 2 })).toEqual(['B', 'C', 'D', 'E']);
      expect(await kinds({ serial: 0 })).toEqual([]);
      expect(await kinds({ catalog: 'other' })).toEqual([]);
      expect(await kinds({ of: 'shadowed' })).toEqual(['B']);
      expect(await kinds({ of: 'shadowed', serial: 2 })).toEqual(['B']);
      expect(await kinds({ of: 'shadowed', serial: 3 })).toEqual(['B', 'E']);
      expect(await kinds({ of: 'refused' })).toEqual(['C']);
      expect(await kinds({ of: 'refused', serial: 2 })).toEqual(['A']);
      expect(await kinds({ of: 'yanked' })).toEqual(['D']);
      expect(await kinds({ source: 'theirs' })).toEqual(['B', 'D']);
      expect(await kinds({ source: 'theirs', text: 'COM/d' })).toEqual(['D']);
      expect(await kinds({ text: 'other' })).toEqual(['E']);
      expect(await kinds({ text: '%' })).toEqual([]);

      const first = await page({ limit: 2 });
      expect(first).toEqual({ rows: [places[0], places[1]], next: { group: 'example.com', kind: 'B' } });
      expect(await page({ limit: 2, after: first.next! })).toEqual({ rows: [places[3], places[4]] });
      expect(await page({ after: { group: 'other.example', kind: 'E' } })).toEqual({ rows: [] });

      const counts = async (serial: number, of: EntryQuery['of']) =>
        Object.fromEntries(await store().countEntries({ catalog: 'c', serial, of }));
      expect(await counts(1, 'held')).toEqual({ ours: 2, theirs: 2 });
      expect(await counts(2, 'held')).toEqual({ ours: 2, theirs: 2 });
      expect(await counts(3, 'shadowed')).toEqual({ '': 2 });
      expect(await counts(3, 'yanked')).toEqual({ '': 1 });
      expect(await counts(0, 'held')).toEqual({});
    });

    it('list the changed entries', async () => {
      await apply('c', 'r');
      await cut('c', [place('B', 'one'), place('A', 'two')], 'first');
      await cut('c', [place('A', 'three'), place('C', 'one')], 'second');
      await cut('c', [place('B', undefined), place('A', 'two')], 'third');
      const changed = (from: number, to: number, limit = 9) =>
        store().changedEntries('c', { from, to }, limit);
      const names = { A: { group: 'example.com', kind: 'A' }, B: { group: 'example.com', kind: 'B' } };
      expect(await changed(1, 2)).toEqual({
        changed: [
          { ...names.A, before: place('A', 'two'), after: place('A', 'three') },
          { group: 'example.com', kind: 'C', after: place('C', 'one') },
        ],
        isAll: true,
      });
      expect(
        (await changed(1, 3)).changed.map(({ kind, before, after }) => [kind, before?.entry, after?.entry]),
      ).toEqual([
        ['A', sha256('two'), sha256('two')],
        ['B', sha256('one'), undefined],
        ['C', undefined, sha256('one')],
      ]);
      expect(await changed(2, 2)).toEqual({ changed: [], isAll: true });
      expect((await changed(0, 1)).changed).toEqual([
        { ...names.A, after: place('A', 'two') },
        { ...names.B, after: place('B', 'one') },
      ]);
      const some = await changed(0, 3, 2);
      expect([some.changed.length, some.isAll]).toEqual([2, false]);
    });

    it('list which of them include a function, also in search', async () => {
      for (const kind of ['A', 'B']) await store().commitFunction(changeOf({ kind }));
      for (const name of ['y', 'x', 'z']) await apply(name, 'r');
      await cut('x', [place('A', 'one'), place('B', 'two'), place('Late', 'one')], '1');
      await cut('y', [place('A', 'one')], '2');
      await cut('z', [place('A', 'one')]);
      const inCatalogs = async (...catalog: string[]) =>
        (await store().search({ catalog, limit: 9 })).items.map(({ kind }) => kind);
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['x', 'y']);
      expect(await inCatalogs('y')).toEqual(['A']);
      expect(await inCatalogs('z')).toEqual([]);
      expect(await inCatalogs('x', 'y')).toEqual(['A', 'B']);
      expect((await store().search({ limit: 9 })).facets.catalog).toEqual([
        { value: 'x', count: 2 },
        { value: 'y', count: 1 },
      ]);
      await store().commitFunction(changeOf({ kind: 'A', release: '2.0.0' }, 1));
      await store().commitFunction(changeOf({ kind: 'Late' }));
      expect(await inCatalogs('x')).toEqual(['A', 'B', 'Late']);
      await cut('x', [place('A', undefined)], '3');
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['y']);
      expect(await inCatalogs('x')).toEqual(['B', 'Late']);
      await cut('z', [], '4');
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['y', 'z']);
      expect(await inCatalogs('z')).toEqual(['A']);
    });

    it('return entries by digest, or name the missing one', async () => {
      await apply('c', 'r');
      await cut('c', [place('A', "a\u0000b '"), place('B', '漢字'), place('C', '漢字')], 'first');
      const wanted = ["a\u0000b '", '漢字'].map(entryOf);
      const found = await store().entries(wanted.map(({ digest }) => digest));
      expect([...found.values()]).toEqual(wanted);
      expect(await store().entries([])).toEqual(new Map());
      const missing = sha256('missing');
      await expect(store().entries([wanted[0]!.digest, missing])).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringContaining(missing),
      });
    });

    it('refuse a build that was planned on another state, and store nothing of it', async () => {
      await apply('c', 'r');
      await cut('c', [place('A', 'one')], 'first');
      const places = [place('A', 'two')];
      await expect(cut('c', places, 'stale', { expectedThroughEvent: 0 })).rejects.toThrow(RevisionConflict);
      const snapshot = { catalog: 'c', digests: digestsOf('x'), functions: 1, createdAt: AT };
      const previous = digestsOf('first')['catalog.yaml'];
      for (const wrong of [
        { serial: 1, previous },
        { serial: 3, previous },
        { serial: 2, previous: null },
      ]) {
        await expect(cut('c', places, 'x', { snapshot: { ...snapshot, ...wrong } })).rejects.toThrow(
          RevisionConflict,
        );
      }
      await expect(cut('none', [])).rejects.toMatchObject({ code: 'not-found' });
      await expect(cut('c', places, 'x', { entries: [] })).rejects.toThrow();
      expect(await store().latestEntryRows('c')).toEqual([place('A', 'one')]);
      expect(await store().lastEvent()).toBe(2);
      expect(await store().snapshots('c', 9)).toHaveLength(1);
    });

    it('refuse a build with a recipe that was replaced before the first build', async () => {
      await apply('c', 'first');
      const throughEvent = await store().lastEvent();
      await apply('c', 'second', 'first');
      await expect(cut('c', [], 'x', { throughEvent })).rejects.toThrow(RevisionConflict);
      await cut('c', [], 'x');
      expect((await store().catalog('c'))?.throughEvent).toBe(2);
    });

    it('let exactly one of 50 builds succeed', async () => {
      await apply('c', 'r');
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, at) =>
          store().commitSnapshot({
            catalog: 'c',
            expectedThroughEvent: 0,
            throughEvent: 1,
            changed: [],
            entries: [],
            snapshot: {
              catalog: 'c',
              serial: 1,
              previous: null,
              digests: digestsOf(`${at}`),
              functions: 0,
              createdAt: AT,
            },
          }),
        ),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await store().snapshots('c', 9)).toHaveLength(1);
    });
  });
}
