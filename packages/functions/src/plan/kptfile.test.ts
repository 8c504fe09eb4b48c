import { describe, expect, it } from 'vitest';
import { requireKptfile as readWhole } from './kptfile.js';
import type { Kptfile } from './kptfile-content.js';
import { checkPipeline } from './pipeline-rules.js';
import { readPlainKptfile } from './read-kptfile.js';

/** What the fast reader takes, both read alike. */
function readKptfile(text: string, folder: string): Kptfile {
  const whole = readWhole(text, folder);
  expect(readPlainKptfile(text, folder) ?? whole).toEqual(whole);
  return whole;
}

const HEAD = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n';
const read = (text: string) => readKptfile(text, 'app');
const pipeline = (text: string) => read(`${HEAD}pipeline:\n${text}`);

function message(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}

describe('a Kptfile', () => {
  it('is read fast, unless it has a problem or anchors', () => {
    expect(readPlainKptfile(`${HEAD}pipeline: {mutators: [{image: a/b}]}\n`, 'app')).toBeDefined();
    expect(readPlainKptfile(`${HEAD}pipelines: {}\n`, 'app')).toBeUndefined();
    expect(readPlainKptfile(`${HEAD}info: {site: &a b, description: *a}\n`, 'app')).toBeUndefined();
    expect(readPlainKptfile(HEAD.replace('v1', 'v1alpha2'), 'app')).toBeUndefined();
    expect(readPlainKptfile('a: [\n', 'app')).toBeUndefined();
  });

  it('has the functions of its pipeline, mutators first', () => {
    const text = `validators:
  - image: kubeval:v0.1
mutators:
  - image: set-labels:v0.1.5
    name: labels
    configMap: {tier: backend, count: 3, on: yes, version: 1.10, long: 12345678901234567890}
    selectors:
      - kind: Deployment
        labels: {app: web}
    exclude:
      - annotations: {a: b}
        group: apps
  - exec: ./fn.sh one
    configPath: fn.yaml
  - configPath: labels.yaml
`;
    expect(pipeline(text.replace(/^/gm, '  ')).pipeline).toEqual([
      {
        field: 'mutators',
        index: 0,
        image: 'set-labels:v0.1.5',
        name: 'labels',
        configMap: { tier: 'backend', count: '3', on: 'yes', version: '1.10', long: '12345678901234567890' },
        selectors: [{ kind: 'Deployment', labels: { app: 'web' } }],
        exclude: [{ annotations: { a: 'b' }, group: 'apps' }],
      },
      { field: 'mutators', index: 1, exec: './fn.sh one', configPath: 'fn.yaml', selectors: [], exclude: [] },
      { field: 'mutators', index: 2, configPath: 'labels.yaml', selectors: [], exclude: [] },
      { field: 'validators', index: 0, image: 'kubeval:v0.1', selectors: [], exclude: [] },
    ]);
  });

  it.each(['', 'pipeline:\n', 'pipeline: {}\n', 'pipeline:\n  mutators:\n'])(
    'may have no function: %j',
    (text) => {
      expect(read(HEAD + text).pipeline).toEqual([]);
    },
  );

  it('names its catalogs in an annotation', () => {
    const text = `${HEAD}  annotations:\n    krmhub.dev/catalogs: |\n      catalog.yaml\n\n      https://krm.example.com/c\n`;
    expect(read(text).catalogs).toEqual(['catalog.yaml', 'https://krm.example.com/c']);
  });

  it('can have every field of kpt 1.0', () => {
    const text = `${HEAD}  annotations: {kpt.dev/bfs-rendering: "True", kpt.dev/save-on-render-failure: "true"}
upstream: {type: git, git: {repo: a, directory: b, ref: c}, updateStrategy: resource-merge, preserveExplicitNull: true}
upstreamLock: {type: generic, generic: {storeID: a, resourceID: b, resourceVersion: c}}
info: {license: MIT}
pipeline:
  mutators:
    - image: set-labels:v0.1@sha256:${'0'.repeat(64)}
      tag: 1.10
      when: resources.size() > 0
      configRef: {apiVersion: v1, kind: ConfigMap, name: a, namespace: b}
      resourceFileRegexp: vol.*.yaml
      selectors: [{resourceFileRegexp: a/b}]
status:
  conditions: [{type: Rendered, status: "True", reason: RenderSuccess, message: a}]
  renderStatus:
    mutationSteps: [{exec: a, exitCode: 0, skipped: true, when: a}]
`;
    const { pipeline: steps, isBreadthFirst, savesFailure, warnings } = read(text);
    expect({ isBreadthFirst, savesFailure, warnings }).toEqual({
      isBreadthFirst: true,
      savesFailure: true,
      warnings: [],
    });
    expect(steps).toEqual([
      {
        field: 'mutators',
        index: 0,
        image: `set-labels:v0.1@sha256:${'0'.repeat(64)}`,
        tag: '1.10',
        when: 'resources.size() > 0',
        configRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'b' },
        resourceFileRegexp: 'vol.*.yaml',
        selectors: [{ resourceFileRegexp: 'a/b' }],
        exclude: [],
      },
    ]);
  });

  it('warns about fields that krmhub does not know', () => {
    const text = `${HEAD}foo: 1\npipeline:\n  mutators:\n  - image: a\n    selector: []\n    whn: a\n`;
    expect(read(text).pipeline).toHaveLength(1);
    expect(read(text).warnings).toEqual([
      '5:1: unknown field "foo" has no effect: krmhub knows the fields of kpt 1.0',
      '9:5: unknown field "selector" has no effect: krmhub knows the fields of kpt 1.0; did you mean "selectors"?',
      '10:5: unknown field "whn" has no effect: krmhub knows the fields of kpt 1.0; did you mean "when"?',
    ]);
  });

  it.each(['selectors', 'exclude'])(
    'rejects %s without a known field, which mean every resource or none',
    (list) => {
      const text = (selector: string) =>
        `${HEAD}pipeline:\n  mutators:\n  - image: a\n    ${list}: [${selector}]\n`;
      expect(message(() => read(text('{kinds: Secret}')))).toContain(
        `8:${list.length + 9}: unknown field pipeline.mutators[0].${list}[0].kinds; did you mean "kind"?`,
      );
      expect(read(text('{kind: Secret, nam: a}')).warnings).toHaveLength(1);
      expect(read(text('{}')).warnings).toEqual([]);
    },
  );

  it.each([
    ['v1alpha1', 'Kptfile at "app" has an old version ("v1alpha1") of the Kptfile schema'],
    ['v1alpha2', 'Kptfile at "app" has an old version ("v1alpha2") of the Kptfile schema'],
    ['v2', 'Kptfile at "app" has an unknown resource type ("kpt.dev/v2, Kind=Kptfile")'],
  ])('of version %s is rejected as in kpt', (version, expected) => {
    expect(message(() => read(HEAD.replace('/v1\n', `/${version}\n`)))).toBe(expected);
  });

  it.each([
    ['# Invalid\napiVersion: kpt.dev/v1\nkslsls\n;s;s;s\n', "yaml: line 3: could not find expected ':'"],
    [`${HEAD}pipeline: []\n`, '5:11: pipeline must be a mapping, not a list'],
    [`${HEAD}pipeline:\n  mutators: text\n`, '6:13: pipeline.mutators must be a list, not the string "text"'],
    [
      `${HEAD}pipeline:\n  mutators:\n  - image: a\n    configMap: {a: [1]}\n`,
      '8:20: pipeline.mutators[0].configMap.a must be a string, not a list',
    ],
    [
      `${HEAD}pipeline:\n  mutators:\n  - image: a\n    selectors:\n      kind: A\n`,
      '9:7: pipeline.mutators[0].selectors must be a list, not a mapping',
    ],
    [
      `${HEAD}pipeline:\n  mutators:\n  - image: a\n    configRef: star\n    when: [a]\n`,
      '8:16: pipeline.mutators[0].configRef must be a mapping, not the string "star"\n9:11: pipeline.mutators[0].when must be a string, not a list',
    ],
    [`${HEAD}info: 2\n`, '5:7: info must be a mapping, not the number 2'],
    ['text\n', 'missing Resource metadata'],
  ])('%j is rejected', (text, details) => {
    expect(message(() => read(text))).toBe(`Kptfile at "app" can't be read.\n\nDetails:\n${details}`);
  });
});

describe('a pipeline', () => {
  const config = { path: 'fn.yaml', apiVersion: 'v1', kind: 'ConfigMap', name: 'fn' };
  const files = [
    config,
    { ...config, path: 'two.yaml' },
    { ...config, path: 'two.yaml', name: 'second' },
    { ...config, path: 'unnamed.yaml', name: '' },
    { ...config, path: 'dir/fn.yaml' },
  ];
  const check = (text: string) =>
    checkPipeline(pipeline(`  mutators:\n  - exec: cat\n  - ${text.replaceAll('\n', '\n    ')}\n`), files);

  it.each([
    'image: gcr.io/kpt-fn/set-labels:v0.1',
    'image: localhost:5000/a/b@sha256:0123456789012345678901234567890123456789012345678901234567890123',
    'image: set-labels\nconfigPath: fn.yaml',
    'image: set-labels\nconfigPath: ./dir/../dir/fn.yaml',
    'configPath: dir/fn.yaml',
    'configRef: {kind: ConfigMap, name: fn}',
    'image: a\nresourceFileRegexp: "vol.*.yaml"\nselectors: [{resourceFileRegexp: "^a"}]',
  ])('can have %j', (text) => {
    expect(() => check(text)).not.toThrow();
  });

  it.each([
    ['image: a\nexec: b', '', 'must not specify both `image` and `exec` at the same time'],
    ['name: a', '', 'must specify a functon (`image` or `exec`) to execute'],
    ['image: "a b"', '.image`\nValue: "a b"', 'function name "a b" is invalid'],
    [
      'image: a\nconfigPath: fn.yaml\nconfigMap: {a: b}',
      '',
      'functionConfig must not specify both `configMap` and `configPath` at the same time',
    ],
    [
      'image: a\nconfigPath: fn.yaml\nconfigRef: {kind: a, name: b}',
      '',
      'functionConfig must specify at most one of `configMap`, `configPath`, or `configRef`',
    ],
    ['image: a\nconfigRef: {name: b}', '.configRef.kind`', 'configRef must specify `kind`'],
    [
      'image: a\nselectors: [{kind: A}, {resourceFileRegexp: "(?=a)"}]',
      '.selectors[1].resourceFileRegexp`\nValue: "(?=a)"',
      'invalid regular expression: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
    ],
    ['image: a\nconfigPath: /etc/passwd', '.configPath`\nValue: "/etc/passwd"', 'path must be relative'],
    [
      'image: a\nconfigPath: some/../../home/.kube/config',
      '.configPath`\nValue: "some/../../home/.kube/config"',
      'path must not be outside the package',
    ],
    [
      'image: a\nconfigPath: sub/fn.yaml',
      '.configPath`\nValue: "sub/fn.yaml"',
      'functionConfig must exist in the current package',
    ],
    [
      'image: a\nconfigPath: two.yaml',
      '.configPath`\nValue: "two.yaml"',
      'functionConfig "two.yaml" must not contain more than one config, got 2',
    ],
    [
      'image: a\nconfigPath: unnamed.yaml',
      '.configPath`\nValue: "unnamed.yaml"',
      'functionConfig "unnamed.yaml": resource must have `metadata.name`',
    ],
  ])('cannot have %j', (text, field, reason) => {
    const place = field === '' ? '`' : field;
    expect(message(() => check(text))).toBe(
      `Kptfile is invalid:\nField: \`pipeline.mutators[1]${place}\nReason: ${reason}`,
    );
  });
});
