import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { krmhub } from '../running.js';
import { BuildUser } from './build-user.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { definitionText, setting } from './function-catalog.js';
import { ImageBuilder } from './function-images.js';
import { titleWithReason } from './oci-tools.js';
import { ScriptRegistry } from './script-registry.js';

/** A script, an executable, and a container of one catalog in one pipeline of `krmhub fn render`. */

const why = whyNoContainers();
const minutes = 60_000;
const PROGRAM = setting('program', 'executable');
const SCRIPT = `for item in ctx.resource_list["items"]:
    if item["kind"] == "ConfigMap":
        item["data"]["script"] = ctx.resource_list["functionConfig"]["metadata"]["name"]
`;
const SETTINGS = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings # of the shop
data:
  a: b
`;

describe.skipIf(why !== undefined)(titleWithReason('functions of a catalog in krmhub fn', why), () => {
  let folder: string;
  let engine: ContainerEngine;
  let scripts: ScriptRegistry;
  let user: BuildUser;
  let catalog: string;

  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-fn-')));
    engine = await openContainerEngine({ withBase: false });
    scripts = await ScriptRegistry.start(path.join(folder, 'registry'), { 'set.sh': PROGRAM });
    user = new BuildUser(folder, engine);
    catalog = `${scripts.registry.url}/catalogs/default`;
    const { tagged, sha256 } = await new ImageBuilder(engine, scripts.registry).push(
      'set-image',
      setting('image', 'container').replace('#!/bin/sh\n', ''),
    );
    const definitions = {
      SetProgram: { exec: { platforms: scripts.platforms('set.sh', PROGRAM) } },
      SetImage: { container: { image: tagged, sha256 } },
      SetScript: { starlark: './main.star' },
    };
    const source = path.join(folder, 'definitions');
    mkdirSync(source);
    writeFileSync(path.join(source, 'main.star'), SCRIPT);
    for (const [kind, runtime] of Object.entries(definitions)) {
      writeFileSync(path.join(source, `${kind}.yaml`), definitionText(kind, runtime));
      const args = ['publish', `${kind}.yaml`, '--release', '1.0.0'];
      const { code, stderr } = await krmhub(args, { cwd: source, env: scripts.registry.env });
      expect(code, stderr).toBe(0);
    }
  }, 10 * minutes);
  afterAll(async () => {
    await scripts?.stop();
    await engine?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, 2 * minutes);

  function writePackage(name: string, kinds: readonly string[]): void {
    const annotations = `  annotations:\n    krmhub.dev/catalogs: ${catalog}\n`;
    const entries = kinds.map((kind) => `    - configPath: ${kind}.yaml\n`).join('');
    user.write({
      [`${name}/Kptfile`]: `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n${annotations}pipeline:\n  mutators:\n${entries}`,
      [`${name}/settings.yaml`]: SETTINGS,
    });
    for (const kind of kinds) {
      user.write({
        [`${name}/${kind}.yaml`]: `apiVersion: example.com/v1\nkind: ${kind}\nmetadata:\n  name: starlark\nspec: {}\n`,
      });
    }
  }
  const settings = (name: string) => readFileSync(path.join(folder, name, 'settings.yaml'), 'utf8');
  const KINDS = ['SetScript', 'SetProgram', 'SetImage'];

  it.each(KINDS)('refuses %s without the trust of the user, and names the option', async (kind) => {
    writePackage(kind, [kind]);
    const refused = await user.krmhub('fn', 'render', kind, '--allow-exec', '--network');
    expect([refused.code, settings(kind)]).toEqual([4, SETTINGS]);
    expect(refused.stderr).toContain('is not trusted');
    expect(refused.stderr).toContain('--trusted-catalog');
  });

  it(
    'runs them in one pipeline, once executables are allowed, and again by the lock file',
    async () => {
      writePackage('app', KINDS);
      const trusted = ['--trusted-catalog', catalog];
      const refused = await user.krmhub('fn', 'render', 'app', ...trusted);
      expect([refused.code, settings('app')]).toEqual([4, SETTINGS]);
      expect(refused.stderr).toContain('--allow-exec');
      const rendered = await user.krmhub('fn', 'render', 'app', ...trusted, '--allow-exec');
      expect(rendered.stderr).toContain('Successfully executed 3 function(s) in 1 package(s).');
      expect(rendered.code).toBe(0);
      const text = settings('app');
      expect(text).toContain('  name: settings # of the shop\n');
      for (const line of ['script: starlark', 'program: "executable"', 'image: "container"']) {
        expect(text).toContain(`  ${line}\n`);
      }
      const locked = await user.krmhub('lock', 'app', ...trusted);
      expect(locked.code, locked.stderr).toBe(0);
      writeFileSync(path.join(folder, 'app/settings.yaml'), SETTINGS);
      const frozen = await user.krmhub('fn', 'render', 'app', ...trusted, '--allow-exec', '--frozen');
      expect([frozen.code, settings('app')], frozen.stderr).toEqual([0, text]);
    },
    5 * minutes,
  );

  it('checks a functionConfig against the schema before anything runs', async () => {
    writePackage('wrong', ['SetScript']);
    user.write({
      'wrong/SetScript.yaml':
        'apiVersion: example.com/v1\nkind: SetScript\nmetadata:\n  name: fn\nvalue: [1]\nextra: 1\n',
    });
    const refused = await user.krmhub('fn', 'render', 'wrong', '--trusted-catalog', catalog);
    expect([refused.code, settings('wrong')]).toEqual([1, SETTINGS]);
    expect(refused.stderr).toContain('does not satisfy the schema of its catalog');
  });
});
