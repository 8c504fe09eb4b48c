import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { missingReason, titleWithReason } from '../interop/oci-tools.js';
import { type SampleShop, startShop } from '../interop/sample-shop.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, krmhub, root, temporaryFolder } from '../running.js';

/** Runs the jobs of action/gitlab-ci.yml as a runner of GitLab does, for an application of a real registry. */

interface Job {
  extends?: string;
  needs?: string[];
  image?: string;
  variables?: Record<string, string>;
  cache?: { key: { files: string[]; prefix: string }; paths: string[] };
  script?: string[];
  before_script?: string[];
  after_script?: string[];
  artifacts?: { paths: string[] };
}

const jobs = parse(readFileSync(path.join(root, 'action/gitlab-ci.yml'), 'utf8')) as Record<string, Job>;
const why = missingReason('kubectl');
const { folder, remove } = temporaryFolder();
afterAll(remove);

const job = (name: string): Job => {
  const { extends: parent, ...own } = jobs[name]!;
  if (parent === undefined) return own;
  const of = job(parent);
  return { ...of, ...own, variables: { ...of.variables, ...own.variables } };
};
const visible = Object.keys(jobs).filter((name) => !name.startsWith('.'));

describe('the jobs for GitLab', () => {
  it('extend and need jobs that exist, and cache the folder that krmhub uses', () => {
    expect(visible).toEqual(['krmhub-check', 'krmhub-build', 'krmhub-upgrade']);
    for (const name of visible) {
      const { image, needs = [], cache, variables, ...own } = job(name);
      // What another job could have written, and what no other job may have.
      expect([own.before_script, own.after_script]).toEqual(
        Array(2).fill([expect.stringContaining('! -name blobs')]),
      );
      expect([image, needs.filter((needed) => !visible.includes(needed))]).toEqual(['$KRMHUB_IMAGE', []]);
      expect(cache!.paths.map((one) => `$CI_PROJECT_DIR/${one.replace(/\/$/, '')}`)).toEqual([
        variables!.KRMHUB_CACHE,
      ]);
    }
    expect(job('krmhub-build').artifacts!.paths).toEqual(['$KRMHUB_OUTPUT']);
  });
});

describe.skipIf(why !== undefined)(titleWithReason('the jobs for GitLab, run,', why), () => {
  let shop: SampleShop;
  const project = path.join(folder, 'project');

  beforeAll(async () => {
    shop = await startShop(folder);
    shop.write(path.join(project, 'apps/shop'));
    const args = ['lock', 'apps/shop', '--trusted-catalog', shop.catalog];
    const { code, stderr } = await krmhub(args, { cwd: project });
    expect(code, stderr).toBe(0);
  });
  afterAll(() => shop?.registry.stop());

  /** Runs a job in a copy of the project, with variables of the pipeline. */
  function run(
    name: string,
    given: Record<string, string>,
  ): { status: number | null; log: string; at: string } {
    const at = path.join(folder, `run-${name}`);
    rmSync(at, { recursive: true, force: true });
    cpSync(project, at, { recursive: true });
    const { variables = {}, before_script: before = [], script = [], after_script: after = [] } = job(name);
    const values: Record<string, string> = { ...variables, ...given, CI_PROJECT_DIR: at };
    const expanded = Object.entries(values).map(([key, text]) => [
      key,
      text.replace(/\$(\w+)/g, (_, other: string) => values[other] ?? ''),
    ]);
    const env = cleanEnvironment(folder, {
      ...Object.fromEntries(expanded),
      PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    });
    // Each line is a command of one shell.
    const shell = ['--norc', '-eo', 'pipefail', '-c', [...before, ...script, ...after].join('\n')];
    const { status, stdout, stderr } = spawnSync('bash', shell, { cwd: at, env, encoding: 'utf8' });
    return { status, log: stdout + stderr, at };
  }
  const variables = () => ({
    KRMHUB_FOLDER: 'apps/shop',
    KRMHUB_OPTIONS: `--trusted-catalog ${shop.catalog}`,
    KRMHUB_BUILD_OPTIONS: '--allow-exec',
  });

  it('check the lock, explain and build', () => {
    const checked = run('krmhub-check', variables());
    expect(checked.status, checked.log).toBe(0);
    expect(checked.log).toContain('SetOwner');
    const built = run('krmhub-build', variables());
    expect(built.status, built.log).toBe(0);
    expect(readFileSync(path.join(built.at, 'rendered.yaml'), 'utf8')).toContain('owner: shop');
    expect(readdirSync(path.join(built.at, '.krmhub-cache'))).toEqual(['blobs']);
  });

  it('fail for a catalog that is not trusted', () => {
    expect(run('krmhub-check', { ...variables(), KRMHUB_OPTIONS: '' }).status).toBe(4);
    expect(run('krmhub-build', { ...variables(), KRMHUB_OPTIONS: '' }).status).toBe(4);
  });

  it('upgrade in a scheduled pipeline, with a merge request by push options', async () => {
    const origin = path.join(folder, 'origin.git');
    const git = (cwd: string, ...args: string[]) => {
      const name = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
      const { status, stdout, stderr } = spawnSync('git', [...name, ...args], { cwd, encoding: 'utf8' });
      expect(status, stderr).toBe(0);
      return stdout;
    };
    git(project, 'init', '--quiet');
    git(project, 'add', '--all');
    git(project, 'commit', '--quiet', '--message', 'shop');
    git(folder, 'clone', '--quiet', '--bare', project, origin);
    git(origin, 'config', 'receive.advertisePushOptions', 'true');
    const hook = '#!/bin/sh\nenv | grep ^GIT_PUSH_OPTION_ | sort > options\n';
    writeFileSync(path.join(origin, 'hooks/pre-receive'), hook, { mode: 0o755 });
    const given = { ...variables(), KRMHUB_REMOTE: origin, CI_DEFAULT_BRANCH: 'main', CI_JOB_URL: 'job' };
    const current = run('krmhub-upgrade', given);
    expect([current.status, current.log], current.log).toEqual([
      0,
      expect.stringContaining('Nothing is behind.'),
    ]);

    await shop.release('1.1.0', 'sales');
    const dry = run('krmhub-upgrade', { ...given, KRMHUB_DRY_RUN: 'true' });
    expect(dry.status, dry.log).toBe(0);
    expect(dry.log).toMatch(/\n-.*owner: shop\n\+.*owner: sales\n/);
    expect(existsSync(path.join(origin, 'options'))).toBe(false);
    const { status, log } = run('krmhub-upgrade', given);
    expect(status, log).toBe(0);
    const options = readFileSync(path.join(origin, 'options'), 'utf8');
    for (const option of ['create', 'target=main', 'remove_source_branch']) {
      expect(options).toMatch(new RegExp(`=merge_request\\.${option}$`, 'm'));
    }
    expect(options).toMatch(/=merge_request\.label=krmhub-[a-z-]+$/m);
    const message = git(origin, 'log', '-1', '--format=%B', 'krmhub/upgrade');
    expect(message).toMatch(/^Upgrade the functions of apps\/shop\n\n[\s\S]*\n\+.*owner: sales\n/);
    expect(git(origin, 'show', 'krmhub/upgrade:apps/shop/krmhub.lock')).toContain('release: "1.1.0"');
    const changed = git(origin, 'show', '--name-only', '--format=', 'krmhub/upgrade');
    expect(changed).toBe('apps/shop/krmhub.lock\n');
  });
});
