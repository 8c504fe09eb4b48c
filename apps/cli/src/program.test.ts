import { expect, it } from 'vitest';
import { runTest } from './testing/command-line.js';

it('prints the help of a subcommand with help and --help', async () => {
  const asked = await runTest(['help', 'catalog', 'pull']);
  expect(asked.exitCode).toBe(0);
  expect(asked.out()).toMatch(/^Usage: krmhub catalog pull /);
  expect(asked.out()).toBe((await runTest(['catalog', 'pull', '--help'])).out());
  expect((await runTest(['help', 'catalog'])).out()).toMatch(/^Usage: krmhub catalog /);
  expect((await runTest(['help', 'catalog', 'nothing'])).exitCode).toBe(0);
});
