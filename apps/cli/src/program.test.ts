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

it.each([
  [['build'], "error: missing required argument 'dir'"],
  [['explain', 'app', '--allow-exec'], "error: unknown option '--allow-exec'"],
])('says how to see the arguments and options: %j', async (args, message) => {
  const io = await runTest(args);
  expect([io.exitCode, io.err()]).toEqual([
    2,
    `${message}\n  hint: Show the arguments and options: add --help\n`,
  ]);
});

it.each([['--version'], ['-v'], ['version']])('prints the version with %s', async (argument) => {
  const asked = await runTest([argument]);
  expect([asked.exitCode, asked.out()]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});

it('prints an error as JSON on stdout, too, where JSON was requested', async () => {
  const json = await runTest(['lint', 'missing.yaml', '-o', 'json']);
  const { error } = JSON.parse(json.out());
  expect(error).toMatchObject({
    code: 'not-found',
    message: expect.stringContaining('missing.yaml'),
    diagnostics: [],
  });
  expect(json.err()).toContain(error.message);
  const text = await runTest(['lint', 'missing.yaml']);
  expect([text.exitCode, text.out(), text.err()]).toEqual([json.exitCode, '', json.err()]);
});
