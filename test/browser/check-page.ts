import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Checks that everyone can use a page: no serious problem for axe-core, one top heading, no horizontal
 * scrolling.
 */
export async function expectUsablePage(page: Page): Promise<void> {
  expect(await seriousProblems(page), page.url()).toEqual([]);
  expect(await page.locator('h1').count(), page.url()).toBe(1);
  const viewport = page.viewportSize()!;
  for (const width of [viewport.width, 320]) {
    await page.setViewportSize({ ...viewport, width });
    expect(await horizontalOverflow(page), `${page.url()}, ${width} px wide`).toBe(0);
  }
  await page.setViewportSize(viewport);
}

/** Problems of axe-core that keep people from using the page. */
async function seriousProblems(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] })',
  )) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`));
}

/** CSS pixels of horizontal scrolling. */
function horizontalOverflow(page: Page): Promise<number> {
  return page.evaluate(
    'Math.max(document.documentElement.scrollWidth - document.documentElement.clientWidth, 0)',
  );
}
