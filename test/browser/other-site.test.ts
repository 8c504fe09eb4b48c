import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumFile, openContext, startChromium } from './chromium.js';
import { type SampleSite, startSampleSite } from './sample-site.js';

const suite = chromiumFile === undefined ? describe.skip : describe;

suite('another site, in the browser of an operator', () => {
  let site: SampleSite;
  let browser: Browser;
  let evil: Server;
  let context: BrowserContext;

  beforeAll(async () => {
    [site, browser] = await Promise.all([startSampleSite({ hostile: false }), startChromium()]);
    const form = (target: string) => `<!doctype html><form method="post" action="${site.url}${target}">
<input name="token" value="${site.token}"><input name="formKey" value="x"><button>Win</button></form>`;
    evil = createServer(({ url = '/' }, response) =>
      response.setHeader('Content-Type', 'text/html').end(form(decodeURIComponent(url.slice(2)))),
    );
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    ({ context } = await openContext(browser));
    const page = await context.newPage();
    await page.goto(`${site.url}/sign-in`);
    await page.getByLabel('Token of this registry').fill(site.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Signed in as').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    evil?.close();
  });

  // The same host with another port is the same site, so the browser sends the cookie.
  it.each(['127.0.0.1', 'localhost'])('at %s cannot send a form', async (host) => {
    const { port } = evil.address() as AddressInfo;
    for (const target of ['/sign-in', '/sign-out', '/operate/tokens/new']) {
      const page = await context.newPage();
      await page.goto(`http://${host}:${port}/?${encodeURIComponent(target)}`);
      const answer = page.waitForResponse((response) => response.url().endsWith(target));
      await page.getByRole('button', { name: 'Win' }).click();
      expect((await answer).status(), target).toBe(403);
      await page.getByText('is not from a page of this registry').waitFor();
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
