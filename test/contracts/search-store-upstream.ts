import { setImmediate } from 'node:timers/promises';
import type { FunctionChange, FunctionTakedown, SearchQuery } from '@krmhub/catalog';
import { RevisionConflict, renderEntry } from '@krmhub/catalog';
import type { FunctionDefinition } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, foundAfter } from './sample-records.js';
import { cutUpstream, type SampleEntry, type SamplePlace, sampleDefinition } from './sample-upstream.js';
import { SearchModel } from './search-model.js';

const GROUP = 'vendor.example.org';
const PEEL: SampleEntry = {
  kind: 'PeelBanana',
  description: 'Peels every banana of a package.',
  tags: ['mutator', 'fruit'],
  runtime: { starlark: 'pass' },
};

/** What a RegistryStore knows of functions that only upstream catalogs have. */
export function upstreamContract(harness: () => RegistryStoreHarness): void {
  const store = (): RegistryStore => harness().store;
  const search = (query: Partial<SearchQuery> = {}) => store().search({ limit: 100, ...query });
  const kinds = async (query: Partial<SearchQuery> = {}) =>
    (await search(query)).items.map(({ kind }) => kind);
  const cut = (catalog: string, places: readonly SamplePlace[], options?: { snapshot?: boolean }) =>
    cutUpstream(store(), catalog, places, options);
  const publish = (kind: string, release = '1.0.0', expectedRevision = 0) =>
    store().commitFunction(changeOf({ group: GROUP, kind, release, tags: ['ours'] }, expectedRevision));
  const takeDown = (change: FunctionChange, expectedRevision: number, left?: FunctionChange) => {
    const { group, kind, release } = change;
    const takedown: FunctionTakedown = {
      group,
      kind,
      expectedRevision,
      takedowns: [
        { group, kind, release: release.release, digest: release.digest, at: AT, by: 'root', reason: 'bad' },
      ],
      ...(left && { search: left.search }),
    };
    return (options?: { dryRun: boolean }) => store().commitTakedown(takedown, options);
  };

  describe('functions of upstream catalogs', () => {
    beforeEach(async () => {
      await store().commitFunction(changeOf({ kind: 'SetLabels', tags: ['mutator', 'labels'] }));
      await cut('platform', [PEEL, { kind: 'Weigh', tags: ['validator'], versions: ['v1beta1', 'v1'] }]);
    });

    it('are found by every field, with their source and without a release', async () => {
      expect(await kinds()).toEqual(['SetLabels', 'PeelBanana', 'Weigh']);
      expect(await kinds({ text: 'peels bananas' })).toEqual(['PeelBanana']);
      expect(await kinds({ text: 'peelb' })).toEqual(['PeelBanana']);
      expect(await kinds({ text: 'mutator' })).toEqual(['SetLabels', 'PeelBanana']);
      expect(await kinds({ tag: ['mutator'] })).toEqual(['SetLabels', 'PeelBanana']);
      expect(await kinds({ kind: ['peelbanana'] })).toEqual(['PeelBanana']);
      expect(await kinds({ catalog: ['platform'] })).toEqual(['PeelBanana', 'Weigh']);
      expect(await kinds({ runtime: ['starlark'] })).toEqual(['PeelBanana']);
      expect(await kinds({ license: ['MIT'], publisher: ['Vendor'], group: [GROUP] })).toHaveLength(2);
      const { items, facets } = await search({ kind: ['PeelBanana', 'Weigh'] });
      expect(items).toEqual([
        {
          group: GROUP,
          kind: 'PeelBanana',
          description: 'Peels every banana of a package.',
          publisher: 'Vendor',
          from: [{ catalog: 'platform', source: 'banana' }],
          versions: ['v1'],
          tags: ['mutator', 'fruit'],
          runtimes: ['starlark'],
          licenses: ['MIT'],
          network: false,
          storage: false,
          pinned: false,
          yanked: false,
          deprecated: false,
          signatures: [],
          attestations: [],
        },
        expect.objectContaining({ kind: 'Weigh', versions: ['v1', 'v1beta1'] }),
      ]);
      expect(facets.catalog).toEqual([{ value: 'platform', count: 2 }]);
      expect((await search()).facets.tag).toEqual([
        { value: 'mutator', count: 2 },
        { value: 'fruit', count: 1 },
        { value: 'labels', count: 1 },
        { value: 'validator', count: 1 },
      ]);
    });

    it('have a description in each catalog as that catalog has them', async () => {
      const described = async (catalog: string, serial: number, kind = 'PeelBanana') =>
        (await store().descriptions(catalog, serial, [{ group: GROUP, kind }]))[0];
      await cut('another', [{ ...PEEL, description: 'Peels in another way.' }]);
      await cut('platform', [{ ...PEEL, description: 'Peels again.' }]);
      await publish('PeelBanana');
      expect(await described('another', 1)).toBe('Peels in another way.');
      expect(await described('platform', 1)).toBe(PEEL.description);
      expect(await described('platform', 2)).toBe('Peels again.');
      expect(await described('platform', 2, 'None')).toBeUndefined();
      expect(await described('missing', 1)).toBeUndefined();
    });

    it('have descriptions whatever text their entries contain, in the order of the names', async () => {
      const odd = [
        'ends with a backslash \\',
        'a NUL: \u0000, and not one: \\u0000',
        '","versions":[ is text, and so is \\","versions":[',
        `𝕦 ü ${'long '.repeat(5_000)}`,
      ];
      const places = odd.map((description, at) => ({ kind: `Odd${at}`, description, field: 'a\u0000b' }));
      await cut('odd', places);
      const names = [...places.map(({ kind }) => kind), 'None'].reverse();
      const found = await store().descriptions(
        'odd',
        1,
        names.map((kind) => ({ group: GROUP, kind })),
      );
      expect(found).toEqual([undefined, ...odd.toReversed()]);
      expect(await store().descriptions('odd', 1, [])).toEqual([]);
    });

    it('come after a function of this registry with the same name', async () => {
      await cut('platform', [
        { kind: 'SetLabels', description: 'Set labels.', tags: ['labels', 'set'] },
        { kind: 'SetLabelsOften' },
      ]);
      const names = (await search({ text: 'set labels' })).items.map(({ group, kind }) => `${group}/${kind}`);
      expect(names).toEqual([
        'example.com/SetLabels',
        'vendor.example.org/SetLabels',
        'vendor.example.org/SetLabelsOften',
      ]);
    });

    it('come last in the order of time, whatever their name', async () => {
      await cut('platform', [{ group: 'a.example.org', kind: 'Early' }]);
      expect(await kinds({ sort: 'newest' })).toEqual(['SetLabels', 'Early', 'PeelBanana', 'Weigh']);
    });

    it('are not functions of this registry', async () => {
      expect(await store().function(GROUP, 'PeelBanana')).toBeUndefined();
      expect(await store().functions([{ group: GROUP, kind: 'PeelBanana' }])).toEqual([]);
      const all: string[] = [];
      for await (const { kind } of store().allFunctions()) all.push(kind);
      expect(all).toEqual(['SetLabels']);
      expect(await store().countFunctions()).toBe(1);
      expect(await store().release(GROUP, 'PeelBanana', '')).toBeUndefined();
      expect(await store().releaseFiles(GROUP, 'PeelBanana', '')).toBeUndefined();
    });

    it('are shown as each catalog serves them, the default one last', async () => {
      await cut('default', [{ ...PEEL, description: 'As it is.', source: 'kiwi' }]);
      await cut('another', [{ ...PEEL, description: 'As we like it.' }]);
      const served = await store().servedEntries(GROUP, 'peelBANANA');
      expect(
        await Promise.all(
          served.map(async ({ catalog, serial, entry }) => {
            const { json } = (await store().entries([entry])).get(entry)!;
            return [catalog, serial, (JSON.parse(json) as FunctionDefinition).description];
          }),
        ),
      ).toEqual([
        ['another', 1, 'As we like it.'],
        ['platform', 1, 'Peels every banana of a package.'],
        ['default', 1, 'As it is.'],
      ]);
      const { digest } = renderEntry(sampleDefinition(PEEL));
      expect(served[1]).toEqual({
        group: GROUP,
        kind: 'PeelBanana',
        catalog: 'platform',
        serial: 1,
        entry: digest,
        versions: [{ name: 'v1', source: 'banana', definition: digest }],
      });
      const { items } = await search({ kind: ['PeelBanana'] });
      expect(items).toHaveLength(1);
      expect(items[0]).toMatchObject({
        description: 'As we like it.',
        from: [
          { catalog: 'another', source: 'banana' },
          { catalog: 'platform', source: 'banana' },
          { catalog: 'default', source: 'kiwi' },
        ],
      });
      expect(await store().catalogsContaining(GROUP, 'PeelBanana')).toEqual([
        'another',
        'default',
        'platform',
      ]);
      await cut('another', [{ gone: 'PeelBanana' }]);
      expect(await kinds({ text: 'like' })).toEqual([]);
      expect(await kinds({ text: 'package' })).toEqual(['PeelBanana']);
      await cut('platform', [{ gone: 'PeelBanana' }]);
      expect(await kinds({ text: 'package' })).toEqual([]);
      expect(await kinds({ text: 'as it is' })).toEqual(['PeelBanana']);
      expect(await kinds({ catalog: ['platform'] })).toEqual(['Weigh']);
      await cut('default', [{ gone: 'PeelBanana' }]);
      expect(await kinds()).toEqual(['SetLabels', 'Weigh']);
      expect(await store().servedEntries(GROUP, 'PeelBanana')).toEqual([]);
    });

    it('follow the newest snapshot, not pending changes', async () => {
      expect(await kinds({ text: 'banana' })).toEqual(['PeelBanana']);
      await cut('platform', [{ ...PEEL, source: 'renamed' }], { snapshot: false });
      expect((await search({ text: 'banana' })).items[0]?.from).toEqual([
        { catalog: 'platform', source: 'banana' },
      ]);
      await cut('platform', [{ kind: 'Weigh', description: 'Weighs.' }]);
      expect((await search({ text: 'banana' })).items[0]?.from).toEqual([
        { catalog: 'platform', source: 'renamed' },
      ]);
      await cut('platform', [{ ...PEEL, description: 'Peels kiwis.', tags: ['kiwi'] }]);
      expect(await kinds({ text: 'package' })).toEqual([]);
      expect(await kinds({ tag: ['fruit'] })).toEqual([]);
      expect(await kinds({ tag: ['kiwi'], text: 'kiwis' })).toEqual(['PeelBanana']);
    });

    it.each([{}, { text: 'e' }, { tag: ['mutator'] }, { catalog: ['platform'] }])(
      'are mixed with the others in pages of %j',
      async (query) => {
        for (let at = 0; at < 7; at += 1) {
          await store().commitFunction(changeOf({ kind: `Even${at}`, tags: ['mutator'] }));
          await cut('platform', [{ group: 'example.com', kind: `Even${at}x`, tags: ['mutator'] }]);
        }
        const whole = await kinds(query);
        expect(whole.length).toBeGreaterThanOrEqual(9);
        const paged: string[] = [];
        for (let cursor: string | undefined = ''; cursor !== undefined; ) {
          const page = await search({ ...query, limit: 2, ...(cursor !== '' && { cursor }) });
          paged.push(...page.items.map(({ kind }) => kind));
          expect(page.total).toBe(whole.length);
          cursor = page.next;
        }
        expect(paged).toEqual(whole);
      },
    );

    it.each(['PeelBanana', 'PEELbanana'])(
      'belong to this registry once %s is published, and stay so',
      async (kind) => {
        await expect(store().commitFunction(changeOf({ group: GROUP, kind }, 1))).rejects.toThrow(
          RevisionConflict,
        );
        expect(await kinds({ kind: [kind] })).toEqual(['PeelBanana']);
        await publish(kind);
        const ours = async () => {
          const { items, total } = await search({ text: 'peelbanana' });
          expect([total, items[0]]).toEqual([
            1,
            foundAfter(changeOf({ group: GROUP, kind, tags: ['ours'] })),
          ]);
          expect(await kinds()).toEqual(['SetLabels', kind, 'Weigh']);
          expect(await kinds({ text: 'package' })).toEqual([]);
          expect(await kinds({ kind: ['peelbanana'] })).toEqual([kind]);
          expect((await search()).facets.kind.map(({ value }) => value)).toEqual(
            [kind, 'SetLabels', 'Weigh'].sort(),
          );
          expect(await store().function(GROUP, 'peelbanana')).toMatchObject({ kind, revision: 1 });
        };
        await ours();
        await cut('platform', [{ ...PEEL, description: 'Peels again.' }]);
        await cut('zoo', [PEEL]);
        await store().synchronizeSearch();
        await ours();
        expect(await kinds({ catalog: ['zoo'] })).toEqual([kind]);
        expect((await store().servedEntries(GROUP, kind)).map(({ catalog }) => catalog)).toEqual([
          'platform',
          'zoo',
        ]);
      },
    );

    it('are found again after the takedown of the last release', async () => {
      const one = changeOf({ group: GROUP, kind: 'PEELbanana', release: '1.0.0', tags: ['ours'] });
      const two = changeOf({ group: GROUP, kind: 'PEELbanana', release: '2.0.0', tags: ['ours'] }, 1);
      await store().commitFunction(one);
      await store().commitFunction(two);
      await takeDown(two, 2, one)();
      expect((await search({ text: 'peel' })).items[0]).toMatchObject({ release: '1.0.0' });
      await takeDown(one, 3)({ dryRun: true });
      expect((await search({ text: 'peel' })).items[0]).toMatchObject({ release: '1.0.0' });
      await takeDown(one, 3)();
      const { items } = await search({ text: 'peel' });
      expect(items).toHaveLength(1);
      expect(items[0]).toMatchObject({
        kind: 'PeelBanana',
        from: [{ catalog: 'platform', source: 'banana' }],
      });
      expect(items[0]).not.toHaveProperty('release');
      expect(await kinds()).toEqual(['SetLabels', 'PeelBanana', 'Weigh']);
      expect(await kinds({ tag: ['ours'] })).toEqual([]);
      await publish('PeelBanana', '3.0.0');
      expect(await store().function(GROUP, 'PeelBanana')).toMatchObject({ revision: 5 });
      await cut('platform', [{ gone: 'PeelBanana' }]);
      const three = changeOf({ group: GROUP, kind: 'PeelBanana', release: '3.0.0' });
      await takeDown(three, 5)();
      expect(await kinds()).toEqual(['SetLabels', 'Weigh']);
    });

    it('are one function if catalogs spell its kind differently', async () => {
      await cut('zoo', [{ ...PEEL, kind: 'Peelbanana' }]);
      expect(await kinds({ text: 'peel' })).toEqual(['PeelBanana']);
      expect(await kinds({ catalog: ['zoo'] })).toEqual(['PeelBanana']);
      await cut('platform', [{ gone: 'PeelBanana' }]);
      expect(await kinds()).toEqual(['SetLabels', 'Peelbanana', 'Weigh']);
      expect(await kinds({ kind: ['PEELBANANA'] })).toEqual(['Peelbanana']);
      expect(await kinds({ catalog: ['platform'] })).toEqual(['Weigh']);
    });

    it('are indexed in parts if there are many, by the next process too', async () => {
      const many = Array.from({ length: 1_500 }, (_, at) => ({ kind: `Many${at}`, tags: ['many'] }));
      await cut('zoo', many);
      expect(await kinds({ tag: ['many'] })).toEqual([]);
      const stop = new AbortController();
      let seen = 0;
      const done = store().synchronizeSearch(stop.signal);
      while (seen === 0) {
        await setImmediate();
        const { total } = await search({ tag: ['many'], catalog: ['zoo'] });
        seen = total;
        expect(await kinds({ text: 'SetLabels' })).toEqual(['SetLabels']);
      }
      stop.abort();
      expect(await done).toBe(false);
      expect((await search({ tag: ['many'] })).total).toBeLessThan(many.length);
      // A build that comes meanwhile waits for the lock.
      await cut('zoo', [{ kind: 'Late', tags: ['late'] }, { gone: 'Many7' }]);
      expect(await kinds({ tag: ['late'] })).toEqual([]);
      const next = (await harness().reopen?.()) ?? store();
      const found = async (tag: string) => {
        const { total, items } = await next.search({ tag: [tag], catalog: ['zoo'], limit: 100 });
        return { total, kinds: items.map(({ kind }) => kind) };
      };
      expect(await next.synchronizeSearch()).toBe(true);
      expect((await found('many')).total).toBe(many.length - 1);
      expect((await found('late')).kinds).toEqual(['Late']);
      expect(await next.synchronizeSearch()).toBe(true);
      await cutUpstream(next, 'zoo', [{ kind: 'Later', tags: ['late'] }]);
      expect((await found('late')).kinds).toEqual(['Late', 'Later']);
    });

    it('match the newest snapshots after any sequence of changes', async () => {
      const model = new SearchModel(store(), new Random(7));
      await store().synchronizeSearch();
      for (let step = 0; step < 250; step += 1) {
        await model.change();
        if (step % 3 === 0) await store().synchronizeSearch();
        const { items } = await search({ group: [SearchModel.GROUP] });
        expect(items.map(({ kind, release, from }) => ({ kind, release, from }))).toEqual(
          await model.expected(),
        );
        for (const catalog of SearchModel.CATALOGS) {
          const found = await search({ group: [SearchModel.GROUP], catalog: [catalog] });
          expect([step, catalog, found.items.map(({ kind }) => kind.toLowerCase())]).toEqual([
            step,
            catalog,
            model.heldBy(catalog),
          ]);
        }
      }
    });
  });
}
