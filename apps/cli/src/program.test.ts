import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { runTest } from './testing/command-line.js';

it('prints the help of a subcommand with help and --help', async () => {
  const asked = await runTest(['help', 'catalog', 'pull']);
  expect(asked.exitCode).toBe(0);
  expect(asked.out()).toMatch(/^Usage: krmhub catalog pull /);
  expect(asked.out()).toBe((await runTest(['catalog', 'pull', '--help'])).out());
  expect((await runTest(['help', 'catalog'])).out()).toMatch(/^Usage: krmhub catalog /);
});

it.each([[[]], [['--no-color']]])('prints its help without a command: %j', async (args) => {
  const io = await runTest(args);
  expect([io.exitCode, io.err(), io.out()]).toEqual([0, '', (await runTest([...args, '--help'])).out()]);
});

it('lists what helps in one group', async () => {
  const help = (await runTest(['--help'])).out();
  expect(help).toMatch(/\nHelp:\n {2}docs [\s\S]*\n {2}help \[command\]/);
  expect(help).not.toContain('\nCommands:');
  expect((await runTest(['fn', '--help'])).out()).not.toContain('\nHelp:');
});

it.each([
  [['help', 'serach'], 'serach', '(Did you mean search?)\n', ''],
  [['serach', '--help'], 'serach', '(Did you mean search?)\n', ''],
  [['serach'], 'serach', '(Did you mean search?)\n', ''],
  [['help', 'nothing'], 'nothing', '', ''],
  [['help', 'catalog', 'nothing'], 'nothing', '', ' catalog'],
  [['fn', 'evla', '-h'], 'evla', '(Did you mean eval?)\n', ' fn'],
  [['plugins', 'uninstall', '--all'], 'uninstall', '(Did you mean remove?)\n', ' plugins'],
])('names an unknown command instead of printing help: %j', async (args, name, suggestion, group) => {
  const io = await runTest(args);
  expect([io.exitCode, io.out(), io.err()]).toEqual([
    2,
    '',
    `error: unknown command '${name}'\n${suggestion}  hint: List the commands: krmhub${group} --help${
      group === '' ? '; the pages of the docs: krmhub docs' : ''
    }\n`,
  ]);
});

it.each([
  [['explain'], "error: missing required argument 'path'"],
  [['explain', 'app', '--allow-exec'], "error: unknown option '--allow-exec'"],
])('says how to see the arguments and options: %j', async (args, message) => {
  const io = await runTest(args);
  expect([io.exitCode, io.err()]).toEqual([
    2,
    `${message}\n  hint: Show the arguments and options: krmhub ${args[0]} --help\n`,
  ]);
});

it.each([
  [['resolve', 'example.com/v1', 'A', '-catalog=none.yaml'], 'catalog none.yaml: cannot read'],
  [['resolve', 'example.com/v1', 'A', '-catalog', 'none.yaml'], 'catalog none.yaml: cannot read'],
  [['resolve', 'example.com/v1', 'A', '-c', 'none.yaml'], 'catalog none.yaml: cannot read'],
  [['explain', 'none', '-trusted-catalog=none.yaml'], 'cannot read none'],
  [['build', 'a', 'b'], 'several folders'],
])('reads options of catalogs as the KEP writes them: %j', async (args, message) => {
  expect((await runTest(args)).err()).toContain(message);
});

it.each([['--version'], ['-v'], ['version']])('prints the version with %s', async (argument) => {
  const asked = await runTest([argument]);
  expect([asked.exitCode, asked.out()]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});

it('prints an error as data on stdout, too, where JSON or YAML was requested', async () => {
  const json = await runTest(['lint', 'missing.yaml', '-o', 'json']);
  const { error } = JSON.parse(json.out());
  expect(error).toMatchObject({
    code: 'not-found',
    message: expect.stringContaining('missing.yaml'),
    diagnostics: [],
  });
  expect(json.err()).toContain(error.message);
  const missing = ['diff', 'missing.yaml', 'other.yaml', '-o'];
  const yaml = await runTest([...missing, 'yaml']);
  const same = await runTest([...missing, 'json']);
  expect(yaml.exitCode).toBe(3);
  expect([yaml.exitCode, parse(yaml.out()), yaml.err()]).toEqual([
    same.exitCode,
    JSON.parse(same.out()),
    same.err(),
  ]);
  for (const format of ['-oyaml', '--output=yaml']) {
    const usage = await runTest(['show', '--nothing', format]);
    expect(parse(usage.out())).toMatchObject({
      error: { code: 'usage', message: "unknown option '--nothing'" },
    });
  }
  const text = await runTest(['lint', 'missing.yaml']);
  expect([text.exitCode, text.out(), text.err()]).toEqual([json.exitCode, '', json.err()]);
});
