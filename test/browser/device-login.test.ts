import path from 'node:path';
import type { LoginResult, PendingLogin } from '@krmhub/api/model';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { expectNoSidewaysScrolling, expectUsablePage } from './check-page.js';
import { chromiumFile, openContext, startChromium, VIEWPORTS } from './chromium.js';

const suite = chromiumFile === undefined ? describe.skip : describe;
/** `KRMHUB_TEST_SCREENSHOTS` names a folder for pictures of the pages. */
const pictures = process.env.KRMHUB_TEST_SCREENSHOTS;

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
let browser: Browser;

async function post<Body>(target: string, body: object): Promise<Body> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(registry.url + target, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return (await response.json()) as Body;
}

const start = (client: string) => post<PendingLogin>('/api/v1/login/requests', { client });

suite('a user who signs in a device', () => {
  beforeAll(async () => {
    [registry, browser] = await Promise.all([startRegistry(path.join(folder, 'data')), startChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await registry?.stop();
    remove();
  });

  describe.each([
    ['at a phone, without scripts', VIEWPORTS.phone, 'light', false],
    ['at a phone', VIEWPORTS.phone, 'dark', true],
    ['at a desk', VIEWPORTS.desk, 'light', true],
    ['at a desk, in the dark', VIEWPORTS.desk, 'dark', true],
  ] as const)('%s', (name, viewport, colorScheme, javaScriptEnabled) => {
    const check = async (page: Page, step: string) => {
      if (javaScriptEnabled) await expectUsablePage(page);
      if (pictures === undefined) return;
      const file = `device-${step}-${name.replaceAll(/\W+/g, '-')}.png`;
      await page.screenshot({ path: path.join(pictures, file), fullPage: true });
    };

    it('compares the code, and allows or denies it', async () => {
      const { context, faults, open } = await openContext(browser, {
        viewport,
        colorScheme,
        javaScriptEnabled,
      });
      try {
        const login = await start(`${'very-long-name-of-a-machine.'.repeat(3)}example`);
        const page = await open(registry.url + login.page);
        await page.getByLabel('Token of this registry').fill(registry.token);
        await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
        await page.waitForURL((url) => url.pathname === '/login/device');
        expect(await page.locator('main').textContent()).toContain(login.code);
        await check(page, 'asked');
        await page.getByLabel('It stays signed in for').selectOption('7');
        await page.getByRole('checkbox', { name: /Administration too/ }).check();
        await page.getByRole('button', { name: 'Allow it' }).click();
        await page.waitForURL(/answered=allowed/);
        await check(page, 'allowed');
        const { token } = await post<LoginResult>('/api/v1/login/token', { secret: login.secret });
        expect(token).toMatch(/^krmhub_/);

        await page.goto(`${registry.url}/login/device`);
        await check(page, 'code');
        await page.getByLabel('Code').fill(login.code.toLowerCase());
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByText('No device waits with this code').waitFor();
        await check(page, 'none');
        const other = await start('laptop');
        await page.getByLabel('Code').fill(` ${other.code.replace('-', ' ').toLowerCase()}`);
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByRole('button', { name: 'Deny' }).click();
        await page.waitForURL(/answered=denied/);
        await check(page, 'denied');
        expect(faults).toEqual([]);
      } finally {
        await context.close();
      }
    });
  });

  it('never has to scroll sideways', async () => {
    const { context, open } = await openContext(browser);
    try {
      const login = await start('x'.repeat(100));
      const page = await open(registry.url + login.page);
      await page.getByLabel('Token of this registry').fill(registry.token);
      await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL((url) => url.pathname === '/login/device');
      await expectNoSidewaysScrolling(page);
    } finally {
      await context.close();
    }
  });
});
