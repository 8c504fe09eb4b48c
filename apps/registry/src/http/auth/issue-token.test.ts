import { afterEach, beforeEach, expect, it } from 'vitest';
import { signedIn } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { createToken } from './tokens.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry({ config: { maxTokenDays: 30 } });
});
afterEach(() => registry.close());

const create = (expiresInDays?: number, name = 'ci') =>
  registry.send<{ createdAt: string; expiresAt: string; detail?: string }>('POST', '/api/v1/tokens', {
    ...{ name, scopes: ['publish'] },
    ...(expiresInDays === undefined ? {} : { expiresInDays }),
  });

it('limits the days until tokens expire, which is also the default', async () => {
  for (const days of [undefined, 30]) {
    const { status, body } = await create(days);
    expect(status).toBe(201);
    expect((Date.parse(body.expiresAt) - Date.parse(body.createdAt)) / 86_400_000).toBe(30);
  }
  const refused = await create(31);
  expect([refused.status, refused.body.detail]).toEqual([
    400,
    'a token of this registry expires after at most 30 days, not 31',
  ]);
});

it('limits them on the pages too', async () => {
  const browser = await signedIn(registry);
  expect(await browser.text('/operate/tokens/new')).toMatch(
    /name="expiresInDays"[^>]*value="30"[^>]*max="30"/,
  );
  const fields = { name: 'ci', scopes: 'publish', groups: '*', repositories: '*', expiresInDays: '31' };
  const refused = await browser.act('/operate/tokens/new', fields);
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain('at most 30 days, not 31');
});

it('limits the groups and the repositories of a token, also on the pages', async () => {
  const browser = await signedIn(registry);
  const fields = { name: 'ci', scopes: 'read', groups: '*', repositories: '*', expiresInDays: '1' };
  for (const field of ['groups', 'repositories'] as const) {
    const names = Array.from({ length: 101 }, (_, at) => `x${at}.example.com`);
    const make = (list: readonly string[]) =>
      registry.send('POST', '/api/v1/tokens', { name: 'ci', scopes: ['read'], [field]: list });
    expect((await make(names.slice(1))).status).toBe(201);
    const { status, body } = await make(names);
    expect([status, body.detail]).toEqual([400, `${field}: has more than 100 entries`]);
    const page = await browser.act('/operate/tokens/new', { ...fields, [field]: names.join(' ') });
    expect([page.status, (await page.text()).includes('has more than 100 entries')]).toEqual([400, true]);
  }
});

it('refuses names of actors without a token', async () => {
  for (const name of ['krmhub', 'Anonymous', ' krmhub '])
    expect((await create(1, name)).status, name).toBe(400);
});

it('shows who created and revoked a token, and tells the owner of the first one to replace it', async () => {
  const { store, clock } = registry.parts;
  const wanted = { name: 'admin', scopes: ['admin'], groups: ['*'], repositories: ['*'] } as const;
  const first = await createToken(store, wanted, { now: clock(), by: 'krmhub' });
  const { id } = await registry.token({ name: 'gone' });
  const revoked = await registry.send<{ revokedBy: string }>('DELETE', `/api/v1/tokens/${id}`);
  expect(revoked.body.revokedBy).toBe('tester');
  const browser = await signedIn(registry);
  expect(await browser.text('/operate')).not.toContain('first administrator token');
  expect(await browser.text('/operate/tokens')).toMatch(/revoked <time[\s\S]*?by <bdi>tester<\/bdi>/);
  await browser.signIn(first.secret);
  expect(await browser.text('/operate')).toContain(`href="/operate/tokens/${first.token.id}/revoke"`);
});
