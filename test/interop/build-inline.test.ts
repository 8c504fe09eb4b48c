import { realpathSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuildUser, missingOracles } from './build-user.js';
import { titleWithReason } from './oci-tools.js';

/** `krmhub build` of functionConfigs with their own runtime, against real kustomize. */

const why = missingOracles();
const FLAGS = ['--enable-alpha-plugins', '--enable-exec'];
const CONFIG_MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made\n';
const annotated = (head: string, runtime: string) =>
  `${head}  annotations:\n    config.kubernetes.io/function: |\n      ${runtime}\n`;

describe.skipIf(why !== undefined)(titleWithReason('krmhub build', why), () => {
  let user: BuildUser;
  beforeAll(async () => {
    user = new BuildUser(realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-inline-test-'))));
  });
  afterAll(() => rm(user.folder, { recursive: true, force: true }));

  it.each([
    [
      'a functionConfig without apiVersion, whose function writes a plain resource',
      annotated('kind: executable\nmetadata:\n  name: demo\n', 'exec: {path: ./fn.sh}'),
    ],
    [
      'words of YAML 1.1, in a name and in arguments',
      annotated(
        'apiVersion: a/v1\nkind: A\nmetadata:\n  name: yes\n',
        'exec: {path: ./fn.sh, args: [no, "on"]}',
      ),
    ],
  ])('builds %s, as kustomize', async (_, config) => {
    const list = CONFIG_MAP.replaceAll('\n', '\\n');
    user.write({
      'app/kustomization.yaml': 'generators: [fn.yaml]\n',
      'app/fn.yaml': config,
      'app/fn.sh': `#!/bin/sh\nprintf '${list}data:\\n  args: "%s"\\n' "$*"\n`,
    });
    await chmod(path.join(user.folder, 'app/fn.sh'), 0o755);
    const kustomize = await user.run('kustomize', ['build', 'app', ...FLAGS]);
    const krmhub = await user.krmhub('build', 'app', '--kustomize', 'kustomize', '--', ...FLAGS);
    expect([krmhub.code, krmhub.stdout, krmhub.stderr]).toEqual([0, kustomize.stdout, '']);
    expect(krmhub.stdout).toContain('name: made\n');
  });

  it('gives a module of kustomize without a name that of its kind', async () => {
    user.write({
      'composition/composition.yaml': `kind: Composition
modules:
- apiVersion: builtin
  kind: ConfigMapGenerator
  metadata: {name: s}
  literals: [a=b]
- apiVersion: builtin
  kind: LabelTransformer
  labels: {x: z}
  fieldSpecs: [{path: metadata/labels, create: true}]
`,
    });
    const built = await user.krmhub('build', 'composition', '--kustomize', 'kustomize');
    expect([built.code, built.stdout]).toEqual([0, expect.stringMatching(/labels:\n {4}x: z\n {2}name: s-/)]);
  });

  it('builds the current folder without one', async () => {
    user.write({ 'kustomization.yaml': 'resources: [a.yaml]\n', 'a.yaml': CONFIG_MAP });
    for (const flags of [[], ['--', '--load-restrictor', 'LoadRestrictionsNone']]) {
      const built = await user.krmhub('build', ...flags);
      expect([built.code, built.stdout, built.stderr]).toEqual([0, CONFIG_MAP, '']);
    }
  });
});
