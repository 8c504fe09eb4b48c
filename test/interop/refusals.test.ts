import { existsSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../running.js';
import { BuildUser, missingOracles, ORACLES } from './build-user.js';
import { CONFIG_MAP, catalogText, configText, imageEntry } from './function-catalog.js';
import { titleWithReason } from './oci-tools.js';
import { ScriptRegistry } from './script-registry.js';

/**
 * What the pages about builds and plugins say is refused, with the messages that their tables list, from krmhub,
 * kustomize and kubectl. Each function leaves a file where it ran.
 */

const why = missingOracles();
const APP = 'resources: [settings.yaml]\ntransformers: [set.yaml]\n';

describe.skipIf(why !== undefined)(titleWithReason('what the pages say is refused', why), () => {
  let folder: string;
  let user: BuildUser;
  let scripts: ScriptRegistry;
  const marker = () => path.join(folder, 'ran');

  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-refusals-')));
    user = new BuildUser(folder);
    const functions = {
      'set.sh': `#!/bin/sh\ntouch ${folder}/ran\nexec cat\n`,
      'fail.sh': '#!/bin/sh\necho "the team is missing" >&2\nexit 1\n',
    };
    scripts = await ScriptRegistry.start(path.join(folder, 'registry'), functions);
    const image = { tagged: 'registry.example.com/fn:v1', sha256: 'a'.repeat(64) };
    user.write({
      'catalog.yaml': catalogText(
        scripts.entry('SetIt', 'set.sh', functions['set.sh']),
        scripts.entry('Fail', 'fail.sh', functions['fail.sh']),
        imageEntry('Network', image, { network: true }),
        imageEntry('Storage', image, { storage: true }),
      ),
    });
    for (const kind of ['SetIt', 'Fail', 'Network', 'Storage', 'Missing']) {
      write(`app/${kind}`, {
        'kustomization.yaml': `catalogs: [../../catalog.yaml]\n${APP}`,
        'settings.yaml': CONFIG_MAP,
        'set.yaml': configText(kind),
      });
      write(`plain/${kind}`, {
        'kustomization.yaml': APP,
        'settings.yaml': CONFIG_MAP,
        'set.yaml': configText(kind),
      });
    }
    const annotation =
      '  annotations:\n    config.kubernetes.io/function: "container: {image: example.com/a}"\n';
    write('app/Inline', {
      'kustomization.yaml': APP,
      'settings.yaml': CONFIG_MAP,
      'set.yaml': `apiVersion: example.com/v1\nkind: Own\nmetadata:\n  name: own\n${annotation}`,
    });
    write('app/Broken', {
      'kustomization.yaml': 'resources: [a.yaml, b.yaml]\n',
      'a.yaml': CONFIG_MAP,
      'b.yaml': CONFIG_MAP,
    });
  });
  afterAll(async () => {
    await scripts?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function write(at: string, files: Record<string, string>): void {
    user.write(Object.fromEntries(Object.entries(files).map(([name, text]) => [`${at}/${name}`, text])));
  }
  const page = (name: string) => readFileSync(path.join(root, 'docs', name), 'utf8');
  const trusted = ['--trusted-catalog', 'catalog.yaml'];

  it.each<[app: string, args: string[], code: number, message: string, hint: string]>([
    ['SetIt', ['--allow-exec'], 4, 'is not trusted', '--trusted-catalog ./catalog.yaml@sha256:'],
    ['SetIt', trusted, 4, 'you did not allow', '--allow-exec'],
    ['Network', trusted, 4, 'you did not allow', '--network'],
    ['Storage', trusted, 4, 'you did not allow', '--mount type=bind'],
    ['Storage', [...trusted, '--network', '--allow-exec'], 4, 'you did not allow', '--mount type=bind'],
    ['Inline', [], 4, 'you did not allow', '--enable-alpha-plugins'],
    ['Missing', trusted, 3, 'cannot resolve', 'Check apiVersion and kind'],
    ['Fail', [...trusted, '--allow-exec'], 1, 'the function failed', ''],
    ['Broken', [], 1, 'kustomize exited', ''],
  ])('krmhub build %s %j ends with %i: %s', async (app, args, code, message, hint) => {
    expect(page('build.md')).toContain(`exit code ${code}, \`${message}\``);
    const built = await user.krmhub('build', `app/${app}`, ...args);
    expect([built.code, built.stdout, built.stderr]).toEqual([code, '', expect.stringContaining(message)]);
    expect(built.stderr).toContain(hint);
    for (const line of built.stderr.split('\n'))
      expect(line.split(`example.com/v1 ${app}`).length, line).toBeLessThan(3);
    expect(existsSync(marker())).toBe(false);
  });

  it.each<[kind: string, args: string[], hint: string]>([
    ['SetIt', [], '--allow-exec'],
    ['Network', ['--allow-exec'], '--network'],
    ['Storage', ['--allow-exec', '--network'], '--mount type=bind'],
  ])('krmhub plugins install --kind %s %j installs nothing', async (kind, args, hint) => {
    expect(page('plugins.md')).toContain('exit code 4, `you did not allow`');
    const install = ['plugins', 'install', '-c', 'catalog.yaml', '--kind', kind, '--dir', 'nothing', ...args];
    const installed = await user.krmhub(...install);
    expect([installed.code, installed.stdout]).toEqual([4, '']);
    expect(installed.stderr).toContain('you did not allow');
    expect(installed.stderr).toContain(hint);
    expect(existsSync(path.join(folder, 'nothing'))).toBe(false);
  });

  it('krmhub plugins install --offline installs only what is in the cache', async () => {
    const install = ['plugins', 'install', '-c', 'catalog.yaml', '--kind', 'SetIt', '--allow-exec'];
    const empty = new BuildUser(path.join(folder, 'empty'));
    empty.write({ 'catalog.yaml': readFileSync(path.join(folder, 'catalog.yaml'), 'utf8') });
    const refused = await empty.krmhub(...install, '--offline');
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('is not in the cache')]);
    expect(await empty.krmhub(...install)).toMatchObject({ code: 0 });
    expect(await empty.krmhub(...install, '--offline')).toMatchObject({ code: 0 });
  });

  it('krmhub plugins install --frozen installs only what is locked', async () => {
    expect(await user.krmhub('lock', 'app/SetIt', ...trusted)).toMatchObject({ code: 0 });
    const base = ['plugins', 'install', '-c', 'catalog.yaml', '--allow-exec'];
    // The cache then has the executables.
    for (const kind of ['SetIt', 'Fail']) {
      expect(await user.krmhub(...base, '--kind', kind)).toMatchObject({ code: 0 });
    }
    const lock = ['--lock', 'app/SetIt/krmhub.lock', '--frozen'];
    const install = [...base, ...lock, '--dir', 'frozen', '--kind'];
    const refused = await user.krmhub(...install, 'example.com/v1/Fail');
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('not locked') });
    expect(await user.krmhub(...install, 'example.com/v1/SetIt')).toMatchObject({ code: 0 });
    rmSync(path.join(folder, 'app/SetIt/krmhub.lock'));
  });

  describe.each(ORACLES)('$program', (oracle) => {
    it.each<[app: string, flags: string[], plugins: string | undefined, message: string]>([
      ['plain/SetIt', [], undefined, 'external plugins disabled'],
      ['plain/SetIt', ['--enable-alpha-plugins'], undefined, 'unable to find plugin root'],
      ['plain/Missing', ['--enable-alpha-plugins'], 'none', 'expected file with Go object code'],
      ['app/SetIt', ['--enable-alpha-plugins'], 'none', 'unknown field "catalogs"'],
    ])('builds %s %j with an error', async (app, flags, plugins, message) => {
      expect(page('plugins.md')).toContain(`\`${message}\``);
      const other = new BuildUser(path.join(folder, 'other'));
      if (plugins !== undefined) other.write({ [`${plugins}/.keep`]: '' });
      other.env.KUSTOMIZE_PLUGIN_HOME = plugins === undefined ? '' : path.join(other.folder, plugins);
      const built = await other.byHand(oracle, path.join(folder, app), ...flags);
      expect([built.code, built.stdout]).toEqual([1, '']);
      // kubectl quotes the message.
      expect(built.stderr.replaceAll('\\"', '"')).toContain(message);
    });

    it('refuses a validator that follows no plugin, whatever it does', async () => {
      expect(page('plugins.md')).toContain("`validator shouldn't modify the resource map`");
      const kustomization = 'resources: [settings.yaml]\nvalidators: [set.yaml]\n';
      write('validated', {
        'kustomization.yaml': kustomization,
        'settings.yaml': `kind: ConfigMap\n${CONFIG_MAP.replace('kind: ConfigMap\n', '')}`,
        'set.yaml': configText('SetIt'),
      });
      await user.krmhub('plugins', 'install', '-c', 'catalog.yaml', '--kind', 'SetIt', '--allow-exec');
      const built = await user.byHand(oracle, 'validated', '--enable-alpha-plugins');
      expect(built).toMatchObject({ code: 1, stderr: expect.stringContaining("validator shouldn't modify") });
      write('validated', { 'kustomization.yaml': kustomization.replace('validators', 'transformers') });
      expect(await user.byHand(oracle, 'validated', '--enable-alpha-plugins')).toMatchObject({ code: 0 });
    });
  });

  it('a plugin says what to do after krmhub was moved', async () => {
    expect(page('plugins.md')).toContain('`was moved or removed`');
    const moved = path.join(folder, 'moved');
    await cp(path.join(root, 'apps/cli'), moved, { recursive: true });
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    const install = [
      'plugins',
      'install',
      '-c',
      'catalog.yaml',
      '--kind',
      'SetIt',
      '--allow-exec',
      '--force',
    ];
    const installed = await user.run(process.execPath, [path.join(moved, 'bin/krmhub.js'), ...install]);
    expect(installed).toMatchObject({ code: 0 });
    rmSync(moved, { recursive: true });
    const built = () => user.byHand(ORACLES[0], 'plain/SetIt', '--enable-alpha-plugins');
    expect(await built()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was moved or removed'),
    });
    expect(await user.krmhub('plugins', 'update')).toMatchObject({ code: 0 });
    expect(await built()).toMatchObject({ code: 0 });
  });
});
