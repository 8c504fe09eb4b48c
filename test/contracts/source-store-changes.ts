import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf } from './sample-records.js';
import { entryOf, hours, SOURCE_URL, sourceSteps } from './source-steps.js';

/** The functions that a poll, a publish or time changed. */
export function sourceChangesContract(harness: () => RegistryStoreHarness): void {
  const { store, apply, eventOf, refresh, changed } = sourceSteps(harness);

  describe('sources of recipes', () => {
    it('list the functions that they changed, and for which catalog', async () => {
      await apply('c', { a: SOURCE_URL });
      await apply('other', { a: SOURCE_URL });
      const start = await store().lastEvent();
      await refresh('c', 'a', [entryOf('A'), entryOf('B')]);
      await refresh('other', 'a', [entryOf('X')]);
      expect(await changed('c', start)).toEqual(['A', 'B']);
      expect(await changed('other', start)).toEqual(['X']);
      expect(await store().changedFunctions(0, 99)).toEqual([]);
      const second = await store().lastEvent();
      expect(await changed('c', second)).toEqual([]);
      await refresh('c', 'a', [entryOf('C')], { removed: [entryOf('A')] });
      expect(await changed('c', second)).toEqual(['A', 'C']);
      const third = await store().lastEvent();
      const event = eventOf('source.changed', 'c', 'a');
      await refresh('c', 'a', [], { reevaluate: true, event });
      expect(await changed('c', third)).toEqual(['B', 'C']);
      const fourth = await store().lastEvent();
      await refresh('c', 'a', [], { event: eventOf('source.failing', 'c', 'a') });
      expect(await changed('c', fourth)).toEqual([]);
    });

    it('are evaluated again when a group gets its first function here, or loses the last', async () => {
      await apply('c', { a: SOURCE_URL });
      await refresh('c', 'a', [entryOf('A'), entryOf('B'), entryOf('C', 'C', { group: 'example.com' })]);
      const publish = (kind: string, release = '1.0.0', revision = 0) =>
        store().commitFunction(changeOf({ group: 'up.example.com', kind, release }, revision));
      const first = await store().lastEvent();
      await publish('Ours');
      // A later release does not change when the group first appeared here.
      const through = await store().lastEvent();
      await publish('Ours', '2.0.0', 1);
      const names = await store().changedFunctions(first, through, 'c');
      expect(names.map(({ kind }) => kind)).toEqual(['A', 'B', 'Ours']);
      expect(await changed('c', through)).toEqual(['Ours']);
      expect(await store().changedFunctions(first, through, 'other')).toHaveLength(1);
      expect(await store().changedFunctions(first, through)).toHaveLength(1);
      const second = await store().lastEvent();
      const takedown = (release: string) => ({
        group: 'up.example.com',
        kind: 'Ours',
        release,
        digest: sha256(`up.example.com/Ours@${release}`),
        at: AT,
        by: 'admin',
        reason: 'leaked',
      });
      await store().commitTakedown({
        group: 'up.example.com',
        kind: 'Ours',
        expectedRevision: 2,
        takedowns: [takedown('1.0.0'), takedown('2.0.0')],
      });
      expect(await changed('c', second)).toEqual(['A', 'B', 'Ours']);
    });

    it('report entries that reach the minimum age, once each, by the clock of the catalog', async () => {
      await apply('c', { a: SOURCE_URL, b: SOURCE_URL });
      const aged = (kind: string, at: number) => entryOf(kind, kind, { firstSeen: hours(at) });
      await refresh('c', 'a', [aged('A', 0), aged('B', 1), aged('C', 3), aged('Gone', 1)]);
      await refresh('c', 'a', [], { removed: [aged('Gone', 1)] });
      await refresh('c', 'b', [aged('D', 0)]);
      const minimumAges = new Map([['a', 7_200]]);
      const mature = (at: number) =>
        store().advanceCatalogClock({
          catalog: 'c',
          minimumAges,
          now: hours(at),
          event: eventOf('source.matured', 'c', undefined, hours(at)),
        });
      const last = await store().lastEvent();
      expect(await store().nextMinimumAgeAt('c', minimumAges)).toBe(hours(2));
      expect(await mature(1.9)).toBeUndefined();
      expect((await store().catalog('c'))?.clock).toBe(hours(1.9));
      const event = await mature(2);
      expect(event).toEqual({ ...eventOf('source.matured', 'c', undefined, hours(2)), sequence: last + 1 });
      expect(await changed('c', last)).toEqual(['A']);
      expect(await store().nextMinimumAgeAt('c', minimumAges)).toBe(hours(3));
      expect(await mature(2)).toBeUndefined();
      expect(await mature(1)).toBeUndefined();
      expect((await store().catalog('c'))?.clock).toBe(hours(2));
      expect(await mature(9)).toMatchObject({ sequence: last + 2 });
      expect(await changed('c', last + 1)).toEqual(['B', 'C']);
      expect(await store().nextMinimumAgeAt('c', minimumAges)).toBeUndefined();
      expect(await store().nextMinimumAgeAt('c', new Map())).toBeUndefined();
      expect(await store().lastEvent()).toBe(last + 2);
      await expect(store().nextMinimumAgeAt('none', minimumAges)).rejects.toMatchObject({
        code: 'not-found',
      });
    });
  });
}
