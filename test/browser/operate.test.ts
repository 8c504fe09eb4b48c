import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectUsablePage as expectUsablePageWithScripts } from './check-page.js';
import { chromiumFile, openContext, startChromium, VIEWPORTS } from './chromium.js';
import { OPERATOR_PAGES } from './sample-pages.js';
import { type SampleSite, startSampleSite } from './sample-site.js';

const suite = chromiumFile === undefined ? describe.skip : describe;

let site: SampleSite;
let browser: Browser;

suite('an operator with a browser', () => {
  beforeAll(async () => {
    [site, browser] = await Promise.all([startSampleSite({ hostile: false }), startChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  const signIn = async (page: Page, token: string) => {
    await page.getByLabel('Token of this registry').fill(token);
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  };

  it.each([
    ['a phone', VIEWPORTS.phone, 'light'],
    ['a desk', VIEWPORTS.desk, 'dark'],
  ] as const)('finds no problem on any page at %s', async (_, viewport, colorScheme) => {
    const { context, faults, open } = await openContext(browser, { viewport, colorScheme });
    try {
      const page = await open(`${site.url}/operate`);
      await signIn(page, site.token);
      await page.waitForURL((url) => url.pathname === '/operate');
      for (const path of OPERATOR_PAGES) {
        await page.goto(`${site.url}/operate${path}`);
        await expectUsablePageWithScripts(page);
      }
      expect(faults).toEqual([]);
    } finally {
      await context.close();
    }
  });

  describe.each([true, false])('with scripts: %s', (javaScriptEnabled) => {
    // The page check is a script too.
    const expectUsablePage = async (page: Page) => {
      if (javaScriptEnabled) await expectUsablePageWithScripts(page);
    };
    const asOperator = async (path: string, work: (page: Page) => Promise<void>) => {
      const viewport = javaScriptEnabled ? VIEWPORTS.desk : VIEWPORTS.phone;
      const colorScheme = javaScriptEnabled ? 'dark' : 'light';
      const { context, faults, open } = await openContext(browser, {
        javaScriptEnabled,
        viewport,
        colorScheme,
      });
      try {
        const page = await open(site.url + path);
        await page.waitForURL(/sign-in/);
        await signIn(page, site.token);
        await page.waitForURL((url) => url.pathname === path);
        await work(page);
        expect(faults).toEqual([]);
      } finally {
        await context.close();
      }
    };

    it('signs in with a valid token, lands on the requested page, and signs out', async () => {
      await asOperator('/operate/sources', async (page) => {
        const [cookie] = await page.context().cookies();
        expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
        expect(cookie!.value).not.toContain(site.token);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.goto(`${site.url}/operate/sources`);
        await page.waitForURL(/sign-in/);
        await signIn(page, 'krmhub_not_a_token');
        expect(page.url()).toContain('sign-in');
        expect(await page.locator('main').textContent()).not.toContain('krmhub_not_a_token');
      });
    });

    it('sees which source fails and why, and polls it', () =>
      asOperator('/operate/sources', async (page) => {
        expect(await page.locator('main').textContent()).toContain('responded with 404');
        await page.getByRole('button', { name: 'Sync now: watermelon of platform' }).click();
        await page.waitForURL(/\/operate\/sources/);
        expect(await page.locator('main').textContent()).toContain('responded with 404');
      }));

    it('creates a token whose secret is shown once, and revokes it', () =>
      asOperator('/operate/tokens', async (page) => {
        const name = `pipeline-${javaScriptEnabled}`;
        await page.getByRole('link', { name: 'Create a token', exact: true }).click();
        await page.getByLabel('Name').fill(name);
        await page.getByRole('checkbox', { name: /^publish\b/ }).check();
        await page.getByLabel('Groups', { exact: true }).fill('functions.example.com');
        await page.getByRole('button', { name: 'Create the token' }).click();
        await expectUsablePage(page);
        const secret = /krmhub_[0-9a-f]+/.exec((await page.locator('main').textContent())!)![0];
        const whoAmI = () =>
          fetch(`${site.url}/api/v1/tokens`, { headers: { Authorization: `Bearer ${secret}` } });
        // A valid token without the admin scope.
        expect((await whoAmI()).status).toBe(403);
        await page.goto(`${site.url}/operate/tokens`);
        expect(await page.content()).not.toContain(secret);
        await page.getByRole('link', { name: new RegExp(`Revoke.*${name}|${name}.*[Rr]evoke`) }).click();
        await expectUsablePage(page);
        await page
          .getByRole('main')
          .getByRole('button', { name: /Revoke/ })
          .click();
        expect((await whoAmI()).status).toBe(401);
      }));

    it('sees every problem of a recipe, keeps the text, and applies it after the fix', () =>
      asOperator('/operate/recipes/platform', async (page) => {
        const box = page.getByLabel('Recipe, YAML');
        const before = await box.inputValue();
        const wrong = before.replace('allowNetwork: false', 'allowNetwork: perhaps\n    another: 1');
        await box.fill(wrong);
        await page.getByRole('button', { name: 'Apply' }).click();
        expect(
          await page
            .getByRole('region', { name: /problem/i })
            .getByRole('listitem')
            .count(),
        ).toBe(2);
        await expectUsablePage(page);
        expect((await page.getByLabel('Recipe, YAML').inputValue()).trim()).toBe(wrong.trim());
        const fixed = before.replace(/team: .*/, `team: ${javaScriptEnabled ? 'one' : 'two'}`);
        await page.getByLabel('Recipe, YAML').fill(fixed);
        await page.getByRole('button', { name: 'Apply' }).click();
        const stored = async () => (await fetch(`${site.url}/api/v1/catalogs/platform`)).text();
        await expect.poll(stored).toContain(`team: ${javaScriptEnabled ? 'one' : 'two'}`);
      }));
  });
});
