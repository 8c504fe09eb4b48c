import { existsSync } from 'node:fs';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

const CHROMIUM_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Path of an installed Chromium: `KRMHUB_TEST_CHROMIUM`, or the path that distributions use. Undefined if
 * there is none.
 */
export const chromiumFile = [process.env.KRMHUB_TEST_CHROMIUM, ...CHROMIUM_PATHS].find(
  (file) => file !== undefined && existsSync(file),
);

export function startChromium(): Promise<Browser> {
  if (chromiumFile === undefined)
    throw new Error('Chromium is not installed; KRMHUB_TEST_CHROMIUM can name one');
  // Containers do not allow a sandbox, and have little shared memory.
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  return chromium.launch({ executablePath: chromiumFile, args });
}

/** Widths of a phone, a tablet, and a desktop, in CSS pixels. */
export const VIEWPORTS = {
  phone: { width: 390, height: 844 },
  tablet: { width: 820, height: 1180 },
  desk: { width: 1440, height: 900 },
} as const;

/** A context that records errors of pages. */
export async function openContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ context: BrowserContext; faults: string[]; open(url: string): Promise<Page> }> {
  const context = await browser.newContext({ viewport: VIEWPORTS.desk, ...options });
  // It ends only what hangs: a page may load slowly on a busy machine.
  context.setDefaultTimeout(120_000);
  const faults: string[] = [];
  const open = async (url: string): Promise<Page> => {
    const page = await context.newPage();
    const { origin } = new URL(url);
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('status of 4'))
        faults.push(`console: ${message.text()}`);
    });
    page.on('dialog', (dialog) => {
      faults.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) faults.push(`request to ${request.url()}`);
    });
    await page.goto(url);
    return page;
  };
  return { context, faults, open };
}

/** Signs in as an operator, and returns the cookies for other contexts. */
export async function signedIn(
  browser: Browser,
  site: { url: string; token: string },
): Promise<NonNullable<BrowserContextOptions['storageState']>> {
  const { context, open } = await openContext(browser);
  const page = await open(`${site.url}/sign-in`);
  await page.getByLabel('Token of this registry').fill(site.token);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname === '/operate');
  const state = await context.storageState();
  await context.close();
  return state;
}
