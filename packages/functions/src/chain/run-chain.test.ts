import type { JsonObject } from '@krmhub/schema/definition';
import { fromJson, readResourceList, toJson, writeDocument } from '@krmhub/schema/resource-yaml';
import { describe, expect, it } from 'vitest';
import type { RunResult } from '../output/run-result.js';
import { formatFiles } from '../package-files/plan-write.js';
import { encodeResourceList } from '../resource-list/encode.js';
import { MAX_TEXT_WITH_MODELS } from '../resource-list/model-limits.js';
import { readResources } from '../resource-list/read-resources.js';
import type { Resource } from '../resource-list/resource.js';
import { configMap } from '../testing/package-folder.js';
import { runChain } from './run-chain.js';
import type { Step } from './step.js';

const DEPLOYMENT = `# header
apiVersion: apps/v1
kind: Deployment # kind
metadata:
  name: web
spec:
  # how many
  replicas: 1
  list:
    - b # second
    - a
`;

const resources = (): Resource[] => [
  ...readResources(`${configMap('a')}---\n${configMap('b')}`, { path: 'maps.yaml' }),
  ...readResources(DEPLOYMENT, { path: 'web.yaml' }),
];

const decoder = new TextDecoder();

/** A function that edits its input as text. */
function step(
  edit: (input: string) => string | Buffer,
  options: Partial<Step> & { exitCode?: number } = {},
): Step {
  const { exitCode = 0, ...rest } = options;
  return {
    name: 'edit',
    type: 'mutator',
    run: async (input): Promise<RunResult> => ({
      output: Buffer.from(edit(decoder.decode(input)) as string),
      stderr: new Uint8Array(),
      stderrTruncated: false,
      exitCode,
      results: [],
    }),
    ...rest,
  };
}

const HEAD = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n';
const texts = (list: readonly Resource[]) =>
  Object.fromEntries(list.map((one) => [`${one.path}#${one.index}`, one.text()]));
const same = {
  'maps.yaml#0': configMap('a'),
  'maps.yaml#1': configMap('b'),
  'web.yaml#0': DEPLOYMENT,
};

describe('runChain', () => {
  it('keeps resources that a function gives back', async () => {
    const before = resources();
    const echoed = await runChain(before, [step((text) => text)]);
    expect(echoed.resources).toEqual(before);
    const partly = await runChain(before, [step((text) => text.replace('value: a', 'value: z'))]);
    expect(partly.resources[1]).toBe(before[1]);
    expect(texts(partly.resources)).toEqual({ ...same, 'maps.yaml#0': configMap('a', 'z') });
  });

  it('gives the function what kyaml gives it', async () => {
    let input = '';
    await runChain(resources().slice(2), [
      step(
        (text) => {
          input = text;
          return text;
        },
        { functionConfig: 'data: {a: b}\n', apiVersion: 'config.kubernetes.io/v1beta1' },
      ),
    ]);
    expect(input).toBe(`apiVersion: config.kubernetes.io/v1beta1
kind: ResourceList
items:
- # header
  apiVersion: apps/v1
  kind: Deployment # kind
  metadata:
    name: web
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'web.yaml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'web.yaml'
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/id: '1'
      config.k8s.io/id: '1'
  spec:
    # how many
    replicas: 1
    list:
    - b # second
    - a
functionConfig:
  data: {a: b}
`);
  });

  it('copies back the comments and the order of fields that a function loses', async () => {
    const asJson = (text: string) => {
      const kept = text.slice(0, text.indexOf('- # header'));
      const annotations = Object.fromEntries(
        [...text.slice(kept.length).matchAll(/^ {6}(\S+): '(.*)'$/gm)].map(([, key, value]) => [key, value]),
      );
      const item = {
        spec: { list: ['b', 'a'], replicas: 3 },
        metadata: { annotations, name: 'web' },
        kind: 'Deployment',
        apiVersion: 'apps/v1',
      };
      return `${kept}- ${JSON.stringify(item)}\n`;
    };
    const { resources: after } = await runChain(resources(), [step(asJson)]);
    const text = after[2]!.text();
    expect(text).toContain('# header');
    expect(text).toContain('# how many');
    expect(text.indexOf('apiVersion')).toBeLessThan(text.indexOf('kind'));
    expect(text.indexOf('replicas')).toBeLessThan(text.indexOf('list'));
  });

  it('keeps all resources if dashes are alone in their lines', async () => {
    const alone = step((text) => text.replaceAll(/^- (?:# header\n {2})?(?=\w)/gm, '-\n  '));
    const { resources: after } = await runChain(resources(), [alone]);
    expect(texts(after)).toEqual(same);
  });

  it('gives the same for a package that is too large for models', async () => {
    const lose = step((text) => text.replace(/ *#.*/g, '').replace('replicas: 1', 'replicas: 2'));
    const move = step((text) => text.replaceAll("'web.yaml'", "'moved.yaml'"));
    const large = readResources(configMap('large', 'x'.repeat(MAX_TEXT_WITH_MODELS)), { path: 'large.yaml' });
    const run = async (...more: Resource[]) => {
      const { failed, resources: after } = await runChain([...resources(), ...more], [lose, move, lose]);
      expect(failed?.error).toBeUndefined();
      return texts(after);
    };
    const { 'large.yaml#0': other, ...both } = await run(...large);
    expect(other).toBe(large[0]!.text());
    expect(both).toEqual(await run());
    expect(both['moved.yaml#0']).toBe(DEPLOYMENT.replace('replicas: 1', 'replicas: 2'));
  });

  it.each([
    ['internal.config.kubernetes.io/path', 'other.yaml#0'],
    [' config.kubernetes.io/path', 'other.yaml#0'],
  ])('follows a change of only %s', async (name, place) => {
    const change = (text: string) => text.replace(`${name}: 'web.yaml'`, `${name}: 'other.yaml'`);
    const { resources: after, failed } = await runChain(resources(), [step(change)]);
    expect(failed?.error).toBeUndefined();
    expect(Object.keys(texts(after))).toEqual(['maps.yaml#0', 'maps.yaml#1', place]);
  });

  it('names the file of a resource without a path', async () => {
    const drop = (text: string) =>
      text.replace(/.*(path|index): '.*\n/g, '').replace('name: web', 'name: web\n    namespace: shop');
    const { resources: after } = await runChain(resources().slice(2), [step(drop)]);
    expect(after[0]).toMatchObject({ path: 'shop/deployment_web.yaml', index: undefined });
  });

  it.each([
    [
      'annotations',
      'metadata:\n  name: x\n  annotations: &a\n    a: b\n  labels: *a\n',
      'labels:\n    a: b\n',
    ],
    [
      'metadata',
      'metadata: &a\n  name: x\n  annotations:\n    a: b\ncopy: *a\n',
      'copy:\n  name: x\n  annotations:\n    a: b\n',
    ],
    ['empty annotations', 'metadata:\n  name: x\n  annotations: &a {}\n  labels: *a\n', 'labels: {}\n'],
  ])('keeps its annotations out of what shares %s by an alias', async (_, metadata, expected) => {
    const file = `apiVersion: v1\nkind: ConfigMap\n${metadata}`;
    const read = readResources(file, { path: 'x.yaml' });
    const { resources: same } = await runChain(read, [step((text) => `${text}\n`)]);
    expect(formatFiles(same).get('x.yaml')).toBe(file);
    // As PyYAML: an alias is what it stands for.
    const expand = (text: string) => {
      const items = readResourceList(text, '').items.map((item) => ({
        ...(toJson(item) as JsonObject),
        data: { a: 'b' },
      }));
      return writeDocument(fromJson({ apiVersion: 'config.kubernetes.io/v1', kind: 'ResourceList', items }));
    };
    const { resources: after } = await runChain(read, [step(expand)]);
    const written = formatFiles(after).get('x.yaml')!;
    expect(written).not.toContain('config.kubernetes.io');
    expect(written).toContain(expected);
  });

  it.each([
    ['.krmignore', 'it says which files are part of the package'],
    ['sub/.KRMIGNORE', 'it says which files are part of the package'],
    ['/krmhub.lock', 'it says which functions run'],
    ['sub/../krmhub.lock', 'it says which functions run'],
    ['.krmhub-fn/x.yaml', 'krmhub uses this folder while it writes a package'],
  ])('refuses to write %s', async (at, reason) => {
    const move = step((text) => text.replaceAll("path: 'web.yaml'", `path: '${at}'`));
    const { failed } = await runChain(resources(), [move]);
    expect(failed?.error?.message).toBe(`function must not write "${at}": ${reason}`);
  });

  it('refuses an empty path, which would rename the file', async () => {
    const { failed } = await runChain(resources(), [
      step((text) => text.replaceAll("path: 'web.yaml'", "path: ''")),
    ]);
    expect(failed?.error?.message).toBe('function edit set the path of Deployment "web" to an empty text');
    const other = await runChain(resources(), [step((text) => text.replace("path: 'web.yaml'", "path: ''"))]);
    expect(Object.keys(texts(other.resources))).toEqual(['maps.yaml#0', 'maps.yaml#1', 'web.yaml#0']);
  });

  it('does not keep internal annotations that a function adds', async () => {
    const add = (text: string) =>
      text.replaceAll(
        'annotations:\n',
        'annotations:\n      internal.config.kubernetes.io/mine: x\n      mine: y\n',
      );
    const { resources: after } = await runChain(resources(), [step(add)]);
    for (const { identity } of after) expect(identity.annotations).toEqual({ mine: 'y' });
    expect(after[0]!.text()).toBe(
      configMap('a').replace('  name: a\n', '  name: a\n  annotations:\n    mine: y\n'),
    );
  });

  it.each([
    [
      'a path outside',
      (text: string) => text.replaceAll("'web.yaml'", "'../web.yaml'"),
      'function must not modify resources outside of package: resource has path ../web.yaml',
    ],
    [
      'an absolute path outside',
      (text: string) => text.replaceAll("'web.yaml'", "'/../web.yaml'"),
      'outside of package',
    ],
    [
      'a path in the folder of git',
      (text: string) => text.replaceAll("'web.yaml'", "'a/.git/web.yaml'"),
      'outside of package',
    ],
    [
      'a place that is taken',
      (text: string) => text.replaceAll("'web.yaml'", "'maps.yaml'"),
      'resource at path "maps.yaml" and index "0" already exists',
    ],
    [
      'two different paths',
      (text: string) =>
        text
          .replace(" config.kubernetes.io/path: 'web.yaml'", " config.kubernetes.io/path: 'a.yaml'")
          .replace(
            "internal.config.kubernetes.io/path: 'web.yaml'",
            "internal.config.kubernetes.io/path: 'b.yaml'",
          ),
      'set internal.config.kubernetes.io/path to "b.yaml", but config.kubernetes.io/path to "a.yaml"',
    ],
    [
      'an index that is not a number',
      (text: string) => text.replaceAll("index: '1'", "index: 'one'"),
      'unable to parse',
    ],
    [
      'no resources',
      () => 'kind: ResourceList\nitems: []\n',
      'would delete all 3 resources: its output is empty',
    ],
    [
      'a document that is not a resource',
      () => `${HEAD}- kind: A\n`,
      'output resource list must contain only KRM resources: a_.yaml: resource must have `apiVersion`',
    ],
    ['YAML that cannot be read', () => `${HEAD}- kind: [A\n`, 'function edit: '],
  ])('refuses %s', async (_, edit, message) => {
    const before = resources();
    const { failed, resources: after } = await runChain(before, [step(edit), step((text) => text)]);
    expect(failed?.error?.message).toContain(message);
    expect(after).toBe(before);
  });

  it('says which error a function reported that wrote no resources', async () => {
    const empty = step(() => 'kind: ResourceList\nitems: []\n');
    const results: RunResult['results'] = [
      { message: 'a note', severity: 'info' },
      { message: 'no owner\nsecond line', severity: 'error' },
    ];
    const run: Step['run'] = async (...given) => ({ ...(await empty.run(...given)), results });
    const { failed } = await runChain(resources(), [{ ...empty, run }]);
    expect(failed?.error?.message).toBe(
      'function edit would delete all 3 resources: it reported an error: no owner',
    );
  });

  it('takes an absolute path for one in the package of a render, as kpt does', async () => {
    const move = step((text) => text.replaceAll("'web.yaml'", "'/etc/web.yaml'"));
    const rendered = await runChain(resources(), [move], { packagePath: 'app' });
    expect(rendered.resources.map(({ path }) => path)).toContain('etc/web.yaml');
    const { resources: after } = await runChain(resources(), [move]);
    expect(after.map(({ path }) => path)).toContain('/etc/web.yaml');
    expect(() => formatFiles(after)).toThrow(
      'cannot write /etc/web.yaml: package paths may not be absolute paths',
    );
  });

  it.each([
    [
      'before the list',
      (text: string) => `Starting up...\n${text}`,
      'line 2: mapping values are not allowed',
    ],
    ['behind the list', (text: string) => `${text}done\n`, "could not find expected ':'"],
    [
      'in another encoding',
      (text: string) => Buffer.from(text.replace('name: a', 'name: caf\xe9'), 'latin1'),
      'line 7: it is not UTF-8 text',
    ],
  ])('refuses text %s, also of a function whose failure is deferred', async (_, edit, message) => {
    const before = resources();
    for (const deferFailure of [false, true]) {
      const wrong = step(edit, { deferFailure, exitCode: deferFailure ? 1 : 0 });
      const { failed, resources: after } = await runChain(before, [wrong]);
      expect(failed?.error?.message).toContain(deferFailure ? 'exited with 1' : message);
      expect(after).toBe(before);
    }
  });

  it('accepts no resources if they may be deleted', async () => {
    const { resources: after } = await runChain(resources(), [
      step(() => 'kind: ResourceList\nitems: []\n', { allowEmpty: true }),
    ]);
    expect(after).toEqual([]);
  });

  it('accepts documents without a list', async () => {
    const { resources: after } = await runChain(resources(), [
      step(() => `${configMap('x')}---\n${configMap('y')}`),
    ]);
    expect(after.map(({ path }) => path)).toEqual(['configmap_x.yaml', 'configmap_y.yaml']);
  });

  it('counts documents without a list, beside resources that were not selected', async () => {
    const bare = step((text) => {
      const items = text
        .slice(text.indexOf(HEAD) + HEAD.length)
        .split(/^- /m)
        .slice(1);
      return items
        .toReversed()
        .map((item) => item.replaceAll(/^ {2}/gm, ''))
        .join('---\n');
    });
    const select = (resource: Resource) => resource.identity.name !== 'a';
    const { resources: after } = await runChain(resources(), [{ ...bare, select }]);
    expect(after.map(({ path, index, identity }) => [path, index, identity.name])).toEqual([
      ['maps.yaml', 0, 'a'],
      ['maps.yaml', 1, 'b'],
      ['web.yaml', 0, 'web'],
    ]);
  });

  it('gives a function only what is selected, and keeps the rest', async () => {
    const counts: number[] = [];
    const { resources: after, steps } = await runChain(
      resources(),
      [
        step(
          (text) =>
            text
              .replace('value: a', 'value: z')
              .replace('items:\n', `items:\n- ${configMap('new').replaceAll('\n', '\n  ').trimEnd()}\n`),
          {
            select: ({ identity }) => identity.name === 'b',
          },
        ),
      ],
      { onStart: (_, selected) => counts.push(selected) },
    );
    expect(counts).toEqual([1]);
    expect(steps[0]).toMatchObject({ selected: 1, output: 2 });
    expect(texts(after)).toEqual({
      ...same,
      'maps.yaml#1': configMap('b', 'z'),
      'configmap_new.yaml#undefined': configMap('new'),
    });
    expect(after.map(({ identity }) => identity.name)).toEqual(['a', 'b', 'web', 'new']);
  });

  it('drops what a validator changes', async () => {
    const before = resources();
    const { resources: after } = await runChain(before, [
      step((text) => text.replaceAll('value: a', 'value: z'), { type: 'validator' }),
      step(() => `${HEAD}`, { type: 'validator' }),
    ]);
    expect(after).toBe(before);
  });

  it('refuses a validator that moves a resource to a place that is taken, as kpt does', async () => {
    const { failed } = await runChain(resources(), [
      step((text) => text.replaceAll("'web.yaml'", "'maps.yaml'"), { type: 'validator' }),
    ]);
    expect(failed?.error?.message).toContain('resource at path "maps.yaml" and index "0" already exists');
  });

  it('refuses a validator that writes something else', async () => {
    const { failed } = await runChain(resources(), [step(() => 'all is well\n', { type: 'validator' })]);
    expect(failed?.error?.message).toContain('the document is a scalar, expected a map');
  });

  it('ends at a function that fails', async () => {
    const names: string[] = [];
    const { failed, steps } = await runChain(
      resources(),
      [step((text) => text, { name: 'bad', exitCode: 3 }), step((text) => text)],
      { onEnd: (result) => names.push(result.step.name) },
    );
    expect(names).toEqual(['bad']);
    expect(steps).toHaveLength(1);
    expect(failed).toMatchObject({ exitCode: 3, error: { message: 'function bad exited with 3' } });
  });

  it('continues with the output of a function whose failure is deferred', async () => {
    const {
      failed,
      steps,
      resources: after,
    } = await runChain(resources(), [
      step((text) => text.replace('value: a', 'value: z'), { exitCode: 1, deferFailure: true }),
      step(() => 'not YAML: [', { exitCode: 2, deferFailure: true }),
      step((text) => text),
    ]);
    expect(steps.map(({ exitCode }) => exitCode)).toEqual([1, 2, 0]);
    expect(failed).toBe(steps[0]);
    expect(texts(after)['maps.yaml#0']).toBe(configMap('a', 'z'));
  });

  it('refuses documents that are not resources before it runs a function', async () => {
    let isRun = false;
    const input = readResources('a: b\n', { path: 'values.yaml' });
    const { failed } = await runChain(input, [
      step((text) => {
        isRun = true;
        return text;
      }),
    ]);
    expect(failed?.error?.message).toBe(
      'input resource list must contain only KRM resources: values.yaml: resource must have `apiVersion`',
    );
    expect(isRun).toBe(false);
  });

  it('rejects with the reason of the signal', async () => {
    const controller = new AbortController();
    const stop = step((text) => {
      controller.abort(new Error('stopped'));
      return text;
    });
    const aborted = {
      ...stop,
      run: async (...input: Parameters<Step['run']>) => {
        await stop.run(...input);
        throw controller.signal.reason;
      },
    };
    await expect(runChain(resources(), [aborted], { signal: controller.signal })).rejects.toThrow('stopped');
  });

  it('numbers the items of each step from 1', async () => {
    const ids: string[] = [];
    const note = (text: string) => {
      ids.push([...text.matchAll(/ config\.k8s\.io\/id: '(\d+)'/g)].map(([, id]) => id).join());
      return text;
    };
    await runChain(resources(), [
      step(note),
      step(note, { select: ({ identity }) => identity.kind === 'Deployment' }),
    ]);
    expect(ids).toEqual(['1,2,3', '1']);
    expect(encodeResourceList(resources())).not.toContain('/id:');
  });
});
