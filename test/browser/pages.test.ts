import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  expectKeyboardWalk,
  expectNoSidewaysScrolling,
  expectPrintable,
  expectUsablePage,
} from './check-page.js';
import { chromiumFile, openContext, signedIn, startChromium, VIEWPORTS } from './chromium.js';
import { EMPTY_PAGES, OPERATOR_PAGES, SAMPLE_PAGES } from './sample-pages.js';
import { type SampleSite, startEmptySite, startSampleSite } from './sample-site.js';

const suite = chromiumFile === undefined ? describe.skip : describe;
if (chromiumFile === undefined) console.warn('pages are not opened: Chromium is not installed');

/** Several pages at once: much of the time, a page waits for its next frame. */
suite.concurrent('every page in a browser', () => {
  let site: SampleSite;
  let empty: SampleSite;
  let browser: Browser;
  let storageState: NonNullable<BrowserContextOptions['storageState']>;

  beforeAll(async () => {
    [site, empty, browser] = await Promise.all([
      startSampleSite({ hostile: true }),
      startEmptySite(),
      startChromium(),
    ]);
    storageState = await signedIn(browser, site);
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([site?.close(), empty?.close()]);
  });

  const pages = [
    ...Object.entries(SAMPLE_PAGES).map(([name, path]) => [name, () => site.url + path] as const),
    ...Object.entries(EMPTY_PAGES).map(([name, path]) => [`empty: ${name}`, () => empty.url + path] as const),
  ];
  describe.each(pages)('%s', (_, url) => {
    it('has no problem at any width, never scrolls sideways, prints whole, and needs no mouse', async () => {
      const { context, faults, open } = await openContext(browser, { viewport: VIEWPORTS.phone });
      try {
        const page = await open(url());
        for (const [viewport, colorScheme] of [
          [VIEWPORTS.phone, 'light'],
          [VIEWPORTS.tablet, 'dark'],
          [VIEWPORTS.desk, 'light'],
        ] as const) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize(viewport);
          await expectUsablePage(page);
        }
        expect(await page.title()).not.toBe('taken');
        expect(faults).toEqual([]);
        await expectNoSidewaysScrolling(page);
        await page.setViewportSize(VIEWPORTS.desk);
        await expectPrintable(page);
        await expectKeyboardWalk(page);
      } finally {
        await context.close();
      }
    });

    it('shows the same without scripts', async () => {
      const shown = async (javaScriptEnabled: boolean) => {
        const { context } = await openContext(browser, { javaScriptEnabled });
        const page = await context.newPage();
        const code = (await page.goto(url()))!.status();
        // With scripts, this paragraph is a button; without, it names the command that does the same.
        await page.evaluate(`document.querySelector('.try-start')?.remove()`);
        const text = await page.locator('main').textContent();
        // Scripts add copy buttons, and the address by which the browser reached the registry.
        const { host } = new URL(url());
        const same = text!.replaceAll('Copy', '').replaceAll(/https?:\/\/[\w.:]+/g, 'URL');
        await context.close();
        return [code, same.replaceAll(host, 'REGISTRY').replaceAll(/Request [\w-]+/g, 'Request')];
      };
      // A page shows the age of events, which may change between two loads.
      await vi.waitFor(async () => expect(await shown(false)).toEqual(await shown(true)), {
        timeout: 240_000,
      });
    });
  });

  it.each(OPERATOR_PAGES)('/operate%s never scrolls sideways, and needs no mouse', async (path) => {
    const { context, open } = await openContext(browser, { storageState });
    try {
      const page = await open(`${site.url}/operate${path}`);
      await expectNoSidewaysScrolling(page);
      await page.setViewportSize(VIEWPORTS.desk);
      await expectKeyboardWalk(page);
    } finally {
      await context.close();
    }
  });
});
