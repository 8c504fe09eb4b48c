import { KrmhubError } from '@krmhub/schema';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { openTestRegistry, releasePath, type TestRegistry } from '../../testing/test-registry.js';
import { catalogText, startUpstream } from '../../testing/upstream-server.js';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(options: Parameters<typeof openTestRegistry>[0] = {}): Promise<TestRegistry> {
  const registry = await openTestRegistry({ sources: { sourceAddresses: ['127.0.0.1'] }, ...options });
  closing.push(() => registry.close());
  return registry;
}

async function openUpstream() {
  const upstream = await startUpstream();
  closing.push(() => upstream.close());
  return upstream;
}

async function apply(registry: TestRegistry, name: string, sources: string): Promise<void> {
  const text = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
${sources}`;
  const response = await registry.send('PUT', `/api/v1/catalogs/${name}`, text);
  expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
}

async function readPage(registry: TestRegistry, target: string): Promise<string> {
  const response = await registry.request(target, { headers: { Accept: 'text/html' } });
  const text = await response.text();
  expect(response.status, `${target}: ${text}`).toBe(200);
  return text;
}

const visibleText = (text: string) =>
  text
    .slice(text.indexOf('<main'), text.indexOf('</main>'))
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
const findHref = (text: string, rel: string) =>
  new RegExp(`<a href="([^"]+)" rel="${rel}"`).exec(text)?.[1]?.replaceAll('&amp;', '&');
const listKinds = (text: string) =>
  [...text.matchAll(/class="place-name"[^>]*>(?:<span[^>]*>)[^<]*<\/span><wbr\/>([^<]+)/g)].map(
    ([, kind]) => kind!,
  );

const theirs = (origin: string) => `  - name: theirs
    catalog: {url: '${origin}/catalog.yaml', refresh: 1h}
`;

describe('a catalog with problems', () => {
  it('has no snapshot yet, and waits for sources that were never synced', async () => {
    const upstream = await openUpstream();
    const registry = await open({ start: false });
    await apply(registry, 'waiting', theirs(upstream.origin));
    const words = visibleText(await readPage(registry, '/catalogs/waiting'));
    expect(words).toContain('This catalog has no snapshot yet');
    expect(words).toContain(
      'The registry builds it after the first sync of each source. Not synced yet: theirs.',
    );
    expect(visibleText(await readPage(registry, '/catalogs/waiting/sources'))).toContain('not synced yet');
    expect(words).toContain('Recipe');
    expect(words).not.toContain('Downloads');
    expect(words).not.toContain('krmhub catalog pull');
    expect(visibleText(await readPage(registry, '/catalogs'))).toMatch(
      /waiting not built yet .*no snapshot yet/,
    );
    expect(visibleText(await readPage(registry, '/catalogs/waiting/report'))).toContain(
      'has no snapshot yet',
    );
    const feed = await (await registry.request('/catalogs/waiting/snapshots.atom')).text();
    expect(feed).not.toContain('<entry>');
    const compared = await registry.request('/catalogs/waiting/compare', {
      headers: { Accept: 'text/html' },
    });
    expect(compared.status).toBe(404);
  });

  it('cannot be built, and shows why', async () => {
    const registry = await open({
      wrapStore: (store) => ({
        ...store,
        commitSnapshot: async (build, ...rest) => {
          if (build.catalog === 'failing') throw new KrmhubError('storage-full', '<b>the disk is full</b>');
          return store.commitSnapshot(build, ...rest);
        },
      }),
    });
    await apply(registry, 'failing', '  - {name: ours, functions: {}}\n');
    await expect
      .poll(async () => visibleText(await readPage(registry, '/catalogs/failing')))
      .toContain('Cannot build the catalog');
    const text = await readPage(registry, '/catalogs/failing');
    expect(text).toContain('&lt;b&gt;the disk is full&lt;/b&gt;');
    expect(visibleText(await readPage(registry, '/catalogs'))).toContain('failing build fails');
  });

  it('is empty, and leaves nothing out', async () => {
    const registry = await open();
    await apply(registry, 'empty', '  - {name: ours, functions: {}, match: [{group: none.example}]}\n');
    await registry.waitForCatalogs();
    const words = visibleText(await readPage(registry, '/catalogs/empty'));
    expect(words).toContain('0 functions');
    expect(words).toContain('This snapshot has no functions.');
    expect(words).toContain('krmhub catalog pull empty');
  });

  it('lost a snapshot to a takedown', async () => {
    const registry = await open();
    await registry.publish({ kind: 'Good', release: '1.0.0' });
    await registry.publish({ kind: 'Bad', release: '1.0.0' });
    const reason = { reason: 'it <i>steals</i> secrets' };
    // Nothing is built meanwhile, so the newest snapshot is the withdrawn one.
    await registry.parts.snapshotBuilder.stop();
    const { parts } = registry;
    const change = `${releasePath({ kind: 'Bad', release: '1.0.0' })}/takedown`;
    const done = registry.send('POST', change, reason);
    await expect.poll(async () => (await parts.store.catalog('default'))?.newest?.withdrawn).toBeDefined();
    const text = await readPage(registry, '/catalogs/default');
    expect(visibleText(text)).toMatch(
      /Snapshot \d+ was withdrawn; the registry is building the next snapshot/,
    );
    expect(text).toContain('it &lt;i&gt;steals&lt;/i&gt; secrets');
    expect(listKinds(text)).not.toContain('Bad');
    expect(visibleText(text)).not.toContain('krmhub catalog pull');
    const serial = (await parts.store.catalog('default'))!.newest!.serial;
    const compared = await registry.request(`/catalogs/default/compare?from=1&to=${serial}`, {
      headers: { Accept: 'text/html' },
    });
    expect(compared.status).toBe(410);
    expect(await compared.text()).toContain('it &lt;i&gt;steals&lt;/i&gt; secrets');
    const feed = await (await registry.request('/catalogs/default/snapshots.atom')).text();
    expect(feed).toMatch(/<title>default \d+ withdrawn<\/title>/);
    await done;
  });

  it('serves the last good copy of a source that fails', async () => {
    const upstream = await openUpstream();
    upstream.files.set('/catalog.yaml', catalogText({ One: 'One.' }));
    const registry = await open();
    await apply(registry, 'copied', theirs(upstream.origin));
    await registry.send('POST', '/api/v1/catalogs/copied/cut');
    upstream.files.delete('/catalog.yaml');
    await registry.send('POST', '/api/v1/catalogs/copied/sources/theirs/refresh');
    const words = visibleText(await readPage(registry, '/catalogs/copied/sources'));
    expect(words).toContain('The registry serves the last good copy.');
    expect(words).toMatch(/theirs stale/);
    expect(words).toMatch(/Until then, the last good copy is used, fetched \d{4}-/);
    expect(words).toContain('1 function');
  });
});

describe('a catalog of many functions', () => {
  const { catalogPageFunctions, maxComparedInDetail } = SERVER_LIMITS;
  const count = maxComparedInDetail + 20;
  const many = (text: string) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`Kind${String(at).padStart(4, '0')}`, text]),
    );

  let registry: TestRegistry;
  beforeAll(async () => {
    const upstream = await startUpstream();
    upstream.files.set('/catalog.yaml', catalogText(many('before')));
    let isWhole = true;
    registry = await openTestRegistry({
      sources: { sourceAddresses: ['127.0.0.1'] },
      wrapStore: (store) => {
        const never = (name: string) => {
          if (!isWhole) throw new Error(`${name} reads every place`);
        };
        return {
          ...store,
          snapshotEntryRows: async (...given) => {
            never('snapshotEntryRows');
            return store.snapshotEntryRows(...given);
          },
          latestEntryRows: async (name, names) => {
            if (names === undefined) never('catalogFunctions');
            return store.latestEntryRows(name, names);
          },
          entryTexts: (...given) => {
            never('entryTexts');
            return store.entryTexts(...given);
          },
          entries: async (digests) => {
            if (digests.length > 2) never('entries');
            return store.entries(digests);
          },
        };
      },
    });
    const sources = `${theirs(upstream.origin)}  - name: again
    catalog: {url: '${upstream.origin}/catalog.yaml', refresh: 1h}
`;
    await apply(registry, 'many', sources);
    await registry.send('POST', '/api/v1/catalogs/many/cut');
    const newest = async () => (await registry.parts.store.catalog('many'))?.newest?.serial;
    await vi.waitFor(async () => expect(await newest()).toBe(1), 300_000);
    upstream.files.set('/catalog.yaml', catalogText(many('after')));
    await registry.send('POST', '/api/v1/catalogs/many/sources/theirs/refresh');
    await vi.waitFor(async () => expect(await newest()).toBe(2), 300_000);
    await registry.waitForCatalogs();
    await registry.parts.snapshotBuilder.stop();
    isWhole = false;
    await upstream.close();
  });
  afterAll(() => registry.close());

  it('is read page by page, never as a whole', async () => {
    for (const first of [
      '/catalogs/many',
      '/catalogs/many?source=theirs',
      '/catalogs/many/report?of=shadowed',
    ]) {
      const seen: string[] = [];
      let next: string | undefined = first;
      let pages = 0;
      for (; next !== undefined; pages++) {
        const text: string = await readPage(registry, next.replace(/#.*$/, ''));
        expect(Buffer.byteLength(text)).toBeLessThan(120_000);
        const kinds = listKinds(text);
        expect(kinds.length).toBeLessThanOrEqual(catalogPageFunctions);
        seen.push(...kinds);
        if (pages > 0) expect(findHref(text, 'first')).toBeDefined();
        next = findHref(text, 'next');
      }
      expect(seen).toEqual(Object.keys(many('')));
      expect(pages).toBe(Math.ceil(count / catalogPageFunctions));
    }
    const overview = await readPage(registry, '/catalogs/many/report');
    expect(listKinds(overview)).toHaveLength(10);
    expect(visibleText(overview)).toContain(`All ${count} functions`);
  });

  it('is compared up to the limit of a page, and names the command for the rest', async () => {
    const text = await readPage(registry, '/catalogs/many/compare?from=1&to=2');
    expect(text.match(/class="found-function"/g)).toHaveLength(maxComparedInDetail);
    const words = visibleText(text);
    expect(words).toContain(`${count} changed`);
    expect(words).toContain('20 more functions differ, but are not listed here.');
    expect(words).toContain('krmhub catalog diff many 1 2');
    expect(visibleText(await readPage(registry, '/catalogs/many/history'))).toContain(
      'more than 100 functions',
    );
  });
});
