import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createLog, type RunningRegistry, readConfig, startRegistry } from '@krmhub/registry';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestProvider } from '../../apps/registry/src/testing/test-provider.js';
import { freePort } from '../interop/free-port.js';
import { temporaryFolder } from '../running.js';
import { expectNoSidewaysScrolling, expectUsablePage } from './check-page.js';
import { chromiumFile, openContext, startChromium, VIEWPORTS } from './chromium.js';

const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams:
  - {name: admins, displayName: Registry administrators, members: [{ssoGroup: admins}]}
  - {name: platform, displayName: Platform team, members: [{ssoGroup: platform}, {ssoGroup: admins}]}
  groups:
  - {pattern: functions.example.com, owner: platform}
  - {pattern: "*.platform.example.com", owner: platform, visibility: internal}
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;

const suite = chromiumFile === undefined ? describe.skip : describe;

suite('a user with a browser and an identity provider', () => {
  const { folder, remove } = temporaryFolder();
  let idp: TestProvider;
  let registry: RunningRegistry;
  let browser: Browser;
  /** The name of the registry for the browser, of another site than the provider. */
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    url = `http://localhost:${port}`;
    idp = await TestProvider.start({ redirectUri: `${url}/sign-in/callback` });
    idp.users.set('root', {
      name: 'Root with a very long name that does not fit into one line of a phone',
      email: 'root@example.com',
      groups: ['admins', ...Array.from({ length: 30 }, (_, at) => `group-with-a-long-name-${at}`)],
    });
    const settings = {
      KRMHUB_PUBLIC_URL: url,
      KRMHUB_OIDC_ISSUER: idp.issuer,
      KRMHUB_OIDC_CLIENT_ID: idp.client.client_id,
      KRMHUB_OIDC_CLIENT_SECRET: idp.client.client_secret,
      KRMHUB_OIDC_NAME: 'Example SSO',
      KRMHUB_REQUESTS_PER_MINUTE: '0',
    };
    registry = await startRegistry({
      config: readConfig(settings, { port: String(port), data: path.join(folder, 'data') }),
      log: createLog('silent', { write: () => undefined }),
    });
    const token = readFileSync(registry.adminTokenFile, 'utf8').trim();
    const applied = await fetch(`${registry.url}/api/v1/access`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/yaml' },
      body: ACCESS,
    });
    expect(applied.status).toBe(200);
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await registry?.close();
    await idp?.close();
    remove();
  });

  const button = (page: Page, name: string) => page.getByRole('main').getByRole('link', { name });

  const signIn = async (page: Page, user: string, to = '/operate') => {
    idp.user = user;
    await button(page, 'Sign in with Example SSO').click();
    await page.waitForURL((at) => at.pathname === to);
  };

  it.each([true, false])('signs in and out, with scripts: %s', async (javaScriptEnabled) => {
    const { context } = await openContext(browser, { javaScriptEnabled });
    try {
      const page = await context.newPage();
      await page.goto(`${url}/operate/sources`);
      await page.waitForURL(/sign-in/);
      // The session cookie is strict, and the browser came from another site.
      await signIn(page, 'alice', '/operate/sources');
      expect(await page.getByText('Alice Example').count()).toBe(1);
      const cookies = await context.cookies(url);
      expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])).toEqual([
        ['krmhub-user', true, 'Strict'],
      ]);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Signed out' }).waitFor();
      await page.goto(`${url}/operate`);
      await page.waitForURL(/sign-in/);
    } finally {
      await context.close();
    }
  });

  it('ends another session', async () => {
    const [here, there] = [await openContext(browser), await openContext(browser)];
    try {
      const pages = await Promise.all([here, there].map(({ context }) => context.newPage()));
      for (const page of pages) {
        await page.goto(`${url}/operate`);
        await signIn(page, 'alice');
      }
      const [page, other] = pages;
      await page!.reload();
      await page!
        .getByRole('button', { name: /^End the session/ })
        .first()
        .click();
      await page!.waitForURL(/#sessions/);
      await other!.reload();
      await other!.waitForURL(/sign-in/);
    } finally {
      await here.context.close();
      await there.context.close();
    }
  });

  it.each([
    ['a phone', VIEWPORTS.phone, 'light'],
    ['a phone at night', VIEWPORTS.phone, 'dark'],
    ['a desk', VIEWPORTS.desk, 'light'],
    ['a desk at night', VIEWPORTS.desk, 'dark'],
  ] as const)('finds no problem on any page at %s', async (name, viewport, colorScheme) => {
    const { context } = await openContext(browser, { viewport, colorScheme });
    const shots = process.env.KRMHUB_TEST_SCREENSHOTS;
    const check = async (page: Page, what: string) => {
      await expectUsablePage(page);
      if (shots !== undefined) {
        await page.screenshot({ path: `${shots}/${what}-${name.replaceAll(' ', '-')}.png`, fullPage: true });
      }
      if (name === 'a desk') {
        await expectNoSidewaysScrolling(page);
        await page.setViewportSize(viewport);
      }
    };
    try {
      const page = await context.newPage();
      await page.goto(`${url}/sign-in?from=/operate`);
      await check(page, 'sign-in');
      await page.getByText('Sign in with a token').click();
      await check(page, 'sign-in-token');
      idp.isAway = true;
      await page.goto(`${url}/sign-in/callback?code=x&state=y`);
      await check(page, 'not-begun');
      idp.isAway = false;
      await page.goto(`${url}/sign-in`);
      await signIn(page, 'alice');
      await check(page, 'operate-user');
      await page.goto(`${url}/operate/tokens`);
      await check(page, 'tokens-user');
      await page.getByRole('link', { name: 'Create a token' }).click();
      await check(page, 'new-token-user');
      await page.getByLabel('Name').fill(`for ${name}`);
      await page.getByRole('checkbox', { name: /^publish\b/ }).check();
      await page.getByLabel('Groups', { exact: true }).fill('functions.example.com');
      await page.getByRole('button', { name: 'Create the token' }).click();
      await page.getByText('Copy the token now').waitFor();
      await check(page, 'created-token-user');
      await page.goto(`${url}/operate/tokens`);
      await page.getByRole('heading', { name: `for ${name}` }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Signed out' }).waitFor();
      await check(page, 'signed-out');
      // The provider knows the browser, too.
      await context.clearCookies();
      await page.goto(`${url}/sign-in`);
      await signIn(page, 'root');
      await check(page, 'operate-admin');
      await page.goto(`${url}/operate/tokens/new`);
      await check(page, 'new-token-admin');
      await page.goto(`${url}/operate/users`);
      await page.getByText('Root with').first().waitFor();
      await check(page, 'users');
    } finally {
      await context.close();
    }
  });
});
