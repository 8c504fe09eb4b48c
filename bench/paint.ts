import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { type Spread, spread } from './measure.js';

const CHROMIUM = [process.env.KRMHUB_TEST_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (file) => file !== undefined && existsSync(file),
);
/** A phone in a slow mobile network, with the settings of Lighthouse. */
const NETWORK = {
  offline: false,
  latency: 150,
  downloadThroughput: (1.6 * 1_000_000) / 8,
  uploadThroughput: (0.75 * 1_000_000) / 8,
};
const PROCESSOR_SLOWDOWN = 4;
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
/** Milliseconds to wait for a larger content. */
const SETTLED_MILLISECONDS = 500;

/** Milliseconds until the largest content of each page is painted; undefined without Chromium. */
export async function largestPaint<Name extends string>(
  urls: Readonly<Record<Name, string>>,
  rounds: number,
): Promise<Record<Name, Spread> | undefined> {
  if (CHROMIUM === undefined) return undefined;
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  try {
    const painted = {} as Record<Name, Spread>;
    for (const [name, url] of Object.entries(urls) as [Name, string][]) {
      const times: number[] = [];
      for (let round = 0; round < Math.max(rounds, 3); round++) times.push(await paintOnce(browser, url));
      painted[name] = spread(times);
    }
    return painted;
  } finally {
    await browser.close();
  }
}

/** A new context has an empty cache. */
async function paintOnce(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext(PHONE);
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', NETWORK);
    await session.send('Emulation.setCPUThrottlingRate', { rate: PROCESSOR_SLOWDOWN });
    await page.goto(url, { waitUntil: 'load' });
    return await page.evaluate<number>(`new Promise((resolve) => {
      let last = 0;
      new PerformanceObserver((list) => { for (const entry of list.getEntries()) last = entry.startTime; })
        .observe({ type: 'largest-contentful-paint', buffered: true });
      setTimeout(() => resolve(last), ${SETTLED_MILLISECONDS});
    })`);
  } finally {
    await context.close();
  }
}
