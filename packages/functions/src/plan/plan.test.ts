import type { JsonObject } from '@krmhub/schema/definition';
import { readYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import { splitCommandLine } from './command-line.js';
import { configMapText, readConfigArguments, typedConfigText } from './config-arguments.js';
import { functionScope, isInScope, runOrder } from './declared-functions.js';
import { requireRuntime } from './declared-runtime.js';
import { nearestPackage, packageTree, renderOrder } from './package-tree.js';
import { functionResultList, resultLine, summaryLines } from './results-document.js';

const parse = (text: string) =>
  readYaml(new TextEncoder().encode(text), { file: 'config' }).documents[0]!.value as JsonObject;

describe('the order of packages', () => {
  it('is subpackages first, alphabetically, then their parent', () => {
    const paths = ['mysql', '', 'app', 'app/db/deep', 'mysql/storage', 'app-2', 'plain/sub'];
    expect(renderOrder(packageTree(paths)).map(({ path }) => path)).toEqual([
      'app/db/deep',
      'app',
      'app-2',
      'mysql/storage',
      'mysql',
      'plain/sub',
      '',
    ]);
  });

  it('gives each file to the nearest package', () => {
    const packages = new Set(['', 'db', 'db/storage']);
    expect(
      ['a.yaml', 'db/a.yaml', 'db/x/a.yaml', 'db/storage/x/y/a.yaml', 'dbx/a.yaml'].map((file) =>
        nearestPackage(file, packages),
      ),
    ).toEqual(['', 'db', 'db', 'db/storage', '']);
  });
});

describe('arguments after --', () => {
  it('are the data of a ConfigMap', () => {
    const text = configMapText(
      readConfigArguments(['a=b', 'count=3', 'on=yes', 'empty=', 'x=y=z', 'a=c', '__proto__=p']),
    );
    expect(
      text.startsWith('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\ndata:\n  a: c\n'),
    ).toBe(true);
    expect(parse(text).data).toMatchObject({ a: 'c', count: '3', on: 'yes', empty: '', x: 'y=z' });
    expect(text).toContain('\n  __proto__: p\n');
    expect(parse(configMapText(readConfigArguments([]))).data).toEqual({});
  });

  it('may begin with a kind', () => {
    expect(parse(configMapText(readConfigArguments(['Foo', 'a=b', 'c=d'])))).toEqual({
      apiVersion: 'v1',
      kind: 'Foo',
      metadata: { name: 'function-input' },
      data: { a: 'b', c: 'd' },
    });
  });

  it.each([[['a=b', 'c']], [['=b']]])('cannot be %j', (args) => {
    expect(() => readConfigArguments(args)).toThrow(/^args must have keys and values separated by =/);
  });

  it('are the spec of a function that is named by kind', () => {
    const values = { text: 'a', count: '3', on: 'true', version: '1.2.3', zip: '012' };
    expect(
      parse(typedConfigText({ apiVersion: 'example.com/v1', kind: 'Set' }, values, { hasSpec: true })),
    ).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Set',
      metadata: { name: 'function-input' },
      spec: { text: 'a', count: 3, on: true, version: '1.2.3', zip: '012' },
    });
  });
});

describe('arguments of a function without spec', () => {
  it('are its own fields', () => {
    const type = { apiVersion: 'example.com/v1', kind: 'Set' };
    expect(parse(typedConfigText(type, { owner: 'shop' }, { hasSpec: false }))).toEqual({
      ...type,
      metadata: { name: 'function-input' },
      owner: 'shop',
    });
  });
});

describe('a declared function', () => {
  const declare = (text: string, name = 'config.kubernetes.io/function') =>
    requireRuntime({ metadata: { annotations: { [name]: text } } }, 'fn.yaml');

  it('is a container, an executable, or a script', () => {
    expect(declare('container:\n  image: gcr.io/example.com/image:v1.0.0\n')).toEqual({
      runtime: {
        type: 'container',
        image: 'gcr.io/example.com/image:v1.0.0',
        network: false,
        mounts: [],
        envs: [],
      },
      deferFailure: false,
    });
    expect(
      declare(
        'container:\n  image: a\n  network: true\n  envs: [A]\n  mounts: [{type: bind, src: /a, dst: /b, rw: true}]\nexec: {path: b}\ndeferFailure: true\n',
        'config.k8s.io/function',
      ),
    ).toEqual({
      runtime: {
        type: 'container',
        image: 'a',
        network: true,
        mounts: ['type=bind,source=/a,target=/b,rw=true'],
        envs: ['A'],
      },
      deferFailure: true,
    });
    expect(declare('exec: {path: ./fn, args: [a]}').runtime).toEqual({
      type: 'exec',
      path: './fn',
      args: ['a'],
      envs: [],
    });
    expect(declare('starlark: {path: fn.star, name: script}').runtime).toEqual({
      type: 'starlark',
      path: 'fn.star',
      name: 'script',
    });
    expect(
      requireRuntime({ metadata: { configFn: { container: { image: 'a' } } } }, '').runtime,
    ).toMatchObject({ image: 'a' });
    expect(
      requireRuntime({ metadata: { name: 'a', annotations: { other: 'b' } } }, '').runtime,
    ).toBeUndefined();
  });

  it.each([
    ['container: {image: a, env: [B]}', 'unknown field `env` of `container`'],
    ['container: {image: a, network: "true"}', '`network` is neither true nor false'],
    ['containers: {image: a}', 'unknown field `containers` of a runtime'],
    ['container: {}', 'the runtime has no image, executable, or script'],
    ['- a', 'the runtime is not a mapping'],
    ['a: [', /^fn\.yaml: the annotation config\.kubernetes\.io\/function is not valid YAML: /],
  ])('cannot be %j', (text, reason) => {
    expect(() => declare(text)).toThrow(typeof reason === 'string' ? `fn.yaml: ${reason}` : reason);
  });

  it('gets the resources of its folder and of those below it', () => {
    expect(
      ['fn.yaml', 'functions/fn.yaml', 'a/fn.yaml', 'a/functions/fn.yaml', 'a/b/fn.yaml'].map((path) =>
        functionScope({ path }),
      ),
    ).toEqual(['', '', 'a', 'a', 'a/b']);
    const paths = ['x.yaml', 'a/x.yaml', 'a/b/x.yaml', 'ab/x.yaml', 'a/functions/x.yaml', ''];
    const scoped = (scope: string) => paths.filter((path) => isInScope({ path }, scope));
    expect(scoped('a')).toEqual(['a/x.yaml', 'a/b/x.yaml', 'a/functions/x.yaml']);
    expect(scoped('')).toEqual(paths);
  });

  it('runs before those of folders above it, and in the order of its file', () => {
    const configs = [
      { path: 'fn.yaml', index: 1 },
      { path: 'fn.yaml', index: 0 },
      { path: 'b/fn.yaml', index: 0 },
      { path: 'a/functions/z.yaml', index: 0 },
      { path: 'c/d/fn.yaml', index: 0 },
      { path: 'functions/a.yaml', index: 0 },
    ];
    expect(runOrder(configs).map(({ path, index }) => `${path} ${index}`)).toEqual([
      'c/d/fn.yaml 0',
      'a/functions/z.yaml 0',
      'b/fn.yaml 0',
      'fn.yaml 0',
      'fn.yaml 1',
      'functions/a.yaml 0',
    ]);
  });
});

describe('a command line', () => {
  it.each([
    ['./fn.sh', ['./fn.sh']],
    ['  sed -e  "s/foo/b a/" ', ['sed', '-e', 's/foo/b a/']],
    [`a 'b "c" \\d' e\\ f "g\\"h\\i" ''`, ['a', 'b "c" \\d', 'e f', 'g"h\\i', '']],
    ['a$HOME `b`', ['a$HOME', '`b`']],
  ])('%j has words', (line, words) => {
    expect(splitCommandLine(line)).toEqual(words);
  });

  it.each(['', '  ', "a 'b", 'a "b', 'a\\'])('cannot be %j', (line) => {
    expect(() => splitCommandLine(line)).toThrow(/^cannot read the command line/);
  });
});

describe('results', () => {
  it('have the lines of kpt', () => {
    const resourceRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: 'shop' };
    expect(
      resultLine({ message: 'm', severity: 'warning', resourceRef, field: { path: 'spec.replicas' } }),
    ).toBe('[warning] apps/v1/Deployment/shop/web spec.replicas: m');
    expect(resultLine({ message: 'two\nlines\n', field: { path: 'spec.x' } })).toBe(
      '[info] spec.x: two lines ',
    );
    expect(resultLine({ message: 'm', severity: 'error' })).toBe('[error]: m');
  });

  it('are cut after four lines', () => {
    const results = Array.from({ length: 6 }, (_, at) => ({ message: `m${at}` }));
    const stderr = 'a\n"b"\tc\n';
    expect(summaryLines({ results, stderr }, true)).toEqual([
      '  Results:',
      ...[0, 1, 2, 3].map((at) => `    [info]: m${at}`),
      "    ...(2 line(s) truncated, use '--truncate-output=false' to disable)",
      '  Stderr:',
      '    "a"',
      '    "\\"b\\"\\tc"',
      '    ""',
    ]);
    expect(summaryLines({ results, stderr: '' }, false)).toHaveLength(7);
    expect(summaryLines({ results: [], stderr: '' }, true)).toEqual([]);
  });

  it('are one document', () => {
    const failed = {
      image: 'a',
      stderr: 'x',
      exitCode: 3,
      results: [{ message: 'm', resourceRef: {}, file: { path: 'p', index: 0 } }],
    };
    expect(functionResultList([{ exec: 'b', stderr: '', exitCode: 0, results: [] }, failed])).toEqual({
      apiVersion: 'kpt.dev/v1',
      kind: 'FunctionResultList',
      metadata: { name: 'fnresults' },
      exitCode: 1,
      items: [
        { exec: 'b', exitCode: 0 },
        { image: 'a', stderr: 'x', exitCode: 3, results: [{ message: 'm', file: { path: 'p' } }] },
      ],
    });
  });
});
