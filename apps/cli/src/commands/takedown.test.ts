import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TakedownResult } from '@krmhub/api/model';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../testing/command-line.js';

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions/set-labels', import.meta.url));

const root = temporaryFolder();
const registry = fileRegistry();
/** Of the running test: a group from which no other test publishes, its function, and the files of its releases. */
let group: string;
let NAME: string;
let functions: string;
let number = 0;

beforeEach(async () => {
  group = `test-${number++}.example.com`;
  NAME = `${group}/SetLabels`;
  functions = path.join(root, group);
  await cp(fixtures, functions, { recursive: true });
  for (const name of await readdir(functions)) {
    const file = path.join(functions, name);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll('functions.example.com', group));
  }
  expectEnd(await run(['publish', functions, '--allow-breaking']), 0);
});

const run = (args: readonly string[], options: TestIoOptions = {}) =>
  runTest(args, { env: registry.env, ...options });

describe('takedown', () => {
  it('reports the effect in a dry run, then takes the release down', async () => {
    const rehearsed = await run(['takedown', `${NAME}@2.0.0`, '--reason', 'malware', '--dry-run']);
    expect([rehearsed.exitCode, rehearsed.out()]).toEqual([0, '']);
    expect(rehearsed.err()).toContain(`would take down ${NAME}@2.0.0`);
    expect(rehearsed.err()).toMatch(/\n {2}would delete\n {4}sha256:[a-f0-9]{64}\n/);
    expect(rehearsed.err()).toMatch(/snapshots? of default would be withdrawn: \d/);
    expect(rehearsed.err()).toContain('dry run, nothing was changed');
    expect((await run(['show', `${NAME}@2.0.0`])).exitCode).toBe(0);

    const io = await run(['takedown', `${NAME}@2.0.0`, '--reason', 'malware', '--yes']);
    expect([io.exitCode, io.out()]).toEqual([0, '']);
    expect(io.err()).toContain(`took down ${NAME}@2.0.0`);
    expect(io.err()).toMatch(/default is now at snapshot \d/);
    expect(io.err()).not.toContain('not everything');

    const again = await run(['takedown', `${NAME}@2.0.0`, '--reason', 'other', '--yes']);
    expect(again.err()).toMatch(/was taken down (?:now|\d+[sm] ago) by .*: malware/);
  });

  it('names the release that keeps a script, in a dry run too', async () => {
    const runOne = async (...args: string[]) => {
      const io = await runTest(args, { env: registry.env, cwd: functions });
      expect(io.exitCode, io.err()).toBe(0);
      return io.err();
    };
    await runOne('init', `${group}/SetOwner`, '--runtime', 'starlark');
    const definition = path.join(functions, 'set-owner/definition.yaml');
    const text = (await readFile(definition, 'utf8')).replaceAll('# CHANGE:', '#');
    await writeFile(definition, text);
    await runOne('publish', 'set-owner/definition.yaml', '--release', '1.0.0');
    await writeFile(definition, text.replace(/description: .*/, 'description: Sets the owner again.'));
    await runOne('publish', 'set-owner/definition.yaml', '--release', '1.0.1');
    const args = ['takedown', `${group}/SetOwner@1.0.0`, '--reason', 'x', '--yes'];
    const kept = new RegExp(`script, because it is also used by ${group}/SetOwner@1\\.0\\.1\\n {4}sha256:`);
    expect(await runOne(...args, '--dry-run')).toMatch(new RegExp(`would keep the ${kept.source}`));
    expect(await runOne(...args)).toMatch(new RegExp(`kept the ${kept.source}`));
  });

  it('asks first, and names everything that goes', async () => {
    const copy = path.join(functions, 'copy.yaml');
    await cp(path.join(functions, '2.0.0.yaml'), copy);
    expect((await run(['publish', copy, '--release', '2.0.1', '--allow-breaking'])).exitCode).toBe(0);
    const args = ['takedown', `${NAME}@2.0.0`, '--reason', 'malware'];
    for (const stdin of ['', '\n', 'n\n', 'yesterday\n']) {
      const io = await run(args, { stdin, tty: true });
      expect([io.exitCode, io.out()]).toEqual([2, '']);
      expect(io.err()).toMatch(
        /would take down \S+SetLabels@2\.0\.0, \S+SetLabels@2\.0\.1\n[\s\S]+snapshots? of default would be withdrawn: \d[\s\S]+You cannot undo it\. \[y\/N\]/,
      );
      expect(io.err()).toContain('not confirmed');
    }
    expect((await run(['show', `${NAME}@2.0.1`])).exitCode).toBe(0);
    expectEnd(await run(args, { stdin: 'y\n', tty: true }), 0, 'took down');
    expect((await run(['show', `${NAME}@2.0.1`])).exitCode).toBe(3);
  });

  it('needs --yes without a terminal', async () => {
    for (const stdin of ['', 'y\n']) {
      const io = await run(['takedown', `${NAME}@2.0.0`, '--reason', 'malware'], { stdin });
      expect([io.exitCode, io.out()]).toEqual([2, '']);
      expect(io.err()).toContain('--yes');
      expect(io.err()).not.toContain('[y/N]');
    }
    expect((await run(['show', `${NAME}@2.0.0`])).exitCode).toBe(0);
  });

  it('prints the response as JSON', async () => {
    const io = await run(['takedown', `${NAME}@2.0.0`, '--reason', 'malware', '--yes', '-o', 'json']);
    const result = JSON.parse(io.out()) as TakedownResult;
    expect(result).toMatchObject({ outcome: 'taken-down', erased: true, takedowns: [{ release: '2.0.0' }] });
    expect(result.catalogs[0]!.serial).toBeGreaterThan(result.withdrawn.at(-1)!.serial);
  });

  it('is reported by show, history, and publish', async () => {
    const before = JSON.parse((await run(['catalog', 'history', 'default', '-o', 'json'])).out()) as {
      snapshots: { serial: number }[];
    };
    await run(['takedown', `${NAME}@2.0.0`, '--reason', 'mal\u001bware', '--yes']);
    const release = await run(['show', `${NAME}@2.0.0`]);
    expect([release.exitCode, release.out()]).toEqual([3, '']);
    expect(release.err()).toMatch(/was taken down at .*Z by .*: mal␛ware/);
    const page = await run(['show', NAME]);
    expect(page.exitCode).toBe(0);
    expect(page.out()).toMatch(/TAKEN DOWN\nRELEASE +WHEN +BY +REASON\n2\.0\.0 .*malware/);
    const history = await run(['catalog', 'history', 'default']);
    expect(history.out()).toMatch(/withdrawn: malware/);
    const serial = String(before.snapshots[0]!.serial);
    const pulled = await run(['catalog', 'pull', 'default', '--snapshot', serial, '--out', '-']);
    expect([pulled.exitCode, pulled.out()]).toEqual([3, '']);
    const publish = ['publish', path.join(functions, '2.0.0.yaml'), '--allow-breaking'];
    expectEnd(await run(publish), 1, 'its name cannot be used again');
  });

  it('of every release is reported by show, and publish rejects each', async () => {
    for (const version of ['1.0.0', '1.1.0', '2.0.0']) {
      expect((await run(['takedown', `${NAME}@${version}`, '--reason', 'malware', '--yes'])).exitCode).toBe(
        0,
      );
    }
    const page = await run(['show', NAME]);
    expect([page.exitCode, page.out()]).toEqual([3, '']);
    expect(page.err()).toContain('malware');
    expect((await run(['search', 'labels', '--group', group])).out()).toBe('');
    expectEnd(await run(['publish', functions, '--allow-breaking']), 1, 'cannot publish 3 of 3 releases');
  });

  it.each([
    [['FUNCTION@2.0.0']],
    [['FUNCTION@2.0.0', '--reason', ' ']],
    [['FUNCTION', '--reason', 'x']],
    [['SetLabels@2.0.0', '--reason', 'x']],
  ])('is refused as %j', async (args) => {
    const given = args.map((word) => word.replace('FUNCTION', NAME));
    expect((await run(['takedown', ...given, '--yes'])).exitCode).toBe(2);
    expect((await run(['show', `${NAME}@2.0.0`])).exitCode).toBe(0);
  });

  it('requires an administrator', async () => {
    const created = await run(['token', 'create', 'ci', '--scope', 'publish', '--scope', 'yank']);
    const env = { ...registry.env, KRMHUB_TOKEN: created.out().trim() };
    const io = await run(['takedown', `${NAME}@2.0.0`, '--reason', 'x', '--yes'], { env });
    expectEnd(io, 6, 'does not have the scope "admin"');
    expect((await run(['takedown', `${NAME}@9.0.0`, '--reason', 'x', '--yes'])).exitCode).toBe(3);
  });
});
