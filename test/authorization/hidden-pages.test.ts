import { ROUTES } from '@krmhub/api/routes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBrowser } from '../../apps/registry/src/testing/operator-session.js';
import {
  openTestRegistry,
  type TestDefinition,
  type TestRegistry,
} from '../../apps/registry/src/testing/test-registry.js';
import { WEB_ROUTES } from '../../apps/registry/src/web/web-routes.js';

/**
 * Every page and every read of the API × who asks: what is hidden is answered as what never existed. One registry has
 * hidden functions and a hidden catalog; the other one has the same rules, and nothing of them.
 */

const GROUP = 'hidden.example.com';
const HIDDEN = { group: GROUP, kind: 'KeepSecret', release: '1.0.0' };
const SHOWN = { group: 'shown.example.com', kind: 'SetLabels', release: '1.0.0' };
const CATALOG = 'hidden-catalog';
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  groups:
  - {pattern: ${GROUP}, visibility: private}
  - pattern: ${SHOWN.group}
    functions: [{kind: HalfSecret, visibility: internal}]
  catalogs: [{pattern: ${CATALOG}, visibility: private}]
`;
const RECIPE = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${CATALOG}}
spec: {sources: [{name: ours, functions: {}}]}
`;
/** Words that only those may see who may read these things. */
const SECRETS = [/hidden\.example\.com/i, /KeepSecret/i, /HalfSecret/i, /hidden-catalog/i, /xylophone/i];

interface Asked {
  name: string;
  target: string;
  /** Whether the address names what is hidden. */
  isNamed: boolean;
}

/** Every read, with the names of hidden things in its path, or of a catalog that everybody may read. */
function reads(catalog = CATALOG): Asked[] {
  const values: Record<string, string> = {
    ...HIDDEN,
    name: catalog,
    version: 'v1',
    snapshot: '1',
    serial: '1',
    source: 'ours',
    profile: 'kustomize',
    digest: `sha256:${'0'.repeat(64)}`,
    part: '1',
  };
  return [...Object.entries(ROUTES), ...WEB_ROUTES]
    .filter(([, { method, path }]) => method === 'get' && !path.startsWith('/operate'))
    .map(([name, { path }]) => {
      const target = path.replace(/\{(\w+)\}/g, (_, parameter: string) => values[parameter] ?? 'x');
      return { name, target, isNamed: /\{(?:group|kind|name)\}/.test(path) };
    });
}

/** Spellings, queries, and tabs that the templates do not have. */
const MORE: Asked[] = [
  `/functions/${GROUP}/keepsecret`,
  `/functions/${GROUP}/KEEPSECRET/source`,
  `/functions/${GROUP}/KeepSecret/releases/9.9.9`,
  `/functions/${GROUP}/KeepSecret?version=v7`,
  `/functions/${GROUP}/KeepSecret/compare?from=1.0.0&to=1.1.0`,
  `/functions/${SHOWN.group}/halfsecret`,
  `/functions/${SHOWN.group}/HalfSecret/releases.atom`,
  `/functions?q=${GROUP}/KeepSecret`,
  `/functions?q=keepsecret`,
  `/functions?q=keepsekret`,
  `/functions?q=xylophone`,
  `/functions?q=xylofone`,
  `/functions?group=${GROUP}`,
  `/functions?catalog=${CATALOG}`,
  `/functions?q=-catalog:${CATALOG}`,
  `/api/v1/functions?q=xylofone`,
  `/api/v1/functions?catalog=${CATALOG}`,
  `/badges/${GROUP}/KeepSecret.svg?show=pinned`,
  `/catalogs/${CATALOG}?q=keep`,
  `/catalogs/${CATALOG}/compare?from=1&to=1`,
].map((target) => ({ name: target, target, isNamed: true }));

/** What differs between two answers to the same request. */
const PASSING = new Set(['x-request-id', 'date', 'ratelimit']);

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

async function answer(response: Response): Promise<Answer> {
  const id = response.headers.get('x-request-id') ?? '';
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => !PASSING.has(name))),
    body: (await response.text()).replaceAll(id, 'ID'),
  };
}

type Who = 'anonymous' | 'another user' | 'another token';

/** Somebody with a token sees what is internal. */
function secretsFor(who: Who): readonly RegExp[] {
  return who === 'anonymous' ? SECRETS : SECRETS.filter(({ source }) => source !== 'HalfSecret');
}

async function ask(registry: TestRegistry, who: Who, target: string): Promise<Answer> {
  if (who === 'anonymous') return answer(await new TestBrowser(registry).get(target));
  if (who === 'another user') return answer(await other.get(registry)!.get(target));
  const headers = { Authorization: `Bearer ${tokens.get(registry)}` };
  return answer(await registry.request(target, { headers }));
}

let hiding: TestRegistry;
let without: TestRegistry;
const other = new Map<TestRegistry, TestBrowser>();
const tokens = new Map<TestRegistry, string>();

async function open(hidden: readonly TestDefinition[]): Promise<TestRegistry> {
  const registry = await openTestRegistry({ config: { publicUrl: 'http://registry.test' } });
  await registry.publish(SHOWN);
  const { store, access } = registry.parts;
  const event = { type: 'access.applied', at: new Date().toISOString(), by: 'test' } as const;
  await store.applyAccess({
    text: ACCESS,
    appliedAt: event.at,
    appliedBy: 'test',
    expectedRevision: 1,
    event,
  });
  await access.reload(store);
  for (const one of hidden) {
    const files = one === HIDDEN ? { readme: '# A xylophone\n' } : {};
    const { status, body } = await registry.publish(one, '', files);
    expect(status, JSON.stringify(body)).toBe(201);
  }
  if (hidden.length > 0) {
    const applied = await registry.send('PUT', `/api/v1/catalogs/${CATALOG}`, RECIPE);
    expect(applied.status, JSON.stringify(applied.body)).toBe(201);
  }
  await registry.waitForCatalogs();
  // It may publish elsewhere, and see nothing here.
  const rights = { name: 'someone', scopes: ['publish' as const], groups: ['elsewhere.example.com'] };
  const { secret } = await registry.token(rights);
  tokens.set(registry, secret);
  const browser = new TestBrowser(registry);
  await browser.signIn(secret);
  other.set(registry, browser);
  return registry;
}

beforeAll(async () => {
  hiding = await open([HIDDEN, { ...SHOWN, kind: 'HalfSecret' }]);
  without = await open([]);
});
afterAll(async () => {
  await hiding.close();
  await without.close();
});

const named = [...reads(), ...MORE].filter(({ isNamed }) => isNamed);

describe.each(['anonymous', 'another token', 'another user'] as const)('for %s', (who) => {
  // Somebody with a token sees what is internal.
  const isHidden = ({ target }: Asked) => who === 'anonymous' || !target.includes('alf');

  it.each(named.filter(isHidden))('$name answers as if nothing were hidden', async ({ target }) => {
    const [hidden, absent] = [await ask(hiding, who, target), await ask(without, who, target)];
    const unkeyed = ({ body, ...rest }: Answer) => ({
      ...rest,
      body: body.replace(/name="formKey" value="[^"]*"/, 'KEY').replace(/<time.*?<\/time>/g, 'TIME'),
    });
    if (hidden.status === 200) {
      // A search shows what both have, which was published at other times.
      expect(absent.status).toBe(200);
      for (const secret of secretsFor(who)) {
        if (!secret.test(decodeURIComponent(target))) expect(hidden.body).not.toMatch(secret);
      }
      return;
    }
    expect(unkeyed(hidden)).toEqual(unkeyed(absent));
  });

  const others = [
    ...reads().filter(({ isNamed }) => !isNamed),
    ...reads('default').filter(({ target }) => target.includes('/default') && !target.includes(GROUP)),
  ];
  it.each(others)('$name names nothing hidden', async ({ target }) => {
    const { body } = await ask(hiding, who, target);
    for (const secret of secretsFor(who)) expect(body).not.toMatch(secret);
  });
});

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
    expect((await leaver.post('/operate/sign-out', { formKey: key })).status).toBe(303);
    expect((await leaver.get(`/functions/${GROUP}/KeepSecret`)).status).toBe(404);
  });

  it('does not read the cookie in the API', async () => {
    for (const target of [`/api/v1/functions/${GROUP}/KeepSecret`, `/catalogs/${CATALOG}/catalog.yaml`]) {
      const response = await browser.get(target);
      expect([target, response.status]).toEqual([target, 404]);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
    }
  });

  it('comes back to the page that asked to sign in', async () => {
    const target = `/functions/${GROUP}/KeepSecret`;
    const newcomer = new TestBrowser(hiding);
    const link = /<a href="(\/operate\/sign-in[^"]*)">sign in<\/a>/.exec(await newcomer.text(target))?.[1];
    const form = await newcomer.text(link!.replaceAll('&amp;', '&'));
    const from = /name="from" value="([^"]+)"/.exec(form)?.[1];
    expect(from).toBe(target);
    const { secret } = await hiding.token({});
    const entered = await newcomer.signIn(secret, from);
    expect(entered.headers.get('location')).toBe(target);
    expect((await newcomer.get(target)).status).toBe(200);
  });
});
