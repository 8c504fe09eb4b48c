import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
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

let pack: FnPackage;
afterEach(() => pack.remove());

const SCALE = script('sed "s/replicas: 3/replicas: 5/"');
const SHOW = script('tee "$FN_FOLDER/input"');

describe('krmhub fn eval', () => {
  it('runs a program with arguments, and gives it a ConfigMap', async () => {
    pack = await fnPackage({
      'fn.sh': script('echo "$1 $2" > "$FN_FOLDER/args"; tee "$FN_FOLDER/input"'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const before = pack.all();
    const io = await pack.fn(['eval', 'app', '--exec', './fn.sh "a b" c', '--', 'tier=backend', 'count=3']);
    expect([io.exitCode, pack.all(), pack.read('args')]).toEqual([0, before, 'a b c\n']);
    expect(pack.read('input')).toMatch(
      /functionConfig:\n {2}apiVersion: v1\n {2}kind: ConfigMap\n {2}metadata:\n {4}name: function-input\n {2}data:\n {4}tier: backend\n {4}count: "3"\n$/,
    );
    expect(io.err()).toMatch(/^\[RUNNING\] "\.\/fn\.sh "a b" c"\n\[PASS\] "\.\/fn\.sh "a b" c" in \S+\n$/);
  });

  it('takes the current folder, and reads the functionConfig from a file', async () => {
    pack = await fnPackage({
      'fn.sh': SHOW,
      'deployment.yaml': DEPLOYMENT,
      'config.yaml': 'apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\nspec: {b: c}\n',
    });
    const io = await pack.fn(['eval', '--exec', './fn.sh', '--fn-config', 'config.yaml']);
    expect(io.exitCode).toBe(0);
    expect(pack.read('input')).toMatch(/functionConfig:\n {2}apiVersion: example.com\/v1\n {2}kind: Foo\n/);
  });

  it.each<[string[], string, number]>([
    [[], 'must specify --image or --exec', 2],
    [['--exec', 'cat', '-i', 'a/b'], 'must not specify more than one of', 2],
    [['--exec', 'cat', '--', 'a=b', 'c'], 'args must have keys and values separated by =', 2],
    [
      ['--exec', 'cat', '--fn-config', 'a.yaml', '--', 'a=b'],
      'function arguments can only be specified without function config file',
      2,
    ],
    [['--exec', 'cat', '--fn-config', 'missing.yaml'], 'missing function config file: missing.yaml', 3],
    [['--exec', 'cat', '--fn-config', 'two.yaml'], 'must not contain more than one config, got 2', 1],
    [['--exec', 'cat', '--fn-config', 'unnamed.yaml'], 'resource must have `metadata.name`', 1],
    [['--exec', 'cat', '--network'], 'can only be used with container functions', 2],
    [['--exec', 'no-such-program'], 'executable file not found in $PATH', 3],
    [['--function', 'SetLabels'], '"SetLabels" does not name a function', 2],
    [['-i', 'a:b:c'], 'function name "ghcr.io/kptdev/krm-functions-catalog/a:b:c" is invalid', 2],
  ])('refuses %j', async (args, message, exitCode) => {
    pack = await fnPackage({
      'two.yaml': `${DEPLOYMENT}---\n${SERVICE}`,
      'unnamed.yaml': 'apiVersion: v1\nkind: ConfigMap\n',
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['eval', 'app', ...args]);
    expect(io.err()).toContain(`error: `);
    expect(io.err()).toContain(message);
    expect(io.exitCode).toBe(exitCode);
  });

  it('refuses what would delete everything, unless it may', async () => {
    pack = await fnPackage({
      'fn.sh': script('printf "apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems: []\\n"'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['eval', 'app', '--exec', './fn.sh']);
    expect([io.exitCode, pack.exists('app/deployment.yaml')]).toEqual([1, true]);
    expect(io.err()).toContain('hint: If the function is meant to do that, use `--allow-empty`.');
    const allowed = await pack.fn(['eval', 'app', '--exec', './fn.sh', '--allow-empty']);
    expect([allowed.exitCode, pack.exists('app/deployment.yaml')]).toEqual([0, false]);
  });

  it('passes a function that gets no resources and writes nothing, as a pipeline of kyaml', async () => {
    pack = await fnPackage({
      'fn.sh': script('input=$(cat); case $input in *"items: []"*) ;; *) echo "$input" ;; esac'),
      'silent.sh': script('cat > /dev/null'),
      'app/Kptfile': `${KPTFILE}pipeline:\n  mutators:\n  - exec: ./fn.sh\n    selectors:\n    - kind: None\n  validators:\n  - exec: ./silent.sh\n    selectors:\n    - kind: None\n`,
      'app/deployment.yaml': DEPLOYMENT,
      'empty/README.md': '',
    });
    const before = pack.all();
    for (const args of [
      ['eval', 'app', '--exec', './fn.sh', '--match-kind', 'None'],
      ['eval', 'empty', '--exec', './silent.sh'],
      ['eval', 'app', '--exec', './silent.sh', '--match-kind', 'None', '-o', 'unwrap'],
      ['render', 'app', '--allow-package-exec', '-o', 'unwrap'],
    ]) {
      const io = await pack.fn(args);
      expect([io.exitCode, io.err()]).toEqual([0, expect.not.stringContaining('FAIL')]);
    }
    for (const more of [[], ['--allow-empty']]) {
      expectEnd(await pack.fn(['eval', 'app', '--exec', './silent.sh', ...more]), 1, 'it wrote no output');
    }
    expect(pack.all()).toEqual(before);
  });

  it.each([
    ['bytes that are not UTF-8', "sed 's/3/\\xe9/'", 'its output is not UTF-8 text'],
    ['text before a ResourceList', 'echo "Starting up..."; cat', 'cannot read the output: line 2: '],
    ['text behind a ResourceList', 'cat; echo done', "could not find expected ':'"],
    [
      'an absolute path',
      `sed "s|'deployment.yaml'|'/etc/web.yaml'|"`,
      'cannot write /etc/web.yaml: package paths may not be absolute paths',
    ],
  ])('refuses %s from a function, as kpt does, and writes nothing', async (_, text, message) => {
    pack = await fnPackage({ 'fn.sh': script(text), 'app/deployment.yaml': DEPLOYMENT });
    const before = pack.all();
    expectEnd(await pack.fn(['eval', 'app', '--exec', './fn.sh']), 1, message);
    expect(pack.all()).toEqual(before);
  });

  it('refuses a functionConfig and a ResourceList that are not UTF-8', async () => {
    pack = await fnPackage({ 'app/deployment.yaml': DEPLOYMENT, 'config.yaml': '' });
    const config = Buffer.from('apiVersion: v1\nkind: A\nmetadata:\n  name: caf\xe9\n', 'latin1');
    writeFileSync(path.join(pack.folder, 'config.yaml'), config);
    const io = await pack.fn(['eval', 'app', '--exec', 'cat', '--fn-config', 'config.yaml']);
    expectEnd(io, 1, 'cannot read config.yaml:4:12: it is not UTF-8 text');
  });

  it('adds the function to the Kptfile in the same write, and replaces it the next time', async () => {
    const kptfile = `# ours\n${KPTFILE}pipeline:\n  mutators:\n    - image: a/b:v1 # first\n`;
    pack = await fnPackage({ 'scale.sh': SCALE, 'app/Kptfile': kptfile, 'app/deployment.yaml': DEPLOYMENT });
    const io = await pack.fn([
      'eval',
      'app',
      '--exec',
      './scale.sh',
      '-s',
      '--match-kind',
      'Deployment',
      '--',
      'a=b',
    ]);
    expectEnd(io, 0, 'Added "./scale.sh" as mutator in the Kptfile.\n');
    expect(pack.read('app/Kptfile')).toBe(
      `${kptfile}    - exec: ./scale.sh\n      configMap:\n        a: b\n      selectors:\n        - kind: Deployment\n`,
    );
    expect(pack.read('app/deployment.yaml')).toContain('replicas: 5');
    const again = await pack.fn(['eval', 'app', '--exec', './scale.sh', '-s', '-t', 'mutator']);
    expect(again.err()).toContain('Updated "./scale.sh" as mutator in the Kptfile.\n');
    expect(pack.read('app/Kptfile')).toBe(`${kptfile}    - exec: ./scale.sh\n`);
  });

  it('does not save a function that fails', async () => {
    pack = await fnPackage({ 'fn.sh': script('exit 1'), 'app/Kptfile': KPTFILE });
    const io = await pack.fn(['eval', 'app', '--exec', './fn.sh', '-s']);
    expect([io.exitCode, pack.read('app/Kptfile')]).toEqual([1, KPTFILE]);
  });

  it('gives containers the mounts, variables, and user that the command names', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/fn.sh': 'cat',
      'app/deployment.yaml': DEPLOYMENT,
    });
    const flags = [
      '--network',
      '--mount',
      'type=bind,src=app,dst=/data',
      '-e',
      'A=b',
      '-e',
      'TOKEN',
      '-e',
      'UNSET',
      '--as-current-user',
    ];
    const io = await pack.fn(['eval', 'app', '-i', 'example.com/fn:v1', ...flags], {
      env: { TOKEN: 'secret' },
    });
    expect(io.exitCode).toBe(0);
    const log = pack.read('engine.log');
    expect(log).toContain(`--network host --user ${process.getuid!()}:${process.getgid!()} `);
    expect(log).toContain(`--mount type=bind,source=${pack.folder}/app,target=/data,readonly `);
    expect(log).toContain('--env A=b --env TOKEN example.com/fn:v1');
    expect(log).not.toContain('secret');
  });

  it('is a filter between source and sink', async () => {
    pack = await fnPackage({
      'scale.sh': SCALE,
      'app/deployment.yaml': DEPLOYMENT,
      'app/sub/service.yaml': SERVICE,
    });
    const source = await pack.fn(['source', 'app']);
    expect(source.out()).toContain("internal.config.kubernetes.io/path: 'sub/service.yaml'");
    const evaluated = await pack.fn(['eval', '-', '--exec', './scale.sh'], { stdin: source.out() });
    const sink = await pack.fn(['sink', 'out'], { stdin: evaluated.out() });
    expect([evaluated.exitCode, sink.exitCode]).toEqual([0, 0]);
    expect(pack.all('out')).toEqual({
      'deployment.yaml': DEPLOYMENT.replace('replicas: 3', 'replicas: 5'),
      'sub/service.yaml': SERVICE,
    });
    const unwrapped = await pack.fn(['eval', '-', '--exec', './scale.sh', '-o', 'unwrap'], {
      stdin: source.out(),
    });
    expect(unwrapped.out()).toBe(`${DEPLOYMENT.replace('replicas: 3', 'replicas: 5')}---\n${SERVICE}`);
    const taken = await pack.fn(['sink', 'out', '--format', 'kpt'], { stdin: source.out() });
    expect([taken.exitCode, taken.err()]).toEqual([
      1,
      'error: directory "out" already exists, please delete the directory and retry\n',
    ]);
  });

  it.skipIf(!existsSync('/proc/self/status'))('prints what each function took with --stats', async () => {
    // It is still there when its output has been read.
    pack = await fnPackage({ 'fn.sh': script('cat; sleep 2'), 'app/deployment.yaml': DEPLOYMENT });
    const io = await pack.fn(['eval', 'app', '--exec', './fn.sh', '--stats', '-o', 'json']);
    expect(io.err()).toMatch(/\n {2}Stats: \.\/fn\.sh: \d+ ms, memory \d+\.\d MiB, 1 resource\(s\)\n/);
    const [ran] = JSON.parse(io.out()).functions;
    expect(ran).toEqual(expect.objectContaining({ milliseconds: expect.any(Number) }));
    expect(ran.memoryBytes).toBeGreaterThan(100_000);
  });

  it('does not say how much memory a container took, because that is not known', async () => {
    pack = await fnPackage({ 'bin/podman': ENGINE, 'app/deployment.yaml': DEPLOYMENT });
    const io = await pack.fn(['eval', 'app', '-i', 'example.com/fn:v1', '--stats', '-o', 'json']);
    expect(io.err()).toMatch(/ ms, memory -, 1 resource\(s\)\n/);
    expect(JSON.parse(io.out()).functions[0]).not.toHaveProperty('memoryBytes');
  });

  it('shows four lines of results and error output, unless asked for all', async () => {
    pack = await fnPackage({
      'fn.sh': script('cat; for i in 1 2 3 4 5 6; do echo "line $i" >&2; done'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['eval', 'app', '--exec', './fn.sh']);
    expect(io.err()).toContain(
      `    "line 4"\n    ...(3 line(s) truncated, use '--truncate-output=false' to disable)\n`,
    );
    const all = await pack.fn(['eval', 'app', '--exec', './fn.sh', '--truncate-output=false']);
    expect(all.err()).toContain('    "line 6"\n');
  });
});

/** The examples of the KRM Functions Specification v1: an input with a functionConfig, and an output with a result. */
describe('the examples of the specification', () => {
  it('give a function its input, and print its result', async () => {
    const service = `apiVersion: v1
kind: Service
metadata:
  name: wordpress
  labels:
    app: wordpress
spec: # Example comment
  type: LoadBalancer
  selector:
    app: wordpress
    tier: frontend
  ports:
  - protocol: TCP
    port: 80
`;
    const results = `results:
- message: "Invalid type. Expected: integer, given: string"
  severity: error
  resourceRef:
    apiVersion: v1
    kind: Service
    name: wordpress
  field:
    path: spec.ports.0.port
  file:
    path: service.yaml
`;
    pack = await fnPackage({
      'fn.sh': script('tee "$FN_FOLDER/input"; cat "$FN_FOLDER/results.yaml"; exit 1'),
      'results.yaml': results,
      'config.yaml':
        'apiVersion: foo-corp.com/v1\nkind: FulfillmentCenter\nmetadata:\n  name: staging\nspec:\n  address: "100 Main St."\n',
      'app/service.yaml': service,
    });
    const io = await pack.fn([
      'eval',
      'app',
      '--exec',
      './fn.sh',
      '--fn-config',
      'config.yaml',
      '--results-dir',
      'out',
    ]);
    const input = pack.read('input');
    expect(input.startsWith('apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n')).toBe(true);
    expect(input).toContain('  spec: # Example comment\n');
    expect(input).toContain("internal.config.kubernetes.io/path: 'service.yaml'");
    expect(input).toContain('functionConfig:\n  apiVersion: foo-corp.com/v1\n  kind: FulfillmentCenter\n');
    expect(input).toContain('    address: "100 Main St."\n');
    expectEnd(
      io,
      1,
      '    [error] v1/Service/wordpress spec.ports.0.port: Invalid type. Expected: integer, given: string\n',
    );
    expect(pack.read('out/results.yaml')).toContain('        field:\n          path: spec.ports.0.port\n');
    expect(pack.read('app/service.yaml')).toBe(service);
  });
});
