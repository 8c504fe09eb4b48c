import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumFile, openContext, startChromium } from './chromium.js';
import { type SampleSite, startSampleSite } from './sample-site.js';

const suite = chromiumFile === undefined ? describe.skip : describe;

let site: SampleSite;
let browser: Browser;

suite('a user with a browser', () => {
  beforeAll(async () => {
    [site, browser] = await Promise.all([startSampleSite({ hostile: false }), startChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  /** Opens a page and fails on any error on it. */
  const visit = async (
    path: string,
    work: (page: Page) => Promise<void>,
    options: Parameters<typeof openContext>[1] = {},
  ) => {
    const { context, faults, open } = await openContext(browser, options);
    try {
      await work(await open(site.url + path));
      expect(faults).toEqual([]);
    } finally {
      await context.close();
    }
  };

  it('copies a snippet of a function with a tag, in three clicks from the first page', async () => {
    await visit(
      '/',
      async (page) => {
        await page
          .getByRole('region', { name: 'Browse' })
          .getByRole('link', { name: /^labels\b/ })
          .click();
        await page.getByRole('link', { name: 'SetLabels' }).click();
        const use = page.getByRole('region', { name: 'Use it' });
        await use.getByRole('button', { name: /^Copy: The functionConfig/ }).click();
        const copied = await page.evaluate<string>('navigator.clipboard.readText()');
        const definition = await (
          await fetch(`${site.url}/api/v1/functions/functions.example.com/SetLabels`)
        ).text();
        const digest = /"sha256":"([0-9a-f]{64})"/.exec(definition)![1]!;
        expect(copied).toContain('kind: SetLabels');
        expect(copied).toContain(`@sha256:${digest}`);
        const said = () => page.getByRole('status').allTextContents();
        await expect.poll(said).toEqual([expect.stringMatching(/^Copied/)]);
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    );
  });

  it.each([true, false])('chooses a tool without the mouse, with scripts: %s', (javaScriptEnabled) =>
    visit(
      '/functions/functions.example.com/SetLabels',
      async (page) => {
        const use = page.getByRole('region', { name: 'Use it' });
        await use.getByText('kustomize build', { exact: false }).waitFor({ state: 'visible' });
        await use.getByRole('radio', { name: 'kustomize' }).focus();
        await page.keyboard.press('ArrowRight');
        await use.getByText('kpt fn render', { exact: false }).waitFor({ state: 'visible' });
        expect(await use.getByText('kustomize build', { exact: false }).isVisible()).toBe(false);
      },
      { javaScriptEnabled },
    ),
  );

  it('finds the tool and the theme again that were chosen on another page', () =>
    visit(
      '/functions/functions.example.com/SetLabels',
      async (page) => {
        const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
        const light = await background();
        await page.locator('#use-kpt').click();
        await page.getByLabel('Theme').selectOption('dark');
        expect(await background()).not.toBe(light);
        await page.goto(`${site.url}/catalogs/platform`);
        expect(await page.getByRole('radio', { name: 'kpt' }).isChecked()).toBe(true);
        expect(await background()).not.toBe(light);
        await page.getByLabel('Theme').selectOption('as the system');
        await page.goto(`${site.url}/`);
        expect(await background()).toBe(light);
      },
      { colorScheme: 'light' },
    ));

  it('has no switch of the theme without scripts', () =>
    visit('/', async (page) => expect(await page.getByLabel('Theme').isVisible()).toBe(false), {
      javaScriptEnabled: false,
    }));

  it('copies where the browser has no clipboard API, as on plain http', () =>
    visit('/functions/functions.example.com/SetLabels', async (page) => {
      await page.addInitScript(
        `Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })`,
      );
      await page.reload();
      await page.getByRole('button', { name: 'Copy: Name of the function' }).click();
      const said = () => page.getByRole('status').allTextContents();
      await expect.poll(said).toEqual(['Copied: Name of the function']);
      const box = page.getByRole('combobox', { name: 'Search functions' });
      await box.focus();
      await page.keyboard.press('ControlOrMeta+V');
      await expect.poll(() => box.inputValue()).toBe('functions.example.com/SetLabels');
    }));

  it.each([
    ['#field-labels', /\/configuration#field-labels$/],
    ['#runtime', /\/source#runtime$/],
    ['#releases', /\/releases#releases$/],
  ])('follows an old fragment to its tab: %s', (fragment, address) =>
    visit(`/functions/functions.example.com/SetLabels${fragment}`, (page) => page.waitForURL(address)),
  );

  it('finds what an old fragment named without scripts too', () =>
    visit(
      '/functions/functions.example.com/SetLabels#field-labels',
      async (page) => {
        const field = page.locator('#field-labels');
        await field.waitFor({ state: 'visible' });
        const { innerHeight, top } = await page.evaluate<{ innerHeight: number; top: number }>(
          `({ innerHeight, top: document.getElementById('field-labels').getBoundingClientRect().top })`,
        );
        expect(top).toBeLessThan(innerHeight);
        await field.click();
        await page.waitForURL(/\/configuration#field-labels$/);
      },
      { javaScriptEnabled: false },
    ));

  it('follows a link to a similar name from a page that does not exist', () =>
    visit('/functions/functions.example.com/SetLabel', async (page) => {
      await page.getByRole('link', { name: 'functions.example.com/SetLabels' }).click();
      await page.getByRole('heading', { name: 'functions.example.com/SetLabels' }).waitFor();
    }));

  it('shows an image of a README', () =>
    visit('/functions/functions.example.com/SetLabels', async (page) => {
      const image = page.getByRole('img', { name: /comes out with the labels/ });
      await image.scrollIntoViewIfNeeded();
      const width = () => image.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth);
      await expect.poll(width).toBe(640);
    }));

  it('gets suggestions, and opens one with the keyboard alone', () =>
    visit('/', async (page) => {
      await page.keyboard.press('/');
      const box = page.getByRole('combobox', { name: 'Search functions' });
      expect(await box.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
      await page.keyboard.type('set');
      await page.getByRole('option', { name: /SetLabels/ }).waitFor();
      expect(await box.getAttribute('aria-expanded')).toBe('true');
      await page.keyboard.press('ArrowDown');
      expect(await box.getAttribute('aria-activedescendant')).toBeTruthy();
      await page.keyboard.press('Escape');
      expect(await box.getAttribute('aria-expanded')).toBe('false');
      await page.keyboard.press('ArrowDown');
      await page.getByRole('option', { name: /SetLabels/ }).waitFor();
      await page.keyboard.press('ArrowDown');
      const chosen = await page.locator('[role=option][aria-selected=true]').first().textContent();
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/functions\//);
      expect(chosen).toContain((await page.locator('h1 code').textContent())!.split('/')[1]);
    }));

  it.each([true, false])('searches and filters, with scripts: %s', (javaScriptEnabled) =>
    visit(
      '/',
      async (page) => {
        await page.locator('main input[name=q]').fill('labels');
        await page.locator('main form').getByRole('button', { name: 'Search' }).click();
        await page.waitForURL(/q=labels/);
        expect(await page.locator('main').textContent()).toContain('SetLabels');
        await page.goto(`${site.url}/functions`);
        const facet = page.getByRole('link', { name: /^mutator\b/ }).first();
        const count = Number(/(\d+)\s*$/.exec((await facet.textContent())!)![1]);
        await facet.click();
        await page.waitForURL(/tag=mutator/);
        expect(await page.getByRole('heading', { name: `${count} functions` }).count()).toBe(1);
        await page
          .getByRole('link', { name: /mutator/ })
          .first()
          .click();
        await page.waitForURL((url) => !url.search.includes('mutator'));
      },
      { javaScriptEnabled },
    ),
  );

  it.each([true, false])('sees the differences of two releases, with scripts: %s', (javaScriptEnabled) =>
    visit(
      '/functions/functions.example.com/SetLabels',
      async (page) => {
        await page.getByRole('link', { name: /^Releases/ }).click();
        await page.getByRole('link', { name: 'Compare two releases' }).click();
        await page.getByLabel('From').selectOption('1.0.0');
        await page.getByLabel('To', { exact: true }).selectOption('2.0.0');
        await page.getByRole('button', { name: 'Compare', exact: true }).click();
        await page.waitForURL(/from=1\.0\.0&to=2\.0\.0/);
        expect(await page.locator('main').textContent()).toContain('The API version v1beta1 is removed');
      },
      { javaScriptEnabled },
    ),
  );

  it('sees the warning on a yanked release, and follows the link to a current one', () =>
    visit('/functions/functions.example.com/SetLabels/releases/1.1.0', async (page) => {
      expect(await page.locator('main').textContent()).toContain('Drops the labels of templates');
      expect(await page.locator('#use').count()).toBe(0);
      await page
        .getByRole('link', { name: /2\.0\.0/ })
        .first()
        .click();
      expect(await page.locator('#use').count()).toBe(1);
    }));
});
