import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { root } from '../running.js';
import { openContext, signedIn, startChromium, VIEWPORTS } from './chromium.js';
import { EMPTY_PAGES, OPERATOR_PAGES, SAMPLE_PAGES } from './sample-pages.js';
import { startEmptySite, startSampleSite } from './sample-site.js';

/**
 * Takes screenshots of the pages of a sample registry: those in the documents, or with `--all FOLDER` every
 * page in every width, in both color schemes and with forced colors, or with `--all FOLDER NAME…` those pages.
 */
const APPEARANCES: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  forced: { forcedColors: 'active' },
};
/** Waits also for the images of a README that load only when they are scrolled to; one may be missing. */
const LOAD_IMAGES = `(async () => {
  for (const image of document.images) image.loading = 'eager';
  await Promise.allSettled(Array.from(document.images, (image) => image.decode()));
})()`;
const SHOWN = ['home', 'search', 'function', 'catalog'] as const;

const [option, folder, ...names] = process.argv.slice(3);
const all = option === '--all';
const out = path.resolve(all ? (folder ?? 'screenshots') : path.join(root, 'docs/images'));
mkdirSync(out, { recursive: true });

const [site, empty, browser] = await Promise.all([
  startSampleSite({ hostile: all }),
  startEmptySite(),
  startChromium(),
]);
try {
  const pages = Object.entries<string>(SAMPLE_PAGES).filter(
    ([name]) => all || SHOWN.some((one) => one === name),
  );
  await takeScreenshots(site, pages, {});
  if (all) {
    const ofEmpty = Object.entries<string>(EMPTY_PAGES).map(([name, one]) => [`empty ${name}`, one] as const);
    await takeScreenshots(empty, ofEmpty, {});
    const operator = OPERATOR_PAGES.map(
      (one) => [`operate${one.replaceAll(/[/?=]/g, '-')}`, `/operate${one}`] as const,
    );
    await takeScreenshots(site, operator, { storageState: await signedIn(browser, site) });
  }
} finally {
  await browser.close();
  await Promise.all([site.close(), empty.close()]);
}

/** Takes all pages in one context for each appearance and width. */
async function takeScreenshots(
  { url }: { url: string },
  pages: readonly (readonly [name: string, address: string])[],
  options: BrowserContextOptions,
): Promise<void> {
  const shown = pages.filter(([name]) => names.length === 0 || names.includes(name));
  for (const [appearance, media] of Object.entries(APPEARANCES)) {
    if (!all && appearance === 'forced') continue;
    for (const [width, viewport] of Object.entries(VIEWPORTS)) {
      if (!all && width !== 'desk') continue;
      const { context } = await openContext(browser, { ...options, ...media, viewport });
      const page = await context.newPage();
      for (const [name, address] of shown) {
        await page.goto(url + address);
        await page.evaluate(LOAD_IMAGES);
        const end = all ? `-${width}-${appearance}` : `-${appearance}`;
        const file = path.join(out, `${name.replaceAll(' ', '-')}${end}.png`);
        await page.screenshot({ path: file, fullPage: all });
        console.log(file);
      }
      await context.close();
    }
  }
}
