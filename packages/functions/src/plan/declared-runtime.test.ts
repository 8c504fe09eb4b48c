import { readYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import { readRuntime, readRuntimeField, requireRuntime } from './declared-runtime.js';

const annotated = (value: unknown, name = 'config.kubernetes.io/function') => ({
  metadata: { annotations: { [name]: value } },
});
const read = (config: object) => readRuntime(JSON.parse(JSON.stringify(config)));
const container = (fields: object = {}) => ({
  type: 'container',
  image: 'example.com/a:v1',
  network: false,
  mounts: [],
  envs: [],
  ...fields,
});

describe('the runtime of a functionConfig', () => {
  it.each([
    ['the annotation', annotated('container:\n  image: example.com/a:v1\n'), container()],
    ['the annotation as JSON', annotated('{"container": {"image": "example.com/a:v1"}}'), container()],
    [
      'the old annotation',
      annotated('container: {image: example.com/a:v1}', 'config.k8s.io/function'),
      container(),
    ],
    ['an image alone', annotated('example.com/a:v1', 'config.kubernetes.io/container'), container()],
    ['configFn', { metadata: { configFn: { container: { image: 'example.com/a:v1' } } } }, container()],
    ['the field of KEP-2906', { runtime: { container: { image: 'example.com/a:v1' } } }, container()],
    [
      'network, mounts and environment',
      annotated(
        'container: {image: example.com/a:v1, network: true, mounts: [{type: bind, src: /a, dst: /b, rw: true}, {}], envs: [A=b]}\ndeferFailure: true',
      ),
      container({
        network: true,
        mounts: ['type=bind,source=/a,target=/b,rw=true', ''],
        envs: ['A=b'],
      }),
    ],
    [
      'an executable',
      annotated('exec: {path: ./a.sh, args: [x]}'),
      { type: 'exec', path: './a.sh', args: ['x'], envs: [] },
    ],
    [
      'a container before an executable',
      annotated('exec: {path: a}\ncontainer: {image: example.com/a:v1}'),
      container(),
    ],
    ['a script', { runtime: { starlark: { path: 'a.star' } } }, { type: 'starlark', path: 'a.star' }],
    [
      'a script at a URL',
      annotated('starlark: {url: "https://example.com/a", name: x}'),
      { type: 'starlark', name: 'x', url: 'https://example.com/a' },
    ],
    [
      'the first annotation with text',
      {
        metadata: {
          annotations: {
            'config.kubernetes.io/function': '',
            'config.k8s.io/function': 'container: {image: example.com/a:v1}',
          },
        },
      },
      container(),
    ],
  ])('is read from %s', (_, config, runtime) => {
    expect(read(config)).toMatchObject({ runtime, problems: [] });
  });

  it('is absent where nothing names one', () => {
    for (const config of [
      {},
      { metadata: { annotations: { other: 'x' } } },
      { runtime: null },
      { metadata: 1 },
    ]) {
      expect(read(config)).toEqual({ deferFailure: false, problems: [] });
    }
  });

  it.each([
    ['an unknown kind', annotated('docker: {image: a}'), /unknown field `docker`/],
    [
      'a field in another case, which kustomize accepts',
      annotated('Container: {image: a}'),
      /unknown field `Container`/,
    ],
    ['an unknown field', annotated('container: {image: a, env: []}'), /unknown field `env`/],
    ['network as text', annotated('container: {image: a, network: "true"}'), /`network` is neither/],
    ['a text as readers disagree', annotated('exec: {path: a, args: [0777]}'), /not valid YAML/],
    [
      'a list of mounts that is none',
      annotated('container: {image: a, mounts: {}}'),
      /`mounts` is not a list/,
    ],
    ['an image that is not a string', annotated('container: {image: 1}'), /`image` is not a string/],
    ['no runtime', annotated('container: {}'), /has no image, executable, or script/],
    ['no mapping', annotated('docker'), /not a mapping/],
    ['arguments that are no list', annotated('exec: {path: a, args: b}'), /`args` is not a list/],
    [
      'an item that is no string',
      annotated('exec: {path: a, args: [1]}'),
      /an item of `args` is not a string/,
    ],
    ['a mount that is none', annotated('container: {image: a, mounts: [b]}'), /an item of `mounts` is not/],
    [
      'an unknown field of a mount',
      annotated('container: {image: a, mounts: [{a: b}]}'),
      /field `a` of a mount/,
    ],
    ['a name of every object', annotated('constructor: {a: 1}'), /unknown field `constructor` of a runtime/],
    ['a name of every object as field', { runtime: { toString: { a: 1 } } }, /unknown field `toString`/],
    ['two documents', annotated('container: {image: a}\n---\nexec: {path: a}'), /not valid YAML/],
    ['broken YAML', annotated('container: ['), /not valid YAML/],
    ['duplicate keys', annotated('container: {image: a, image: b}'), /not valid YAML/],
    ['a long text', annotated(`# ${'x'.repeat(70_000)}\ncontainer: {image: a}`), /not valid YAML/],
    ['an annotation that is not a string', annotated({ container: { image: 'a' } }), /is not a string/],
    ['a runtime that is not a mapping', { runtime: 'container' }, /not a mapping/],
    ['an executable that is not a mapping', { runtime: { exec: 'a.sh' } }, /`exec` is not a mapping/],
    [
      'two places',
      { ...annotated('container: {image: a}'), runtime: { exec: { path: 'b' } } },
      /has both a `runtime` field and a function annotation/,
    ],
  ])('is a problem with %s', (_, config, message) => {
    const { problems } = read(config);
    expect(problems).toHaveLength(1);
    expect(problems[0]!.message).toMatch(message);
  });

  it('reads the words of YAML 1.1 where kustomize reads a boolean', () => {
    const words =
      'container: {image: example.com/a:v1, network: yes, mounts: [{type: bind, rw: on}]}\ndeferFailure: YES';
    expect(read(annotated(words))).toEqual({
      runtime: container({ network: true, mounts: ['type=bind,rw=true'] }),
      deferFailure: true,
      problems: [],
    });
    expect(read(annotated('container: {image: example.com/a:v1, network: no}')).runtime).toEqual(container());
    // kustomize passes `false` to the program.
    expect(read(annotated('exec: {path: a, args: [no, "no"]}')).runtime).toMatchObject({
      args: ['false', 'no'],
    });
  });

  it('is not a key of every object, such as __proto__', () => {
    const config = JSON.parse('{"runtime": {"__proto__": {"image": "a"}}}');
    expect(readRuntime(config).problems).toHaveLength(1);
    expect(readRuntimeField(config)).toEqual({ deferFailure: false, problems: [] });
    expect(
      readRuntime(JSON.parse('{"__proto__": {"runtime": {"exec": {"path": "a"}}}}')).runtime,
    ).toBeUndefined();
    expect(() => requireRuntime(config, 'fn.yaml')).toThrow(
      'fn.yaml: unknown field `__proto__` of a runtime',
    );
  });

  it('has problems at their fields where those have positions', () => {
    expect(read({ runtime: { container: { image: 'a', env: [] } } }).problems[0]!.at).toEqual([
      'runtime',
      'container',
      'env',
    ]);
    expect(read(annotated('container: {env: []}')).problems[0]!.at).toEqual([
      'metadata',
      'annotations',
      'config.kubernetes.io/function',
    ]);
  });

  it('is what a multi-line annotation of a document says', () => {
    const text =
      'metadata:\n  annotations:\n    config.kubernetes.io/function: |\n      container:\n        image: example.com/a:v1\n';
    expect(
      read(readYaml(new TextEncoder().encode(text), { file: '' }).documents[0]!.value as object).runtime,
    ).toEqual(container());
  });
});
