import type { CatalogEntryRow, EntryQuery } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { entryOf, place, sampleBuilds } from './sample-builds.js';
import { changeOf } from './sample-records.js';

/** The entries of catalogs, as of each serial. */
export function catalogEntriesContract(store: () => RegistryStore): void {
  const { apply, cut, kindsAt } = sampleBuilds(store);

  describe('catalogs', () => {
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
      const [one, two] = await store().snapshotEntryRows('c', 2);
      expect(
        await store().snapshotEntryRows('c', 2, [two!, { group: 'example.com', kind: 'D' }, one!]),
      ).toEqual([place('B', 'one'), place('A', 'three')]);
      expect(await store().snapshotEntryRows('c', 2, [])).toEqual([]);
      const entries = [1, 2, 3].map((serial) => store().snapshotEntry('c', serial, one!));
      expect((await Promise.all(entries)).map((found) => found?.digest)).toEqual(
        ['two', 'three', 'three'].map((text) => entryOf(text).digest),
      );
      expect(await store().snapshotEntry('c', 3, two!)).toBe(undefined);
      expect(await store().snapshotEntry('c', 1, { group: 'example.com', kind: 'C' })).toBe(undefined);
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
      const latestKinds = async (name: string) => {
        const kinds: string[] = [];
        for await (const { group, kind } of store().latestEntryNames(name)) kinds.push(`${group}/${kind}`);
        return kinds;
      };
      expect(await latestKinds('c')).toEqual(['A', 'B', 'C'].map((kind) => `example.com/${kind}`));
      expect(await latestKinds('other')).toEqual([]);
    });

    it('return the entries of the newest snapshot in order, with their sizes', async () => {
      await apply('c', 'r');
      await cut('c', [place('B', 'one'), place('A', '漢字'), place('D', 'two')], 'first');
      await cut('c', [place('A', 'three'), place('C', '漢字'), place('D', undefined)], 'second');
      await cut('c', [place('B', 'two')]);
      const held = async (serial: number, from?: string) => {
        const start = from === undefined ? undefined : { from: { group: 'example.com', kind: from } };
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
      const yaml = Buffer.byteLength('threeone漢字');
      expect(await store().entryBytes('c', 2)).toEqual({ yaml, json: yaml + 6 });
    });

    it('return many entries with large texts in order, each once', async () => {
      await apply('c', 'r');
      // The name after each is a longer one, or the next number.
      const kinds = Array.from({ length: 600 }, (_, at) => `K${1000 + (at >> 1)}${at % 2 === 0 ? '' : 'A'}`);
      const textOf = (at: number) =>
        `${at} ${'x'.repeat(at % 7 === 0 ? 20_000 : at % 200 === 130 ? 300_000 : at)}`;
      await cut(
        'c',
        kinds.map((kind, at) => place(kind, textOf(at))),
        'first',
      );
      const found: string[] = [];
      for await (const { kind, digest, yaml, json } of store().entryTexts('c', 1)) {
        expect([sha256(yaml), JSON.parse(Buffer.from(json).toString())]).toEqual([
          digest,
          Buffer.from(yaml).toString(),
        ]);
        found.push(kind);
      }
      expect(found).toEqual(kinds);
      const random = new Random(600);
      for (let turn = 0; turn < 30; turn += 1) {
        // Names of entries, and others between them.
        const name = () => ({
          group: 'example.com',
          kind: `${random.pick(kinds)}${random.pick(['', '', '0'])}`,
        });
        const range = {
          ...(random.chance(0.8) ? { from: name() } : {}),
          ...(random.chance(0.8) ? { to: name() } : {}),
        };
        const inRange: string[] = [];
        for await (const { kind } of store().entryTexts('c', 1, range)) inRange.push(kind);
        const { from = { kind: '' }, to = { kind: 'L' } } = range;
        expect(inRange, JSON.stringify(range)).toEqual(
          kinds.filter((kind) => kind >= from.kind && kind < to.kind),
        );
      }
      const texts = kinds.map((_, at) => textOf(at));
      for (const syntax of ['yaml', 'json'] as const) {
        const read: string[] = [];
        for await (const page of store().entryPages('c', 1, syntax)) {
          read.push(...page.map((one) => Buffer.from(one).toString()));
        }
        expect(read).toEqual(syntax === 'yaml' ? texts : texts.map((text) => JSON.stringify(text)));
      }
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
      const seen = async (of: EntryQuery['of']) => {
        const sees = ({ kind }: { kind: string }) => kind !== 'B' && kind !== 'D';
        return Object.fromEntries(await store().countEntries({ catalog: 'c', serial: 3, of }, sees));
      };
      expect(await seen('held')).toEqual({ ours: 2 });
      expect(await seen('shadowed')).toEqual({ '': 1 });
      expect(await seen('refused')).toEqual({ '': 1 });
      expect(await seen('yanked')).toEqual({});
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
      const named = [
        { group: 'example.com', kind: 'a' },
        { group: 'example.com', kind: 'Late' },
      ];
      expect((await store().catalogsNaming(named, [])).sort()).toEqual(['x', 'y', 'z']);
      expect(await store().catalogsNaming(named.slice(1), [])).toEqual(['x']);
      expect(await store().catalogsNaming([{ group: 'other.example.com', kind: 'A' }], [])).toEqual([]);
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
      await cut('x', [place('A', 'two')], '5');
      await cut('x', [place('B', 'three')], '6');
      const included = async (name: string) =>
        (await store().includedFunctions(name)).map(({ kind, from, to }) => `${kind} ${from}-${to}`);
      expect(await included('x')).toEqual(['A 1-4', 'B 1-4', 'Late 1-4']);
      await cut('x', [place('Late', undefined)], '7');
      expect(await included('x')).toEqual(['A 1-5', 'B 1-5', 'Late 1-4']);
      expect(await included('z')).toEqual(['A 1-1']);
      expect(await included('none')).toEqual([]);
    });

    it('return entries by digest, or name the missing one', async () => {
      await apply('c', 'r');
      await cut('c', [place('A', "a\u0001b '"), place('B', '漢字'), place('C', '漢字')], 'first');
      const wanted = ["a\u0001b '", '漢字'].map(entryOf);
      const found = await store().entries(wanted.map(({ digest }) => digest));
      expect([...found.values()]).toEqual(wanted);
      expect(await store().entries([])).toEqual(new Map());
      const missing = sha256('missing');
      await expect(store().entries([wanted[0]!.digest, missing])).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringContaining(missing),
      });
    });
  });
}
