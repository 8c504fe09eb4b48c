import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProviderRegistry, PUBLIC_URL } from '../../apps/registry/src/testing/provider-registry.js';
import { definitionText, releasePath } from '../../apps/registry/src/testing/test-registry.js';
import { expectUsablePage } from './check-page.js';
import { chromiumFile, openContext, startChromium, VIEWPORTS } from './chromium.js';

const suite = chromiumFile === undefined ? describe.skip : describe;
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: platform, members: [{ssoGroup: platform}]}]
  groups: [{pattern: labels.example.com, owner: platform}]
  openGroups: ["*"]
  grants: [{to: {team: platform}, may: [admin], in: {group: "*"}}]
`;
const DAY = 86_400_000;

let at: ProviderRegistry;
let browser: Browser;

suite('what waits for a user', () => {
  beforeAll(async () => {
    [at, browser] = await Promise.all([ProviderRegistry.start(), startChromium()]);
    const { registry } = at;
    const { store, access, clock } = registry.parts;
    expect((await registry.send('PUT', '/api/v1/access', ACCESS)).status).toBe(200);
    const day = (days: number) => new Date(clock().getTime() + days * DAY).toISOString();
    const claim = {
      group: 'a-long-name-of-a-group.proved.example.org',
      team: 'platform',
      proof: 'dns',
    } as const;
    const times = { claimedAt: day(-30), claimedBy: 'Alice', checkedAt: day(-1), missingSince: day(-3) };
    await store.putOwnerClaim({ ...claim, ...times, problem: 'no TXT record found' });
    await access.reload(store);
    await store.addTrustedPublisher({
      ...{ id: '00000000-0000-4000-8000-000000000001', group: 'labels.example.com', provider: 'github' },
      ...{ issuer: 'https://token.actions.githubusercontent.com', settings: {}, pins: {} },
      ...{ createdAt: day(-1), createdBy: 'Alice', pendingUntil: day(5) },
    });
    const release = (group: string) => ({ group, kind: 'SetLabels', release: '1.0.0' });
    await registry.publish(release('tools.example.com'));
    const { secret } = await registry.token({ name: 'ci of a team', scopes: ['publish'] });
    const wrong = release('toools.example.com');
    const refused = await registry.send('PUT', releasePath(wrong), definitionText(wrong), `Bearer ${secret}`);
    expect(refused.status).toBe(403);
  });
  afterAll(async () => {
    await browser?.close();
    await at?.close();
  });

  it.each([
    ['a phone', VIEWPORTS.phone, 'light'],
    ['a phone', VIEWPORTS.phone, 'dark'],
    ['a desk', VIEWPORTS.desk, 'light'],
    ['a desk', VIEWPORTS.desk, 'dark'],
  ] as const)('is on a page without problems at %s (%#)', async (_, viewport, colorScheme) => {
    const { cookie } = await at.signIn();
    const { context, faults } = await openContext(browser, { viewport, colorScheme });
    try {
      const page = await context.newPage();
      // The registry has no socket.
      await page.route(`${PUBLIC_URL}/**`, async (route) => {
        const { pathname, search } = new URL(route.request().url());
        const response = await at.registry.request(pathname + search, {
          headers: { ...route.request().headers(), cookie },
        });
        await route.fulfill({
          status: response.status,
          headers: Object.fromEntries(response.headers),
          body: Buffer.from(await response.arrayBuffer()),
        });
      });
      await page.goto(`${PUBLIC_URL}/operate`);
      expect(await page.locator('section[aria-labelledby=waiting] > ul > li').count()).toBe(3);
      await expectUsablePage(page);
      const { SCREENSHOTS: folder } = process.env;
      if (folder !== undefined) {
        const file = `${folder}/waiting-${viewport.width}-${colorScheme}.png`;
        await page.screenshot({ path: file, clip: { x: 0, y: 0, ...viewport } });
      }
      expect(faults).toEqual([]);
    } finally {
      await context.close();
    }
  });
});
