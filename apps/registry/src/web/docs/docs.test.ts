import { readdirSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { list } from 'tar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { readDocs } from './read-docs.js';
import { docsSearch } from './search-docs.js';

const docs = readDocs();
let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const open = async (path: string) => {
  const response = await registry.request(path, { headers: { Accept: 'text/html' } });
  return { status: response.status, text: await response.text() };
};

describe('the documentation', () => {
  it('has a page for each document, of at most 60 KB, whose links lead somewhere', {
    timeout: 60_000,
  }, async () => {
    const ids = new Map<string, Set<string>>();
    const links: { from: string; path: string; id: string }[] = [];
    for (const name of docs.pages.keys()) {
      const path = name === '' ? '/docs' : `/docs/${name}`;
      const { status, text } = await open(path);
      expect([path, status]).toEqual([path, 200]);
      expect(Buffer.byteLength(text), path).toBeLessThan(60_000);
      const own = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!);
      expect(new Set(own).size, path).toBe(own.length);
      ids.set(path, new Set(own));
      for (const [, target, id = ''] of text.matchAll(/\shref="(\/docs[^"#]*)?(?:#([^"]*))?"/g)) {
        if (target !== undefined || id !== '')
          links.push({ from: path, path: target ?? path, id: decodeURIComponent(id) });
      }
    }
    const broken = links.filter(({ path, id }) => (id === '' ? !ids.has(path) : !ids.get(path)?.has(id)));
    expect(broken).toEqual([]);
    const folder = fileURLToPath(new URL('../../../../../docs/', import.meta.url));
    const documents = readdirSync(folder).filter((file) => file.endsWith('.md'));
    expect(
      documents.filter((file) => !docs.pages.has(file === 'README.md' ? '' : file.slice(0, -3))),
    ).toEqual([]);
  });

  it('lists all pages that the first page lists', async () => {
    const { text } = await open('/docs/build');
    expect(docs.groups.map(({ title }) => title)).toEqual(
      expect.arrayContaining(['You write functions', 'You use functions', 'You operate a registry']),
    );
    for (const { name } of docs.groups.flatMap(({ pages }) => pages))
      expect(text).toContain(`href="/docs/${name}"`);
    expect(text).toMatch(/href="\/docs\/build" aria-current="page"/);
  });

  it('has a page for each section of a long document, and leads to it', async () => {
    expect((await open('/docs/commands')).text).toContain('href="/docs/commands/krmhub-fn-eval"');
    expect((await open('/docs/commands/krmhub-fn-eval')).text).toContain('<h1 id="krmhub-fn-eval">');
  });

  it('shows files that are no pages as text, and leaves out what is about a checkout', async () => {
    const { text } = await open('/docs/threats');
    expect(text).toContain('<code>../test/threats.test.ts</code>');
    expect(text).not.toContain('href="../');
    const index = await open('/docs');
    expect(index.text).toContain('You operate a registry');
    expect(index.text).not.toContain('You change krmhub');
  });

  it('names this registry in commands, and its files in an archive, so that no checkout is needed', async () => {
    const named = await openTestRegistry({
      config: { publicUrl: 'https://krm.example.com/functions-of-us' },
    });
    try {
      const archive = await named.request('/docs/samples.tgz');
      expect(archive.headers.get('content-type')).toBe('application/gzip');
      const files: string[] = [];
      const listing = list({ sync: false, onReadEntry: ({ path }) => files.push(path) });
      await pipeline(Readable.from([Buffer.from(await archive.arrayBuffer())]), listing);
      const command = 'curl -fsS https://krm.example.com/functions-of-us/docs/samples.tgz | tar -xz';
      for (const name of docs.pages.keys()) {
        const path = name === '' ? '/docs' : `/docs/${name}`;
        const page = await (await named.request(path, { headers: { Accept: 'text/html' } })).text();
        const main = page.slice(page.indexOf('<main'), page.indexOf('</main>'));
        const isAboutAny = /^(?:commands|configuration|operate)\b/.test(name);
        for (const [code] of main.matchAll(/<code[\s\S]*?<\/code>/g))
          if (!isAboutAny) expect(code, path).not.toContain('localhost:8080');
        const text = main.replace(/<[^>]*>/g, '');
        const needed = [...text.matchAll(/(?<![\w./-])(?:deploy|test\/fixtures)\/[\w./-]*\w/g)].map(
          ([file]) => file,
        );
        for (const file of needed)
          expect(
            files.some((one) => one.startsWith(file)),
            `${path}: ${file}`,
          ).toBe(true);
        if (needed.length > 0) expect(text, path).toContain(command);
        expect(text, path).not.toMatch(name === '' ? /npm |checkout/ : /npm run docs/);
      }
    } finally {
      await named.close();
    }
  });

  it('leaves the place of the address to the script where the registry does not know it', async () => {
    const { text } = await open('/docs/fn');
    expect(text).toContain('<span data-registry="url">https://REGISTRY</span>/catalogs/default');
  });

  it('is found by its words, their beginnings, and misspelled', () => {
    const search = docsSearch(docs);
    const first = (words: string) => search(words)[0]?.page;
    expect(first('take a release down')).toBe('takedown');
    // The name of a page counts, as that of a command does.
    const takedown = search('takedown').slice(0, 2);
    expect(takedown.map(({ page }) => page)).toEqual(['commands/krmhub-takedown', 'takedown']);
    expect(first('postgres')).toMatch(/^operate-postgres|^commands/);
    expect(search('flx argo')).toEqual([]);
    // Words beyond the tenth, and repeated ones, cost nothing.
    const many = `build kustomization ${'build '.repeat(40)}a-b-c-d-e-f-g-h-i-j-k-l-m-n`;
    expect(search(many)).toEqual(search('build kustomization a b c d e f g h'));
    expect(search('kustomizaton').length).toBeGreaterThan(0);
    expect(search('argo cd')[0]!.excerpt).not.toMatch(/[`|]|\*\*/);
    for (const { excerpt } of search('takedown')) expect(excerpt).not.toMatch(/^- | - krmhub|\. \d\. /);
  });

  it('finds sections that exist, and no comment of a command', async () => {
    const hits = ['krmhub', 'the', 'resource', 'publish', 'script', 'owner'].flatMap(docsSearch(docs));
    expect(hits.length).toBeGreaterThan(60);
    for (const { page, id } of hits.filter((hit) => hit.id !== '')) {
      const { text } = await open(page === '' ? '/docs' : `/docs/${page}`);
      expect(text, page).toContain(`id="${id}"`);
    }
  });

  it('shows what a search found, and what to do if it found nothing', async () => {
    expect((await open('/docs?q=takedown')).text).toMatch(/class="docs-hits"[\s\S]*href="\/docs\/takedown/);
    expect((await open('/docs?q=xyzzy%3Cb%3E')).text).toContain('No section has these words');
    expect((await open('/docs?q=xyzzy%3Cb%3E')).text).not.toContain('<b>');
  });

  it.each(['/docs/nosuch', '/docs/commands/nosuch', '/docs/..%2FREADME', '/docs/README'])(
    'has no page %s',
    async (path) => {
      expect((await open(path)).status).toBe(404);
    },
  );
});
