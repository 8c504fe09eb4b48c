import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest } from '../testing/command-line.js';
import { ENGINE, script } from '../testing/fn-package.js';
import { type TestPackage, testPackage } from '../testing/package-files.js';

let pack: TestPackage;
beforeEach(async () => {
  pack = await testPackage();
  expectEnd(await run('init', 'example.com/SetOwner', '--runtime', 'starlark', '--out', 'owner'), 0);
});
afterEach(() => pack.remove());

const at = (name: string) => path.join(pack.folder, name);
const read = (name: string) => readFileSync(at(name), 'utf8');
function put(name: string, text: string) {
  mkdirSync(path.dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
}
const edit = (name: string, from: string | RegExp, to: string) => {
  const before = read(name);
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  writeFileSync(at(name), after);
};
const run = (...args: string[]) =>
  runTest(args, {
    cwd: pack.folder,
    env: { PATH: `${at('bin')}:/usr/bin:/bin`, KRMHUB_CACHE: at('.cache'), FN_FOLDER: pack.folder },
  });
/** Runs one example only. */
const example = (name: string, ...more: string[]) => run('test', 'owner', '--example', name, ...more);
const BASIC = 'owner/examples/basic';

describe('test', () => {
  it('passes the function that init starts, with its placeholders', async () => {
    const io = await run('test', 'owner');
    expect(io.exitCode, io.out() + io.err()).toBe(0);
    for (const name of [
      'resource-list',
      'comments',
      'deterministic',
      'idempotent',
      'rejects-config',
      'example basic',
    ]) {
      expect(io.out()).toContain(`[PASS] ${name}\n`);
    }
    expect(io.out()).not.toContain('[FAIL]');
    expect(io.out()).toMatch(/\n\d+ passed, 0 failed, \d+ skipped\n$/);
  });

  it('fails an example whose output differs, with the place and a diff', async () => {
    edit(`${BASIC}/expected/resources.yaml`, 'owner: platform', 'owner: shop');
    const io = await example('basic');
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain('[FAIL] example basic: the output differs from expected in 1 file\n');
    expect(io.out()).toContain(`  at ${BASIC}/expected/resources.yaml:6\n`);
    expect(io.out()).toContain('  -    example.com/owner: shop\n  +    example.com/owner: platform\n');
    expect(io.out()).toMatch(/\n0 passed, 1 failed, 0 skipped\n$/);
    const report = JSON.parse((await example('basic', '-o', 'json')).out());
    expect(report).toMatchObject({ group: 'example.com', kind: 'SetOwner', failed: 1 });
    expect(report.checks.find(({ status }: { status: string }) => status === 'failed')).toMatchObject({
      name: 'example basic',
      at: { file: `${BASIC}/expected/resources.yaml`, line: 6 },
    });
  });

  it('fails for a file that is missing, and one that is too many', async () => {
    put(`${BASIC}/expected/other.yaml`, read(`${BASIC}/input/resources.yaml`));
    rmSync(at(`${BASIC}/expected/resources.yaml`));
    const io = await example('basic');
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain('differs from expected in 2 files');
    expect(io.out()).toContain('--- /dev/null\n  +++ output/resources.yaml');
    expect(io.out()).toContain('--- expected/other.yaml\n  +++ /dev/null');
  });

  it('writes what the function does with --update', async () => {
    rmSync(at(`${BASIC}/expected`), { recursive: true });
    const missing = await example('basic');
    expect(missing.exitCode).toBe(1);
    expect(missing.out()).toContain('[FAIL] example basic: it has no folder expected');
    put(`${BASIC}/expected/old.yaml`, read(`${BASIC}/input/resources.yaml`));
    const updated = await example('basic', '--update');
    expect(updated.exitCode, updated.out()).toBe(0);
    expect(updated.out()).toContain('[PASS] example basic: wrote 2 files of expected');
    expect(existsSync(at(`${BASIC}/expected/old.yaml`))).toBe(false);
    expect(read(`${BASIC}/expected/resources.yaml`)).toContain('name: web # the shop\n');
    expect(read(`${BASIC}/expected/resources.yaml`)).toContain('example.com/owner: platform\n');
    expect((await example('basic')).exitCode).toBe(0);
  });

  it('compares results', async () => {
    edit(
      'owner/main.star',
      /$/,
      'ctx.resource_list["results"] = [{"message": "set the owner", "severity": "info"}]\n',
    );
    expect((await example('basic')).exitCode).toBe(0);
    put(
      `${BASIC}/expected-results.yaml`,
      '# ours\n- message: "set the owner" # always\n  severity: warning\n',
    );
    const io = await example('basic');
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain('[FAIL] example basic: the results differ');
    expect(io.out()).toContain('severity: warning\n');
    expect((await example('basic', '--update')).exitCode).toBe(0);
    expect(read(`${BASIC}/expected-results.yaml`)).toBe(
      '# ours\n- message: "set the owner" # always\n  severity: info\n',
    );
    expect((await example('basic')).out()).toContain('[PASS] example basic\n');
  });

  it('knows examples that should fail', async () => {
    const folder = 'owner/examples/no-owner';
    put(`${folder}/input/resources.yaml`, read(`${BASIC}/input/resources.yaml`));
    put(
      `${folder}/fn-config.yaml`,
      'apiVersion: example.com/v1alpha1\nkind: SetOwner\nmetadata:\n  name: a\n',
    );
    put(`${folder}/expected-failure.txt`, 'owner\n');
    const passed = await example('no-owner');
    expect(passed.exitCode, passed.out()).toBe(0);
    expect(passed.out()).toContain('[PASS] example no-owner\n');
    put(`${folder}/expected-failure.txt`, 'owner\nno license\n');
    const other = await example('no-owner');
    expect(other.exitCode).toBe(1);
    expect(other.out()).toContain('but its message has no "no license"');
    expect(other.out()).toContain(`at ${folder}/expected-failure.txt:2`);
    put(`${folder}/fn-config.yaml`, `${read(`${folder}/fn-config.yaml`)}owner: me\n`);
    const succeeded = await example('no-owner', '--update');
    expect(succeeded.exitCode).toBe(1);
    expect(succeeded.out()).toContain('[FAIL] example no-owner: the function succeeded, but should fail');
    rmSync(at(`${folder}/expected-failure.txt`));
    put(
      `${folder}/fn-config.yaml`,
      'apiVersion: example.com/v1alpha1\nkind: SetOwner\nmetadata:\n  name: a\n',
    );
    const failed = await example('no-owner', '--update');
    expect(failed.exitCode).toBe(1);
    expect(failed.out()).toMatch(/\[FAIL\] example no-owner: .*owner/);
  });

  it('shows the error output of a function that fails, without control characters', async () => {
    put('owner/main.star', 'def set():\n    fail("no\\nowner\\033[31m")\nset()\n');
    const io = await example('basic');
    expect(io.exitCode).toBe(1);
    expect(io.out()).toMatch(/\[FAIL\] example basic: .*no owner/);
    expect(io.out()).toContain('main.star:2:');
    expect(io.out()).not.toContain('\u001b');
  });

  it('runs an example with the API version of its functionConfig', async () => {
    const text = read('owner/definition.yaml');
    const version = text.slice(text.indexOf('    - name: v1alpha1'));
    put('owner/definition.yaml', `${text}${version.replace('v1alpha1', 'v1beta1')}`);
    edit(`${BASIC}/fn-config.yaml`, 'v1alpha1', 'v1beta1');
    const io = await example('basic');
    expect(io.out(), io.err()).toBe('[PASS] v1beta1 example basic\n1 passed, 0 failed, 0 skipped\n');
  });

  it('names the line of a claim that does not hold', async () => {
    edit('owner/main.star', '= owner', '= annotations.get("example.com/owner", "") + owner');
    const io = await run('test', 'owner');
    expect(io.exitCode).toBe(1);
    const line =
      read('owner/definition.yaml')
        .split('\n')
        .findIndex((one) => one.includes('idempotent: true')) + 1;
    expect(io.out()).toMatch(/\[FAIL\] idempotent: a second run changes its output: .*owner/);
    expect(io.out()).toContain(`  at owner/definition.yaml:${line}\n`);
    edit('owner/definition.yaml', 'idempotent: true', 'idempotent: false');
    rmSync(at('owner/examples'), { recursive: true });
    const honest = await run('test', 'owner');
    expect(honest.exitCode, honest.out()).toBe(0);
    expect(honest.out()).toContain('[SKIP] idempotent: the definition does not claim it');
    expect(honest.out()).toContain('[SKIP] examples: there is no example');
  });

  it('fails an example that cannot be read, and goes on', async () => {
    put('owner/examples/broken/input/a.yaml', 'a: [');
    put('owner/examples/empty/fn-config.yaml', read(`${BASIC}/fn-config.yaml`));
    const io = await run('test', 'owner', '--example', 'basic', '--example', 'broken', '--example', 'empty');
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain('[FAIL] example broken: ');
    expect(io.out()).toContain('[FAIL] example empty: the example has no folder owner/examples/empty/input');
    expect(io.out()).toContain('[PASS] example basic\n');
  });

  it('tests a program that the user names', async () => {
    put('pass.sh', script('cat'));
    chmodSync(at('pass.sh'), 0o755);
    const io = await run('test', 'owner', '--exec', './pass.sh');
    expect(io.exitCode).toBe(1);
    for (const name of ['rejects-config', 'rejects-input', 'example basic']) {
      expect(io.out()).toContain(`[FAIL] ${name}: `);
    }
    expect(io.out()).toContain('[PASS] resource-list\n');
    expect(io.out()).toContain('[SKIP] function-config: the function does not change this input');
    expect(io.out()).toContain('[SKIP] unprivileged: only for containers');
    put('fail.sh', script('echo "no license" >&2; exit 3'));
    chmodSync(at('fail.sh'), 0o755);
    const broken = await run('test', 'owner', '--exec', './fail.sh');
    expect(broken.out()).toMatch(/\[FAIL\] resource-list: .*no license/);
    expect((await run('test', 'owner', '--exec', './none.sh')).exitCode).toBe(5);
  });

  it('runs an image without network access', async () => {
    put('bin/docker', ENGINE);
    chmodSync(at('bin/docker'), 0o755);
    put('images/set-owner.sh', 'cat');
    const io = await run('test', 'owner', '--image', 'localhost/set-owner:dev', '--engine', 'docker');
    expect(io.out(), io.err()).toContain('[PASS] unprivileged\n');
    const [first = ''] = read('engine.log').split('\n');
    expect(first).toContain('--network none');
    expect(first).toMatch(/--user (?:65534|nobody)/);
    put('images/set-owner.sh', 'echo "cannot write to /" >&2; exit 1');
    const failed = await run('test', 'owner', '--image', 'localhost/set-owner:dev', '--engine', 'docker');
    expect(failed.out()).toContain('[FAIL] unprivileged: it fails as nobody without network access');
  });

  it('asks for what the runtime of the definition needs', async () => {
    await run('init', 'example.com/CheckLimits', '--runtime', 'exec', '--out', 'limits');
    edit('limits/definition.yaml', '0'.repeat(64), '0f'.repeat(32));
    const exec = await run('test', 'limits');
    expectEnd(exec, 4, '--allow-exec');
    expect(exec.err()).toContain('use --exec COMMAND');
    await run('init', 'example.com/Fetch', '--out', 'fetch');
    edit('fetch/definition.yaml', /^( *)(?=image: )/m, '$1requireNetwork: true\n$1');
    const network = await run('test', 'fetch');
    expectEnd(network, 4, '--network');
  });

  it('refuses what it cannot test', async () => {
    expectEnd(await run('test', 'nowhere'), 3, 'krmhub init GROUP/KIND');
    expectEnd(await example('other'), 3, 'Its examples: basic');
    const both = await run('test', 'owner', '--exec', 'a', '--image', 'b');
    expect(both.exitCode).toBe(2);
    edit('owner/definition.yaml', 'kind: SetOwner', 'kind: 7');
    const broken = await run('test', 'owner');
    expect(broken.exitCode).toBe(1);
    expect(broken.err()).toMatch(/error\[.*\n[\s\S]*cannot test owner\/definition.yaml: 1 error/);
  });
});
