import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { catalogText, startUpstream, type TestUpstream } from '../../testing/upstream-server.js';

let registry: TestRegistry;
let upstream: TestUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.files.set('/catalog.yaml', catalogText({ Elsewhere: 'From <b>elsewhere</b>.' }));
  registry = await openTestRegistry({ sources: { sourceAddresses: ['127.0.0.1'] } });
  const response = await registry.send(
    'PUT',
    '/api/v1/catalogs/ours',
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec:
  sources:
  - name: theirs
    catalog: {url: '${upstream.origin}/catalog.yaml', refresh: 1h}
`,
  );
  expect(response.status).toBeLessThan(300);
});
afterAll(async () => {
  await registry.close();
  await upstream.close();
});

it('a registry without releases lists upstream functions on its first page', async () => {
  const home = async () => (await ask('/')).text();
  await expect.poll(home).toContain('<a href="/functions/up.example.com/Elsewhere">');
  const text = await home();
  expect(text).toContain('Functions from upstream catalogs');
  expect(text).not.toContain('Newest releases');
  expect(text).toContain('krmhub show up.example.com/Elsewhere');
  expect(text).not.toContain('oras pull');
});

const ask = (target: string) => registry.request(target, { headers: { Accept: 'text/html' } });

it('a function of an upstream catalog has a page, which says that its release is unknown', async () => {
  await expect.poll(async () => (await ask('/functions/up.example.com/Elsewhere')).status).toBe(200);
  const text = await (await ask('/functions/up.example.com/Elsewhere')).text();
  expect(text).toContain('release unknown');
  expect(text).toContain('release unknown, from theirs');
  const facts = /<dl class="summary">(.*?)<\/dl>/s
    .exec(text)![1]!
    .replace(/<[^>]*>/g, ' ')
    .replace(/ +/g, ' ');
  expect(facts).toContain('Source theirs of the catalog ours : http');
  expect(facts).toContain('Signer imported; not signed by its author');
  expect(facts).toMatch(/Seen since \d{4}-\d\d-\d\d/);
  expect(facts).toMatch(/Runs registry.example.com\/ elsewhere pinned sha256:b{12}…/);
  const source = await (await ask('/functions/up.example.com/Elsewhere/source')).text();
  expect(source).toContain('href="/catalogs/ours/functions/up.example.com/Elsewhere.yaml"');
  expect(source).toContain('kind</span>: Elsewhere');
  expect(text).toContain('href="/catalogs/ours"');
  expect(text).toContain('From &lt;b&gt;elsewhere&lt;/b&gt;.');
  expect(text).toContain(`registry.example.com/elsewhere@sha256:${'b'.repeat(64)}`);
  expect(text).not.toContain('krmhub pull');
  expect(text).not.toContain('releases.atom"');
  for (const target of ['/releases/1.0.0', '/compare', '/releases.atom']) {
    expect((await ask(`/functions/up.example.com/Elsewhere${target}`)).status).toBe(404);
  }
});
