import { RevisionConflict } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf } from './sample-records.js';
import { copyOf, entryOf, hours, SOURCE_URL, sourceSteps } from './source-steps.js';

/** Sources, and the result of their polls. */
export function sourceContract(harness: () => RegistryStoreHarness): void {
  const { store, apply, found, eventOf, refresh, kindsOf } = sourceSteps(harness);

  describe('sources of recipes', () => {
    it('are those of the recipe, each due for a poll', async () => {
      await apply('c', { b: SOURCE_URL, a: 'file:x.yaml' });
      await apply('other', { a: SOURCE_URL });
      const record = { catalog: 'c', source: 'a', url: 'file:x.yaml', nextAt: AT };
      expect(await store().source('c', 'a')).toEqual(record);
      expect(await store().sources('c')).toEqual([record, { ...record, source: 'b', url: SOURCE_URL }]);
      expect((await store().sources()).map(({ catalog, source }) => `${catalog} ${source}`)).toEqual([
        'c a',
        'c b',
        'other a',
      ]);
      expect(await store().source('c', 'none')).toBeUndefined();
      expect(await store().sources('none')).toEqual([]);
      expect((await store().catalog('c'))?.clock).toBe(AT);
      await apply('c', {}, hours(1));
      expect(await store().sources('c')).toEqual([]);
      expect((await store().catalog('c'))?.clock).toBe(hours(1));
    });

    it('keep their result, also when the recipe is applied again', async () => {
      await apply('c', { a: SOURCE_URL, b: SOURCE_URL });
      const failure = { problem: 'unreachable' as const, message: 'nobody answers', since: AT, attempts: 2 };
      const highest = { serial: 3, digest: sha256('x') };
      const expected = await found('c', 'a');
      const record = { ...expected, nextAt: hours(2), checkedAt: AT, failure, copy: copyOf('x'), highest };
      const event = await refresh('c', 'a', [entryOf('A'), entryOf('B')], { record });
      expect(event).toEqual({ ...eventOf('source.changed', 'c', 'a'), sequence: 2 });
      expect(await store().events(1, 9)).toEqual([event]);
      expect(await store().source('c', 'a')).toEqual(record);
      expect(await store().sourceCopyDigests()).toEqual(new Set([sha256('x')]));
      expect(await store().sourceEntries('c', 'a')).toEqual([
        { group: 'up.example.com', kind: 'A', definition: sha256('A') },
        { group: 'up.example.com', kind: 'B', definition: sha256('B') },
      ]);
      expect(await store().sourceEntries('c', 'b')).toEqual([]);
      await apply('c', { a: SOURCE_URL }, hours(1));
      const { checkedAt: _, ...unasked } = record;
      expect(await store().sources('c')).toEqual([{ ...unasked, nextAt: hours(1) }]);
      expect(await kindsOf('c', 'a')).toEqual(['A', 'B']);
    });

    it('keep their copy and entries with a new address, without its validators, and lose all when the recipe drops them', async () => {
      await apply('c', { a: SOURCE_URL, b: SOURCE_URL });
      for (const source of ['a', 'b']) {
        await refresh('c', source, [entryOf('A')], {
          record: {
            ...(await found('c', source)),
            checkedAt: AT,
            copy: copyOf('x'),
            highest: { serial: 9, digest: sha256('x') },
          },
        });
      }
      await apply('c', { a: `${SOURCE_URL}?2` }, hours(1));
      expect(await store().sources('c')).toEqual([
        {
          catalog: 'c',
          source: 'a',
          url: `${SOURCE_URL}?2`,
          nextAt: hours(1),
          copy: { ...copyOf('x'), formerUrl: SOURCE_URL },
        },
      ]);
      expect(await kindsOf('c', 'a')).toEqual(['A']);
      expect(await store().sourceCopyDigests()).toEqual(new Set([sha256('x')]));
      await apply('c', { a: `${SOURCE_URL}?3` }, hours(1));
      expect((await found('c', 'a')).copy?.formerUrl).toBe(SOURCE_URL);
      await apply('c', { a: SOURCE_URL }, hours(1));
      expect((await found('c', 'a')).copy).toEqual(copyOf('x'));
      const [offer] = await store().upstreamCandidates('c', [{ group: 'up.example.com', kind: 'A' }]);
      expect(offer?.candidates.get('a')?.[0]?.firstSeen).toBe(AT);
      await apply('c', { a: `${SOURCE_URL}?2`, b: SOURCE_URL }, hours(3));
      expect(await kindsOf('c', 'b')).toEqual([]);
    });

    it('refuse a plan after a concurrent change, and store nothing of it', async () => {
      await apply('c', { a: SOURCE_URL });
      const expected = await found('c', 'a');
      const stale = () => refresh('c', 'a', [entryOf('A')], { expected });
      await refresh('c', 'a', []);
      await expect(stale()).rejects.toThrow(RevisionConflict);
      await apply('c', { a: SOURCE_URL, b: SOURCE_URL }, hours(1));
      await expect(stale()).rejects.toThrow(RevisionConflict);
      const gone = await found('c', 'b');
      await apply('c', { a: `${SOURCE_URL}?2` }, hours(1));
      const one = { ...expected, nextAt: hours(1) };
      await expect(refresh('c', 'a', [entryOf('A')], { expected: one })).rejects.toThrow(RevisionConflict);
      await expect(
        store().commitRefresh({
          expected: gone,
          record: { ...gone, checkedAt: AT },
          put: [],
          removed: [],
          reevaluate: false,
          purgeGoneBefore: AT,
        }),
      ).rejects.toThrow(RevisionConflict);
      expect(await kindsOf('c', 'a')).toEqual([]);
      expect(await store().lastEvent()).toBe(3);
    });

    it('refuse an entry whose rendered bytes are not stored', async () => {
      await apply('c', { a: SOURCE_URL });
      const put = [entryOf('A'), entryOf('B', 'not stored')];
      await expect(refresh('c', 'a', put)).rejects.toThrow(RevisionConflict);
      expect(await kindsOf('c', 'a')).toEqual([]);
      expect((await found('c', 'a')).checkedAt).toBeUndefined();
    });

    it('know the groups that have, or had, a release in this registry', async () => {
      await store().commitFunction(changeOf({ group: 'up.example.com', kind: 'A', release: '1.0.0' }));
      const groups = ['up.example.com', 'other.example.com', 'up.example.com'];
      expect(await store().ownedGroups(groups)).toEqual(new Set(['up.example.com']));
      expect(await store().ownedGroups([])).toEqual(new Set());
      expect(await store().ownedGroups()).toEqual(new Set(['up.example.com']));
      await store().commitTakedown({
        group: 'up.example.com',
        kind: 'A',
        expectedRevision: 1,
        takedowns: [
          {
            group: 'up.example.com',
            kind: 'A',
            release: '1.0.0',
            digest: sha256('up.example.com/A@1.0.0'),
            at: AT,
            by: 'admin',
            reason: 'leaked',
          },
        ],
      });
      expect(await store().ownedGroups(groups)).toEqual(new Set(['up.example.com']));
      expect(await store().ownedGroups()).toEqual(new Set(['up.example.com']));
    });

    it('are named by snapshots as they were', async () => {
      await apply('c', { a: SOURCE_URL });
      const sources = [
        {
          source: 'a',
          url: SOURCE_URL,
          state: 'stale' as const,
          reason: 'gone',
          invalid: [],
          invalidEntries: 0,
        },
      ];
      const digest = sha256('bytes');
      const digests = {
        'catalog.yaml': digest,
        'catalog.json': digest,
        'krmfunctioncatalog.yaml': digest,
        'krmfunctioncatalog.json': digest,
      };
      const snapshot = { catalog: 'c', serial: 1, previous: null, digests, functions: 0, createdAt: AT };
      const throughEvent = await store().lastEvent();
      const cut = { catalog: 'c', expectedThroughEvent: 0, throughEvent, changed: [], entries: [] };
      await store().commitSnapshot({ ...cut, snapshot: { ...snapshot, sources } });
      expect(await store().snapshot('c', 1)).toEqual({ ...snapshot, sources });
    });

    it('survive a restart', async () => {
      await apply('c', { a: SOURCE_URL });
      await refresh('c', 'a', [entryOf('A')]);
      const record = await found('c', 'a');
      const reopened = (await harness().reopen?.()) ?? store();
      expect(await reopened.source('c', 'a')).toEqual(record);
      expect((await reopened.sourceEntries('c', 'a')).map(({ kind }) => kind)).toEqual(['A']);
    });
  });
}
