import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { missingReason, titleWithReason } from '../interop/oci-tools.js';
import { type SampleShop, startShop } from '../interop/sample-shop.js';
import { spawnSync } from '../processes.js';
import { krmhub, root, temporaryFolder } from '../running.js';
import { readAction, runAction } from './run-action.js';

/** Runs the steps of action/build/action.yml as GitHub's runner does, for an application of a real registry. */

const why = missingReason('kubectl');
const actionFolder = path.join(root, 'action/build');
const action = readAction(actionFolder);

describe('the action that builds', () => {
  it('is composite, passes inputs only in the environment, and gets no token', () => {
    expect(action.runs.using).toBe('composite');
    const text = JSON.stringify(action.runs.steps);
    for (const { run, shell, uses } of action.runs.steps) {
      expect([shell, uses].filter((one) => one !== undefined)).toHaveLength(1);
      expect(run ?? '').not.toContain('${{');
    }
    for (const [name, { description }] of Object.entries(action.inputs)) {
      expect(text).toContain(`inputs.${name}`);
      expect(description).toMatch(/^[A-Z].*\.$/);
    }
    expect(text).not.toMatch(/token|secret/i);
  });

  it('caches the folder that all steps use', () => {
    const cached = action.runs.steps.find(({ uses }) => uses !== undefined)!;
    expect(cached.uses).toMatch(/^actions\/cache@v\d+$/);
    const folders = action.runs.steps.flatMap(({ env }) => env?.KRMHUB_CACHE ?? []);
    expect(folders).toEqual([cached.with!.path, cached.with!.path]);
    expect(cached.with!.key!.startsWith(cached.with!['restore-keys']!)).toBe(true);
  });

  it.each(['true', 'fail "wrong"'])('uses and caches only what has a digest, after %s', (command) => {
    const { folder, remove } = temporaryFolder();
    for (const part of ['entries', 'blobs']) mkdirSync(path.join(folder, part), { recursive: true });
    const work = `ls "$KRMHUB_CACHE"; mkdir -p "$KRMHUB_CACHE/private/origin"; ${command}`;
    const script = `set -euo pipefail; source ${actionFolder}/inputs.sh; ${work}`;
    const env = { PATH: process.env.PATH, KRMHUB_CACHE: folder, KRMHUB_ACTION_PATH: '.' };
    const { status, stdout } = spawnSync('bash', ['-c', script], { env, encoding: 'utf8' });
    expect([status, stdout.split('\n')[0]]).toEqual([command === 'true' ? 0 : 2, 'blobs']);
    expect(readdirSync(folder)).toEqual(['blobs']);
    remove();
  });
});

describe.skipIf(why !== undefined)(titleWithReason('the action that builds an application', why), () => {
  const { folder, remove } = temporaryFolder();
  let shop: SampleShop;
  let workspace: string;
  let count = 0;

  beforeAll(async () => {
    shop = await startShop(folder);
  });
  afterAll(async () => {
    await shop?.registry.stop();
    remove();
  });
  beforeEach(async () => {
    workspace = path.join(folder, `workspace-${++count}`);
    shop.write(path.join(workspace, 'apps/shop'));
    await lock('apps/shop');
  });

  const trusted = () => ({ 'trusted-catalogs': ` \r\n${shop.catalog}\n`, arguments: '--allow-exec\n' });
  const run = (given: Record<string, string> = {}) =>
    runAction(actionFolder, { path: 'apps/shop', ...trusted(), ...given }, { folder, workspace });

  async function lock(at: string): Promise<void> {
    const args = ['lock', at, '--trusted-catalog', shop.catalog];
    const { code, stderr } = await krmhub(args, { cwd: workspace });
    expect(code, stderr).toBe(0);
  }

  it('checks the lock, explains, builds, and sets its output', () => {
    const result = run();
    expect([result.code, result.commands, result.ran], result.log).toEqual([
      0,
      [],
      ['Build krmhub', 'Restore the cache', 'Check', 'Build'],
    ]);
    expect(result.log).toMatch(/example\.com\/v1\s+SetOwner\s+resolved/);
    expect(result.outputs.manifests).toBe('rendered.yaml');
    expect(readFileSync(path.join(workspace, 'rendered.yaml'), 'utf8')).toMatch(/owner: shop\n/);
    const { path: cached, key } = result.used['Restore the cache']!;
    expect(existsSync(path.join(cached!, 'blobs'))).toBe(true);
    expect(key).toMatch(/^krmhub-Linux-X64-[a-f0-9]{64}$/);
  });

  it('fails if the lock is missing or out of date, unless that is allowed', () => {
    const file = path.join(workspace, 'apps/shop/krmhub.lock');
    const locked = readFileSync(file, 'utf8');
    writeFileSync(file, locked.replace(/SetOwner/g, 'SetOther'));
    const stale = run();
    expect([stale.code, stale.ran.at(-1)]).toEqual([2, 'Check']);
    expect(stale.commands).toEqual([
      expect.stringMatching(/^::error title=krmhub::The lock is not up to date; .*\(exit code 1\)\.$/),
    ]);
    rmSync(file);
    expect(run().code).toBe(2);
    const allowed = run({ lock: 'false', cache: 'false' });
    expect([allowed.code, allowed.ran], allowed.log).toEqual([0, ['Build krmhub', 'Check', 'Build']]);
  });

  it('fails for a catalog that is not trusted, and for an executable that is not allowed', () => {
    const untrusted = run({ 'trusted-catalogs': '' });
    expect([untrusted.code, untrusted.commands]).toEqual([2, [expect.stringContaining('(exit code 4)')]]);
    const refused = run({ arguments: '' });
    expect([refused.code, refused.commands]).toEqual([2, [expect.stringContaining('(exit code 4)')]]);
    expect(refused.log).toContain('--allow-exec');
    expect(existsSync(path.join(workspace, 'rendered.yaml'))).toBe(false);
  });

  it('checks the Kptfile of a kpt package, and leaves rendering to kpt', async () => {
    const at = path.join(workspace, 'package');
    mkdirSync(at);
    const annotations = `annotations: {krmhub.dev/catalogs: "${shop.catalog}"}`;
    const kptfile = `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n  ${annotations}\npipeline:\n  mutators:\n  - configPath: owner.yaml\n`;
    writeFileSync(path.join(at, 'Kptfile'), kptfile);
    writeFileSync(
      path.join(at, 'owner.yaml'),
      'apiVersion: example.com/v1\nkind: SetOwner\nmetadata: {name: a}\n',
    );
    await lock('package');
    const stale = run({ path: 'package' });
    expect([stale.code, stale.commands]).toEqual([
      2,
      [expect.stringContaining('The Kptfile is not up to date')],
    ]);
    expect(stale.log).toContain('+  - exec: krmhub kpt exec ');
    const synced = await krmhub(['kpt', 'sync', 'package', '--trusted-catalog', shop.catalog], {
      cwd: workspace,
    });
    expect(synced.code, synced.stderr).toBe(0);
    const result = run({ path: 'package' });
    expect([result.code, result.outputs.manifests], result.log).toEqual([0, '']);
    expect(result.log).toContain('kpt fn render');
  });

  it('executes no command from an input or a document', () => {
    const evil = '$(touch pwned) `touch pwned`; touch pwned #\n"; touch pwned; "\n--help\n-o';
    const inputs = [
      { path: evil },
      { 'trusted-catalogs': evil },
      { lock: evil },
      { output: evil },
      { arguments: evil },
    ];
    for (const given of inputs) {
      const result = run(given);
      expect(result.commands.filter((line) => !/^::(error|warning|notice) /.test(line))).toEqual([]);
      const made = spawnSync('find', [folder, actionFolder, '-name', 'pwned']);
      expect([given, String(made.stdout)]).toEqual([given, '']);
    }
    // Names in documents reach the log only where commands are stopped.
    writeFileSync(
      path.join(workspace, 'apps/shop/owner.yaml'),
      'apiVersion: example.com/v1\nkind: "::add-mask::a"\nmetadata: {name: a}\n',
    );
    const result = run({ lock: 'false' });
    expect(result.code).toBe(2);
    expect(result.commands.filter((line) => !line.startsWith('::error title=krmhub::'))).toEqual([]);
  });

  it('overwrites no file through a link in the workspace, and none outside of it', () => {
    const precious = path.join(folder, 'precious');
    writeFileSync(precious, 'mine');
    symlinkSync(precious, path.join(workspace, 'rendered.yaml'));
    expect(run().code).toBe(0);
    expect(readFileSync(path.join(workspace, 'rendered.yaml'), 'utf8')).toContain('owner: shop');
    symlinkSync(folder, path.join(workspace, 'out'));
    const outside = run({ output: 'out/precious' });
    expect([outside.code, readFileSync(precious, 'utf8')]).toEqual([2, 'mine']);
  });

  it('only checks if the output is empty, and requires its inputs', () => {
    const checked = run({ output: '' });
    expect([checked.code, checked.ran.at(-1), checked.outputs.manifests]).toEqual([0, 'Check', '']);
    const said = (given: Record<string, string>) =>
      run(given).commands.map((line) => line.replace(/^.*::/, ''));
    expect(said({ path: '' })).toEqual([expect.stringMatching(/^The input path is empty/)]);
    expect(said({ lock: 'maybe' })).toEqual(['The input lock must be true or false.']);
  });
});
