import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyAccess } from '../../apps/registry/src/testing/access.js';
import { TestBrowser } from '../../apps/registry/src/testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';

/** Pages of what is hidden, for a user with a session who may read them. Who may read what is in seen.test.ts. */

const GROUP = 'hidden.example.com';
const CATALOG = 'hidden-catalog';
const RULES = `groups: [{pattern: ${GROUP}, visibility: private}]
catalogs: [{pattern: ${CATALOG}, visibility: private}]
`;
const RECIPE = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${CATALOG}}
spec: {sources: [{name: ours, functions: {}}]}
`;

let hiding: TestRegistry;

beforeAll(async () => {
  hiding = await openTestRegistry({ config: { publicUrl: 'http://registry.test' } });
  const hidden = { group: GROUP, kind: 'KeepSecret', release: '1.0.0' };
  const published = await hiding.publish(hidden, '', { readme: '# A xylophone\n' });
  expect(published.status, JSON.stringify(published.body)).toBe(201);
  const applied = await hiding.send('PUT', `/api/v1/catalogs/${CATALOG}`, RECIPE);
  expect(applied.status, JSON.stringify(applied.body)).toBe(201);
  await applyAccess(hiding, RULES);
});
afterAll(() => hiding.close());

describe('for a user who may read it', () => {
  const pages = [
    `/functions/${GROUP}/KeepSecret`,
    `/functions/${GROUP}/KeepSecret/source`,
    `/functions/${GROUP}/KeepSecret/releases/1.0.0`,
    `/functions/${GROUP}`,
    `/catalogs/${CATALOG}`,
    `/catalogs/${CATALOG}/history`,
  ];
  let browser: TestBrowser;
  beforeAll(async () => {
    const { secret } = await hiding.token({ name: 'reader' });
    browser = new TestBrowser(hiding);
    await browser.signIn(secret);
  });

  it.each(pages)('%s is there, for nobody else', async (target) => {
    // Caches that the answer for one user fills must not answer others.
    for (let round = 0; round < 2; round += 1) {
      const shown = await browser.get(target, { 'Accept-Encoding': 'br' });
      expect(shown.status).toBe(200);
      expect(shown.headers.get('cache-control')).toBe('private, no-store');
      expect(shown.headers.get('vary')).toContain('Authorization, Cookie');
      for (const name of ['etag', 'content-encoding', 'access-control-allow-origin'])
        expect([name, shown.headers.get(name)]).toEqual([name, null]);
      const text = await shown.text();
      expect(text).toMatch(/Signed in as\s*<b><bdi>reader<\/bdi><\/b>/);
      if (!target.endsWith(GROUP)) expect(text).toMatch(/<span class="label label-plain"[^>]*>private</);
      const hidden = await new TestBrowser(hiding).get(target);
      expect(hidden.status).toBe(404);
      expect(await hidden.text()).not.toContain('xylophone');
    }
  });

  it('sees it on pages of everything, which nobody else does', async () => {
    for (const target of [
      '/',
      '/functions',
      '/functions.atom',
      '/catalogs',
      '/events',
      '/suggestions?q=keepsecret',
    ]) {
      const isSeen = /KeepSecret|hidden-catalog/;
      expect([target, isSeen.test(await browser.text(target))]).toEqual([target, true]);
      const others = await new TestBrowser(hiding).text(target);
      expect([target, isSeen.test(others.replaceAll('q=keepsecret', ''))]).toEqual([target, false]);
      expect([target, isSeen.test(await browser.text(target))]).toEqual([target, true]);
    }
  });

  it('ends with the right, whatever the client has', async () => {
    const target = `/functions/${GROUP}/KeepSecret`;
    const { id, secret } = await hiding.token({ name: 'leaver' });
    const headers = { Authorization: `Bearer ${secret}`, Accept: 'text/html' };
    const first = await hiding.request(target, { headers });
    const tag = first.headers.get('etag') ?? '"x"';
    expect(first.status).toBe(200);
    await hiding.parts.store.revokeToken(id, new Date().toISOString());
    const again = await hiding.request(target, { headers: { ...headers, 'If-None-Match': tag } });
    expect(again.status).toBe(404);
  });

  it('is signed out by the form of any page', async () => {
    const { secret } = await hiding.token({ name: 'leaver' });
    const leaver = new TestBrowser(hiding);
    await leaver.signIn(secret);
    const key = await leaver.formKey(`/functions/${GROUP}/KeepSecret`);
    expect((await leaver.post('/sign-out', { formKey: key })).status).toBe(303);
    expect((await leaver.get(`/functions/${GROUP}/KeepSecret`)).status).toBe(404);
  });

  it('does not read the cookie in the API', async () => {
    for (const target of [`/api/v1/functions/${GROUP}/KeepSecret`, `/catalogs/${CATALOG}/catalog.yaml`]) {
      const response = await browser.get(target);
      expect([target, response.status]).toEqual([target, 404]);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
    }
  });

  it('is read by no page of another site, with a token or a cookie', async () => {
    const { secret } = await hiding.token({ name: 'reader of all' });
    const Origin = 'https://evil.example';
    const asked = { Origin, 'Access-Control-Request-Method': 'GET' };
    const preflight = { ...asked, 'Access-Control-Request-Headers': 'authorization' };
    for (const target of ['/api/v1/whoami', `/api/v1/functions/${GROUP}/KeepSecret`]) {
      const answers = [
        await hiding.request(target, { method: 'OPTIONS', headers: preflight }),
        await hiding.request(target, { headers: { Origin, Authorization: `Bearer ${secret}` } }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([204, 200]);
      for (const { headers } of answers)
        expect(
          ['origin', 'credentials', 'headers'].map((name) => headers.get(`access-control-allow-${name}`)),
        ).toEqual([...[null, null, null]]);
    }
  });

  it('comes back to the page that asked to sign in', async () => {
    const target = `/functions/${GROUP}/KeepSecret`;
    const newcomer = new TestBrowser(hiding);
    const link = /<a href="(\/sign-in[^"]*)">sign in<\/a>/.exec(await newcomer.text(target))?.[1];
    const form = await newcomer.text(link!.replaceAll('&amp;', '&'));
    const from = /name="from" value="([^"]+)"/.exec(form)?.[1];
    expect(from).toBe(target);
    const { secret } = await hiding.token({});
    const entered = await newcomer.signIn(secret, from);
    expect(entered.headers.get('location')).toBe(target);
    expect((await newcomer.get(target)).status).toBe(200);
  });
});
