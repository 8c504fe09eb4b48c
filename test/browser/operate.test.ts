import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumFile, openContext, startChromium, VIEWPORTS } from './chromium.js';
import { seriousProblems, widthBeyond } from './page-checks.js';
import { type SampleSite, startSampleSite } from './sample-site.js';

const PAGES = [
  '/operate',
  '/operate/sources',
  '/operate/sources?problems=true',
  '/operate/recipes',
  '/operate/recipes/default',
  '/operate/recipes/begun',
  '/operate/tokens',
  '/operate/tokens/new',
];

const suite = chromiumFile === undefined ? describe.skip : describe;
if (chromiumFile === undefined) console.warn("operators' pages are not opened: no Chromium is installed");

suite("operators' pages in a browser", () => {
  let site: SampleSite;
  let browser: Browser;

  beforeAll(async () => {
    [site, browser] = await Promise.all([startSampleSite({ hostile: false }), startChromium()]);
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  async function signIn(page: Page): Promise<void> {
    await page.getByLabel('Token of this registry').fill(site.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Signed in as').waitFor();
  }

  it.each([
    ['a phone', VIEWPORTS.phone, 'light'],
    ['a desk', VIEWPORTS.desk, 'dark'],
  ] as const)(
    'are sound for everybody on %s',
    async (_name, viewport, colorScheme) => {
      const { context, faults, open } = await openContext(browser, { viewport, colorScheme });
      try {
        const page = await open(`${site.url}/operate/sign-in`);
        const sound = async (path: string) => {
          expect(await seriousProblems(page), path).toEqual([]);
          expect(await page.locator('h1').count(), path).toBe(1);
          expect(await widthBeyond(page), path).toBe(0);
          await page.setViewportSize({ width: 320, height: 700 });
          expect(await widthBeyond(page), path).toBe(0);
          await page.setViewportSize(viewport);
        };
        await sound('sign-in');
        await signIn(page);
        for (const path of PAGES) {
          await page.goto(site.url + path);
          await sound(path);
        }
        await page.getByLabel('Name').fill('wrong');
        await page.getByRole('button', { name: 'Make the token' }).click();
        await page.getByText('No token was made').waitFor();
        await sound('a form that is wrong');
        expect(faults).toEqual([]);
      } finally {
        await context.close();
      }
    },
    60_000,
  );

  it('do everything without scripts', async () => {
    const { context, open } = await openContext(browser, { javaScriptEnabled: false });
    try {
      const page = await open(`${site.url}/operate/tokens/new`);
      await signIn(page);
      await page.getByLabel('Name').fill('made in a browser');
      await page.getByLabel('publish', { exact: false }).first().check();
      await page.getByRole('button', { name: 'Make the token' }).click();
      expect(await page.locator('.snippet code').textContent()).toMatch(/^krmhub_[a-f0-9]{72}$/);
      expect(page.url()).toBe(`${site.url}/operate/tokens/new`);
      await page.goto(`${site.url}/operate/tokens`);
      await page.getByRole('link', { name: 'Revoke made in a browser' }).click();
      await page.getByRole('button', { name: 'Revoke it' }).click();
      await page.getByText('The token is revoked').waitFor();
      await page.goto(`${site.url}/operate/recipes/begun`);
      const text = await page.getByLabel('Recipe, YAML').inputValue();
      await page.getByLabel('Recipe, YAML').fill(text.replace('functions: {}', 'functons: {}'));
      await page.getByRole('button', { name: 'Check only' }).click();
      await page.getByText('recipe/unknown-field').waitFor();
      await page.getByLabel('Recipe, YAML').fill(text);
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('The recipe stands').waitFor();
      expect(await page.getByLabel('Recipe, YAML').inputValue()).toBe(text);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('Token of this registry').waitFor();
      await page.goto(`${site.url}/operate`);
      expect(page.url()).toContain('/operate/sign-in');
    } finally {
      await context.close();
    }
  }, 60_000);

  describe('and another site', () => {
    let evil: Server;
    let context: BrowserContext;

    beforeAll(async () => {
      const form = (target: string) => `<!doctype html><form method="post" action="${site.url}${target}">
<input name="token" value="${site.token}"><input name="formKey" value="x"><button>Win</button></form>`;
      evil = createServer(({ url = '/' }, response) =>
        response.setHeader('Content-Type', 'text/html').end(form(decodeURIComponent(url.slice(2)))),
      );
      await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
      ({ context } = await openContext(browser));
      const page = await context.newPage();
      await page.goto(`${site.url}/operate/sign-in`);
      await signIn(page);
    });
    afterAll(async () => {
      await context?.close();
      evil?.close();
    });

    // The same host on another port is of the same site, so that the cookie goes along.
    it.each(['127.0.0.1', 'localhost'])('at %s cannot send a form', async (host) => {
      const { port } = evil.address() as AddressInfo;
      for (const target of ['/operate/sign-in', '/operate/sign-out', '/operate/tokens/new']) {
        const page = await context.newPage();
        await page.goto(`http://${host}:${port}/?${encodeURIComponent(target)}`);
        const answer = page.waitForResponse((response) => response.url().endsWith(target));
        await page.getByRole('button', { name: 'Win' }).click();
        expect((await answer).status(), target).toBe(403);
        await page.getByText('not sent by a page of this registry').waitFor();
        await page.close();
      }
      const page = await context.newPage();
      await page.goto(`${site.url}/operate`);
      await page.getByText('Signed in as').waitFor();
    });

    it('cannot read or frame a page', async () => {
      const { port } = evil.address() as AddressInfo;
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${port}/?/operate`);
      const read = await page.evaluate(
        (url) =>
          fetch(url, { credentials: 'include' }).then(
            (response) => response.text(),
            () => 'refused',
          ),
        `${site.url}/operate`,
      );
      expect(read).toBe('refused');
      await page.setContent(`<iframe src="${site.url}/operate"></iframe>`);
      expect(await page.frames().at(-1)?.content()).not.toContain('Signed in as');
    });
  });
});
