import { accessSync, constants, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, fixtures, root, temporaryFolder } from '../running.js';

/** The hook of .pre-commit-hooks.yaml, as pre-commit itself runs it. */

interface Hook {
  id: string;
  name: string;
  description: string;
  entry: string;
  language: string;
  types_or: string[];
}

const hooks = parse(readFileSync(path.join(root, '.pre-commit-hooks.yaml'), 'utf8')) as Hook[];
const { folder, remove } = temporaryFolder();
const repository = path.join(folder, 'repository');
const hookRepository = path.join(folder, 'krmhub');
const env = cleanEnvironment(folder, {
  // A clone of the hook's repository would be built from scratch, which takes minutes.
  KRMHUB_PROGRAM: path.join(root, 'node_modules/.bin/krmhub'),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
});

function run(command: string, args: string[], cwd = repository) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8', input: '' });
  return { code: status, text: `${stdout}${stderr}` };
}
function git(cwd: string, ...args: string[]): string {
  const { code, text } = run('git', args, cwd);
  if (code !== 0) throw new Error(text);
  return text.trim();
}

const installed = spawnSync('pre-commit', ['--version']).status === 0;

afterAll(remove);

it('names executable scripts', () => {
  for (const { id, name, description, entry, language } of hooks) {
    expect([id, name, description, language]).toEqual([
      expect.stringMatching(/^krmhub-[a-z-]+$/),
      expect.any(String),
      expect.any(String),
      'script',
    ]);
    accessSync(path.join(root, entry.split(' ')[0]!), constants.X_OK);
  }
  expect(hooks.map(({ id }) => id)).toEqual(['krmhub-lint']);
});

describe.runIf(installed)('pre-commit', () => {
  beforeAll(() => {
    // The files of the hook as a separate repository, so that uncommitted changes are tested.
    mkdirSync(hookRepository);
    for (const name of ['.pre-commit-hooks.yaml', 'action'])
      cpSync(path.join(root, name), path.join(hookRepository, name), { recursive: true });
    git(hookRepository, 'init', '-q');
    git(hookRepository, 'add', '.');
    git(hookRepository, 'commit', '-qm', 'Hook');
    const rev = git(hookRepository, 'rev-parse', 'HEAD');
    mkdirSync(repository);
    git(repository, 'init', '-q');
    const config = { repos: [{ repo: hookRepository, rev, hooks: [{ id: 'krmhub-lint' }] }] };
    writeFileSync(path.join(repository, '.pre-commit-config.yaml'), JSON.stringify(config));
    expect(run('pre-commit', ['install']).code).toBe(0);
  });

  const definition = readFileSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml'), 'utf8');
  const commit = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(repository, name), text);
    git(repository, 'add', '.');
    return run('git', ['commit', '-m', 'A change']);
  };

  it('passes valid definitions and files of other kinds', () => {
    const { code, text } = commit({
      'definition.yaml': definition,
      'deployment.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmode: 0644\n',
      'package.json': '{}',
      'notes.txt': 'kind: [',
    });
    expect([code, text]).toEqual([0, expect.stringMatching(/krmhub lint\.+Passed/)]);
  });

  it('stops a commit with an error and shows the line', () => {
    const { code, text } = commit({ 'definition.yaml': definition.replace('type: object', 'type: objekt') });
    expect(code).toBe(1);
    expect(text).toMatch(/krmhub lint\.+Failed/);
    expect(text).toMatch(/error\[schema\/unknown-type\].*\n +--> definition\.yaml:\d+:\d+/);
    git(repository, 'checkout', '-q', 'HEAD', '--', 'definition.yaml');
  });

  it('is not run for other files', () => {
    expect(commit({ 'notes.txt': 'more' }).text).toMatch(/krmhub lint\.+\(no files to check\)Skipped/);
  });
});
if (!installed) it.skip('pre-commit runs the hook (it is not installed)', () => undefined);
