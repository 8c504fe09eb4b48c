import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { krmhub } from '../running.js';
import { expectKeyboardWalk, expectUsablePage } from './check-page.js';
import { chromiumFile, openContext, startChromium, VIEWPORTS } from './chromium.js';
import { startTrySite, type TrySite } from './try-functions.js';

const suite = chromiumFile === undefined ? describe.skip : describe;

let site: TrySite;
let browser: Browser;

/** What the page of a function shows first, and the label of its button. */
const OPEN = /Try it in this browser|Fill in the functionConfig/;

suite('"Try it"', () => {
  beforeAll(async () => {
    [site, browser] = await Promise.all([startTrySite(), startChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  /** Opens the page of a function, and fails on any error and any request to another site. */
  const visit = async (
    kind: string,
    work: (page: Page) => Promise<void>,
    options: Parameters<typeof openContext>[1] = {},
    prepare?: (page: Page) => Promise<unknown>,
  ) => {
    const { context, faults, open } = await openContext(browser, options);
    context.setDefaultTimeout(60_000);
    try {
      const page = await open(`${site.url}/functions/try.example.com/${kind}`);
      await prepare?.(page);
      await work(page);
      // Of the worker in the frame, which has no address.
      expect(faults.filter((fault) => !fault.startsWith('request to blob:null/'))).toEqual([]);
    } finally {
      await context.close();
    }
  };
  const openTry = async (page: Page) => {
    await page.getByRole('button', { name: OPEN }).click();
    await page.getByRole('group', { name: 'Form' }).waitFor();
  };
  const yaml = (page: Page) => page.getByRole('textbox', { name: 'YAML of the functionConfig' });
  const run = async (page: Page) => {
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.try-output > *').first().waitFor();
  };
  /** The changes of a file, as in a patch. */
  const diff = (page: Page) =>
    page.locator('.try-output .snippet', { hasText: 'Changes of' }).allInnerTexts();

  it('opens from the link beside the commands', () =>
    visit('SetLabels', async (page) => {
      await page.getByRole('link', { name: OPEN }).click();
      await page.getByRole('group', { name: 'Form' }).waitFor();
      expect(await page.getByRole('button', { name: OPEN }).count()).toBe(0);
    }));

  it.each([
    ['SetReplicas', 'replicas: 1', 'replicas: 3\npaused: true\nstrategy:\n  type: Recreate'],
    ['SetLabels', 'key: example', 'key: on\n  team: "yes"'],
    ['Digests', 'prefix:', 'prefix:'],
    ['AddPolicy', 'name:', 'name:'],
    ['Refuse', 'name:', 'name:'],
  ])('gives for %s what krmhub fn eval gives', (kind, from, to) =>
    visit(kind, async (page) => {
      await openTry(page);
      const config = (await yaml(page).inputValue()).replace(from, to);
      await yaml(page).fill(config);
      const resources = await page.getByRole('textbox', { name: 'Resources' }).inputValue();
      await run(page);
      const { code, stdout, stderr } = await evaluate(kind, config, resources);
      if (code === 0) {
        const patch = stdout.split(/^--- .*\n\+\+\+ .*\n/m).slice(1);
        // The page adds the names of resources.
        const shown = (await diff(page)).map(
          (text) =>
            `${text
              .replace(/^.*\n/, '')
              .replaceAll(/^(@@ .* @@) \w.*$/gm, '$1')
              .trimEnd()}\n`,
        );
        expect(shown).toEqual(patch);
        expect(shown.length).toBeGreaterThan(0);
      } else {
        expect(stderr).toContain('no resource has an owner');
        const failed = await page.locator('.try-output').innerText();
        expect(failed).toContain('no resource has an owner');
      }
    }),
  );

  it('shows results with severity, resource, field, and file, and what the function printed', () =>
    visit('SetReplicas', async (page) => {
      await openTry(page);
      await run(page);
      const results = await page.getByRole('list', { name: 'Results' }).innerText();
      expect(results).toBe('info replicas set Deployment web, spec.replicas, in resources.yaml');
      expect(await page.locator('.try-output').innerText()).toContain('changed 1');
    }));

  it('writes what the form has, and keeps all that it does not know', () =>
    visit('SetReplicas', async (page) => {
      await openTry(page);
      const text = `# ours\napiVersion: try.example.com/v1\nkind: SetReplicas\nmetadata: {name: x, labels: {a: b}}\nreplicas: 2 # two\n`;
      await yaml(page).fill(text);
      const form = page.getByRole('group', { name: 'Form' });
      const replicas = form.getByRole('spinbutton', { name: 'replicas' });
      await expect.poll(() => replicas.inputValue()).toBe('2');
      await replicas.fill('5');
      await expect.poll(() => yaml(page).inputValue()).toBe(text.replace('replicas: 2', 'replicas: 5'));
      await form.getByText('strategy').click();
      await form.getByRole('combobox', { name: 'type' }).selectOption('Recreate');
      await form.getByRole('textbox', { name: 'maxSurge' }).fill('25%');
      await form.getByRole('checkbox', { name: 'paused' }).check();
      await form.getByRole('button', { name: 'Add to names' }).click();
      await form.getByRole('textbox', { name: 'names[0]' }).fill('yes');
      const end = `strategy:\n  type: Recreate\n  maxSurge: 25%\npaused: true\nnames:\n- "yes"\n`;
      await expect.poll(() => yaml(page).inputValue()).toBe(text.replace('replicas: 2', 'replicas: 5') + end);
      await form.getByRole('button', { name: 'Remove names[0]' }).click();
      await form.getByRole('textbox', { name: 'maxSurge' }).fill('');
      await expect
        .poll(() => yaml(page).inputValue())
        .toBe(`${text.replace('replicas: 2', 'replicas: 5')}strategy:\n  type: Recreate\npaused: true\n`);
    }));

  it('shows the messages of the check at their fields, and does not run then', () =>
    visit('SetReplicas', async (page) => {
      await openTry(page);
      const replicas = page.getByRole('spinbutton', { name: 'replicas' });
      await replicas.fill('10');
      await expect.poll(() => replicas.getAttribute('aria-invalid')).toBe('true');
      const described = await replicas.getAttribute('aria-describedby');
      expect(await page.locator(`#${described}`).innerText()).toContain('must be <= 9');
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByText('The functionConfig has a problem.').waitFor();
      await yaml(page).fill('a: [');
      await page.locator('.try-problems li').first().waitFor();
      await expect.poll(() => replicas.isDisabled()).toBe(true);
    }));

  it('offers the form, and says why a container does not run', () =>
    visit('InContainer', async (page) => {
      await page.getByText('which a browser cannot run').waitFor();
      await openTry(page);
      await page.getByLabel('New key').fill('team');
      await page.keyboard.press('Enter');
      await page.getByLabel('team text, required').fill('shop');
      await expect.poll(() => yaml(page).inputValue()).toContain('  team: "shop"\n');
      // kustomize runs what it names.
      expect(await yaml(page).inputValue()).toMatch(/config\.kubernetes\.io\/function: \|\n +container:\n/);
      expect(await page.getByRole('button', { name: 'Run', exact: true }).count()).toBe(0);
    }));

  it('makes a bounded part of a huge form, and more of it where a visitor asks', () =>
    visit('Huge', async (page) => {
      await openTry(page);
      const count = (selector: string) => page.locator(`.try-form ${selector}`).count();
      expect(await count('input, .try-form option')).toBeLessThan(800);
      const last = page.locator('.try-form > .try-fields > .try-object').last();
      expect(await last.locator('input').count()).toBe(0);
      await last.locator('summary').first().click();
      await expect.poll(() => last.locator('input').count()).toBe(40);
      const typed = page.getByLabel('part198 one of 40 values, required');
      await typed.fill('f3-198');
      await expect.poll(() => yaml(page).inputValue()).toContain('part198: f3-198\n');
    }));

  it.each([
    ['Loop', /did not end within 10 seconds/],
    ['Allocate', /too much memory/],
  ])('ends a function that does not end by itself, and the page stays usable: %s', (kind, message) =>
    visit(kind, async (page) => {
      await openTry(page);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      // Another thread has the loop.
      expect(await page.evaluate<number>('1 + 1')).toBe(2);
      await page.getByText(message).first().waitFor();
      await expectNoScript(page);
      await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    }),
  );

  it('stops a run', () =>
    visit('Loop', async (page) => {
      await openTry(page);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('The run was stopped.').waitFor();
      await expectNoScript(page);
    }));

  it('works without a network once it is open', () =>
    visit('SetLabels', async (page) => {
      await openTry(page);
      await run(page);
      await page.context().setOffline(true);
      await yaml(page).fill((await yaml(page).inputValue()).replace('key: example', 'key: offline'));
      await run(page);
      await expect.poll(async () => (await diff(page)).join()).toContain('key: offline');
      await page.context().setOffline(false);
    }));

  it('runs no script with other bytes than the release has', () =>
    visit(
      'SetLabels',
      async (page) => {
        await page.getByRole('button', { name: OPEN }).click();
        await page.getByText('its digest differs').waitFor();
      },
      {},
      (page) => page.route('**/v2/**', (route) => route.fulfill({ body: 'print("other")' })),
    ));

  it('loads nothing before a visitor asks, and says without scripts what it is', async () => {
    await visit('SetLabels', async (page) => {
      const loaded = await page.evaluate<string[]>(
        `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('try'))`,
      );
      expect(loaded).toEqual([]);
      const size = await page.evaluate<number>(
        `performance.getEntriesByType('navigation')[0].encodedBodySize`,
      );
      expect(size).toBeLessThan(20_000);
    });
    await visit('SetLabels', (page) => page.getByText('The form needs JavaScript').waitFor(), {
      javaScriptEnabled: false,
    });
  });

  it.each(Object.entries(VIEWPORTS))('is for everyone: %s', (_, viewport) =>
    visit(
      'SetReplicas',
      async (page) => {
        await openTry(page);
        await page.locator('summary', { hasText: 'strategy' }).click();
        await page.getByRole('button', { name: 'Add to names' }).click();
        await run(page);
        await expectUsablePage(page);
        // The keyboard goes on where one clicked last.
        await page.evaluate(
          'document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute("tabindex")',
        );
        await expectKeyboardWalk(page);
      },
      { viewport },
    ),
  );

  describe('against a function whose code escaped from the interpreter', () => {
    /** Takes the place of the worker, with all rights that escaped code would have. */
    const ATTACK = readFileSync(new URL('try-attack.js', import.meta.url), 'utf8');
    const attack = (page: Page) =>
      page.route('**/try-run.js', (route) => route.fulfill({ body: ATTACK, contentType: 'text/javascript' }));

    it('has no network, no storage, no other worker, and no way into the page', async () => {
      const { context, open } = await openContext(browser);
      const page = await open(`${site.url}/functions/try.example.com/SetLabels`);
      try {
        await page.evaluate(`localStorage.setItem('secret', 'x'); document.cookie = 'secret=x';
          globalThis.heard = []; new BroadcastChannel('attack').onmessage = ({ data }) => heard.push(data);
          addEventListener('message', ({ data }) => heard.push(data));`);
        const requests: string[] = [];
        const listener = createServer((request, response) => {
          requests.push(request.url ?? '');
          response.end();
        });
        await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
        const { port } = listener.address() as AddressInfo;
        await attack(page);
        await openTry(page);
        await yaml(page).fill((await yaml(page).inputValue()).replace('key: example', `key: target-${port}`));
        await run(page);
        listener.close();
        const tried = JSON.parse(await page.locator('.try-failure').innerText()) as Record<string, string>;
        expect(tried).toEqual({
          origin: 'null',
          fetch: 'refused',
          fetchOther: 'refused',
          request: 'refused',
          socket: 'refused',
          events: 'refused',
          importScripts: 'refused',
          importModule: 'refused',
          indexedDB: 'refused',
          caches: 'refused',
          files: 'refused',
          nestedFetch: 'refused',
        });
        expect(requests).toEqual([]);
        expect(await page.evaluate('heard')).toEqual([]);
        expect(await page.evaluate('["polluted" in {}, document.title.includes("taken")]')).toEqual([
          false,
          false,
        ]);
        expect(await page.locator('.try-output img, .try-output script').count()).toBe(0);
        expect(await page.locator('.try-output').innerText()).toContain('<img src=x');
      } finally {
        await context.close();
      }
    });

    it('leaves nothing for the next run', async () => {
      const { context, open } = await openContext(browser);
      const page = await open(`${site.url}/functions/try.example.com/SetLabels`);
      try {
        let isAttacked = true;
        await page.route('**/try-run.js', (route) =>
          isAttacked ? route.fulfill({ body: ATTACK, contentType: 'text/javascript' }) : route.continue(),
        );
        await openTry(page);
        await run(page);
        await expectNoScript(page);
        isAttacked = false;
        await page.reload();
        await openTry(page);
        await run(page);
        expect((await diff(page)).join()).toContain('key: example');
      } finally {
        await context.close();
      }
    });
  });
});

/** The worker of a run, which has no address, has ended. */
function expectNoScript(page: Page): Promise<void> {
  const running = () => page.workers().filter((worker) => worker.url().startsWith('blob:'));
  return expect.poll(running).toEqual([]);
}

/** Runs a function of the registry on a package with one file. */
function evaluate(kind: string, config: string, resources: string) {
  const folder = path.join(site.folder, `eval-${kind}`);
  mkdirSync(path.join(folder, 'app'), { recursive: true });
  writeFileSync(path.join(folder, 'config.yaml'), config);
  writeFileSync(path.join(folder, 'app/resources.yaml'), resources);
  const catalog = `${site.url}/catalogs/default/catalog.yaml`;
  return krmhub(['fn', 'eval', 'app', '--fn-config', 'config.yaml', '--catalog', catalog, '--dry-run'], {
    cwd: folder,
    env: site.env,
  });
}
