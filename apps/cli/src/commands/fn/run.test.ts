import { afterEach, describe, expect, it } from 'vitest';
import { DEPLOYMENT, ENGINE, type FnPackage, fnPackage, SERVICE, script } from '../../testing/fn-package.js';

let pack: FnPackage;
afterEach(() => pack.remove());

const declared = (name: string, runtime: string, more = '') =>
  `apiVersion: example.com/v1alpha1\nkind: ExampleFunction\nmetadata:\n  name: ${name}\n  annotations:\n    config.kubernetes.io/function: |\n${runtime.replace(/^/gm, '      ')}\n${more}`;
const image = (name: string, more = '') =>
  declared(name, `container:\n  image: gcr.io/example.com/${name}:v1.0.0${more}`);
const result = (message: string) => `printf 'results:\\n- message: ${message}\\n  severity: error\\n'`;
/** Writes its name, and how many resources it got. */
const log = (name: string) =>
  `{ tee "$FN_FOLDER/input-${name}"; echo "${name} $(grep -c '^- ' "$FN_FOLDER/input-${name}")" >> "$FN_FOLDER/order"; }`;

/** The guide of 2020, "Functions". */
describe('krmhub fn run', () => {
  it('runs an image that the command names, with a ConfigMap of its arguments', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/validate-rolebinding.sh': `tee "$FN_FOLDER/input"; ${result('found bob')}`,
      'example-configs/service.yaml': SERVICE,
    });
    const io = await pack.fn([
      ...['run', 'example-configs/', '--results-dir', 'results/'],
      ...['--image', 'gcr.io/kpt-functions/validate-rolebinding:results'],
      ...['--', 'subject_name=bob@foo-corp.com'],
    ]);
    expect(io.exitCode).toBe(0);
    expect(pack.read('input')).toContain(
      '  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    subject_name: bob@foo-corp.com\n',
    );
    expect(pack.all('results')).toEqual({ 'results-0.yaml': '- message: found bob\n  severity: error\n' });
  });

  it('writes grouped results as the function wrote them, and prints their messages', async () => {
    const results = `- name: "kubeval"
  items:
  - severity: warn # one of three
    message: too much
    field:
      path: spec.cpu
      suggestedValue: "2"
- name: other
  items:
  - severity: info
    message: i
`;
    pack = await fnPackage({
      'fn.sh': script(`cat; cat <<'X'\nresults:\n${results}X`),
      'app/service.yaml': SERVICE,
    });
    const io = await pack.fn(['run', 'app', '--exec', './fn.sh', '--results-dir', 'results']);
    expect([io.exitCode, pack.all('results')]).toEqual([0, { 'results-0.yaml': results }]);
    expect(io.err()).toContain('    [warning] spec.cpu: too much\n    [info]: i\n');
    const kpt = await pack.fn(['eval', 'app', '--exec', './fn.sh', '--results-dir', 'kpt']);
    expect([kpt.exitCode, pack.read('kpt/results.yaml')]).toEqual([
      0,
      expect.stringContaining('proposedValue: "2"'),
    ]);
  });

  it('takes a first argument without = for the kind', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/foo.sh': 'tee "$FN_FOLDER/input"',
      'dir/service.yaml': SERVICE,
    });
    const io = await pack.fn(['run', 'dir/', '--image', 'example.com/foo:v1', '--', 'Foo', 'a=b', 'c=d']);
    expect(io.exitCode).toBe(0);
    expect(pack.read('input')).toContain(
      '  kind: Foo\n  metadata:\n    name: function-input\n  data:\n    a: b\n    c: d\n',
    );
  });

  it('runs the functions that a folder declares, in the order of their file, with their functionConfig', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/first.sh': `sed 's/replicas: 3/replicas: 4/' | ${log('first')}`,
      'images/second.sh': `sed 's/replicas: 4/replicas: 5/' | ${log('second')}`,
      'app/functions.yaml': `${image('first')}---\n${image('second')}`,
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['run', 'app/']);
    expect(io.exitCode).toBe(0);
    // The functionConfigs are items, too.
    expect(pack.read('order')).toBe('first 3\nsecond 3\n');
    expect(pack.read('input-second')).toMatch(
      /functionConfig:\n {2}apiVersion: example.com\/v1alpha1\n {2}kind: ExampleFunction\n {2}metadata:\n {4}name: second\n/,
    );
    expect(pack.read('app/deployment.yaml')).toContain('replicas: 5');
  });

  it('gives a function the resources of its folder and below, the deepest folder first', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/root.sh': log('root'),
      'images/inner.sh': log('inner'),
      'images/generate.sh': `${log('generate')} | awk '/^functionConfig:/{print "- apiVersion: v1\\n  kind: ConfigMap\\n  metadata:\\n    name: new"} {print}'`,
      'app/fn.yaml': image('root'),
      'app/service.yaml': SERVICE,
      'app/foo/functions/fn.yaml': image('inner'),
      'app/foo/service.yaml': SERVICE,
      'app/foo/deep/service.yaml': SERVICE,
      'app/foobar/service.yaml': SERVICE,
      'app/foo/deep/fn.yaml': image('generate'),
    });
    const io = await pack.fn(['run', 'app']);
    expect(io.err()).toContain('[RUNNING] "gcr.io/example.com/inner:v1.0.0" on 5 resource(s)');
    expect(io.exitCode).toBe(0);
    expect(pack.read('order')).toBe('generate 2\ninner 5\nroot 8\n');
    expect(pack.exists('app/foo/deep/configmap_new.yaml')).toBe(true);
  });

  it('defers a failure: the others run, the output is written, and the exit code is 1', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/check.sh': `cat; ${result('no limits')}; exit 1`,
      'images/scale.sh': "sed 's/replicas: 3/replicas: 5/'",
      'app/functions.yaml': `${image('check', '\ndeferFailure: true')}---\n${image('scale')}`,
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['run', 'app', '--results-dir', 'results']);
    expect(io.exitCode).toBe(1);
    expect(pack.read('app/deployment.yaml')).toContain('replicas: 5');
    expect(pack.all('results')).toEqual({ 'results-0.yaml': '- message: no limits\n  severity: error\n' });
    await pack.write({
      'app/functions.yaml': `${image('check')}---\n${image('scale')}`,
      'app/deployment.yaml': DEPLOYMENT,
    });
    const stopped = await pack.fn(['run', 'app']);
    expect([stopped.exitCode, pack.read('app/deployment.yaml')]).toEqual([1, DEPLOYMENT]);
  });

  it.each([
    ['exec: {path: ./fn.sh}', '--allow-package-exec'],
    ['container: {image: a/b, network: true}', '--network'],
    ['container: {image: a/b, envs: [TOKEN]}', '--env TOKEN'],
    [
      'container: {image: a/b, mounts: [{type: bind, src: /etc, dst: /etc}]}',
      "--mount 'type=bind,source=/etc,target=/etc'",
    ],
  ])('refuses %j, and names the option that allows it', async (runtime, option) => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/b.sh': 'touch "$FN_FOLDER/ran"; cat',
      'app/fn.yaml': declared('fn', runtime),
    });
    const io = await pack.fn(['run', 'app']);
    expect([io.exitCode, pack.exists('ran')]).toEqual([4, false]);
    expect(io.err()).toContain(option);
  });

  it('runs executables that are allowed, and scripts', async () => {
    pack = await fnPackage({
      'app/fn.sh': script("sed 's/replicas: 3/replicas: 4/'"),
      'app/functions/fn.yaml': `${declared('exec', 'exec: {path: ./fn.sh}')}---\n${declared('script', 'starlark: {path: fn.star, name: script}')}`,
      'app/functions/fn.star':
        'for item in ctx.resource_list["items"]:\n    if item["kind"] == "Deployment":\n        item["spec"]["replicas"] += 1\n',
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['run', 'app', '--enable-exec', '--enable-star']);
    expect([io.exitCode, pack.read('app/deployment.yaml')]).toEqual([0, DEPLOYMENT.replace('3', '5')]);
  });

  it('runs nothing in a folder that declares nothing', async () => {
    pack = await fnPackage({ 'app/deployment.yaml': DEPLOYMENT });
    const io = await pack.fn(['run', 'app']);
    expect([io.exitCode, io.err()]).toEqual([0, 'no function is declared: nothing to run\n']);
  });
});
