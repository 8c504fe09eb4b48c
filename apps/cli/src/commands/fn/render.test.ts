import { afterEach, describe, expect, it } from 'vitest';
import { catalogText } from '../../testing/catalog-build.js';
import { expectEnd } from '../../testing/command-line.js';
import {
  DEPLOYMENT,
  ENGINE,
  type FnPackage,
  fnPackage,
  KPTFILE,
  SERVICE,
  script,
} from '../../testing/fn-package.js';
import { config } from '../../testing/package-files.js';

let pack: FnPackage;
afterEach(() => pack.remove());

const SCALE = script('sed "s/replicas: 3/replicas: 5/"');
const pipeline = (text: string) => `${KPTFILE}pipeline:\n${text}`;
const withoutStatus = (files: Record<string, string>) => ({
  ...files,
  Kptfile: files.Kptfile!.replace(/^status:\n(?:[ \t].*\n)*/m, ''),
});
const result = (severity: string, message: string) =>
  `printf 'results:\\n- message: ${message}\\n  severity: ${severity}\\n'`;

describe('krmhub fn render', () => {
  it('runs mutators and validators, subpackages first, and writes what changed', async () => {
    const log = (name: string) => script(`cat; echo ${name} >> "$FN_FOLDER/order"`);
    pack = await fnPackage({
      'scale.sh': SCALE,
      'a.sh': log('a'),
      'b.sh': log('b'),
      'root.sh': log('root'),
      'check.sh': script(`sed "s/replicas: 5/replicas: 7/"; ${result('warning', 'few replicas')}`),
      'app/Kptfile': pipeline(
        '  mutators:\n  - exec: ./root.sh\n  - exec: ./scale.sh\n  validators:\n  - exec: ./check.sh\n',
      ),
      'app/deployment.yaml': `${DEPLOYMENT}---\n${SERVICE}`,
      'app/b/Kptfile': pipeline('  mutators: [{exec: ./b.sh}]\n'),
      'app/b/service.yaml': SERVICE,
      'app/a/Kptfile': pipeline('  mutators: [{exec: ./a.sh}]\n'),
      'app/a/deployment.yaml': DEPLOYMENT,
    });
    const before = pack.all();
    const io = await pack.fn(['render', 'app', '--allow-package-exec', '--results-dir', 'results']);
    expect(io.exitCode).toBe(0);
    expect(io.out()).toBe('');
    const text = io.err().replaceAll(/ in [\d.]+m?s/g, ' in 0s');
    expect(text).toContain(
      'Package "app/a": \n[RUNNING] "./a.sh"\n[PASS] "./a.sh" in 0s\n\nPackage "app/b": \n',
    );
    expect(text).toContain('[PASS] "./check.sh" in 0s\n  Results:\n    [warning]: few replicas\n\n');
    expect(text).toMatch(
      /Successfully executed 5 function\(s\) in 3 package\(s\)\.\nFor complete results, see results\/results\.yaml\n$/,
    );
    expect(pack.read('order')).toBe('a\nb\nroot\n');
    // The changes of the validator are dropped.
    expect(withoutStatus(pack.all())).toEqual({
      ...before,
      'deployment.yaml': before['deployment.yaml']!.replace('replicas: 3', 'replicas: 5'),
      'a/deployment.yaml': DEPLOYMENT.replace('replicas: 3', 'replicas: 5'),
    });
    expect(pack.read('results/results.yaml')).toContain(
      '  - exec: ./check.sh\n    exitCode: 0\n    results:\n      - message: few replicas\n        severity: warning\n',
    );
  });

  it('writes nothing but the status if a function fails, and exits with 1', async () => {
    pack = await fnPackage({
      'scale.sh': SCALE,
      'check.sh': script(`cat; ${result('error', 'no limits')}; echo why >&2; exit 3`),
      'app/Kptfile': pipeline('  mutators:\n  - exec: ./scale.sh\n  validators:\n  - exec: ./check.sh\n'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const before = pack.all();
    const io = await pack.fn([
      'render',
      'app',
      '--allow-package-exec',
      '--results-dir',
      'results',
      '-o',
      'json',
    ]);
    expect(io.exitCode).toBe(1);
    expect(io.err()).toMatch(
      /\[FAIL\] "\.\/check\.sh" in \S+\n {2}Results:\n {4}\[error\]: no limits\n {2}Stderr:\n {4}"why"\n {4}""\n {2}Exit code: 3\n\n/,
    );
    expect(withoutStatus(pack.all())).toEqual(before);
    expect(pack.read('results/results.yaml')).toContain('exitCode: 1\n');
    expect(JSON.parse(io.out())).toMatchObject({
      passed: false,
      functions: [
        { name: './scale.sh', passed: true },
        { name: './check.sh', exitCode: 3, passed: false },
      ],
      changes: [{ path: 'Kptfile', type: 'update' }],
    });
  });

  it('refuses executables, and names the option that allows them', async () => {
    pack = await fnPackage({
      'scale.sh': script('touch "$FN_FOLDER/ran"; cat'),
      'app/Kptfile': pipeline('  mutators: [{exec: ./scale.sh}]\n'),
    });
    const io = await pack.fn(['render', 'app']);
    expectEnd(
      io,
      4,
      'must run with `--allow-package-exec` option to allow running programs of the package: ./scale.sh',
    );
    const asForKpt = await pack.fn(['render', 'app', '--allow-exec']);
    expectEnd(
      asForKpt,
      4,
      'hint: A program of the package runs with your permissions. --allow-exec is for executables of catalogs. If you trust the package, add --allow-package-exec.',
    );
    expect(pack.exists('ran')).toBe(false);
  });

  it('names all permissions that are missing at once', async () => {
    pack = await fnPackage({
      'app/Kptfile': pipeline(
        '  mutators:\n  - exec: ./a.sh\n  - configPath: run.yaml\n  - configPath: own.yaml\n',
      ),
      'app/run.yaml': config('Run'),
      'app/own.yaml': config('Own', 'runtime: {container: {image: a/b, network: true}}\n'),
      'catalog.yaml': catalogText('example.com', ['Run'])
        .replace('container:', 'exec: {platforms: [{os: linux, arch: amd64, bin: a,')
        .replace(/image: .*/, 'uri: https://example.com/a,')
        .replace(/(sha256: \w+)/, '$1}]}'),
    });
    const io = await pack.fn(['render', 'app', '-c', 'catalog.yaml']);
    expectEnd(
      io,
      4,
      'hint: If you trust these functions, add: --allow-package-exec --allow-exec --network\n',
    );
    for (const step of [0, 1, 2]) expect(io.err()).toContain(`pipeline.mutators[${step}]: `);
  });

  it('shows a diff in a dry run, and writes nothing', async () => {
    pack = await fnPackage({
      'scale.sh': SCALE,
      'app/Kptfile': pipeline('  mutators: [{exec: ./scale.sh}]\n'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const before = pack.all();
    const io = await pack.fn(['render', 'app', '--allow-package-exec', '--dry-run']);
    expect([io.exitCode, pack.all()]).toEqual([0, before]);
    expect(io.out().slice(0, io.out().indexOf('--- a/Kptfile'))).toBe(
      '--- a/deployment.yaml\n+++ b/deployment.yaml\n@@ -3,4 +3,4 @@\n metadata:\n   name: web # the shop\n spec:\n-  replicas: 3\n+  replicas: 5\n',
    );
  });

  it.each(['stdout', 'unwrap', 'out'])('leaves the package as it is with -o %s', async (target) => {
    pack = await fnPackage({
      'scale.sh': SCALE,
      'app/Kptfile': pipeline('  mutators: [{exec: ./scale.sh}]\n'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const before = pack.all();
    const io = await pack.fn(['render', 'app', '--allow-package-exec', '-o', target]);
    expect([io.exitCode, pack.all()]).toEqual([0, before]);
    const text = target === 'out' ? pack.read('out/deployment.yaml') : io.out();
    expect(text).toContain('replicas: 5');
    expect(io.out().startsWith('apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n')).toBe(
      target === 'stdout',
    );
    const again = await pack.fn(['render', 'app', '--allow-package-exec', '-o', 'out']);
    if (target === 'out')
      expect(again.err()).toContain(
        'directory "out" already exists, please delete the directory and retry\n',
      );
  });

  it('runs images of a Kptfile without network, as nobody, and with the network if it is allowed', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/set-labels.sh': 'sed "s/replicas: 3/replicas: 4/"',
      'app/Kptfile': pipeline('  mutators:\n  - image: set-labels:v0.1\n    configMap: {tier: backend}\n'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['render', 'app']);
    expectEnd(io, 0, '[RUNNING] "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.1"\n');
    const first = pack.read('engine.log');
    expect(first).toContain(
      '--network none --user 65534:65534 --security-opt=no-new-privileges --pull missing',
    );
    expect(first.trimEnd().endsWith(' ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.1')).toBe(true);
    await pack.fn(['render', 'app', '--allow-network', '--image-pull-policy', 'Always', '-e', 'A=b']);
    expect(pack.read('engine.log').slice(first.length)).toMatch(
      /^pull ghcr\.io\/kptdev\/krm-functions-catalog\/set-labels:v0\.1\nrun .*--network host .*--env A=b /,
    );
    expect(pack.read('app/deployment.yaml')).toContain('replicas: 4');
  });

  it('warns about fields that it does not know, and renders', async () => {
    pack = await fnPackage({
      'app/Kptfile': pipeline(
        '  mutators:\n  - exec: cat\n    whn: a\nstatus: {renderStatus: {newer: {}}}\n',
      ),
      'app/sub/Kptfile': `${KPTFILE}foo: 1\n`,
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['render', 'app', '--allow-package-exec']);
    expect(io.exitCode, io.err()).toBe(0);
    expect(
      io
        .err()
        .split('\n')
        .filter((line) => line.startsWith('warning: ')),
    ).toEqual([
      'warning: app/sub/Kptfile:5:1: unknown field "foo" has no effect: krmhub knows the fields of kpt 1.0',
      'warning: app/Kptfile:8:5: unknown field "whn" has no effect: krmhub knows the fields of kpt 1.0; did you mean "when"?',
    ]);
  });

  it('reports a Kptfile that kpt rejects, in its words', async () => {
    pack = await fnPackage({
      'app/Kptfile': pipeline('  mutators:\n  - image: a/b\n    configPath: ../x.yaml\n'),
      'other/x.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['render', 'app']);
    expect([io.exitCode, io.err()]).toEqual([
      1,
      'Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\nValue: "../x.yaml"\nReason: path must not be outside the package\n',
    ]);
    expectEnd(await pack.fn(['render', 'other']), 3, `Error: No Kptfile found at "${pack.folder}/other"`);
  });
});

describe('the resources that a function gets', () => {
  const files = {
    'names.sh': script('tee "$FN_FOLDER/input"'),
    'app/deployment.yaml': DEPLOYMENT,
    'app/set.yaml': DEPLOYMENT.replace('kind: Deployment', 'kind: StatefulSet'),
    'app/service.yaml': SERVICE,
  };
  /** Kinds and names of what the function got. */
  const got = () => {
    const [items = ''] = pack.read('input').split('\nfunctionConfig:');
    const names = items.matchAll(/^ {2}kind: (\w+)\n {2}metadata:\n {4}name: (\w+)/gm);
    return [...names].map(([, kind, name]) => `${kind}/${name}`).sort();
  };

  it.each<[string, string[], string[]]>([
    [
      'selectors: [{group: apps}]\n    exclude: [{kind: Deployment}]',
      ['--match-group', 'apps', '--exclude-kind', 'Deployment'],
      ['StatefulSet/web'],
    ],
    // In kpt, resources have these annotations while functions run.
    [
      'exclude: [{annotations: {config.kubernetes.io/path: Kptfile}}]',
      ['--exclude-annotations', 'internal.config.kubernetes.io/path=Kptfile'],
      ['Deployment/web', 'Service/web', 'StatefulSet/web'],
    ],
    [
      'selectors: [{annotations: {config.kubernetes.io/path: Kptfile, internal.config.kubernetes.io/index: "0"}}]',
      ['--match-annotations', 'config.kubernetes.io/path=Kptfile'],
      ['Kptfile/app'],
    ],
  ])('%s', async (entry, flags, expected) => {
    pack = await fnPackage({
      ...files,
      'app/Kptfile': pipeline(`  mutators:\n  - exec: ./names.sh\n    ${entry}\n`),
    });
    const io = await pack.fn(['render', 'app', '--allow-package-exec']);
    expect([io.exitCode, got()]).toEqual([0, expected]);
    expect(io.err()).toContain(`[RUNNING] "./names.sh" on ${expected.length} resource(s)\n`);
    const evaluated = await pack.fn(['eval', 'app', '--exec', './names.sh', ...flags]);
    expect([evaluated.exitCode, got()]).toEqual([0, expected]);
  });
});
