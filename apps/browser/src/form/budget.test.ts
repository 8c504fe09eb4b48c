import { expect, it } from 'vitest';
import { Budget } from './budget.js';

it('bounds what a form makes until a visitor asks for more', () => {
  const budget = new Budget();
  let made = 0;
  for (let at = 0; at < 10_000; at++) if (budget.take(7)) made += 7;
  expect(made).toBe(497);
  expect(budget.take(3)).toBe(true);
  expect(budget.take(1)).toBe(false);
  budget.refill();
  expect(budget.take(501)).toBe(false);
  expect(budget.take(500)).toBe(true);
});
