import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../running.js';
import { BuildUser, missingOracles, ORACLES, type Oracle } from './build-user.js';
import { CONFIG_MAP, catalogText, configText, setting } from './function-catalog.js';
import { KRM_FUNCTIONS, type KrmFunction, krmFunctionText } from './krm-functions.js';
import { titleWithReason } from './oci-tools.js';
import { PLUGIN_APPS, pluginConfig } from './plugin-apps.js';
import { ScriptRegistry } from './script-registry.js';

/**
 * `krmhub plugins` with real kustomize and kubectl, against the same kustomizations with the runtimes written by hand.
 * The functions are executables; containers are in plugins-containers.test.ts.
 */

const why = missingOracles();
const KINDS = Object.keys(KRM_FUNCTIONS) as KrmFunction[];
const SCRIPTS = {
  'set.sh': setting('set', 'it'),
  'reset.sh': setting('set', 'again'),
  'hang.sh': '#!/bin/sh\nwhile :; do sleep 1; done\n',
};
const HEAD = 'apiVersion: example.com/v1\nkind: SetLabels\nmetadata: {name: set}\n';
const PLUGINS = ['--enable-alpha-plugins'];
/** Scalars in every style, comments, and lines that kustomize folds. */
const NOTATIONS = `# A comment.
kind: ConfigMap
apiVersion: v1
metadata: {name: settings, labels: {"on": 'off'}}
data:
  version: 1.2.3 # why
  number: "0o7"
  exponent: '1e3'
  empty: ""
  quoted: 'it''s: "quoted"'
  folded: "a text with more than eighty columns: it is folded: by programs that fold long lines, as Go does"
  lines: |
    first: line
      second

    third
  spaces: "one \\ntwo\\n"
  kept: "one\\n\\n"
  emoji: "\\U0001F600 é"
---
{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "web"}, "spec": {"ports": [{"targetPort": 8080, "port": 80}]}}
`;

describe.skipIf(why !== undefined)(titleWithReason('krmhub plugins', why), () => {
  let folder: string;
  let user: BuildUser;
  let scripts: ScriptRegistry;

  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-plugins-test-')));
    user = new BuildUser(folder);
    const functions = new Map<KrmFunction, string>();
    for (const kind of KINDS) functions.set(kind, await krmFunctionText(kind));
    const named = Object.fromEntries(KINDS.map((kind) => [KRM_FUNCTIONS[kind].file, functions.get(kind)!]));
    scripts = await ScriptRegistry.start(path.join(folder, 'registry'), { ...named, ...SCRIPTS });
    user.write(Object.fromEntries(KINDS.map((kind) => [`by-hand/${kind}`, functions.get(kind)!])));
    await user.run('chmod', ['-R', '+x', 'by-hand']);
    const entries = KINDS.map((kind) => {
      const { file, group, version } = KRM_FUNCTIONS[kind];
      return scripts.entry(kind, file, functions.get(kind)!, { group, version });
    });
    user.write({ 'kep.yaml': catalogText(...entries) });
    const runtime = Object.fromEntries(
      KINDS.map((kind) => [kind, `exec:\n  path: ${folder}/by-hand/${kind}\n`]),
    );
    for (const [name, files] of Object.entries(PLUGIN_APPS)) {
      write(`plugin/${name}`, files(pluginConfig(), './chart'));
      write(`hand/${name}`, files(pluginConfig(runtime), './chart'));
    }
    await done('plugins', 'install', '-c', 'kep.yaml', '--allow-exec');
  });
  afterAll(async () => {
    await scripts?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function write(folder: string, files: Record<string, string>): void {
    user.write(Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text])));
  }
  async function done(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await user.krmhub(...args);
    expect([args, code], stderr).toEqual([args, 0]);
    return stdout + stderr;
  }
  /** Without the files of kustomize itself, which leaves them when a plugin fails. */
  const leftovers = () => user.leftovers().filter((name) => !name.startsWith('kust-plugin-config-'));
  const build = (oracle: Oracle, app: string) => user.byHand(oracle, app, ...PLUGINS);
  const byHand = new Map<string, ReturnType<typeof build>>();
  function builtByHand(name: string): ReturnType<typeof build> {
    const built = byHand.get(name) ?? user.byHand(ORACLES[0], `hand/${name}`, ...PLUGINS, '--enable-exec');
    byHand.set(name, built);
    return built;
  }
  const entries = (set: keyof typeof SCRIPTS, other: keyof typeof SCRIPTS = 'hang.sh') =>
    catalogText(
      scripts.entry('SetLabels', set, SCRIPTS[set]),
      scripts.entry('Logger', other, SCRIPTS[other]),
    );

  describe.each(ORACLES)('of $program', (oracle) => {
    it.each(Object.keys(PLUGIN_APPS))('give the bytes of the function itself: %s', async (name) => {
      const hand = await builtByHand(name);
      expect(hand).toMatchObject({ code: 0 });
      const before = user.snapshot(`plugin/${name}`);
      const built = await build(oracle, `plugin/${name}`);
      expect([built.code, built.stderr]).toEqual([0, '']);
      expect(built.stdout).toBe(hand.stdout);
      expect(user.snapshot(`plugin/${name}`)).toEqual(before);
      expect(leftovers()).toEqual([]);
    });

    it('fail as the function does, with its messages', async () => {
      write('failing', PLUGIN_APPS.layers!(pluginConfig(), './chart'));
      user.write({
        'failing/check.yaml': pluginConfig()('RequireLabels', 'check', 'labels: [team, owner]\n'),
      });
      const { code, stdout, stderr } = await build(oracle, 'failing');
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain('foo-settings metadata.labels.owner: the label owner is missing');
      expect(stderr).toContain('team.example.com/v1beta1/RequireLabels failed with exit code 1');
    });

    it('may validate what another plugin changed, in any notation', async () => {
      const config = pluginConfig();
      const app = {
        'kustomization.yaml': 'resources: [resources.yaml]\ntransformers: [transform.yaml]\n',
        'transform.yaml': config(
          'CommonApp',
          'common',
          'transform:\n  namePrefix: foo-\n  commonLabels: {team: "1e3", version: 1.2.3}\n',
        ),
        'check.yaml': config('RequireLabels', 'check', 'labels: [team]\n'),
        'resources.yaml': NOTATIONS,
      };
      write('changed', app);
      const changed = await build(oracle, 'changed');
      expect(changed).toMatchObject({ code: 0, stderr: '' });
      write('validated', {
        ...app,
        'kustomization.yaml': `${app['kustomization.yaml']}validators: [check.yaml]\n`,
      });
      expect(await build(oracle, 'validated')).toEqual(changed);
      write('validated', { 'check.yaml': config('RequireLabels', 'check', 'labels: [owner]\n') });
      const refused = await build(oracle, 'validated');
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining('the label owner is missing'),
      ]);
    });

    it('are not run for a functionConfig that kustomize itself takes for a function', async () => {
      const annotation =
        '  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./mine.sh}\n';
      write('annotated', {
        'kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [check.yaml]\n',
        'settings.yaml': CONFIG_MAP,
        'check.yaml': `${pluginConfig()('RequireLabels', 'check', '')}${annotation}labels: [team]\n`,
        'mine.sh': '#!/bin/sh\nexec cat\n',
      });
      await user.run('chmod', ['+x', 'annotated/mine.sh']);
      // The plugin would refuse the resource. Without --enable-exec, kustomize skips the function.
      expect(await build(oracle, 'annotated')).toMatchObject({ code: 0, stderr: '' });
    });

    it('are not run without --enable-alpha-plugins', async () => {
      const { code } = await user.byHand(oracle, 'plugin/abstraction');
      expect(code).toBe(1);
    });
  });

  it('run without the registry and without the catalog', async () => {
    const other = new BuildUser(path.join(folder, 'offline'));
    const own = await ScriptRegistry.start(path.join(folder, 'offline-registry'), SCRIPTS);
    other.write({
      'catalog.yaml': catalogText(own.entry('SetLabels', 'set.sh', SCRIPTS['set.sh'])),
      'app/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'app/settings.yaml': CONFIG_MAP,
      'app/set.yaml': configText('SetLabels'),
    });
    const installed = await other.krmhub('plugins', 'install', '-c', 'catalog.yaml', '--allow-exec');
    expect(installed).toMatchObject({ code: 0 });
    await own.stop();
    await rm(path.join(other.folder, 'catalog.yaml'));
    const built = await other.byHand(ORACLES[0], 'app', ...PLUGINS);
    expect(built).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('  set: it\n') });
  });

  it('refuse a configuration that does not satisfy the schema, without the catalog', async () => {
    const other = new BuildUser(path.join(folder, 'schema'));
    const schema = '    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}\n';
    other.write({
      'catalog.yaml': catalogText(`${scripts.entry('SetLabels', 'set.sh', SCRIPTS['set.sh'])}${schema}`),
      'app/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'app/settings.yaml': CONFIG_MAP,
      'app/set.yaml': `${configText('SetLabels')}speck: {}\n`,
    });
    const installed = await other.krmhub('plugins', 'install', '-c', 'catalog.yaml', '--allow-exec');
    expect(installed).toMatchObject({ code: 0 });
    await rm(path.join(other.folder, 'catalog.yaml'));
    const built = await other.byHand(ORACLES[0], 'app', ...PLUGINS);
    expect([built.code, built.stdout]).toEqual([1, '']);
    expect(built.stderr).toContain('does not satisfy the schema of its catalog');
    expect(built.stderr).toContain('the functionConfig has the unknown field "speck"; did you mean "spec"?');
  });

  it.each(ORACLES)('check as Kubernetes does, by $program', async (oracle) => {
    const other = new BuildUser(path.join(folder, `checks-${oracle.program}`));
    const rule =
      '{rule: "!has(self.ip) || cidr(\'10.0.0.0/8\').containsIP(self.ip)", message: it must be inside}';
    const properties =
      '{spec: {type: object, x-kubernetes-validations: [RULE], properties: {ip: {type: string}, color: {type: string, pattern: "^[a-z]+$"}, size: {type: integer, format: int64}}}}';
    const schema = `    schema: {openAPIV3Schema: {type: object, properties: ${properties.replace('RULE', rule)}}}\n`;
    other.write({
      'catalog.yaml': catalogText(`${scripts.entry('SetLabels', 'set.sh', SCRIPTS['set.sh'])}${schema}`),
      'app/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'app/settings.yaml': CONFIG_MAP,
    });
    const installed = await other.krmhub('plugins', 'install', '-c', 'catalog.yaml', '--allow-exec');
    expect(installed).toMatchObject({ code: 0 });
    const build = async (spec: string) => {
      other.write({ 'app/set.yaml': `${HEAD}spec: ${spec}\n` });
      const { code, stderr } = await other.byHand(oracle, 'app', ...PLUGINS);
      return [code, stderr];
    };
    expect(await build('{color: red, size: 9223372036854775807, ip: 10.1.2.3}')).toEqual([0, '']);
    for (const [spec, problem] of [
      ['{color: Red}', 'spec.color must match pattern "^[a-z]+$"'],
      ['{size: 9223372036854775808}', 'spec.size must be an integer of 64 bits'],
      ['{size: "1"}', 'spec.size must be an integer, not a string'],
      ['[red]', 'spec must be a mapping, not a list'],
      ['{ip: 11.1.2.3}', 'spec is not valid: it must be inside'],
    ]) {
      expect(await build(spec!)).toEqual([1, expect.stringContaining(problem!)]);
    }
  });

  it('check with the schema of the release that they run', async () => {
    const entryWith = (field: string) =>
      catalogText(
        `${scripts.entry('SetLabels', 'set.sh', SCRIPTS['set.sh'])}    schema: {openAPIV3Schema: {type: object, properties: {${field}: {type: string}}}}\n`,
      );
    const other = new BuildUser(path.join(folder, 'schemas'));
    const app = {
      'kustomization.yaml':
        'catalogs: [../catalog.yaml]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'settings.yaml': CONFIG_MAP,
      'set.yaml': `${HEAD}older: a\n`,
    };
    for (const [name, text] of Object.entries(app)) other.write({ [`locked/${name}`]: text });
    const plain = app['kustomization.yaml'].replace(/^.*\n/, '');
    for (const [name, text] of Object.entries({ ...app, 'kustomization.yaml': plain })) {
      other.write({ [`plain/${name}`]: text, [`newer/${name}`]: text.replace('older: a', 'newer: a') });
    }
    other.write({ 'catalog.yaml': entryWith('older') });
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await other.krmhub(...args);
      expect(code, stdout + stderr).toBe(0);
      return stderr;
    };
    await run('lock', 'locked', '-c', 'catalog.yaml');
    other.write({ 'catalog.yaml': entryWith('newer') });
    const lock = readFileSync(path.join(other.folder, 'locked/krmhub.lock'), 'utf8');
    other.write({ 'plain/krmhub.lock': lock });
    const install = ['plugins', 'install', '-c', 'catalog.yaml', '--allow-exec'];
    expect(await run(...install, '--lock', 'plain/krmhub.lock')).not.toContain('warning');
    expect(await other.byHand(ORACLES[0], 'plain', ...PLUGINS)).toMatchObject({ code: 0, stderr: '' });
    await run(...install);
    expect(await other.byHand(ORACLES[0], 'newer', ...PLUGINS)).toMatchObject({ code: 0, stderr: '' });
    await rm(path.join(other.folder, 'plain/krmhub.lock'));
    expect(await other.byHand(ORACLES[0], 'plain', ...PLUGINS)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the functionConfig has the unknown field "older"'),
    });
  });

  it('run what a lock file names, if it is installed', async () => {
    const app = {
      'kustomization.yaml':
        'catalogs: [../lock.yaml]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'settings.yaml': CONFIG_MAP,
      'set.yaml': configText('SetLabels'),
    };
    write('locked', app);
    // kustomize itself refuses the field `catalogs`.
    write('plain', { ...app, 'kustomization.yaml': app['kustomization.yaml'].replace(/^.*\n/, '') });
    user.write({ 'lock.yaml': entries('set.sh') });
    await done('lock', 'locked', '-c', 'lock.yaml');
    user.write({ 'plain/krmhub.lock': readFileSync(path.join(folder, 'locked/krmhub.lock'), 'utf8') });
    user.write({ 'lock.yaml': entries('reset.sh') });
    const install = ['plugins', 'install', '-c', 'lock.yaml', '--allow-exec', '--kind', 'SetLabels'];
    try {
      await done(...install);
      const refused = await build(ORACLES[0], 'plain');
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain('krmhub.lock locks another release, which is not installed');
      expect(refused.stderr).toMatch(/hint: Install it: krmhub plugins install .*--lock /);
      user.write({ 'lock.yaml': entries('set.sh') });
      await done(...install, '--lock', 'plain/krmhub.lock');
      expect((await build(ORACLES[0], 'plain')).stdout).toContain('  set: it\n');
      await rm(path.join(folder, 'plain/krmhub.lock'));
      expect((await build(ORACLES[0], 'plain')).stdout).toContain('  set: again\n');
    } finally {
      await done('plugins', 'remove', 'example.com/v1/SetLabels');
    }
  });

  describe('whose function does not end', () => {
    beforeAll(async () => {
      user.write({
        'hang.yaml': entries('set.sh'),
        'hang/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [hang.yaml]\n',
        'hang/settings.yaml': CONFIG_MAP,
        'hang/hang.yaml': configText('Logger'),
      });
      const options = ['--allow-exec', '--kind', 'Logger', '--timeout', '3s'];
      await done('plugins', 'install', '-c', 'hang.yaml', ...options);
    });
    afterAll(() => done('plugins', 'remove', 'Logger'));
    const running = () =>
      readdirSync('/proc').filter((pid) => {
        try {
          const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
          return /^\d+$/.test(pid) && args.includes(folder) && args.includes('hang.sh');
        } catch {
          return false;
        }
      });

    it('end it', async () => {
      const { code, stdout, stderr } = await build(ORACLES[0], 'hang');
      expect([code, stdout, stderr]).toEqual([
        1,
        '',
        expect.stringContaining('did not exit within 3 seconds'),
      ]);
      expect([leftovers(), running()]).toEqual([[], []]);
    });

    it.each(['SIGINT', 'SIGTERM'] as const)('end it on %s', async (signal) => {
      const child = user.start('kustomize', ['build', 'hang', ...PLUGINS], { detached: true });
      const closed = once(child, 'close');
      await expect.poll(running).not.toEqual([]);
      // As the terminal does.
      process.kill(-child.pid!, signal);
      await closed;
      await expect.poll(() => [leftovers(), running()]).toEqual([[], []]);
    });

    it('end it soon where kustomize alone is killed', async () => {
      await done('plugins', 'remove', 'Logger');
      // With the timeout of five minutes.
      await done('plugins', 'install', '-c', 'hang.yaml', '--allow-exec', '--kind', 'Logger');
      const child = user.start('kustomize', ['build', 'hang', ...PLUGINS]);
      const ended = once(child, 'exit');
      await expect.poll(running).not.toEqual([]);
      child.kill('SIGKILL');
      await ended;
      await expect.poll(() => [leftovers(), running()]).toEqual([[], []]);
    });
  });

  describe('the examples of the help', () => {
    const examples = readFileSync(path.join(root, 'docs/commands.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('  krmhub plugins '))
      .map((line) => line.trim());
    let isInstalled = false;

    it('are found', () => expect(examples.length).toBeGreaterThan(10));

    it.each(examples)('%s', async (example) => {
      user.write({ 'catalog.yaml': entries('set.sh') });
      if (!isInstalled) await done('plugins', 'install', '-c', 'catalog.yaml', '--allow-exec', '--force');
      const [, ...args] = example
        .replace('https://krm.example.com/catalogs/default', 'catalog.yaml')
        .split(' ');
      // The functions of the test are executables.
      if (args[1] === 'install') args.push('--allow-exec');
      await done(...args);
      isInstalled = args[1] !== 'remove';
    });
  });

  it('are removed without a trace', async () => {
    await done('plugins', 'install', '-c', 'kep.yaml', '--allow-exec');
    await done('plugins', 'remove', '--all');
    expect(existsSync(path.join(folder, '.config/kustomize/plugin/team.example.com'))).toBe(false);
    expect(await done('plugins', 'list')).toContain('no plugins are installed');
  });
});
