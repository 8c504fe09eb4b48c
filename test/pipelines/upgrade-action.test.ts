import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { missingReason, titleWithReason } from '../interop/oci-tools.js';
import { type SampleShop, startShop } from '../interop/sample-shop.js';
import { spawnSync } from '../processes.js';
import { krmhub, root, temporaryFolder } from '../running.js';
import { readAction, runAction } from './run-action.js';

/** Runs the steps of action/upgrade/action.yml, with a repository of git, and a program in place of `gh`. */

const why = missingReason('kubectl') ?? missingReason('jq');
const actionFolder = path.join(root, 'action/upgrade');
const action = readAction(actionFolder);

/** Records its arguments and the body; its list has the branches of the pull requests that it created. */
const GH = `#!/usr/bin/env node
const { readFileSync, writeFileSync, existsSync } = require('node:fs');
const args = process.argv.slice(2);
const file = process.env.GH_CALLS;
const calls = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
const value = (name) => args[args.indexOf(name) + 1];
const body = args.includes('--body-file') ? readFileSync(value('--body-file'), 'utf8') : undefined;
if (process.env.GH_TOKEN !== 'ghs_test') throw new Error('no token');
if (args[0] === 'pr' && args[1] === 'list') {
  const made = calls.filter((one) => one.args[1] === 'create' && one.args[0] === 'pr');
  const at = made.findIndex((one) => one.args.includes(value('--head')));
  if (at >= 0) console.log(at + 1);
} else writeFileSync(file, JSON.stringify([...calls, { args, body }]));
`;

interface Call {
  args: string[];
  body?: string;
}

describe('the action that upgrades', () => {
  it('is composite, passes inputs only in the environment, and has no token but that of the job', () => {
    expect(action.runs.using).toBe('composite');
    const text = JSON.stringify(action.runs.steps);
    for (const { run, shell } of action.runs.steps) {
      expect(shell).toBe('bash');
      expect(run).not.toContain('${{');
    }
    for (const [name, { description }] of Object.entries(action.inputs)) {
      expect(text).toContain(`inputs.${name}`);
      expect(description).toMatch(/^[A-Z].*\.$/);
    }
    expect(text.match(/\w*token\w*/gi)).toEqual(['GH_TOKEN', 'token']);
  });
});

const whyNoActionlint = missingReason('actionlint');
it.skipIf(whyNoActionlint !== undefined)(
  titleWithReason('is used by the document as actionlint accepts it', whyNoActionlint),
  () => {
    const { folder, remove } = temporaryFolder();
    const document = readFileSync(path.join(root, 'docs/upgrade.md'), 'utf8');
    const example = /```yaml\n(on:[\s\S]*?)```/.exec(document)![1]!;
    const local = example.replace('OWNER/krmhub/action/upgrade@TAG', './action/upgrade');
    expect(local).not.toBe(example);
    mkdirSync(path.join(folder, '.github/workflows'), { recursive: true });
    writeFileSync(path.join(folder, '.github/workflows/upgrade.yml'), local);
    cpSync(path.join(root, 'action'), path.join(folder, 'action'), { recursive: true });
    expect(spawnSync('git', ['init', '--quiet'], { cwd: folder }).status).toBe(0);
    const { status, stdout } = spawnSync('actionlint', ['-no-color'], { cwd: folder, encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    const unknown = local.replace('path: apps/shop', 'paths: apps/shop');
    writeFileSync(path.join(folder, '.github/workflows/upgrade.yml'), unknown);
    const refused = spawnSync('actionlint', ['-no-color'], { cwd: folder, encoding: 'utf8' });
    expect([refused.status, refused.stdout]).toEqual([1, expect.stringContaining('"paths" is not defined')]);
    remove();
  },
);

describe.skipIf(why !== undefined)(titleWithReason('the action that upgrades an application', why), () => {
  const { folder, remove } = temporaryFolder();
  const origin = path.join(folder, 'origin.git');
  const calls = path.join(folder, 'calls.json');
  let shop: SampleShop;
  let workspace: string;
  let count = 0;

  const git = (...args: string[]) => {
    const name = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main'];
    const { status, stdout, stderr } = spawnSync('git', [...name, ...args], {
      cwd: workspace,
      encoding: 'utf8',
    });
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0);
    return stdout.trim();
  };
  const called = (): Call[] => JSON.parse(readFileSync(calls, 'utf8')) as Call[];
  const branches = () =>
    git('ls-remote', '--heads', 'origin')
      .split('\n')
      .map((line) => line.split('refs/heads/')[1]);

  beforeAll(async () => {
    mkdirSync(path.join(folder, 'bin'));
    writeFileSync(path.join(folder, 'bin/gh'), GH, { mode: 0o755 });
    shop = await startShop(folder);
    workspace = path.join(folder, 'first');
    shop.write(path.join(workspace, 'apps/shop'));
    const args = ['lock', 'apps/shop', '--trusted-catalog', shop.catalog];
    const { code, stderr } = await krmhub(args, { cwd: workspace, env: { HOME: folder } });
    expect(code, stderr).toBe(0);
    git('init', '--quiet');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'shop');
    spawnSync('git', ['clone', '--quiet', '--bare', workspace, origin]);
    await shop.release('1.1.0', 'sales');
  });
  afterAll(async () => {
    await shop?.registry.stop();
    remove();
  });
  beforeEach(() => {
    workspace = path.join(folder, `workspace-${++count}`);
    expect(spawnSync('git', ['clone', '--quiet', origin, workspace]).status).toBe(0);
    rmSync(calls, { force: true });
  });

  const run = (given: Record<string, string> = {}) =>
    runAction(
      actionFolder,
      { path: 'apps/shop', 'trusted-catalogs': shop.catalog, arguments: '--allow-exec\n', ...given },
      { folder, workspace },
      { GH_CALLS: calls, PATH: `${path.join(folder, 'bin')}:${process.env.PATH}` },
    );

  it('prints the pull requests of a dry run, and opens none', () => {
    const result = run({ 'dry-run': 'true' });
    expect([result.code, result.commands], result.log).toEqual([0, []]);
    expect(result.outputs.branches).toBe('krmhub/upgrade-apps/shop-SetOwner');
    expect(result.log).toMatch(
      /\ntitle: Upgrade SetOwner from 1\.0\.0 to 1\.1\.0 in apps\/shop\nlabels: krmhub-[a-z-]+/,
    );
    expect(result.log).toMatch(/\n-.*owner: shop\n\+.*owner: sales\n/);
    expect(branches()).toEqual(['main']);
    expect([git('status', '--porcelain'), git('branch', '--show-current')]).toEqual(['', 'main']);
  });

  it('opens one for a function, updates it, and leaves a branch that is right', async () => {
    const result = run();
    expect([result.code, result.commands], result.log).toEqual([0, []]);
    const branch = 'krmhub/upgrade-apps/shop-SetOwner';
    expect(branches()).toEqual([branch, 'main']);
    const create = called().find(({ args }) => args[1] === 'create' && args[0] === 'pr')!;
    expect(create.args.slice(2, 8)).toEqual([
      ...['--head', branch, '--base', 'main'],
      ...['--title', 'Upgrade SetOwner from 1.0.0 to 1.1.0 in apps/shop'],
    ]);
    expect(create.args.at(-1)).toMatch(/^krmhub-[a-z-]+(?:,krmhub-[a-z-]+)*$/);
    expect(create.body).toMatch(/\n-.*owner: shop\n\+.*owner: sales\n/);
    git('fetch', '--quiet', 'origin', branch);
    expect(git('diff', '--name-only', 'main', 'FETCH_HEAD')).toBe('apps/shop/krmhub.lock');
    expect(git('show', 'FETCH_HEAD:apps/shop/krmhub.lock')).toContain('release: "1.1.0"');
    const commit = git('rev-parse', 'FETCH_HEAD');

    expect(run().code).toBe(0);
    expect(git('ls-remote', 'origin', branch)).toContain(commit);
    expect(
      called()
        .filter(({ args }) => args[0] === 'pr')
        .map(({ args }) => args[1]),
    ).toEqual(['create', 'edit']);

    await shop.release('1.2.0', 'marketing');
    expect(run().code).toBe(0);
    git('fetch', '--quiet', 'origin', branch);
    expect(git('show', 'FETCH_HEAD:apps/shop/krmhub.lock')).toContain('release: "1.2.0"');
    expect(called().at(-1)!.args).toContain('Upgrade SetOwner from 1.0.0 to 1.2.0 in apps/shop');
    expect([git('status', '--porcelain'), git('branch', '--show-current')]).toEqual(['', 'main']);
  });

  it('opens one for all, and says if the package cannot be rendered', () => {
    const result = run({ group: 'all', arguments: '' });
    expect([result.code, result.outputs.branches], result.log).toEqual([0, 'krmhub/upgrade-apps/shop']);
    const { args, body } = called().at(-1)!;
    expect(args).toContain('Upgrade the functions of apps/shop');
    expect(args.at(-1)).toContain('krmhub-not-rendered');
    expect(body).toMatch(/^krmhub cannot render the package with the new lock \(exit code \d\)/);
  });

  it('does nothing if nothing is behind', async () => {
    const { code, stderr } = await krmhub(
      ['lock', 'apps/shop', '--trusted-catalog', shop.catalog, '--upgrade'],
      { cwd: workspace, env: { HOME: folder } },
    );
    expect(code, stderr).toBe(0);
    // Nothing of the user is lost.
    expect(run().code).toBe(2);
    expect(git('status', '--porcelain')).toBe('M apps/shop/krmhub.lock');
    git('commit', '--quiet', '--all', '--message', 'upgraded');
    const result = run();
    expect([result.code, result.outputs.branches], result.log).toEqual([0, '']);
  });

  it('executes no command from an input or a document', () => {
    const evil = '$(touch pwned) `touch pwned`; touch pwned #\n"; touch pwned; "\n--help\n-o';
    for (const name of Object.keys(action.inputs).filter((one) => one !== 'program')) {
      const result = run({ [name]: evil });
      expect(result.commands.filter((line) => !/^::(error|warning|notice) /.test(line))).toEqual([]);
      const made = spawnSync('find', [folder, actionFolder, '-name', 'pwned']);
      expect([name, String(made.stdout)]).toEqual([name, '']);
      if (name !== 'arguments') expect([name, result.code]).not.toEqual([name, 0]);
    }
    expect(branches().filter((one) => !/^(?:main|krmhub\/upgrade-[\w/-]+)$/.test(one!))).toEqual([]);
  });
});
