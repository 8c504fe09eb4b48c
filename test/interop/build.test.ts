import { realpathSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gitServer } from '../../packages/sources/src/testing/servers.js';
import { commitFiles } from '../commit-files.js';
import { BuildUser, missingOracles, ORACLES } from './build-user.js';
import { CONFIG_MAP, catalogText, configText, setting } from './function-catalog.js';
import { titleWithReason } from './oci-tools.js';
import { ScriptRegistry } from './script-registry.js';

/**
 * `krmhub build` against real kustomize and kubectl: kustomizations with catalogs, and the same ones with the runtimes
 * written by hand, which kustomize runs. The functions are executables; containers are in build-stories.test.ts.
 */

const why = missingOracles();
const SCRIPTS = {
  'one.sh': setting('one', '1'),
  'two.sh': setting('two', '2'),
  'three.sh': setting('three', '3'),
  'fail.sh': `#!/bin/sh
echo "cannot go on" >&2
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: a is not set
  severity: error
  resourceRef: {apiVersion: v1, kind: ConfigMap, name: settings}
  field: {path: data.a}
END
exit 4
`,
  'check.sh': `#!/bin/sh
input=$(cat)
printf '%s\\n' "$input" >&2
printf '%s\\n' "$input" | sed s/settings/changed/
`,
};
/** By catalog: the script of each kind. */
const CATALOGS = {
  first: { SetIt: 'one.sh', SetOther: 'three.sh', Fail: 'fail.sh', Check: 'check.sh' },
  second: { SetIt: 'two.sh' },
} as const;

describe.skipIf(why !== undefined)(titleWithReason('krmhub build', why), () => {
  let folder: string;
  let user: BuildUser;
  let scripts: ScriptRegistry;
  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-build-test-')));
    user = new BuildUser(folder);
    scripts = await ScriptRegistry.start(path.join(folder, 'registry'), SCRIPTS);
    for (const [name, text] of Object.entries(SCRIPTS)) {
      user.write({ [`catalogs/${name}`]: text });
      await user.run('chmod', ['+x', `catalogs/${name}`]);
    }
    for (const [name, kinds] of Object.entries(CATALOGS)) {
      const entries = Object.entries(kinds).map(([kind, script]) =>
        scripts.entry(kind, script, SCRIPTS[script]),
      );
      user.write({ [`catalogs/${name}.yaml`]: catalogText(...entries) });
    }
  });
  afterAll(async () => {
    await scripts?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /**
   * Writes files twice, below `catalog/` and `hand/`. `$CATALOG(first)` is a reference to that catalog, for the entry
   * `catalogs`, which is missing by hand. `$CONFIG(SetIt, first, a)` is the functionConfig `a` of this kind, with the
   * runtime of that catalog by hand.
   */
  function write(files: Record<string, string>): void {
    for (const by of ['catalog', 'hand'] as const) {
      for (const [name, text] of Object.entries(files)) {
        const up = '../'.repeat(name.split('/').length);
        const config = (match: string, kind: string, catalog: 'first', name: string) => {
          const runtime = `exec:\n  path: ${folder}/catalogs/${CATALOGS[catalog][kind as 'SetIt']}\n`;
          const written = configText(kind, { name, ...(by === 'hand' ? { runtime } : {}) });
          return match.startsWith('$') ? written : written.replaceAll('\n', '\n  ').trimEnd();
        };
        const written = text
          .replace(/^ ?"?catalogs"?: [^\n]*\n/m, by === 'hand' ? '' : '$&')
          .replace(/\$CATALOG\((\w+)\)/g, `${up}catalogs/$1.yaml`)
          .replace(/(?:\$|\|)CONFIG\((\w+), (\w+), (\w+)\)/g, config);
        user.write({ [`${by}/${name}`]: written });
      }
    }
  }

  const options = [
    '--allow-exec',
    ...Object.keys(CATALOGS).flatMap((name) => ['--trusted-catalog', `catalogs/${name}.yaml`]),
  ];
  const build = (name: string, program: string, ...flags: string[]) =>
    user.krmhub(
      'build',
      name,
      ...options,
      '--kustomize',
      program,
      ...(flags.length > 0 ? ['--', ...flags] : []),
    );

  /** Builds `catalog/NAME` with both programs, compares with what kustomize makes of `hand/NAME`, and returns that. */
  async function expectSame(name: string, ...flags: string[]): Promise<string> {
    const before = user.snapshot('catalog');
    const hand = await user.byHand(
      ORACLES[0],
      `hand/${name}`,
      '--enable-alpha-plugins',
      '--enable-exec',
      ...flags,
    );
    expect(hand).toMatchObject({ code: 0 });
    for (const { program } of ORACLES) {
      const built = await build(`catalog/${name}`, program, ...flags);
      expect([program, built.code, built.stderr]).toEqual([program, 0, hand.stderr]);
      expect([program, built.stdout]).toEqual([program, hand.stdout]);
    }
    expect(user.snapshot('catalog')).toEqual(before);
    expect(user.leftovers()).toEqual([]);
    return hand.stdout;
  }

  it('gives the bytes of the kustomization written by hand, where each layer has its own catalogs', async () => {
    write({
      'layers/overlay/kustomization.yaml': `# Overlay
catalogs: [$CATALOG(second)] # ours
namePrefix: prod-
resources:
- ../base # the base
components: [../component]
transformers:
- set.yaml
`,
      'layers/overlay/set.yaml': '$CONFIG(SetIt, second, overlay)',
      'layers/base/kustomization.yaml': `catalogs: [$CATALOG(first), $CATALOG(second)]
resources: [settings.yaml]
transformers: [set.yaml]
configMapGenerator:
- name: files
  files: [data/a.txt, b=data/a.txt]
`,
      'layers/base/settings.yaml': CONFIG_MAP,
      'layers/base/data/a.txt': 'text\n',
      'layers/base/set.yaml': '# Comment\n$CONFIG(SetIt, first, base)',
      'layers/component/kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
catalogs: [$CATALOG(first)]
transformers:
- |-
  |CONFIG(SetOther, first, inline)
`,
    });
    const output = await expectSame('layers/overlay');
    expect(output.match(/one: "1"|two: "2"|three: "3"/g)).toHaveLength(6);
    expect(output).toMatch(/name: prod-files-/);
  });

  it.each([
    [
      'JSON',
      '{\n "catalogs": ["$CATALOG(first)"],\n "resources": ["settings.yaml"],\n "transformers": ["set.yaml"]\n}\n',
    ],
    [
      'Windows line breaks',
      'catalogs: [$CATALOG(first)]\r\nresources:\r\n- settings.yaml\r\ntransformers:\r\n- set.yaml\r\n',
    ],
    [
      'deprecated fields',
      'catalogs: [$CATALOG(first)]\nbases: []\nresources: [settings.yaml]\ncommonLabels: {a: b}\ntransformers: [set.yaml]\n',
    ],
    [
      'a folder of functionConfigs',
      'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [functions]\n',
    ],
    [
      'origins',
      'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [set.yaml]\nbuildMetadata: [originAnnotations, transformerAnnotations]\n',
    ],
    [
      'a component alone',
      'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncatalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
    ],
    [
      'an empty field above a long comment',
      `catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\nvars:\n${'# - name: A # uncomment to set the variable\n'.repeat(40)}transformers: [set.yaml]\n`,
    ],
  ])('gives the same bytes for %s', async (name, kustomization) => {
    const at = name.replaceAll(' ', '-');
    write({
      [`${at}/kustomization.yaml`]: kustomization,
      [`${at}/settings.yaml`]: CONFIG_MAP,
      [`${at}/set.yaml`]: '$CONFIG(SetIt, first, set)',
      [`${at}/functions/kustomization.yaml`]: 'resources: [all.yaml]\n',
      [`${at}/functions/all.yaml`]: '$CONFIG(SetIt, first, a)---\n$CONFIG(SetOther, first, b)',
    });
    expect(await expectSame(at)).toContain('one: "1"');
  });

  it('writes the output where kustomize is told to', async () => {
    write({
      'out/kustomization.yaml':
        'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'out/settings.yaml': CONFIG_MAP,
      'out/set.yaml': '$CONFIG(SetIt, first, set)',
    });
    await expectSame('out', '--output', 'written.yaml');
    expect(await readFile(path.join(folder, 'written.yaml'), 'utf8')).toContain('one: "1"');
  });

  it('builds remote bases with the catalogs that they name', async () => {
    const repositories = path.join(folder, 'repositories');
    const git = await gitServer(repositories);
    const base = (annotation: string) => ({
      'app/base/kustomization.yaml': `${annotation === '' ? 'catalogs: [../../catalog.yaml]\n' : ''}resources: [settings.yaml, ../more]\ntransformers: [set.yaml]\n`,
      'app/base/settings.yaml': CONFIG_MAP,
      'app/base/set.yaml': configText('SetIt', annotation === '' ? {} : { runtime: annotation }),
      'app/more/kustomization.yaml': 'resources: [more.yaml]\n',
      'app/more/more.yaml': CONFIG_MAP.replace('settings', 'more'),
    });
    const catalog = await readFile(path.join(folder, 'catalogs/first.yaml'), 'utf8');
    commitFiles(repositories, 'catalog', { ...base(''), 'catalog.yaml': catalog });
    options.push('--trusted-catalog', `git::${git.origin}/catalog.git//catalog.yaml?ref=main`);
    commitFiles(repositories, 'hand', base(`exec:\n  path: ${folder}/catalogs/one.sh\n`));
    for (const by of ['catalog', 'hand']) {
      const url = `${git.origin}/${by}.git//app/base?ref=main`;
      user.write({ [`${by}/remote/kustomization.yaml`]: `namePrefix: x-\nresources:\n- ${url}\n` });
    }
    try {
      expect(await expectSame('remote')).toContain('name: x-more');
    } finally {
      await git.close();
    }
  });

  it('runs validators, and drops what they change', async () => {
    write({
      'valid/kustomization.yaml':
        'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [set.yaml]\nvalidators: [check.yaml]\n',
      'valid/settings.yaml': CONFIG_MAP,
      'valid/set.yaml': '$CONFIG(SetIt, first, set)',
      'valid/check.yaml': '$CONFIG(Check, first, check)',
    });
    for (const { program } of ORACLES) {
      const built = await build('catalog/valid', program);
      expect([built.code, built.stdout]).toEqual([
        0,
        CONFIG_MAP.replace('  name: settings\n', '')
          .replace('data:\n  a: "1"\n', '')
          .replace('metadata:\n', 'data:\n  a: "1"\n  one: "1"\n')
          .replace(/^(apiVersion.*\n)(kind.*\n)([\s\S]*)$/, '$1$3$2metadata:\n  name: settings\n'),
      ]);
      // It saw what the transformer made.
      expect(built.stderr).toContain('one: "1"');
    }
  });

  it('runs executables that functionConfigs name, with both programs, where that is allowed', async () => {
    write({
      'inline/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'inline/settings.yaml': CONFIG_MAP,
      'inline/set.yaml': configText('Own', { runtime: 'exec:\n  path: ./own.sh\n' }),
      'inline/own.sh': `${SCRIPTS['one.sh'].replace('exec ', 'echo "$PWD" >&2\nexec ')}`,
    });
    for (const by of ['catalog', 'hand']) await user.run('chmod', ['+x', `${by}/inline/own.sh`]);
    const flags = ['--enable-alpha-plugins', '--enable-exec'];
    const hand = await user.byHand(ORACLES[0], 'hand/inline', ...flags);
    expect(hand).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('one: "1"'),
      stderr: `${folder}/hand/inline\n`,
    });
    for (const { program } of ORACLES) {
      const built = await build('catalog/inline', program, ...flags);
      expect(built).toEqual({ code: 0, stdout: hand.stdout, stderr: `${folder}/catalog/inline\n` });
      const refused = await build('catalog/inline', program, '--enable-alpha-plugins');
      expect(refused).toMatchObject({
        code: 4,
        stdout: '',
        stderr: expect.stringContaining('-- --enable-exec'),
      });
    }
  });

  it('passes on messages with the paths of the user', async () => {
    write({
      'wrong/kustomization.yaml':
        'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\npatches: [{path: patch.yaml}]\ntransformers: [set.yaml]\n',
      'wrong/settings.yaml': CONFIG_MAP,
      'wrong/patch.yaml': CONFIG_MAP.replace('settings', 'missing'),
      'wrong/set.yaml': '$CONFIG(SetIt, first, set)',
    });
    const hand = await user.byHand(ORACLES[0], 'hand/wrong', '--enable-alpha-plugins', '--enable-exec');
    const built = await build('catalog/wrong', 'kustomize');
    expect([built.code, built.stdout]).toEqual([1, '']);
    const ours = 'error: cannot build catalog/wrong: kustomize exited with code 1\n';
    expect(built.stderr).toBe(hand.stderr.replaceAll('/hand/', '/catalog/') + ours);
  });

  it('says what renders a kpt package', async () => {
    write({ 'package/Kptfile': 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: package}\n' });
    expect(await build('catalog/package', 'kustomize')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('hint: Render the kpt package: krmhub fn render catalog/package'),
    });
  });

  it('reads files outside of the folder only where kustomize may', async () => {
    write({
      'far/app/kustomization.yaml':
        'catalogs: [$CATALOG(first)]\nresources: [../settings.yaml]\ntransformers: [../set.yaml]\nconfigMapGenerator: [{name: x, files: [../text]}]\n',
      'far/settings.yaml': CONFIG_MAP,
      'far/text': 'text\n',
      'far/set.yaml': '$CONFIG(SetIt, first, set)',
    });
    expect(await build('catalog/far/app', 'kustomize')).toMatchObject({ code: 1, stdout: '' });
    const output = await expectSame('far/app', '--load-restrictor', 'LoadRestrictionsNone');
    expect(output.match(/one: "1"/g)).toHaveLength(2);
  });

  it('says why a function failed, with its messages and results', async () => {
    write({
      'failed/kustomization.yaml':
        'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [fail.yaml]\n',
      'failed/settings.yaml': CONFIG_MAP,
      'failed/fail.yaml': '$CONFIG(Fail, first, fail)',
    });
    const { code, stdout, stderr } = await build('catalog/failed', 'kustomize');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^cannot go on\n/);
    expect(
      stderr,
    ).toContain(`error: catalog/failed/fail.yaml:1: example.com/v1 Fail: the function failed with exit code 4
  [error] ConfigMap settings data.a: a is not set
`);
  });

  it('warns of flags that do not act on functions of catalogs', async () => {
    write({
      'flags/kustomization.yaml':
        'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'flags/settings.yaml': CONFIG_MAP,
      'flags/set.yaml': '$CONFIG(SetIt, first, set)',
    });
    expect(await build('catalog/flags', 'kustomize', '--env', 'A=b')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('one: "1"'),
      stderr: 'warning: --env after -- applies only to functions with their own image\n',
    });
  });

  it('builds a Composition as a base, in the order of its modules, with those that it imports', async () => {
    user.write({
      'composed/app/kustomization.yaml': 'namePrefix: x-\nresources: [../composition]\n',
      'composed/composition/composition.yaml': `kind: Composition
catalogs: [../../catalogs/second.yaml]
modulesFrom:
- path: ../imported
modules:
- apiVersion: example.com/v1
  kind: SetIt
- apiVersion: builtin
  kind: LabelTransformer
  metadata: {name: labels}
  labels: {composed: "1"}
  fieldSpecs: [{path: metadata/labels, create: true}]
`,
      'composed/imported/composition.yaml': `kind: Composition
catalogs: [../../catalogs/first.yaml]
modules:
- apiVersion: builtin
  kind: ConfigMapGenerator
  metadata: {name: settings}
  literals: [a=1]
- apiVersion: example.com/v1
  kind: SetOther
`,
    });
    for (const { program } of ORACLES) {
      expect(await build('composed/app', program)).toEqual({
        code: 0,
        stdout:
          'apiVersion: v1\ndata:\n  a: "1"\n  three: "3"\n  two: "2"\nkind: ConfigMap\nmetadata:\n  labels:\n    composed: "1"\n  name: x-settings-k84cg62cf8\n',
        stderr: '',
      });
    }
    user.write({
      'composed/other/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [../composition]\n',
      'composed/other/settings.yaml': CONFIG_MAP,
    });
    expect(await build('composed/other', 'kustomize')).toMatchObject({ code: 1, stdout: '' });
  });

  it('runs a transformer that has no resources', async () => {
    write({
      'none/kustomization.yaml': 'catalogs: [$CATALOG(first)]\ntransformers: [set.yaml]\n',
      'none/set.yaml': '$CONFIG(SetIt, first, set)',
    });
    expect(await expectSame('none')).toBe('');
  });

  it('fails if kustomize did not run a function', async () => {
    write({
      'skipped/kustomization.yaml':
        'catalogs: [$CATALOG(first)]\nresources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'skipped/settings.yaml': CONFIG_MAP,
      'skipped/set.yaml': '$CONFIG(SetIt, first, set)',
      'skipped/kustomize': '#!/bin/sh\ncat "$2/settings.yaml"\n',
    });
    await user.run('chmod', ['+x', 'catalog/skipped/kustomize']);
    expect(await build('catalog/skipped', './catalog/skipped/kustomize')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'error: cannot build catalog/skipped: kustomize did not run catalog/skipped/set.yaml:1: example.com/v1 SetIt',
      ),
    });
  });
});
