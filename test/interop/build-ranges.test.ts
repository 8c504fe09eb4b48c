import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fileRegistry, runTest } from '../../apps/cli/src/testing/command-line.js';
import { DEPLOYMENT } from '../../apps/cli/src/testing/fn-package.js';
import { config, type TestPackage, testPackage } from '../../apps/cli/src/testing/package-files.js';
import { publishScript } from '../../apps/cli/src/testing/script-functions.js';
import { isInstalled } from './container-engine.js';
import { titleWithReason } from './oci-tools.js';

const why = isInstalled('kubectl') ? undefined : 'kubectl not installed';

describe.skipIf(why !== undefined)(titleWithReason('krmhub build of a package with ranges', why), () => {
  const registry = fileRegistry();
  let pack: TestPackage;
  afterEach(() => pack.remove());

  it('runs the newest release in the range, also without a lock', async () => {
    const catalog = `${registry.url}/catalogs/default`;
    for (const release of ['1.0.0', '1.1.0', '2.0.0']) {
      const script = `
for item in ctx.resource_list["items"]:
    item["metadata"].setdefault("annotations", {})["team"] = "of-${release}"
`;
      await publishScript(registry, { kind: 'Build', release, runtime: 'starlark', script });
    }
    const settings = (range: string) => ({
      'app/krmhub.yaml': `apiVersion: krmhub.dev/v1alpha1\nkind: PackageSettings\nfunctions: [{kind: Build, release: ${range}}]\n`,
    });
    pack = await testPackage({
      'app/kustomization.yaml': `catalogs: ["${catalog}"]\nresources: [deployment.yaml]\ntransformers: [fn.yaml]\n`,
      'app/fn.yaml': config('Build'),
      'app/deployment.yaml': DEPLOYMENT,
      ...settings('^1'),
    });
    const run = (command: string, ...more: string[]) =>
      runTest([command, 'app', '--trusted-catalog', catalog, ...more], {
        cwd: pack.folder,
        env: { PATH: process.env.PATH ?? '', KRMHUB_CACHE: path.join(pack.folder, '.cache') },
      });
    const built = async () => {
      const io = await run('build', '--kustomize', 'kubectl');
      return [io.exitCode, /team: (\S*)/.exec(io.out())?.[1], io.err()];
    };
    expect(await built()).toEqual([0, 'of-1.1.0', expect.any(String)]);
    expect((await run('lock')).exitCode).toBe(0);
    expect(await built()).toEqual([0, 'of-1.1.0', expect.any(String)]);
    await pack.write(settings('~1.0'));
    const refused = expect.stringContaining('release 1.1.0 is locked, which is not in the range ~1.0');
    expect(await built()).toEqual([3, undefined, refused]);
    expect((await run('lock')).exitCode).toBe(0);
    expect(await built()).toEqual([0, 'of-1.0.0', expect.any(String)]);
  });
});
