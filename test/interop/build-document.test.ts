import { readFileSync, realpathSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../running.js';
import { BuildUser, missingOracles } from './build-user.js';
import { CONFIG_MAP, catalogText, configText, setting } from './function-catalog.js';
import { titleWithReason } from './oci-tools.js';
import { ScriptRegistry } from './script-registry.js';

/** The examples of `krmhub build --help`, on an app whose functions are executables. */

const why = missingOracles();
const SCRIPTS = { 'set.sh': setting('set', 'it') };
const examples = readFileSync(path.join(root, 'docs/commands.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('  krmhub build '))
  .map((line) => line.trim());

describe.skipIf(why !== undefined)(titleWithReason('the examples of krmhub build', why), () => {
  let folder: string;
  let user: BuildUser;
  let scripts: ScriptRegistry;
  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-examples-')));
    user = new BuildUser(folder);
    scripts = await ScriptRegistry.start(path.join(folder, 'registry'), SCRIPTS);
    const catalog = catalogText(scripts.entry('SetIt', 'set.sh', SCRIPTS['set.sh']));
    user.write({
      'app/kustomization.yaml':
        'catalogs: [../catalog.yaml]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'app/settings.yaml': CONFIG_MAP,
      'app/set.yaml': configText('SetIt'),
      'catalog.yaml': catalog,
    });
    const locked = await user.krmhub('lock', 'app', '-c', 'catalog.yaml');
    expect(locked).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await scripts?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are found', () => expect(examples.length).toBeGreaterThan(3));

  it.each(examples)('%s', async (example) => {
    const [, ...args] = example
      .replace('https://krm.example.com/catalogs/default', 'catalog.yaml')
      .split(' ');
    // The function of the test is an executable.
    args.splice(2, 0, '--allow-exec');
    const built = await user.krmhub(...args);
    expect(built).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('  set: it\n') });
  });
});
