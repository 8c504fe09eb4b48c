import { MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { descriptor, imageManifest, manifestDigest, readError, testClient, toBytes } from '../testing/oci.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const REPOSITORY = 'team/tools';
let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry({ start: false });
});
afterEach(() => registry.close());

/** Reads without credentials. */
const get = (target: string) => client.request('GET', target, { authorization: '' });

async function tagged(tags: readonly string[], repository = REPOSITORY): Promise<void> {
  for (const tag of tags) expect((await client.put(repository, tag, imageManifest([]))).status).toBe(201);
}

/** Writes directly to the store, because the test needs many. */
async function store(
  count: number,
  more: (at: number) => { tag?: string; subject?: boolean; type?: string },
) {
  const change = { at: registry.parts.clock().toISOString(), by: 'tester', needed: [] };
  await Promise.all(
    Array.from({ length: count }, (_, at) => {
      const { tag, subject, type } = more(at);
      const bytes = toBytes(JSON.stringify(imageManifest([], { annotations: { at: String(at) } })));
      const record = {
        digest: sha256(bytes),
        mediaType: MEDIA_TYPES.image,
        size: bytes.byteLength,
        bytes,
        references: [],
        ...(subject === true && { subject: sha256('subject') }),
        ...(type !== undefined && { artifactType: type }),
      };
      const options = { ...change, ...(tag === undefined ? {} : { tag }) };
      return registry.parts.store.putManifest(REPOSITORY, record, options);
    }),
  );
}

/** Follows the Link headers to the last page; returns the items of each page. */
async function pages<Item>(target: string, itemsOf: (body: never) => Item[]): Promise<Item[][]> {
  const found: Item[][] = [];
  for (let next: string | undefined = target; next !== undefined; ) {
    const response: Response = await get(next);
    expect(response.status).toBe(200);
    found.push(itemsOf((await response.json()) as never));
    const link = response.headers.get('link');
    next = link === null ? undefined : /^<\/v2\/(.+)>; rel="next"$/.exec(link)![1];
    expect(found.length).toBeLessThan(20);
  }
  return found;
}
const tagPages = (query: string) =>
  pages(`${REPOSITORY}/tags/list${query}`, ({ tags }: { tags: string[] }) => tags);

describe('tags', () => {
  const names = ['10', '2', 'B', '_x', 'a', 'a-b', 'a.b', 'aa', 'b'];

  it('are listed in code unit order with the name of their repository', async () => {
    await tagged([...names].reverse());
    const response = await get(`${REPOSITORY}/tags/list`);
    expect(await response.json()).toEqual({ name: REPOSITORY, tags: [...names].sort() });
    expect([response.headers.get('link'), response.headers.get('content-type')]).toEqual([
      null,
      'application/json',
    ]);
  });

  it('are listed in pages of n, after a tag, with a link to the next page', async () => {
    await tagged(names);
    const sorted = [...names].sort();
    const first = await get(`${REPOSITORY}/tags/list?n=4`);
    expect(first.headers.get('link')).toBe(`</v2/${REPOSITORY}/tags/list?n=4&last=${sorted[3]}>; rel="next"`);
    expect(await tagPages('?n=4')).toEqual([sorted.slice(0, 4), sorted.slice(4, 8), sorted.slice(8)]);
    expect(await tagPages('?n=9')).toEqual([sorted]);
    expect(await tagPages('?n=10')).toEqual([sorted]);
    expect(await tagPages(`?last=${sorted[6]}`)).toEqual([sorted.slice(7)]);
    expect(await tagPages('?last=a1')).toEqual([['aa', 'b']]);
    expect(await tagPages('?last=zzz&n=1')).toEqual([[]]);
  });

  it('are an empty list for n=0', async () => {
    await tagged(names);
    expect(await tagPages('?n=0')).toEqual([[]]);
    expect(await tagPages('?n=0&last=a')).toEqual([[]]);
  });

  it.each(['-1', 'x', '1.5', '', '1e3', '9999999999', '%20'])('refuse a page size of %s', async (n) => {
    await tagged(['a']);
    const refused = await readError(await get(`${REPOSITORY}/tags/list?n=${n}`));
    expect([refused.status, refused.code]).toEqual([400, 'PAGINATION_NUMBER_INVALID']);
  });

  it('are in pages of at most the maximum size, whatever n is', async () => {
    const { maxPageEntries } = SERVER_LIMITS;
    const name = (at: number) => `t${String(at).padStart(5, '0')}`;
    await store(maxPageEntries, (at) => ({ tag: name(at) }));
    for (const query of ['', `?n=${maxPageEntries}`, '?n=999999999']) {
      expect((await tagPages(query)).map(({ length }) => length)).toEqual([maxPageEntries]);
    }
    await tagged([name(maxPageEntries)]);
    for (const query of ['', `?n=${maxPageEntries}`, `?n=${maxPageEntries + 1}`]) {
      expect((await tagPages(query)).map(({ length }) => length)).toEqual([maxPageEntries, 1]);
    }
  });

  it('respond NAME_UNKNOWN for an unknown repository', async () => {
    const refused = await readError(await get('team/unknown/tags/list'));
    expect(refused).toEqual({ status: 404, code: 'NAME_UNKNOWN', message: 'repository not found' });
    await client.blob('team/unknown', 'x');
    expect(await (await get('team/unknown/tags/list')).json()).toEqual({ name: 'team/unknown', tags: [] });
  });
});

describe('repositories', () => {
  it('are listed in code unit order, in pages', async () => {
    const names = ['a', 'a-b', 'a/b', 'a_b', 'b', 'team/x'];
    for (const name of [...names].reverse()) await client.blob(name, 'x');
    const of = (query: string) =>
      pages(`_catalog${query}`, ({ repositories }: { repositories: string[] }) => repositories);
    expect(await of('')).toEqual([[...names].sort()]);
    expect(await of('?n=4')).toEqual([[...names].sort().slice(0, 4), [...names].sort().slice(4)]);
    expect(await of('?n=2&last=a_b')).toEqual([['b', 'team/x']]);
    expect(await of('?n=0')).toEqual([[]]);
    expect((await readError(await get('_catalog?n=x'))).code).toBe('PAGINATION_NUMBER_INVALID');
  });
});

describe('referrers', () => {
  const subject = sha256('subject');
  const of = (query = '') =>
    pages(
      `${REPOSITORY}/referrers/${subject}${query}`,
      ({ manifests }: { manifests: object[] }) => manifests,
    );

  it('are an empty list for a subject without referrers, also in an unknown repository', async () => {
    const response = await get(`team/unknown/referrers/${subject}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, MEDIA_TYPES.index]);
    expect(await response.json()).toEqual({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [] });
    expect(await (await get('_catalog')).json()).toEqual({ repositories: [] });
  });

  it('have their type and annotations, and can be filtered by type', async () => {
    const manifests = [
      imageManifest([], {
        subject: descriptor('subject'),
        artifactType: 'application/a+json',
        annotations: { a: 'b' },
      }),
      imageManifest([], { subject: descriptor('subject') }),
      { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [], subject: descriptor('subject') },
    ];
    for (const manifest of manifests) await client.put(REPOSITORY, manifestDigest(manifest), manifest);
    const described = manifests.map((manifest, at) => ({
      mediaType: manifest.mediaType,
      digest: manifestDigest(manifest),
      size: JSON.stringify(manifest).length,
      ...[
        { artifactType: 'application/a+json', annotations: { a: 'b' } },
        { artifactType: MEDIA_TYPES.empty },
      ][at],
    }));
    const byDigest = (a: { digest: string }, b: { digest: string }) => (a.digest < b.digest ? -1 : 1);
    expect((await of()).flat()).toEqual(described.sort(byDigest));
    expect((await get(`${REPOSITORY}/referrers/${subject}`)).headers.get('oci-filters-applied')).toBeNull();
    const filtered = await get(`${REPOSITORY}/referrers/${subject}?artifactType=application%2Fa%2Bjson`);
    expect(filtered.headers.get('oci-filters-applied')).toBe('artifactType');
    const { manifests: found } = (await filtered.json()) as { manifests: { digest: string }[] };
    expect(found.map(({ digest }) => digest)).toEqual([manifestDigest(manifests[0]!)]);
    expect(await of('?artifactType=application/none')).toEqual([[]]);
  });

  it('fill a page, and the rest is on the next', async () => {
    const { maxReferrers } = SERVER_LIMITS;
    await store(maxReferrers, (at) => ({ subject: true, type: at % 2 === 0 ? 'a/even' : 'a/odd' }));
    expect((await of()).map(({ length }) => length)).toEqual([maxReferrers]);
    const one = imageManifest([], { subject: descriptor('subject'), artifactType: 'a/even' });
    await client.put(REPOSITORY, manifestDigest(one), one);
    const all = await of();
    expect(all.map(({ length }) => length)).toEqual([maxReferrers, 1]);
    expect(new Set(all.flat().map((manifest) => JSON.stringify(manifest))).size).toBe(maxReferrers + 1);
    expect((await of('?artifactType=a/even')).map(({ length }) => length)).toEqual([maxReferrers / 2 + 1]);
  });

  it('with large annotations are in pages of bounded size', async () => {
    const annotations = { large: 'x'.repeat(1_000_000) };
    for (let at = 0; at < 9; at++) {
      const manifest = imageManifest([], {
        subject: descriptor('subject'),
        annotations: { ...annotations, at: `${at}` },
      });
      await client.put(REPOSITORY, manifestDigest(manifest), manifest);
    }
    const response = await get(`${REPOSITORY}/referrers/${subject}`);
    const { length } = await response.text();
    expect(length).toBeLessThan(SERVER_LIMITS.maxReferrersBytes + 1_000);
    expect(length).toBeGreaterThan(SERVER_LIMITS.maxReferrersBytes - 1_001_000);
    const all = await of();
    expect(all.length).toBeGreaterThan(2);
    expect(new Set(all.flat().map((manifest) => (manifest as { digest: string }).digest)).size).toBe(9);
  });
});
