import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, krmhub, root, temporaryFolder } from '../running.js';

/** Reads the completions of real shells with the scripts that `krmhub completion` prints. */

const here = path.dirname(fileURLToPath(import.meta.url));
const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];
const there = (shell: Shell) => spawnSync(shell, ['-c', 'exit 0']).status === 0;
const installed = Object.fromEntries(shells.map((shell) => [shell, there(shell)])) as Record<Shell, boolean>;

const { folder, remove } = temporaryFolder();
const home = path.join(folder, 'home');
const files = path.join(folder, 'files');
const script = (shell: Shell) => path.join(folder, `_krmhub.${shell}`);

beforeAll(async () => {
  for (const name of [home, files, path.join(files, 'functions'), path.join(files, 'data store')])
    mkdirSync(name);
  for (const name of ['definition.yaml', 'deployment.yaml', 'functions/a.yaml', 'with blank.yaml'])
    writeFileSync(path.join(files, name), '');
  for (const shell of shells) {
    const { code, stdout, stderr } = await krmhub(['completion', shell]);
    expect([code, stderr]).toEqual([0, '']);
    writeFileSync(script(shell), stdout);
  }
});
afterAll(remove);

/** Returns the completions of a shell for the last word, which may be empty. */
function offers(shell: Shell, words: readonly string[]): string[] {
  const line = ['krmhub', ...words].join(' ');
  const [command, args] = {
    bash: ['bash', ['--norc', path.join(here, 'offers.bash'), script('bash'), 'krmhub', ...words]],
    zsh: ['zsh', ['-f', path.join(here, 'offers.zsh'), script('zsh'), line]],
    fish: ['fish', ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script('fish'), line]],
  }[shell] as [string, string[]];
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: files,
    // Zsh has no line editor on a terminal of the type "dumb".
    env: cleanEnvironment(home, { TERM: 'xterm' }),
    encoding: 'utf8',
    input: '',
  });
  expect([status, stderr]).toEqual([0, '']);
  // Fish prints a description behind a tab, and marks folders; zsh prints folders without the mark.
  const found = stdout.split('\n').filter((one) => one !== '');
  return found.map((one) => one.split('\t')[0]!.replace(/\/$/, '')).sort();
}

/** Every command and its options, from the help. */
const documented = [
  ...readFileSync(path.join(root, 'docs/commands.md'), 'utf8').matchAll(
    /^## krmhub ?(.*)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm,
  ),
].map(([, name, text]) => ({
  words: name === '' ? [] : name!.split(' '),
  options: [...text!.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map((match) => match[1]!),
}));

it('has the help to compare with', () => {
  expect(documented.length).toBeGreaterThan(20);
  expect(documented.find(({ words }) => words.join(' ') === 'catalog pull')!.options).toContain('--snapshot');
});

describe.each(shells)('in %s', (shell) => {
  const test = it.runIf(installed[shell]);
  if (!installed[shell]) it.skip(`(${shell} is not installed)`, () => undefined);

  test('offers exactly the commands and options of the help', () => {
    // Each completion starts a whole zsh.
    const asked = documented.filter((_, at) => shell !== 'zsh' || at % 3 === 0);
    for (const { words, options } of asked) {
      const global = words.length === 0 ? [] : ['--no-color', '--request-timeout', '--verbose'];
      expect([words, offers(shell, [...words, '--']).filter((one) => one !== '--')], words.join(' ')).toEqual(
        [words, [...new Set([...options, ...global])].sort()],
      );
    }
    const names = documented.filter(({ words }) => words.length === 1).map(({ words }) => words[0]!);
    expect(offers(shell, [''])).toEqual([...names, 'help'].sort());
    expect(offers(shell, ['catalog', ''])).toEqual([
      'apply',
      'build',
      'delete',
      'diff',
      'history',
      'inputs',
      'list',
      'pull',
      'report',
      'restore',
      'show',
      'verify',
    ]);
    expect(offers(shell, ['--no-color', 'token', 're'])).toEqual(['report-leak', 'revoke']);
  });

  test('offers the choices of options and arguments', () => {
    expect(offers(shell, ['lint', '--output', ''])).toEqual(['github', 'json', 'sarif', 'text']);
    expect(offers(shell, ['publish', '-o', 'j'])).toEqual(['json']);
    expect(offers(shell, ['lint', 'definition.yaml', '--ruleset', 'k'])).toEqual(['kep']);
    expect(offers(shell, ['completion', ''])).toEqual(['bash', 'fish', 'zsh']);
    expect(offers(shell, ['help', 'pub'])).toEqual(['publish']);
  });

  test('offers files for file arguments, and nothing for free text', () => {
    expect(offers(shell, ['lint', 'de'])).toEqual(['definition.yaml', 'deployment.yaml']);
    expect(offers(shell, ['publish', 'definition.yaml', '--readme', 'def'])).toEqual(['definition.yaml']);
    expect(offers(shell, ['diff', 'definition.yaml', 'dep'])).toEqual(['deployment.yaml']);
    expect(offers(shell, ['catalog', 'pull', 'default', '--out', 'dep'])).toEqual(['deployment.yaml']);
    expect(offers(shell, ['serve', '--data', 'f'])).toEqual(['functions']);
    // The value of an option is not a command.
    expect(offers(shell, ['publish', '--release', 'lint', 'def'])).toEqual(['definition.yaml']);
    for (const words of [
      ['yank', ''],
      ['publish', '--release', ''],
      ['show', 'de'],
      ['token', 'revoke', ''],
    ])
      expect([words, offers(shell, words)]).toEqual([words, []]);
  });

  test('works when it is installed as the help describes', async () => {
    const { stdout } = await krmhub(['completion', '--help']);
    const lines = /^Install:\n((?: {2}.*\n)+)/m.exec(stdout)![1]!;
    const bin = path.join(root, 'node_modules/.bin');
    const env = cleanEnvironment(home, { TERM: 'dumb', PATH: `${bin}:${process.env.PATH}` });
    const run = (command: string, args: string[]) =>
      spawnSync(command, args, { cwd: files, env, encoding: 'utf8', input: '' });
    expect(run('bash', ['--norc', '-euo', 'pipefail', '-c', lines]).stderr).toBe('');
    const answer = {
      bash: () =>
        run('bash', [
          '--norc',
          '-c',
          '. ~/.local/share/bash-completion/completions/krmhub; complete -p krmhub',
        ]),
      zsh: () =>
        run('zsh', [
          '-f',
          '-c',
          'fpath+=~/.zfunc; autoload -Uz compinit; compinit -u -D; print $_comps[krmhub]',
        ]),
      fish: () => run('fish', ['-c', 'complete -C "krmhub completion fi"']),
    }[shell]();
    expect([answer.status, answer.stdout.trim()]).toEqual([
      0,
      { bash: 'complete -F _krmhub krmhub', zsh: '_krmhub', fish: 'fish' }[shell],
    ]);
  });
});

it.runIf(installed.bash)('completes --option=value, which bash splits', () => {
  expect(offers('bash', ['lint', '--output', '=', 's'])).toEqual(['sarif']);
  expect(offers('bash', ['lint', '--output', '='])).toEqual(['github', 'json', 'sarif', 'text']);
  expect(offers('bash', ['lint', '--output', '=', 'json', 'def'])).toEqual(['definition.yaml']);
  expect(offers('bash', ['lint', '--', 'def'])).toEqual(['definition.yaml']);
});

it('rejects an unknown shell', async () => {
  const { code, stderr } = await krmhub(['completion', 'tcsh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('Allowed choices are bash, zsh, fish')]);
});
