import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fillPath } from '@krmhub/api/paths';
import type { TokenScope } from '@krmhub/api/token-scopes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken, hashSecret } from '../../http/auth/tokens.js';
import { signedIn } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { OPERATE_ROUTES } from './operate-routes.js';

let registry: TestRegistry;
let folder: string;
const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(1)>"\'\u202e\u0007';

const recipe = (name: string, more = '') => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
  - {name: good, catalog: {url: 'file:good.yaml'}}
  - {name: bad, catalog: {url: 'file:bad.yaml'}}
${more}`;

/** The registry owns each group of which it has a release, whichever catalog offers it. */
const ofOthers = (catalog: string) => catalog.replaceAll('group: example.com', 'group: elsewhere.example');

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-pages-'));
  registry = await openTestRegistry({ sources: { sourceFolder: folder } });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  const catalog = await registry.request('/catalogs/default/catalog.yaml');
  await writeFile(path.join(folder, 'good.yaml'), ofOthers(await catalog.text()));
  await writeFile(path.join(folder, 'bad.yaml'), `kind: ${JSON.stringify(HOSTILE)}\n`);
  const { secret } = await registry.token({});
  const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/yaml' };
  for (const name of ['platform', 'other']) {
    const target = fillPath('catalog', { name });
    const applied = await registry.request(target, { method: 'PUT', headers, body: recipe(name) });
    expect(applied.status).toBe(201);
    const built = await registry.request(fillPath('cut', { name }), { method: 'POST', headers });
    expect(built.status, await built.text()).toBe(200);
  }
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true });
});

/**
 * Expects that hostile text is neither markup nor changes the direction of other text. The value of a field is what
 * was typed.
 */
function expectHarmless(page: string): void {
  expect(page).not.toContain('<script>alert');
  expect(page).not.toContain('<img src=x');
  expect(page.replace(/ value="[^"]*"/g, '')).not.toContain('\u202e');
}

describe('sources', () => {
  it('are listed, with the reason of a failure', async () => {
    const browser = await signedIn(registry);
    const page = await browser.text('/operate/sources');
    for (const id of ['platform.good', 'platform.bad', 'other.good', 'other.bad'])
      expect(page).toContain(`id="${id}"`);
    expect(page).toContain('>All (4)</a>');
    expect(page).toContain('>With problems (2)</a>');
    expect(page).toContain('(invalid-catalog)');
    expect(page).toContain('&lt;script&gt;alert(1)');
    expect(page).toContain('1 entry');
    expect(page).toContain('no valid signature of the whole catalog');
    expectHarmless(page);
    const wrong = await browser.text('/operate/sources?problems=true&catalog=platform');
    expect(wrong).toContain('id="platform.bad"');
    for (const id of ['platform.good', 'other.bad']) expect(wrong).not.toContain(`id="${id}"`);
    expect((await browser.get('/operate/sources?catalog=nobody')).status).toBe(404);
    expect(await browser.text('/operate')).toContain('2 of 4 sources have problems');
  });

  it('are synced on request, and their catalog is built again', async () => {
    const browser = await signedIn(registry);
    const { store } = registry.parts;
    await registry.publish({ kind: 'CheckLimits', release: '1.0.0' });
    const catalog = await registry.request('/catalogs/default/catalog.yaml');
    await writeFile(path.join(folder, 'good.yaml'), ofOthers(await catalog.text()));
    const synced = await browser.act('/operate/sources/other/good/ask');
    expect([synced.status, synced.headers.get('location')]).toEqual([
      303,
      '/operate/sources?catalog=other&asked=good',
    ]);
    expect((await store.source('other', 'good'))?.copy?.entries).toBe(2);
    expect((await store.catalog('other'))?.newest?.functions).toBe(2);
    const page = await browser.text('/operate/sources?catalog=other&asked=good');
    expect(page).toContain('The source good of other was synced');
    await browser.act('/operate/sources/other/bad/ask');
    const failed = await browser.text('/operate/sources?catalog=other&asked=bad');
    expect(failed).toContain('The source bad of other could not be synced');
    expectHarmless(failed);
    expect((await browser.act('/operate/sources/other/nobody/ask')).status).toBe(404);
  });
});

describe('tokens', () => {
  const form = {
    name: 'ci',
    scopes: ['publish', 'yank'],
    groups: 'example.com, *.example.com',
    repositories: '',
    expiresInDays: '7',
  };

  it('are created by the rules of the API, and their secret is shown once', async () => {
    const browser = await signedIn(registry);
    const response = await browser.act('/operate/tokens/new', form);
    expect(response.status).toBe(303);
    const shownOnce = response.headers.get('location')!;
    expect(shownOnce).toMatch(/^\/operate\/tokens\/[\w-]+\/created$/);
    const stranger = await signedIn(registry);
    expect(await stranger.text(shownOnce)).not.toContain('krmhub_');
    const page = await browser.text(shownOnce);
    const secret = /<code>(krmhub_[a-f0-9]{72})<\/code>/.exec(page)?.[1] ?? '';
    const stored = await registry.parts.store.tokenByHash(hashSecret(secret));
    expect(stored).toMatchObject({
      name: 'ci',
      scopes: ['publish', 'yank'],
      groups: ['example.com', '*.example.com'],
      repositories: ['*'],
      createdBy: 'tester',
    });
    const days = (Date.parse(stored?.expiresAt ?? '') - Date.parse(stored?.createdAt ?? '')) / 86_400_000;
    expect(days).toBe(7);
    for (const other of [shownOnce, '/operate/tokens', '/operate', `/operate/tokens/${stored?.id}/revoke`]) {
      const text = await browser.text(other);
      expect(text).not.toContain(secret);
      expect(text).not.toContain(hashSecret(secret));
    }
    expect(registry.logged.join('\n')).not.toContain(secret);
  });

  it.each<[string, Record<string, string | string[]>, string]>([
    ['no name', { name: ' ' }, 'Enter a name.'],
    ['no scope', { scopes: [] }, 'Choose at least one scope.'],
    ['an unknown scope', { scopes: ['root'] }, 'Choose at least one scope.'],
    ['no group', { groups: '' }, 'Enter the groups of the functions'],
    ['a wrong group', { groups: 'Example.com' }, 'not a group or a glob'],
    [
      'groups for admin',
      { groups: 'example.com', scopes: ['admin'] },
      'The scope admin covers the whole registry',
    ],
    [
      'a limit that is none',
      { repositories: 'team/*' },
      'Repositories do not apply to a token without the scope read or push',
    ],
    ['too long a life', { expiresInDays: '3651' }, 'Enter a whole number from 1 to 3650.'],
    ['a life of no number', { expiresInDays: '1e3' }, 'Enter a whole number from 1 to 3650.'],
  ])('are not created with %s, and the form is shown again as typed', async (_, wrong, message) => {
    const browser = await signedIn(registry);
    const count = (await registry.parts.store.tokens()).length;
    const typed = { ...form, ...wrong };
    const response = await browser.act('/operate/tokens/new', typed);
    expect(response.status).toBe(400);
    const page = await response.text();
    expect(page).toContain(message);
    const field = Object.keys(wrong)[0]!;
    expect(page).toMatch(new RegExp(`id="${field}"[^>]*aria-invalid="true"`));
    expect(page).toMatch(new RegExp(`aria-describedby="${field}-problem`));
    expect(page).toContain(`id="${field}-problem"`);
    expect(page).toContain(`name="groups" value="${typed.groups}"`);
    for (const scope of ['publish', 'yank', 'push', 'admin']) {
      expect(page.includes(`value="${scope}" checked`), scope).toBe(typed.scopes.includes(scope));
    }
    expect((await registry.parts.store.tokens()).length).toBe(count);
  });

  it('start with the fewest rights', async () => {
    const page = await (await signedIn(registry)).text('/operate/tokens/new');
    expect(page).toContain('name="groups" value=""');
    expect(page).toContain('name="repositories" value=""');
    expect(page).toMatch(/name="expiresInDays"[^>]*value="90"/);
    expect(page).not.toContain('checked');
  });

  it('show hostile names as text', async () => {
    const browser = await signedIn(registry);
    const withControls = await browser.act('/operate/tokens/new', { ...form, name: HOSTILE });
    expect(withControls.status).toBe(400);
    expectHarmless(await withControls.text());
    const markup = HOSTILE.replace(/[\u202e\u0007]/g, '');
    const made = await browser.act('/operate/tokens/new', { ...form, name: markup });
    expect(made.status).toBe(303);
    expectHarmless(await browser.text(made.headers.get('location')!));
    const { id } = (await registry.parts.store.tokens()).find(({ name }) => name === markup)!;
    for (const target of ['/operate/tokens', `/operate/tokens/${id}/revoke`]) {
      const page = await browser.text(target);
      expect(page).toContain('&lt;script&gt;alert(1)');
      expectHarmless(page);
    }
    const refused = await browser.act('/operate/tokens/new', { ...form, name: HOSTILE, groups: HOSTILE });
    expect(refused.status).toBe(400);
    expectHarmless(await refused.text());
    expectHarmless(await browser.text(`/operate/tokens?revoked=${id}`));
    await browser.act(`/operate/tokens/${id}/revoke`);
    expectHarmless(await browser.text(`/operate/tokens?revoked=${id}`));
  });

  it('with a hostile name cannot break a page', async () => {
    const { token, secret } = await createToken(
      registry.parts.store,
      { name: HOSTILE, scopes: ['yank'], groups: [HOSTILE], repositories: ['*'] },
      { now: new Date(), by: HOSTILE },
    );
    const browser = await signedIn(registry);
    await browser.signIn(secret);
    for (const target of ['/operate', '/operate/tokens', '/operate/sources', '/operate/recipes/default']) {
      const page = await browser.text(target);
      expect(page).toContain('&lt;script&gt;alert(1)');
      expectHarmless(page);
    }
    await registry.parts.store.revokeToken(token.id, new Date().toISOString(), { reason: HOSTILE });
    expectHarmless(await (await signedIn(registry)).text('/operate/tokens'));
  });

  it('are revoked after a confirmation, and never by a GET', async () => {
    const browser = await signedIn(registry);
    const { id, secret } = await registry.token({ scopes: ['yank'] });
    const page = await browser.get(`/operate/tokens/${id}/revoke`);
    expect(page.status).toBe(200);
    const whoami = async () => {
      const headers = { Authorization: `Bearer ${secret}` };
      return (await registry.request(fillPath('whoami', {}), { headers })).status;
    };
    expect(await whoami()).toBe(200);
    const revoked = await browser.act(`/operate/tokens/${id}/revoke`);
    expect([revoked.status, revoked.headers.get('location')]).toEqual([303, `/operate/tokens?revoked=${id}`]);
    expect(await whoami()).toBe(401);
    expect(await browser.text(`/operate/tokens?revoked=${id}`)).toContain('The token is revoked');
    expect((await browser.act('/operate/tokens/nobody/revoke')).status).toBe(404);
    expect((await browser.get('/operate/tokens/nobody/revoke')).status).toBe(404);
  });

  it('are not reported as revoked unless they were, whatever the URL says', async () => {
    const browser = await signedIn(registry);
    expect(await browser.text(`/operate/tokens?revoked=${browser.tokenId}`)).not.toContain(
      'The token is revoked',
    );
  });

  it('warn before the last administrator token is revoked', async () => {
    const lonely = await openTestRegistry();
    try {
      const browser = await signedIn(lonely);
      const page = await browser.text(`/operate/tokens/${browser.tokenId}/revoke`);
      expect(page).toContain('This is the last administrator token');
      expect(page).toContain('You are signed in with this token');
      await browser.act(`/operate/tokens/${browser.tokenId}/revoke`);
      expect((await browser.get('/operate')).status).toBe(303);
    } finally {
      await lonely.close();
    }
  });
});

describe('a user with fewer rights', () => {
  const roles: [string, TokenScope[], string[]][] = [
    ['a publisher', ['publish'], ['example.com']],
    ['a yanker of everything', ['yank'], ['*']],
    ['a pusher', ['push'], ['*']],
  ];
  // The lifecycle of a release needs the scope yank for its group, the audit log the scope audit, sessions a user, and
  // device login a program: releases.test.ts, audit.test.ts, own-things.test.ts, device-login.test.ts have their cases.
  const pages = Object.values(OPERATE_ROUTES).filter(
    ({ path: page }) =>
      !page.startsWith('/sign-') &&
      page !== '/login/device' &&
      !page.endsWith('{release}') &&
      page !== '/operate/audit' &&
      !page.startsWith('/operate/sessions') &&
      !page.startsWith('/operate/publishers'),
  );
  const admins = [
    '/operate/access',
    '/operate/releases/{group}/{kind}/{release}/takedown',
    '/operate/tokens',
    '/operate/tokens/new',
    '/operate/tokens/{id}/created',
    '/operate/tokens/{id}/revoke',
    '/operate/users',
  ];

  it.each(roles)('%s can read, and sees which right is missing', async (_, scopes, groups) => {
    const browser = await signedIn(registry, { scopes, groups });
    const tokens = await registry.parts.store.tokens();
    const { recipe: before } = (await registry.parts.store.catalog('platform'))!;
    for (const { method, path: template } of pages) {
      const target = template
        .replace('{id}', tokens[0]!.id)
        .replace('{group}', 'example.com')
        .replace('{kind}', 'SetLabels')
        .replace('{release}', '1.0.0')
        .replace('{source}', 'good')
        .replace('{name}', 'platform');
      const response =
        method === 'get'
          ? await browser.get(target)
          : await browser.act(target, {
              ...(template.endsWith('/new')
                ? { name: 'forged', scopes: 'admin', groups: '*', repositories: '*', expiresInDays: '1' }
                : {}),
              ...(template.endsWith('policies') ? { text: '', expected: '0', do: 'apply' } : {}),
              ...(template.includes('recipes')
                ? { text: recipe('platform', '# forged\n'), expected: 'none', do: 'apply' }
                : {}),
            });
      const isForbidden = method === 'post' || admins.includes(template);
      expect([target, response.status]).toEqual([target, isForbidden ? 403 : 200]);
      const page = await response.text();
      if (isForbidden) {
        expect(page).toContain('does not have the scope &quot;admin&quot;');
        expect(page).toContain('<code>admin</code>');
        expect(page).toContain('Signed in as');
        expect(page).not.toContain(tokens[0]!.id);
      } else {
        expect(page).not.toMatch(/<form method="post" action="(?!\/sign-out)/);
      }
    }
    const after = await registry.parts.store.tokens();
    expect(after.map(({ id, revokedAt }) => [id, revokedAt])).toEqual(
      tokens.map(({ id, revokedAt }) => [id, revokedAt]),
    );
    expect((await registry.parts.store.catalog('platform'))?.recipe).toBe(before);
  });

  it('loses rights with the token after signing in', async () => {
    // The rights of a token never change, so only its end can remove any; each request checks that.
    const browser = await signedIn(registry);
    const formKey = await browser.formKey();
    await registry.parts.store.revokeToken(browser.tokenId, new Date().toISOString());
    const refused = await browser.post('/operate/sources/platform/good/ask', { formKey });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('Not signed in');
  });

  it('shares the rate limits of the token at the API', async () => {
    const limited = await openTestRegistry({ config: { writesPerMinute: 2 } });
    try {
      const browser = await signedIn(limited);
      const formKey = await browser.formKey();
      for (const expected of [403, 403, 429]) {
        expect((await browser.post('/operate/tokens/new', { formKey: `${formKey}x` })).status).toBe(expected);
      }
      const headers = { Authorization: `Bearer ${browser.secret}` };
      const target = fillPath('cut', { name: 'default' });
      expect((await limited.request(target, { method: 'POST', headers })).status).toBe(429);
    } finally {
      await limited.close();
    }
  });
});
