import {
  type CatalogEntryRow,
  type RenderedEntry,
  RevisionConflict,
  type SourceRefresh,
  type UpstreamEntry,
} from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf } from './sample-records.js';
import { entryOf, hours, renderedOf, SOURCE_URL, sourceSteps } from './source-steps.js';

/** The entries of upstream catalogs, those that they replaced, and their rendered bytes. */
export function sourceEntriesContract(harness: () => RegistryStoreHarness): void {
  const { store, apply, found, refresh, resultOf, texts, kindsOf, all } = sourceSteps(harness);

  describe('sources of recipes', () => {
    it('provide entries by source, whatever the case of the requested kind', async () => {
      await apply('c', { a: SOURCE_URL, b: SOURCE_URL });
      await apply('other', { a: SOURCE_URL });
      await refresh('c', 'a', [entryOf('Apply'), entryOf('Zed')]);
      await refresh('c', 'b', [entryOf('apply', 'apply', { tags: [], firstSeen: hours(1) })]);
      await refresh('other', 'a', [entryOf('Zed')]);
      const names = ['aPPLY', 'None', 'Zed'].map((kind) => ({ group: 'up.example.com', kind }));
      const offers = await store().upstreamCandidates('c', names);
      expect(offers).toEqual([
        {
          ...names[0],
          candidates: new Map([
            ['a', [entryOf('Apply')]],
            ['b', [entryOf('apply', 'apply', { tags: [], firstSeen: hours(1) })]],
          ]),
        },
        { ...names[1], candidates: new Map() },
        { ...names[2], candidates: new Map([['a', [entryOf('Zed')]]]) },
      ]);
      expect(await store().upstreamCandidates('c', [])).toEqual([]);
      expect(await all('c')).toEqual(['up.example.com/Apply a b', 'up.example.com/Zed a']);
      expect(await store().upstreamFunctionNames('c', 'up.example.com')).toEqual(
        ['Apply', 'Zed', 'apply'].map((kind) => ({ group: 'up.example.com', kind })),
      );
      expect(await store().upstreamFunctionNames('c', 'example.com')).toEqual([]);
    });

    it('provide every function and every group in order, page by page', async () => {
      await apply('c', { a: SOURCE_URL });
      const put = Array.from({ length: 450 }, (_, at) =>
        entryOf(`K${String(at).padStart(3, '0')}`, undefined, { group: `g${at % 250}.example.com` }),
      );
      await refresh('c', 'a', put);
      const names = put.map(({ group, kind }) => `${group}/${kind} a`);
      expect(await all('c')).toEqual(names.sort());
      await apply('d', { a: SOURCE_URL });
      const removed = [entryOf('Gone', undefined, { group: 'gone.example.com' })];
      await refresh('d', 'a', [...removed, entryOf('Kept')]);
      await refresh('d', 'a', [], { removed, at: hours(1) });
      const groups: string[] = [];
      for await (const { catalog, group } of store().upstreamGroups()) groups.push(`${catalog} ${group}`);
      expect(groups).toEqual(
        [...new Set(put.map(({ group }) => `c ${group}`))].sort().concat('d up.example.com'),
      );
    });

    it('provide replaced entries, the latest first, and none that was removed', async () => {
      await apply('c', { a: SOURCE_URL });
      const [one, two, three] = ['one', 'two', 'three'].map((text, at) =>
        entryOf('A', text, { firstSeen: hours(at) }),
      ) as [UpstreamEntry, UpstreamEntry, UpstreamEntry];
      const stored = async (entry: UpstreamEntry, text: string, at: number, removed: UpstreamEntry[]) => {
        texts.set('A', text);
        await refresh('c', 'a', [entry], { at: hours(at), removed });
      };
      await stored(one, 'one', 0, []);
      await stored(two, 'two', 1, [one]);
      await stored(three, 'three', 2, [two]);
      const offered = async () => {
        const [offer] = await store().upstreamCandidates('c', [{ group: 'up.example.com', kind: 'A' }]);
        return offer?.candidates.get('a');
      };
      expect(await offered()).toEqual([three, { ...two, goneAt: hours(2) }, { ...one, goneAt: hours(1) }]);
      // They may be needed while their replacement is below the minimum age.
      await refresh('c', 'a', [], { at: hours(2), purgeGoneBefore: hours(2) });
      expect(await offered()).toHaveLength(3);
      await refresh('c', 'a', [], { at: hours(2), purgeGoneBefore: hours(2.1) });
      expect(await offered()).toEqual([three]);
      await refresh('c', 'a', [], { at: hours(3), removed: [three] });
      expect(await offered()).toBeUndefined();
      texts.delete('A');
    });

    it('store a limited number of replaced entries', async () => {
      await apply('c', { a: SOURCE_URL });
      let last: UpstreamEntry[] = [];
      for (let at = 0; at < 30; at++) {
        const entry = entryOf('A', `text ${at}`, { firstSeen: hours(at) });
        texts.set('A', `text ${at}`);
        await refresh('c', 'a', [entry], { at: hours(at), removed: last });
        last = [entry];
      }
      texts.delete('A');
      const [offer] = await store().upstreamCandidates('c', [{ group: 'up.example.com', kind: 'A' }]);
      const times = offer!.candidates.get('a')!.map(({ firstSeen }) => firstSeen);
      expect(times).toEqual(Array.from({ length: 21 }, (_, at) => hours(29 - at)));
    });

    it('know the age of an entry that was removed and comes back with the same bytes', async () => {
      await apply('c', { a: SOURCE_URL });
      await refresh('c', 'a', [entryOf('A'), entryOf('B')]);
      const removed = [entryOf('A')];
      await refresh('c', 'a', [], { at: hours(1), removed });
      expect(await kindsOf('c', 'a')).toEqual(['B']);
      expect(await all('c')).toEqual(['up.example.com/B a']);
      texts.set('A', 'other');
      const other = entryOf('A', 'other', { firstSeen: hours(2) });
      await refresh('c', 'a', [other], { at: hours(2) });
      texts.delete('A');
      await refresh('c', 'a', [entryOf('A', 'A', { firstSeen: hours(3) })], {
        at: hours(3),
        removed: [other],
        minimumAgeSeconds: 2 * 3_600,
      });
      const ask = async () => {
        const [offer] = await store().upstreamCandidates('c', [{ group: 'up.example.com', kind: 'A' }]);
        return offer?.candidates.get('a')?.[0];
      };
      // It had existed for an hour, and did not age while it was removed.
      expect(await ask()).toEqual(entryOf('A', 'A', { firstSeen: hours(2) }));
      await refresh('c', 'a', [], { at: hours(4), removed });
      await refresh('c', 'a', [entryOf('A', 'A', { firstSeen: hours(4.5) })], { at: hours(4.5) });
      expect(await ask()).toEqual(entryOf('A', 'A', { firstSeen: hours(2.5) }));
      await refresh('c', 'a', [], { at: hours(4.75), removed });
      await refresh('c', 'a', [], { at: hours(5), purgeGoneBefore: hours(5) });
      await refresh('c', 'a', [entryOf('A', 'A', { firstSeen: hours(6) })], { at: hours(6) });
      expect(await ask()).toEqual(entryOf('A', 'A', { firstSeen: hours(6) }));
    });

    it('forget the age of an entry that another one replaced for the minimum age', async () => {
      await apply('c', { a: SOURCE_URL });
      const [old, fresh] = ['old', 'fresh'].map((text) => entryOf('A', text, { firstSeen: hours(0) }));
      const put = async (entry: UpstreamEntry, at: number, removed: UpstreamEntry[]) => {
        texts.set('A', entry === old ? 'old' : 'fresh');
        await refresh('c', 'a', [{ ...entry, firstSeen: hours(at) }], {
          at: hours(at),
          removed,
          minimumAgeSeconds: 3_600,
        });
      };
      const ask = async () => {
        const [offer] = await store().upstreamCandidates('c', [{ group: 'up.example.com', kind: 'A' }]);
        return offer?.candidates.get('a')?.[0]?.firstSeen;
      };
      await put(old!, 0, []);
      await put(fresh!, 10, [old!]);
      await put(old!, 10.5, [fresh!]);
      // No catalog had the other one yet.
      expect(await ask()).toBe(hours(0.5));
      await put(fresh!, 11, [old!]);
      await put(old!, 13, [fresh!]);
      expect(await ask()).toBe(hours(13));
      texts.delete('A');
    });

    it('store a poll with its last rendered entries, which arrive together', async () => {
      await apply('c', { a: SOURCE_URL });
      const put = [entryOf('A'), entryOf('B')];
      const together = (refresh: SourceRefresh, rendered: RenderedEntry[]) =>
        Promise.allSettled([store().storeEntries(rendered), store().commitRefresh(refresh)]);
      const rendered = put.map(({ kind }) => renderedOf(kind));
      const before = await found('c', 'a');

      const [, refused] = await together(resultOf(before, put), rendered.slice(1));
      expect(refused).toMatchObject({ reason: expect.any(RevisionConflict) });
      expect([await found('c', 'a'), await kindsOf('c', 'a')]).toEqual([before, []]);

      const stale = resultOf({ ...before, nextAt: hours(5) }, put);
      expect((await together(stale, rendered))[1]).toMatchObject({ reason: expect.any(RevisionConflict) });
      expect([await found('c', 'a'), await kindsOf('c', 'a')]).toEqual([before, []]);
      expect(await store().lastEvent()).toBe(1);

      const stored = await together(resultOf(before, put), rendered);
      expect(stored).toMatchObject([{ status: 'fulfilled' }, { value: { sequence: 2 } }]);
      const again = (await harness().reopen?.()) ?? store();
      expect((await again.sourceEntries('c', 'a')).map(({ kind }) => kind)).toEqual(['A', 'B']);
      expect((await again.entries([sha256('A'), sha256('B')])).size).toBe(2);
    });

    it('store rendered entries while anything names them, and delete them then', async () => {
      await apply('c', { a: SOURCE_URL, b: SOURCE_URL });
      await refresh(
        'c',
        'a',
        ['Alone', 'Shared', 'Placed'].map((kind) => entryOf(kind)),
      );
      await refresh('c', 'b', [entryOf('Shared')]);
      const place: CatalogEntryRow = {
        group: 'up.example.com',
        kind: 'Placed',
        versions: [],
        shadowed: [],
        yanked: [],
        entry: sha256('Placed'),
      };
      await store().commitSnapshot({
        catalog: 'c',
        expectedThroughEvent: 0,
        throughEvent: await store().lastEvent(),
        changed: [place],
        entries: [],
      });
      await apply('c', { b: SOURCE_URL }, hours(1));
      const digestOf = (kind: string) => [sha256(kind)];
      // A build that began before may still read it.
      await refresh('c', 'b', [], { at: hours(1.5) });
      expect((await store().entries(digestOf('Alone'))).size).toBe(1);
      await refresh('c', 'b', [], { at: hours(3) });
      await expect(store().entries(digestOf('Alone'))).rejects.toMatchObject({ code: 'internal' });
      for (const kind of ['Shared', 'Placed']) expect((await store().entries(digestOf(kind))).size).toBe(1);
      await refresh('c', 'b', [], { at: hours(4), removed: [entryOf('Shared')] });
      await refresh('c', 'b', [], { at: hours(5), purgeGoneBefore: hours(5) });
      await refresh('c', 'b', [], { at: hours(7) });
      await expect(store().entries(digestOf('Shared'))).rejects.toMatchObject({ code: 'internal' });
      expect((await store().entries(digestOf('Placed'))).size).toBe(1);
    });

    it('delete as many rendered entries as a source can release in one poll', async () => {
      await apply('c', { a: SOURCE_URL, b: SOURCE_URL });
      const kinds = Array.from({ length: 2_500 }, (_, at) => `Many${at}`);
      await refresh(
        'c',
        'a',
        kinds.map((kind) => entryOf(kind)),
      );
      await apply('c', { b: SOURCE_URL }, hours(1));
      await refresh('c', 'b', [], { at: hours(3) });
      for (const kind of [kinds[0]!, kinds[1_250]!, kinds.at(-1)!]) {
        await expect(store().entries([sha256(kind)])).rejects.toMatchObject({ code: 'internal' });
      }
    });
  });

  describe('a takedown', () => {
    it('keeps entries of upstream catalogs, also with the same bytes', async () => {
      await apply('c', { a: SOURCE_URL });
      await store().commitFunction(changeOf({ group: 'up.example.com', kind: 'A' }));
      await refresh('c', 'a', [entryOf('A')]);
      const definition = sha256('up.example.com/A@1.0.0');
      const version = { name: 'v1', source: 'ours', release: '1.0.0', definition };
      const place = { group: 'up.example.com', kind: 'A', shadowed: [], yanked: [] };
      await store().commitSnapshot({
        catalog: 'c',
        expectedThroughEvent: 0,
        throughEvent: await store().lastEvent(),
        changed: [{ ...place, versions: [version], entry: sha256('A') }],
        entries: [],
      });
      const takedown = { group: 'up.example.com', kind: 'A', release: '1.0.0', digest: definition };
      await store().commitTakedown({
        group: 'up.example.com',
        kind: 'A',
        expectedRevision: 1,
        takedowns: [{ ...takedown, at: AT, by: 'admin', reason: 'leaked' }],
      });
      await store().finishTakedowns();
      expect(await store().latestEntryRows('c')).toEqual([{ ...place, versions: [] }]);
      expect(await kindsOf('c', 'a')).toEqual(['A']);
      expect((await store().entries([sha256('A')])).size).toBe(1);
    });
  });
}
