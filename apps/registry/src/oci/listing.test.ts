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
