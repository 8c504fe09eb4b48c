import {
  type CatalogEntryRow,
  type NewEvent,
  RevisionConflict,
  type SourceCopy,
  type SourceRecord,
  type SourceRefresh,
  type UpstreamEntry,
} from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf } from './sample-records.js';

const URL = 'https://upstream.example.com/catalog.yaml';
/** Times in hours after AT. */
const hours = (count: number) => new Date(Date.parse(AT) + count * 3_600_000).toISOString();
const renderedOf = (text: string) => ({ digest: sha256(text), yaml: text, json: JSON.stringify(text) });

function entryOf(kind: string, text = kind, more: Partial<UpstreamEntry> = {}): UpstreamEntry {
  return {
    group: 'up.example.com',
    kind,
    definition: sha256(text),
    versions: [
      {
        name: 'v1',
        license: 'Apache-2.0',
        network: false,
        storage: true,
        references: ['a:v1'],
        unpinned: ['a:v1'],
      },
      { name: 'v1alpha1', license: 'MIT', network: true, storage: false, references: ['b'], unpinned: [] },
    ],
    tags: ['漢'],
    publisher: "Somebody's",
    runtimes: ['container'],
    licenses: ['Apache-2.0', 'MIT'],
    firstSeen: AT,
    ...more,
  };
}

const copyOf = (text: string): SourceCopy => ({
  digest: sha256(text),
  size: text.length,
  fetchedAt: AT,
  validators: { etag: '"a"' },
  entries: 2,
  invalid: [{ entry: 1, group: 'up.example.com', message: 'it has no kind' }],
  invalidEntries: 1,
  signatures: [{ signer: { type: 'key', fingerprint: sha256('key') }, receivedAt: AT }],
  snapshot: { catalog: 'theirs', serial: 3, expires: hours(24) },
});

export function sourceContract(harness: () => RegistryStoreHarness): void {
  const store = () => harness().store;
  const apply = async (name: string, sources: Record<string, string>, at = AT) => {
    const recipe = JSON.stringify({ sources, at });
    const expectedRecipe = (await store().catalog(name))?.recipe;
    return store().applyRecipe({
      name,
      recipe,
      expectedRecipe,
      sources: Object.entries(sources).map(([source, url]) => ({ source, url })),
      at,
      by: 'admin',
      event: { type: 'catalog.applied', at, by: 'admin', catalog: name },
    });
  };
  const found = async (catalog: string, source: string): Promise<SourceRecord> => {
    const record = await store().source(catalog, source);
    expect(record).toBeDefined();
    return record!;
  };
  const eventOf = (type: NewEvent['type'], catalog: string, source?: string, at = AT): NewEvent => ({
    type,
    at,
    by: 'krmhub',
    catalog,
    ...(source !== undefined && { source }),
  });

  /** A poll that found these entries in addition to those of the source. */
  const refresh = async (
    catalog: string,
    source: string,
    put: UpstreamEntry[],
    more: Partial<SourceRefresh> & { at?: string } = {},
  ) => {
    const { at = AT, ...parts } = more;
    await store().storeEntries(put.map(({ kind }) => renderedOf(texts.get(kind) ?? kind)));
    const expected = await found(catalog, source);
    const { failure: _, ...succeeded } = expected;
    const removed = parts.removed ?? [];
    return store().commitRefresh({
      expected,
      record: { ...succeeded, checkedAt: at, nextAt: hours(1), copy: copyOf(at) },
      put,
      removed,
      reevaluate: false,
      purgeGoneBefore: hours(-90 * 24),
      ...(put.length + removed.length > 0 && { event: eventOf('source.changed', catalog, source, at) }),
      ...parts,
    });
  };
  /** Rendered texts of kinds whose text differs from their name. */
  const texts = new Map<string, string>();
  const kindsOf = async (catalog: string, source: string) =>
    (await store().sourceEntries(catalog, source)).map(({ kind }) => kind);
  const all = async (catalog: string) => {
    const offers = [];
    for await (const { group, kind, candidates: by } of store().allUpstreamCandidates(catalog)) {
      offers.push(`${group}/${kind} ${[...by.keys()].join(' ')}`);
    }
    return offers;
  };
  const changed = async (catalog: string, after: number) =>
    (await store().changedFunctions(after, await store().lastEvent(), catalog)).map(({ kind }) => kind);

  describe('sources of recipes', () => {
    it('are those of the recipe, each due for a poll', async () => {
      await apply('c', { b: URL, a: 'file:x.yaml' });
      await apply('other', { a: URL });
      const record = { catalog: 'c', source: 'a', url: 'file:x.yaml', nextAt: AT };
      expect(await store().source('c', 'a')).toEqual(record);
      expect(await store().sources('c')).toEqual([record, { ...record, source: 'b', url: URL }]);
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
      await apply('c', { a: URL, b: URL });
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
      await apply('c', { a: URL }, hours(1));
      const { checkedAt: _, ...unasked } = record;
      expect(await store().sources('c')).toEqual([{ ...unasked, nextAt: hours(1) }]);
      expect(await kindsOf('c', 'a')).toEqual(['A', 'B']);
    });

    it('keep their copy and entries with a new address, without its validators, and lose all when the recipe drops them', async () => {
      await apply('c', { a: URL, b: URL });
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
      await apply('c', { a: `${URL}?2` }, hours(1));
      expect(await store().sources('c')).toEqual([
        {
          catalog: 'c',
          source: 'a',
          url: `${URL}?2`,
          nextAt: hours(1),
          copy: { ...copyOf('x'), formerUrl: URL },
        },
      ]);
      expect(await kindsOf('c', 'a')).toEqual(['A']);
      expect(await store().sourceCopyDigests()).toEqual(new Set([sha256('x')]));
      await apply('c', { a: `${URL}?3` }, hours(1));
      expect((await found('c', 'a')).copy?.formerUrl).toBe(URL);
      await apply('c', { a: URL }, hours(1));
      expect((await found('c', 'a')).copy).toEqual(copyOf('x'));
      const [offer] = await store().upstreamCandidates('c', [{ group: 'up.example.com', kind: 'A' }]);
      expect(offer?.candidates.get('a')?.[0]?.firstSeen).toBe(AT);
      await apply('c', { a: `${URL}?2`, b: URL }, hours(3));
      expect(await kindsOf('c', 'b')).toEqual([]);
    });

    it('refuse a plan after a concurrent change, and store nothing of it', async () => {
      await apply('c', { a: URL });
      const expected = await found('c', 'a');
      const stale = () => refresh('c', 'a', [entryOf('A')], { expected });
      await refresh('c', 'a', []);
      await expect(stale()).rejects.toThrow(RevisionConflict);
      await apply('c', { a: URL, b: URL }, hours(1));
      await expect(stale()).rejects.toThrow(RevisionConflict);
      const gone = await found('c', 'b');
      await apply('c', { a: `${URL}?2` }, hours(1));
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
      await apply('c', { a: URL });
      const put = [entryOf('A'), entryOf('B', 'not stored')];
      await expect(refresh('c', 'a', put)).rejects.toThrow(RevisionConflict);
      expect(await kindsOf('c', 'a')).toEqual([]);
      expect((await found('c', 'a')).checkedAt).toBeUndefined();
    });

    it('provide entries by source, whatever the case of the requested kind', async () => {
      await apply('c', { a: URL, b: URL });
      await apply('other', { a: URL });
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

    it('provide every function in order, page by page', async () => {
      await apply('c', { a: URL });
      const put = Array.from({ length: 450 }, (_, at) =>
        entryOf(`K${String(at).padStart(3, '0')}`, undefined, { group: `g${at % 2}.example.com` }),
      );
      await refresh('c', 'a', put);
      const names = put.map(({ group, kind }) => `${group}/${kind} a`);
      expect(await all('c')).toEqual(names.sort());
    });

    it('provide replaced entries, the latest first, and none that was removed', async () => {
      await apply('c', { a: URL });
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
      await apply('c', { a: URL });
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

    it('know the groups that have, or had, a release in this registry', async () => {
      await store().commitFunction(changeOf({ group: 'up.example.com', kind: 'A', release: '1.0.0' }));
      const groups = ['up.example.com', 'other.example.com', 'up.example.com'];
      expect(await store().ownedGroups(groups)).toEqual(new Set(['up.example.com']));
      expect(await store().ownedGroups([])).toEqual(new Set());
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
    });

    it('know the age of an entry that was removed and comes back with the same bytes', async () => {
      await apply('c', { a: URL });
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

    it('store rendered entries while anything names them, and delete them then', async () => {
      await apply('c', { a: URL, b: URL });
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
      await apply('c', { b: URL }, hours(1));
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
      await apply('c', { a: URL, b: URL });
      const kinds = Array.from({ length: 2_500 }, (_, at) => `Many${at}`);
      await refresh(
        'c',
        'a',
        kinds.map((kind) => entryOf(kind)),
      );
      await apply('c', { b: URL }, hours(1));
      await refresh('c', 'b', [], { at: hours(3) });
      for (const kind of [kinds[0]!, kinds[1_250]!, kinds.at(-1)!]) {
        await expect(store().entries([sha256(kind)])).rejects.toMatchObject({ code: 'internal' });
      }
    });

    it('list the functions that they changed, and for which catalog', async () => {
      await apply('c', { a: URL });
      await apply('other', { a: URL });
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
      await apply('c', { a: URL });
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
      await apply('c', { a: URL, b: URL });
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

    it('are named by snapshots as they were', async () => {
      await apply('c', { a: URL });
      const sources = [
        { source: 'a', url: URL, state: 'stale' as const, reason: 'gone', invalid: [], invalidEntries: 0 },
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
      await apply('c', { a: URL });
      await refresh('c', 'a', [entryOf('A')]);
      const record = await found('c', 'a');
      const reopened = (await harness().reopen?.()) ?? store();
      expect(await reopened.source('c', 'a')).toEqual(record);
      expect((await reopened.sourceEntries('c', 'a')).map(({ kind }) => kind)).toEqual(['A']);
    });
  });

  describe('a takedown', () => {
    it('keeps entries of upstream catalogs, also with the same bytes', async () => {
      await apply('c', { a: URL });
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
