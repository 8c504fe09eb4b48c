import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Checks that everyone can use a page: no problem for axe-core, one top heading, no horizontal scrolling, no line that ends
 * within a word, no empty list.
 */
export async function expectUsablePage(page: Page): Promise<void> {
  expect(await findProblems(page), page.url()).toEqual([]);
  expect(await page.evaluate<string[]>(BROKEN_WORDS), page.url()).toEqual([]);
  expect(await page.evaluate<string[]>(EMPTY_LISTS), page.url()).toEqual([]);
  expect(await page.locator('h1').count(), page.url()).toBe(1);
  expect(await horizontalOverflow(page), page.url()).toBe(0);
}

/** Lists and tables that have nothing. A script fills a live region, which must be there before. */
const EMPTY_LISTS = `[...document.querySelectorAll('main :is(ul, ol, dl, table, tbody):not([aria-live])')]
  .filter((one) => one.childElementCount === 0 && one.checkVisibility()).map((one) => one.outerHTML)`;

/** Words that a line breaks, without text that is longer than a line, such as digests. */
const BROKEN_WORDS = `(() => {
  const broken = [];
  const range = document.createRange();
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
    if (!text.parentElement.checkVisibility() || text.parentElement.closest('pre') !== null) continue;
    for (const { 0: run, index: start } of text.data.matchAll(/\\S{2,30}(?!\\S)/g)) {
      if (start > 0 && !/\\s/.test(text.data[start - 1])) continue;
      for (const { 0: word, index } of run.matchAll(/[\\p{L}\\p{N}]{2,}/gu)) {
        range.setStart(text, start + index);
        range.setEnd(text, start + index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(run);
      }
    }
  }
  return broken;
})()`;

/** Widths where the style sheet changes the layout, in CSS pixels. */
const BREAKPOINTS = [36, 48, 50, 60, 64].map((rem) => 16 * rem);
/** Widths of screens from a small phone to a large desk. */
const WIDTHS = [
  ...Array.from({ length: (1_920 - 320) / 40 + 1 }, (_, index) => 320 + 40 * index),
  ...BREAKPOINTS.flatMap((width) => [width, width + 1]),
];

/** Checks that a page never scrolls sideways, at any width. Names the elements that stick out. */
export async function expectNoSidewaysScrolling(page: Page): Promise<void> {
  const problems: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const overflow = await horizontalOverflow(page);
    if (overflow > 0) problems.push(`${width} px wide: ${overflow} px, ${await widestElement(page)}`);
  }
  expect(problems, page.url()).toEqual([]);
}

/** Returns the innermost element that ends furthest to the right. */
function widestElement(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    let widest = document.body;
    for (const one of document.querySelectorAll('body *')) {
      if (one.getBoundingClientRect().right >= widest.getBoundingClientRect().right) widest = one;
    }
    return widest.outerHTML.slice(0, 160);
  })()`);
}

/**
 * Checks that the keyboard alone reaches everything: Tab visits each control once, in view and with a visible focus,
 * and leaves the page again.
 */
export async function expectKeyboardWalk(page: Page): Promise<void> {
  const controls = await page.evaluate<number>(`(() => {
    const groups = new Set();
    return [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
      .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.type !== 'hidden' && !one.disabled)
      .filter((one) => one.type !== 'radio' || (!groups.has(one.name) && groups.add(one.name))).length;
  })()`);
  await page.evaluate('document.activeElement?.blur(); scrollTo(0, 0)');
  const problems: string[] = [];
  const visited = new Set<string>();
  for (let step = 0; step < controls; step += 1) {
    await page.keyboard.press('Tab');
    const { path, name, isShown } = await page.evaluate<{ path: string; name: string; isShown: boolean }>(
      FOCUS,
    );
    if (path === '') break;
    visited.add(path);
    if (!isShown) problems.push(`the focus cannot be seen: ${name}`);
  }
  if (visited.size < controls) problems.push(`${visited.size} of ${controls} controls visited`);
  expect(problems, page.url()).toEqual([]);
}

/** Describes the focused element. The style sheet shows the focus of a hidden radio button at its label. */
const FOCUS = `(() => {
  const one = document.activeElement;
  if (one === null || one === document.body) return { path: '', name: '', isShown: true };
  const shown = one.type === 'radio' && one.labels.length > 0 ? one.labels[0] : one;
  const { top, bottom, width, height } = shown.getBoundingClientRect();
  const isInView = width > 0 && height > 0 && bottom > 0 && top < innerHeight;
  const steps = [];
  for (let at = one; at !== null; at = at.parentElement) steps.push([...(at.parentElement?.children ?? [])].indexOf(at));
  return {
    path: steps.join(),
    name: one.outerHTML.slice(0, 120),
    isShown: isInView && getComputedStyle(shown).outlineStyle !== 'none',
  };
})()`;

/** Checks that print shows what a choice or a fold hides on a screen, and nothing to click. */
export async function expectPrintable(page: Page): Promise<void> {
  await page.emulateMedia({ media: 'print' });
  const hidden = await page.evaluate<string[]>(`[...document.querySelectorAll('.choice-panel, details pre')]
    .filter((one) => one.getBoundingClientRect().height === 0 && one.closest('.badges') === null).map((one) => one.outerHTML.slice(0, 100))`);
  expect(hidden, page.url()).toEqual([]);
  const clickable = await page.locator('nav:visible, button:visible, .site-header:visible').count();
  expect(clickable, page.url()).toBe(0);
  await page.emulateMedia({ media: null });
}

/** Problems that axe-core finds. */
async function findProblems(page: Page): Promise<string[]> {
  // It stays in a page whose width or colors change.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  const { violations } = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] })',
  )) as AxeResults;
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`),
  );
}

/** CSS pixels of horizontal scrolling. */
function horizontalOverflow(page: Page): Promise<number> {
  return page.evaluate(
    'Math.max(document.documentElement.scrollWidth - document.documentElement.clientWidth, 0)',
  );
}
