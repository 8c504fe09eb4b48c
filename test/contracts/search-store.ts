import { describeSigner, type SearchQuery, type Signer } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { changeOf, foundAfter } from './sample-records.js';
import { FUNCTIONS } from './searched-functions.js';

export function searchContract(store: () => RegistryStore): void {
  const search = (query: Partial<SearchQuery> = {}) => store().search({ limit: 100, ...query });
  const kinds = async (query: Partial<SearchQuery> = {}) =>
    (await search(query)).items.map(({ kind }) => kind);

  describe('search', () => {
    beforeEach(async () => {
      for (const sample of FUNCTIONS) await store().commitFunction(changeOf(sample));
    });

    it('ranks the expected function first', async () => {
      expect((await kinds({ text: 'labels' })).slice(0, 2)).toEqual(['SetLabels', 'LabelDeployments']);
      expect((await kinds({ text: 'labels' })).slice(2).sort()).toEqual(['SetAnnotations', 'SetNamespace']);
      expect(await kinds({ text: 'helm' })).toEqual(['RenderHelmChart', 'UpgradeChart', 'HelmOld']);
      expect(await kinds({ text: 'kubeval' })).toEqual(['Kubeval']);
      expect((await kinds({ text: 'annot' }))[0]).toBe('SetAnnotations');
      expect((await kinds({ text: 'name' })).slice(0, 2)).toEqual(['EnsureNameSubstring', 'SetNamespace']);
      expect(await kinds({ text: 'image' })).toEqual(['SetImageTags', 'SetImageDigests']);
    });

    it.each([
      'set labels',
      'setlabels',
      'set-labels',
      'SetLabels',
      'SETLABELS',
      ' Set  Labels ',
      'labels set',
      'set_labels',
      'setlab',
    ])('finds SetLabels first by "%s"', async (text) => {
      expect((await kinds({ text }))[0]).toBe('SetLabels');
    });

    it('finds by part of a kind, by tags, publisher and group, and needs every word', async () => {
      expect(await kinds({ text: 'helmchart' })).toEqual(['RenderHelmChart']);
      expect((await kinds({ text: 'HelmChart' }))[0]).toBe('RenderHelmChart');
      expect(await kinds({ text: 'route' })).toEqual(['HTTPRouteCheck']);
      expect(await kinds({ text: 'http' })).toEqual(['HTTPRouteCheck']);
      expect((await kinds({ text: 'policies' }))[0]).toBe('Gatekeeper');
      expect((await kinds({ text: 'vendor' })).sort()).toEqual(['HTTPRouteCheck', 'LabelDeployments']);
      expect(await kinds({ text: 'vendor.example.org labels' })).toEqual(['LabelDeployments']);
      // No function has all of these words, so those with most of them are found.
      const some = await search({ text: 'sets labels kubeval' });
      expect([some.partial, some.items.map(({ kind }) => kind)]).toEqual([
        true,
        ['SetLabels', 'SetAnnotations', 'SetNamespace'],
      ]);
      expect((await search({ text: 'labels' })).partial).toBeUndefined();
    });

    it('lists by name without a text, fully yanked functions last', async () => {
      const expected = [...FUNCTIONS]
        .map(({ group = 'example.com', kind, allYanked = false }) =>
          [allYanked ? 1 : 0, group, kind].join(' '),
        )
        .sort()
        .map((line) => line.split(' ')[2]);
      for (const text of [undefined, '', '  \n']) {
        expect(await kinds(text === undefined ? {} : { text })).toEqual(expected);
      }
      expect((await search()).items.find(({ kind }) => kind === 'SetLabels')).toEqual(
        foundAfter(changeOf(FUNCTIONS[0]!)),
      );
    });

    it('filters: any of the values, but all of the tags', async () => {
      expect(await kinds({ tag: ['mutator', 'labels'] })).toEqual(['SetLabels']);
      expect(await kinds({ tag: ['labels', 'labels'] })).toEqual(['SetLabels']);
      expect(await kinds({ tag: ['Labels', 'MUTATOR'] })).toEqual(['SetLabels']);
      expect(await kinds({ kind: ['setlabels', 'KUBEVAL'] })).toEqual(['Kubeval', 'SetLabels']);
      expect(await kinds({ runtime: ['exec', 'starlark'] })).toEqual(['Gatekeeper', 'RenderHelmChart']);
      expect(await kinds({ license: ['MIT'], tag: ['validator'] })).toEqual(['Gatekeeper']);
      expect(await kinds({ group: ['vendor.example.org'], publisher: ['Vendor', 'Nobody'] })).toEqual([
        'HTTPRouteCheck',
        'LabelDeployments',
      ]);
      expect(await kinds({ text: 'helm', tag: ['mutator'] })).toEqual(['UpgradeChart']);
      expect(await kinds({ catalog: ['none'] })).toEqual([]);
      expect(await kinds({ tag: [], group: [] })).toHaveLength(FUNCTIONS.length);
    });

    it('finds functions by the image that they run', async () => {
      const all = FUNCTIONS.length - 1;
      for (const text of [
        'registry.example.com/fn',
        'registry.example.com/fn:v9',
        `image: "registry.example.com/fn@sha256:${'b2'.repeat(32)}"`,
      ]) {
        expect((await search({ text })).total, text).toBe(all);
      }
      expect((await search({ text: 'registry.example.com/fn', tag: ['generator', 'helm'] })).total).toBe(0);
      expect((await search({ text: 'registry.example.com/other:v1' })).total).toBe(0);
      const first = await search({ text: 'registry.example.com/fn', limit: 3 });
      const rest = await search({ text: 'registry.example.com/fn', limit: 100, cursor: first.next! });
      expect(first.items.length + rest.items.length).toBe(all);
    });

    it('finds words in whatever case and Unicode form', async () => {
      const description = 'Ändert die Größe der Straße, ﬁltert ИСТИНА und ΛΌΓΟΣ, ve ISTANBUL.';
      await store().commitFunction(changeOf({ kind: 'Resize', description, tags: ['maß'] }));
      const words = [
        'größe',
        'GRÖSSE',
        'GRÖẞE',
        'grösse',
        'gro\u0308ße',
        'STRASSE',
        'strass',
        'MASS',
        'ändert',
      ];
      for (const text of [...words, 'ANDERT', 'filter', 'FILTERT', 'истина', 'λόγος', 'istanbul', 'ıstanbul'])
        expect(await kinds({ text }), text).toEqual(['Resize']);
      expect((await search({ text: 'GRÖSSEN strase' })).corrected).toBe('grosse strasse');
    });

    it('orders by the field that matches and how, then by deprecation, words, and name', async () => {
      const group = 'order.example.com';
      const mark = { at: '2030-01-01T00:00:00.000Z', by: 'someone', reason: 'old' };
      // In the expected order, though every name is before the one above it.
      const samples = [
        { kind: 'Zip' },
        { kind: 'Zippers' },
        { kind: 'ZipIt' },
        { kind: 'ZipFolders', deprecated: mark },
        { kind: 'XZip' },
        { kind: 'WZipAll' },
        { kind: 'VZipper' },
        { kind: 'Tagged', tags: ['zip'] },
        { kind: 'Tagged2', tags: ['zipper'] },
        { kind: 'Described', description: 'Can zip.' },
        { kind: 'Described2', description: 'A zipper.' },
        { kind: 'Configured', fields: ['maxZip'], readme: 'Does something.' },
        { kind: 'Clear', fields: [], readme: 'It can **zip** all.' },
        { kind: 'AZip', allYanked: true },
      ];
      for (const sample of samples) await store().commitFunction(changeOf({ group, ...sample }));
      expect(await kinds({ text: 'zip' })).toEqual(samples.map(({ kind }) => kind));
      expect((await kinds({ text: `${group}/VZipper` }))[0]).toBe('VZipper');
    });

    it('finds a function by the name of a release', async () => {
      const { items } = await search({ text: `example.com/SetLabels@1.0.0` });
      expect(items[0]).toMatchObject({ kind: 'SetLabels' });
    });

    it('corrects words that no function has, and only these', async () => {
      const right = await search({ text: 'labels' });
      const wrong = await search({ text: 'lables' });
      expect(wrong).toEqual({ ...right, corrected: 'labels' });
      expect((await search({ text: 'valdates polices' })).corrected).toBe('validates policies');
      expect(right.corrected).toBeUndefined();
      for (const text of ['xyzzyx', '"labels xyzzyx"', 'l'.repeat(200)]) {
        const found = await search({ text });
        expect([found.total, found.corrected], text).toEqual([0, undefined]);
      }
      const first = await search({ text: 'lables', limit: 1 });
      const next = await search({ text: 'lables', limit: 1, cursor: first.next! });
      expect(next.corrected).toBe('labels');
      expect(next.items).not.toEqual(first.items);
    });

    it('filters by API version, by pins, and by what functions may access', async () => {
      expect(await kinds({ apiVersion: ['vendor.example.org/v1'] })).toEqual([
        'HTTPRouteCheck',
        'LabelDeployments',
      ]);
      expect(await kinds({ apiVersion: ['vendor.example.org/v2', 'v1'] })).toEqual([]);
      expect(await kinds({ pinned: ['true'] })).toEqual(['Kubeval', 'RenderHelmChart']);
      expect(await kinds({ pinned: ['false'] })).toHaveLength(FUNCTIONS.length - 2);
      expect(await kinds({ network: ['true'] })).toEqual(['Kubeval', 'RenderHelmChart']);
      expect(await kinds({ storage: ['true'] })).toEqual(['RenderHelmChart']);
      const { items, facets } = await search({ pinned: ['true'], storage: ['false'] });
      expect(items).toMatchObject([{ kind: 'Kubeval', pinned: true, network: true, storage: false }]);
      expect(facets.network).toEqual([{ value: 'true', count: 1 }]);
      expect(facets.pinned).toEqual([
        { value: 'false', count: FUNCTIONS.length - 2 },
        { value: 'true', count: 1 },
      ]);
    });

    it('counts each facet without its own filter', async () => {
      const everything = await search();
      expect(everything.total).toBe(FUNCTIONS.length);
      expect(everything.facets.tag.slice(0, 2)).toEqual([
        { value: 'mutator', count: 8 },
        { value: 'validator', count: 3 },
      ]);
      expect(everything.facets.license).toEqual([
        { value: 'Apache-2.0', count: 11 },
        { value: 'MIT', count: 2 },
      ]);
      expect(everything.facets.kind).toHaveLength(FUNCTIONS.length);
      const some = await search({ tag: ['validator'], license: ['MIT'] });
      expect(some.total).toBe(1);
      expect(some.facets.license).toEqual([
        { value: 'Apache-2.0', count: 2 },
        { value: 'MIT', count: 1 },
      ]);
      expect(some.facets.tag).toEqual([
        { value: 'mutator', count: 1 },
        { value: 'policy', count: 1 },
        { value: 'validator', count: 1 },
      ]);
      expect(some.facets.runtime).toEqual([{ value: 'starlark', count: 1 }]);
      expect(some.facets.group).toEqual([{ value: 'example.com', count: 1 }]);
      expect((await search({ text: 'helm' })).facets.publisher).toEqual([{ value: 'Example Co', count: 3 }]);
      for (let at = 0; at < 30; at += 1)
        await store().commitFunction(changeOf({ kind: `Extra${at}`, tags: [`t${at}`] }));
      expect((await search()).facets.tag).toHaveLength(20);
    });

    it('counts the facet of a single filter for all functions, also after a change', async () => {
      const licenses = async () => (await search({ license: ['MIT'] })).facets.license;
      const before = [
        { value: 'Apache-2.0', count: 11 },
        { value: 'MIT', count: 2 },
      ];
      expect([await licenses(), await licenses()]).toEqual([before, before]);
      await store().commitFunction(changeOf({ kind: 'Licensed', licenses: ['ISC'] }));
      expect(await licenses()).toEqual([...before, { value: 'ISC', count: 1 }]);
      // Of the functions that a text finds, or that pass another filter, only.
      const some = await search({ license: ['MIT'], tag: ['validator'] });
      expect(some.facets.license).toEqual([
        { value: 'Apache-2.0', count: 2 },
        { value: 'MIT', count: 1 },
      ]);
      expect((await search({ license: ['ISC'], text: 'licensed' })).facets.license).toEqual([
        { value: 'ISC', count: 1 },
      ]);
    });

    it('follows changes', async () => {
      const { items, facets } = await search();
      const yanked = changeOf(
        { ...FUNCTIONS[0]!, description: 'Gone bananas.', tags: ['fruit'], allYanked: true },
        1,
        'update',
        'release.yanked',
      );
      await store().commitFunction(yanked);
      const after = await search();
      expect(after.items.filter(({ yanked }) => yanked).map(({ kind }) => kind)).toContain('SetLabels');
      expect(after.items.map(({ kind }) => kind)).not.toEqual(items.map(({ kind }) => kind));
      expect(after.facets.tag).toContainEqual({ value: 'fruit', count: 1 });
      expect(facets.tag).not.toContainEqual({ value: 'fruit', count: 1 });
      expect(await kinds({ tag: ['labels'] })).toEqual([]);
      expect(await kinds({ tag: ['fruit'] })).toEqual(['SetLabels']);
      expect(await kinds({ text: 'bananas' })).toEqual(['SetLabels']);
      expect((await kinds({ text: 'labels' })).at(-1)).toBe('SetLabels');
    });

    it('sorts by name and by time on request, fully yanked functions last', async () => {
      const published = [
        { kind: 'Oldest', publishedAt: '2031-01-01T00:00:00.000Z' },
        { kind: 'Newest', publishedAt: '2033-01-01T00:00:00.000Z' },
        { kind: 'Middle', publishedAt: '2032-01-01T00:00:00.000Z' },
        { kind: 'Yanked', publishedAt: '2034-01-01T00:00:00.000Z', allYanked: true },
      ];
      for (const sample of published) await store().commitFunction(changeOf({ ...sample, tags: ['timed'] }));
      const tag = ['timed'];
      expect(await kinds({ tag, sort: 'newest' })).toEqual(['Newest', 'Middle', 'Oldest', 'Yanked']);
      expect(await kinds({ tag, sort: 'name' })).toEqual(['Middle', 'Newest', 'Oldest', 'Yanked']);
      expect(await kinds({ tag, text: '"newest middle"', sort: 'newest' })).toEqual([]);
      expect(await kinds({ tag, text: 'newest middle', sort: 'newest' })).toEqual(['Newest', 'Middle']);
      expect(await kinds({ tag, text: 'timed', sort: 'newest' })).toEqual([
        'Newest',
        'Middle',
        'Oldest',
        'Yanked',
      ]);
      // Functions with the same publish time are sorted by name.
      expect((await kinds({ sort: 'newest' })).slice(3, 5)).toEqual((await kinds({})).slice(0, 2));
      expect(await kinds({ text: 'labels', sort: 'relevance' })).toEqual(await kinds({ text: 'labels' }));
      const again = { kind: 'Oldest', release: '2.0.0', publishedAt: '2035-01-01T00:00:00.000Z', tags: tag };
      await store().commitFunction(changeOf(again, 1));
      expect((await kinds({ sort: 'newest' }))[0]).toBe('Oldest');
    });

    it('filters and counts by signer', async () => {
      const key: Signer = { type: 'key', fingerprint: sha256('a key') };
      const identity: Signer = {
        type: 'identity',
        issuer: 'https://issuer.example',
        subject: 'a@example.com',
      };
      await store().commitFunction(changeOf({ kind: 'Both', signers: [key, identity, key] }));
      await store().commitFunction(changeOf({ kind: 'ByKey', signers: [key] }));
      const [byKey, byIdentity] = [describeSigner(key), describeSigner(identity)];
      expect((await search()).facets.signedBy).toEqual([
        { value: byKey, count: 2 },
        { value: byIdentity, count: 1 },
      ]);
      expect(await kinds({ signedBy: [byKey] })).toEqual(['Both', 'ByKey']);
      expect(await kinds({ signedBy: [byIdentity] })).toEqual(['Both']);
      expect(await kinds({ signedBy: ['nobody'] })).toEqual([]);
    });

    it('finds functions with a similar name', async () => {
      const group = 'near.example.com';
      for (const kind of ['DropSecrets', 'MergeCharts', 'Kubeval'])
        await store().commitFunction(changeOf({ group, kind }));
      const near = (kind: string, inGroup = group) => store().nearFunctions({ group: inGroup, kind });
      expect(await near('DropSecrest')).toEqual([{ group, kind: 'DropSecrets' }]);
      expect(await near('mergecharts', 'other.example.org')).toEqual([{ group, kind: 'MergeCharts' }]);
      expect(await near('Unlike')).toEqual([]);
      await store().commitFunction(changeOf({ group, kind: 'DropSecret' }));
      expect((await near('DropSecrets')).map(({ kind }) => kind)).toEqual(['DropSecrets', 'DropSecret']);
    });

    it('respects its limit', async () => {
      for (const limit of [0, -1, Number.MIN_SAFE_INTEGER])
        expect((await search({ limit })).items).toHaveLength(1);
      for (let at = 0; at < 120; at += 1) await store().commitFunction(changeOf({ kind: `Many${at}` }));
      expect((await search({ limit: 1e9 })).items).toHaveLength(100);
    });
  });
}
