import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { root } from '../running.js';
import { openContext, startChromium, VIEWPORTS } from './chromium.js';
import { SAMPLE_PAGES } from './sample-pages.js';
import { startSampleSite } from './sample-site.js';

/**
 * Takes screenshots of the pages of a sample registry: those in the documents, or with `--all FOLDER` every
 * page in every width and both color schemes.
 */
const SHOWN = ['home', 'search', 'function', 'catalog'] as const;

const [option, folder] = process.argv.slice(3);
const all = option === '--all';
const out = path.resolve(all ? (folder ?? 'screenshots') : path.join(root, 'docs/images'));
mkdirSync(out, { recursive: true });

const [site, browser] = await Promise.all([startSampleSite({ hostile: all }), startChromium()]);
try {
  const wanted = Object.entries(SAMPLE_PAGES).filter(([name]) => all || SHOWN.some((one) => one === name));
  for (const [name, address] of wanted) {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [width, viewport] of Object.entries(VIEWPORTS)) {
        if (!all && width !== 'desk') continue;
        const { context, open } = await openContext(browser, { viewport, colorScheme });
        const page = await open(site.url + address);
        const file = path.join(
          out,
          `${name.replaceAll(' ', '-')}${all ? `-${width}` : ''}-${colorScheme}.png`,
        );
        await page.screenshot({ path: file, fullPage: all });
        console.log(file);
        await context.close();
      }
    }
  }
} finally {
  await browser.close();
  await site.close();
}
