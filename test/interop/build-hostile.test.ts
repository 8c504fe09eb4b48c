import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { command } from '../running.js';
import { BuildUser, missingOracles } from './build-user.js';
import { CONFIG_MAP, catalogText, configText, imageEntry, setting } from './function-catalog.js';
import { titleWithReason } from './oci-tools.js';
import { ScriptRegistry } from './script-registry.js';

/**
 * Builds that are interrupted, that run out of disk, or whose files are hostile: nothing is left behind, and nothing
 * else runs.
 */

const why = missingOracles();
const SCRIPTS = {
  'set.sh': setting('set', 'it'),
  'hang.sh': '#!/bin/sh\nwhile :; do sleep 1; done\n',
  'flood.sh': '#!/bin/sh\nyes flood >&2 &\nexec yes output\n',
  'empty.sh': '#!/bin/sh\ncat > /dev/null\n',
  'escape.sh': `#!/bin/sh\nprintf '\\033]0;owned\\007 message\\n' >&2\nexec cat\n`,
};
const kinds: Record<keyof typeof SCRIPTS, string> = {
  'set.sh': 'SetIt',
  'hang.sh': 'Hang',
  'flood.sh': 'Flood',
  'empty.sh': 'Empty',
  'escape.sh': 'Escape',
};

describe.skipIf(why !== undefined)(titleWithReason('krmhub build', why), () => {
  let folder: string;
  let user: BuildUser;
  let scripts: ScriptRegistry;
  const options = ['-c', 'catalog/catalog.yaml', '--allow-exec'];

  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-hostile-')));
    user = new BuildUser(folder);
    scripts = await ScriptRegistry.start(path.join(folder, 'registry'), SCRIPTS);
    const entries = Object.entries(SCRIPTS).map(([name, text]) =>
      scripts.entry(kinds[name as keyof typeof SCRIPTS], name, text),
    );
    user.write({
      ...Object.fromEntries(Object.entries(SCRIPTS).map(([name, text]) => [`catalog/${name}`, text])),
      'catalog/catalog.yaml': catalogText(...entries),
      ...Object.fromEntries(
        Object.values(kinds).flatMap((kind) => [
          [`${kind}/kustomization.yaml`, 'resources: [settings.yaml]\ntransformers: [fn.yaml]\n'],
          [`${kind}/settings.yaml`, CONFIG_MAP],
          [`${kind}/fn.yaml`, configText(kind)],
        ]),
      ),
    });
  });
  afterAll(async () => {
    await scripts?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  // A test that fails leaves nothing that runs.
  afterEach(() => user.endAll());

  const build = (name: string, ...more: string[]) => user.krmhub('build', name, ...options, ...more);
  /** Processes of a function: what runs is a copy in the folder for temporary files. */
  const runningFunctions = () =>
    readdirSync('/proc').filter((pid) => {
      if (!/^\d+$/.test(pid)) return false;
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return args.includes(user.temporary) && args.includes('hang.sh');
      } catch {
        return false;
      }
    });

  async function startHanging() {
    const child = user.start(process.execPath, [command, 'build', 'Hang', ...options]);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    const closed = once(child, 'close') as Promise<[number | null, string | null]>;
    await expect.poll(runningFunctions).not.toEqual([]);
    return { child, closed, stderr: () => stderr };
  }

  it.each(['SIGINT', 'SIGTERM'] as const)('ends on %s, and so does the function', async (signal) => {
    const before = user.snapshot('Hang');
    const { child, closed, stderr } = await startHanging();
    child.kill(signal);
    expect(await closed).toEqual([5, null]);
    expect(stderr()).toContain('error: build of Hang interrupted');
    expect(runningFunctions()).toEqual([]);
    expect(user.leftovers()).toEqual([]);
    expect(user.snapshot('Hang')).toEqual(before);
  });

  it('ends where kustomize alone is killed, and so does the function', async () => {
    const { child, closed, stderr } = await startHanging();
    const { stdout } = spawnSync('pgrep', ['-P', String(child.pid), '-x', 'kustomize'], { encoding: 'utf8' });
    expect(stdout).toMatch(/^\d+\n$/);
    process.kill(Number(stdout), 'SIGKILL');
    expect(await closed).toEqual([1, null]);
    expect(stderr()).toContain('kustomize was killed by SIGKILL');
    expect(runningFunctions()).toEqual([]);
    expect(user.leftovers()).toEqual([]);
  });

  it('ends while it pulls an image, and so does the engine', async () => {
    user.write({
      'pull/catalog.yaml': catalogText(
        imageEntry('Pulled', { tagged: 'example.com/x:v1', sha256: 'ab'.repeat(32) }),
      ),
      'pull/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [fn.yaml]\n',
      'pull/settings.yaml': CONFIG_MAP,
      'pull/fn.yaml': configText('Pulled'),
      'pull/bin/docker': `#!/bin/sh
case "$1" in
version) echo ok ;;
image) exit 1 ;;
pull) echo $$ > "$HOME/pulling"; while :; do sleep 1; done ;;
esac
`,
    });
    spawnSync('chmod', ['+x', path.join(folder, 'pull/bin/docker')]);
    const { PATH } = user.env;
    user.env.PATH = `${path.join(folder, 'pull/bin')}:${PATH}`;
    const child = user.start(process.execPath, [command, 'build', 'pull', '-c', 'pull/catalog.yaml']);
    user.env.PATH = PATH;
    const closed = once(child, 'close');
    const pulling = () =>
      existsSync(path.join(folder, 'pulling')) ? readFileSync(path.join(folder, 'pulling'), 'utf8') : '';
    await expect.poll(pulling).toMatch(/^\d+\n$/);
    child.kill('SIGINT');
    expect(await closed).toEqual([5, null]);
    expect(existsSync(`/proc/${pulling().trim()}`)).toBe(false);
    expect(user.leftovers()).toEqual([]);
  });

  it('is cleaned up after a crash', async () => {
    const before = user.snapshot('Hang');
    const { child, closed } = await startHanging();
    const { stdout } = spawnSync('pgrep', ['-P', String(child.pid), '-x', 'kustomize'], { encoding: 'utf8' });
    expect(stdout).toMatch(/^\d+\n$/);
    const groupMembers = () => spawnSync('pgrep', ['-g', stdout.trim()], { encoding: 'utf8' }).stdout;
    expect(groupMembers()).not.toBe('');
    child.kill('SIGKILL');
    await closed;
    await expect.poll(() => user.leftovers()).toEqual([]);
    await expect.poll(groupMembers).toBe('');
    expect(user.snapshot('Hang')).toEqual(before);
    // Without a sandbox, the function itself is not ended.
    for (const pid of runningFunctions()) spawnSync('kill', ['-9', pid]);
  });

  it('ends a function that does not end', async () => {
    const { code, stdout, stderr } = await build('Hang', '--timeout', '1s');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^error: Hang\/fn\.yaml:1: example\.com\/v1 Hang: function \S+ did not exit within 1 second$/m,
    );
    expect(runningFunctions()).toEqual([]);
    expect(user.leftovers()).toEqual([]);
  });

  it.each([
    ['Flood', 'standard output'],
    ['Empty', 'it wrote no output'],
  ])('refuses the output of %s', async (name, reason) => {
    const { code, stdout, stderr } = await build(name);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`error: ${name}/fn.yaml:1: example.com/v1 ${name}: function`);
    expect(stderr).toContain(reason);
    expect(user.leftovers()).toEqual([]);
  });

  it('escapes what a function writes to the terminal', async () => {
    const { code, stderr } = await build('Escape');
    expect([code, stderr]).toEqual([0, '␛]0;owned␇ message\n']);
  });

  const disk = () => path.join(folder, 'disk');
  const canMount = () => {
    mkdirSync(disk(), { recursive: true });
    return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'krmhub', disk()]).status === 0;
  };
  it('fails on a full disk, and leaves nothing', async ({ skip }) => {
    if (!canMount()) return skip('cannot mount a small disk');
    try {
      user.write({
        'large/kustomization.yaml': 'resources: [settings.yaml]\n',
        'large/settings.yaml': CONFIG_MAP,
      });
      user.write({ 'large/large.txt': 'x'.repeat(200_000) });
      user.env.TMPDIR = disk();
      const { code, stdout, stderr } = await build('large');
      expect([code, stdout]).toEqual([5, '']);
      expect(stderr).toMatch(/^error: cannot copy the files to \S+: the disk is full$/m);
      expect(readdirSync(disk())).toEqual([]);
    } finally {
      user.env.TMPDIR = user.temporary;
      spawnSync('umount', [disk()]);
    }
  });

  it.each([
    ['/etc/passwd', 'resources: [/etc/passwd]\n'],
    ['a link out of the folder', 'resources: [out.yaml]\n'],
    ['a file above the folder', 'resources: [../secret.yaml]\n'],
    ['a ConfigMap of a file outside', 'configMapGenerator: [{name: a, files: [out.yaml]}]\n'],
    ['a ConfigMap of /etc/passwd', 'configMapGenerator: [{name: a, files: [/etc/passwd]}]\n'],
    ['a base that is a link to nothing', 'resources: [nowhere]\n'],
  ])('does not read %s', async (_, kustomization) => {
    await rm(path.join(folder, 'outside'), { recursive: true, force: true });
    user.write({ 'outside/app/kustomization.yaml': kustomization, 'outside/secret.yaml': CONFIG_MAP });
    symlinkSync('../secret.yaml', path.join(folder, 'outside/app/out.yaml'));
    symlinkSync('../missing', path.join(folder, 'outside/app/nowhere'));
    const { code, stdout, stderr } = await build('outside/app');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).not.toContain('krmhub-kustomize-');
    expect(stderr).toMatch(/^error: /m);
    expect(user.leftovers()).toEqual([]);
  });

  it('builds a base that is a link, from where it leads', async () => {
    user.write({
      'links/app/kustomization.yaml': 'resources: [../base]\n',
      'links/real/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [fn.yaml]\n',
      'links/real/settings.yaml': CONFIG_MAP,
      'links/real/fn.yaml': configText('SetIt'),
    });
    symlinkSync('real', path.join(folder, 'links/base'));
    const { code, stdout, stderr } = await build('links/app');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('set: it');
  });

  it('refuses a kustomization that doubles with each base', async () => {
    const files: Record<string, string> = {
      'bomb/0/kustomization.yaml': 'resources: [settings.yaml]\n',
      'bomb/0/settings.yaml': CONFIG_MAP,
    };
    for (let level = 1; level <= 20; level++) {
      const base = `resources: [../${level - 1}]\n`;
      files[`bomb/a${level}/kustomization.yaml`] = `resources: [../${level}]\nnamePrefix: a-\n`;
      files[`bomb/b${level}/kustomization.yaml`] = `resources: [../${level}]\nnamePrefix: b-\n`;
      files[`bomb/${level}/kustomization.yaml`] =
        level === 1 ? base : `resources: [../a${level - 1}, ../b${level - 1}]\n`;
    }
    user.write(files);
    const { code, stdout, stderr } = await build('bomb/20');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('config/limit');
  });

  it('refuses a folder that is too large to copy', async () => {
    user.write({
      'many/kustomization.yaml': 'resources: [settings.yaml]\n',
      'many/settings.yaml': CONFIG_MAP,
    });
    spawnSync('truncate', ['--size', '300M', path.join(folder, 'many/large')]);
    const { code, stderr } = await build('many');
    expect(code).toBe(1);
    expect(stderr).toContain(`error: cannot copy ${folder}/many: more than 256 MiB`);
    expect(user.leftovers()).toEqual([]);
  });

  it.each([
    ['an image', 'docker run --rm -i example.com/hidden:v1', 'the image example.com/hidden:v1'],
    ['something else', 'docker ps', 'docker ps'],
  ])('runs nothing but functions: %s', async (_, call, what) => {
    user.write({
      'hidden/kustomization.yaml': 'resources: [settings.yaml]\n',
      'hidden/settings.yaml': CONFIG_MAP,
      'hidden/kustomize': `#!/bin/sh\necho input | ${call}\n`,
    });
    spawnSync('chmod', ['+x', path.join(folder, 'hidden/kustomize')]);
    const { code, stdout, stderr } = await build('hidden', '--kustomize', 'hidden/kustomize');
    expect([code, stdout]).toEqual([4, '']);
    expect(stderr).toContain(
      `error: cannot build hidden: kustomize tried to run ${what}, which is not in a functionConfig`,
    );
    expect(user.leftovers()).toEqual([]);
  });
});
