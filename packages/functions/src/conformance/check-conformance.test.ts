import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { fromJson, readDocument, toJson, writeDocument } from '@krmhub/schema/resource-yaml';
import { describe, expect, it } from 'vitest';
import { FunctionFailure } from '../output/function-failure.js';
import type { RunResult } from '../output/run-result.js';
import { readResources } from '../resource-list/read-resources.js';
import type { Check } from './check.js';
import { CHECK_NAMES, type CheckName, checkConformance, type Subject } from './check-conformance.js';
import { UNKNOWN_FIELD } from './sample-resources.js';

// biome-ignore lint/suspicious/noExplicitAny: the functions of this test change any field of any resource.
type Any = any;

const nothing = new Uint8Array();
const ended = (exitCode: number, output = '', stderr = ''): RunResult => ({
  output: Buffer.from(output),
  stderr: Buffer.from(stderr),
  stderrTruncated: false,
  exitCode,
  results: [],
});
const write = (value: JsonValue) => writeDocument(fromJson(value));

/** A function as it should be, unless `change` breaks it: it sets an annotation. */
function changeList(change: (list: Any, text: string) => RunResult | undefined): Subject['run'] {
  return async (input) => {
    const text = Buffer.from(input).toString();
    let list: Any;
    try {
      list = toJson(readDocument(text, 'input')!);
    } catch {
      return change(undefined, text) ?? ended(1, '', 'cannot read the input');
    }
    const owner = list.functionConfig?.owner;
    const results = [{ message: `owner ${owner}`, severity: 'info' }];
    if (owner === undefined) {
      const error = [{ message: 'owner is missing', severity: 'error' }];
      return change({ ...list, results: error }, text) ?? ended(1, write({ ...list, results: error }));
    }
    for (const item of list.items) item.metadata.annotations.owner = owner;
    list.results = results;
    return change(list, text) ?? ended(0, write(list));
  };
}

const good = changeList(() => undefined);
const subject = (run: Subject['run'], more: Partial<Subject> = {}): Subject => ({
  run,
  functionConfig: config('platform'),
  hasFields: true,
  rejectedConfig: { value: config(undefined), reason: 'without `owner`' },
  idempotent: true,
  inputs: [],
  ...more,
});
function config(owner: string | undefined): JsonObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'SetOwner',
    metadata: { name: 'a' },
    ...(owner === undefined ? {} : { owner }),
  };
}

async function runChecks(run: Subject['run'], more: Partial<Subject> = {}): Promise<Record<string, string>> {
  const checks: Check[] = [];
  await checkConformance(subject(run, more), async (check) => void checks.push(check));
  expect(checks.map(({ name }) => name)).toEqual(CHECK_NAMES);
  return Object.fromEntries(
    checks.map(({ name, status, reason }) => [name, reason === undefined ? status : `${status}: ${reason}`]),
  );
}
const changing = (edit: (list: Any) => void) =>
  changeList((list) => {
    if (list?.functionConfig?.owner === undefined) return undefined;
    edit(list);
    return ended(0, write(list));
  });

describe('conformance', () => {
  it('passes a function that does what it should', async () => {
    const checks = await runChecks(good);
    expect(checks).toEqual(Object.fromEntries(CHECK_NAMES.map((name) => [name, 'passed'])));
  });

  let runs = 0;
  const broken: [CheckName, string, Subject['run'], string][] = [
    [
      'resource-list',
      'writes documents',
      changing((list) => Object.assign(list, { kind: 'List' })),
      'is not a ResourceList',
    ],
    [
      'resource-list',
      'writes no names',
      changing((list) => delete list.items[2].metadata.name),
      'items[2] without metadata.name',
    ],
    ['resource-list', 'always fails', async () => ended(3, '', 'no license'), 'it exited with 3: no license'],
    [
      'unknown-fields',
      'drops what it does not know',
      changing((list) => delete list.items[1][UNKNOWN_FIELD]),
      `Service shop/web lost the field ${UNKNOWN_FIELD}`,
    ],
    [
      'unknown-fields',
      'changes types',
      changing((list) => {
        list.items[1][UNKNOWN_FIELD].list[1] = 3;
      }),
      `${UNKNOWN_FIELD}.list[1]`,
    ],
    [
      'internal-annotations',
      'removes annotations',
      changing((list) => {
        list.items[0].metadata.annotations = { owner: 'platform' };
      }),
      'Deployment shop/web lost the annotation internal.config.kubernetes.io/path',
    ],
    [
      'internal-annotations',
      'changes an annotation that it does not know',
      changing((list) => {
        list.items[0].metadata.annotations['internal.config.kubernetes.io/conformance'] = '7';
      }),
      'another value of the annotation internal.config.kubernetes.io/conformance',
    ],
    [
      'field-order',
      'sorts fields, and removes what tells which resource it was',
      changing((list) => {
        for (const item of list.items) {
          for (const name of Object.keys(item.metadata.annotations)) {
            if (name.endsWith('/id')) delete item.metadata.annotations[name];
          }
        }
        const { metadata, ...rest } = list.items[0];
        list.items[0] = { metadata, ...rest };
      }),
      'Deployment shop/web has the field',
    ],
    [
      'comments',
      'removes what tells which resource it was',
      changing((list) => {
        for (const item of list.items) {
          for (const name of Object.keys(item.metadata.annotations)) {
            if (name.endsWith('/id')) delete item.metadata.annotations[name];
          }
        }
      }),
      'Deployment shop/web lost the comment "# the shop"',
    ],
    [
      'json-input',
      'reads lines of YAML',
      changeList((_, text) => (text.startsWith('{') ? ended(1, '', 'expected apiVersion') : undefined)),
      'for the same input as JSON, it exited with 1: expected apiVersion',
    ],
    [
      'v1beta1-input',
      'knows only v1',
      changeList((list) =>
        list?.apiVersion.endsWith('v1beta1') ? ended(1, '', 'unknown version') : undefined,
      ),
      'for a ResourceList v1beta1, it exited with 1: unknown version',
    ],
    [
      'deterministic',
      'counts its runs',
      changing((list) => {
        list.items[0].metadata.annotations.run = String(runs++);
      }),
      'for the same input, the output differs: Deployment shop/web differs at metadata.annotations.run',
    ],
    [
      'deterministic',
      'numbers its input',
      changing((list) => {
        for (const [at, item] of list.items.entries()) item.metadata.annotations.at = String(at);
      }),
      'for the same resources in another order',
    ],
    [
      'idempotent',
      'adds to what is there',
      changing((list) => {
        list.items[0].metadata.name += '-x';
      }),
      'a second run changes its output: Deployment shop/web-x is missing',
    ],
    [
      'function-config',
      'ignores its functionConfig',
      changeList((list) => {
        if (list === undefined) return undefined;
        for (const item of list.items) item.metadata.annotations.owner = 'me';
        return ended(0, write({ ...list, results: [] }));
      }),
      'the output is the same without the functionConfig',
    ],
    [
      'rejects-config',
      'takes every functionConfig',
      changeList((list) => (list === undefined ? undefined : ended(0, write(list)))),
      'it exited with 0 for a functionConfig that its schema rejects (without `owner`)',
    ],
    [
      'rejects-config',
      'says nothing',
      changeList((list) =>
        list?.functionConfig?.owner === undefined && list !== undefined ? ended(1) : undefined,
      ),
      'without an error result or a message on stderr',
    ],
    [
      'rejects-input',
      'passes on what it cannot read',
      changeList((list, text) => (list === undefined ? ended(0, text) : undefined)),
      'it exited with 0 for input that ends in the middle of a list',
    ],
    [
      'results',
      'has its own severities',
      changing((list) => {
        list.results = [{ message: 'a', severity: 'fatal' }];
      }),
      'results[0].severity is "fatal"',
    ],
    [
      'results',
      'names half a resource',
      changing((list) => {
        list.results = [{ message: 'a', resourceRef: { kind: 'Service', name: 'web' } }];
      }),
      'results[0].resourceRef.apiVersion is missing',
    ],
  ];
  it.each(broken)('fails %s of a function that %s', async (name, _, run, reason) => {
    const checks = await runChecks(run);
    expect(checks[name]).toMatch(/^failed: /);
    expect(checks[name]).toContain(reason);
  });

  it('fails a function that was ended', async () => {
    const checks = await runChecks(async () => {
      throw new FunctionFailure('function f did not exit within 1 second', {
        stderr: nothing,
        stderrTruncated: false,
      });
    });
    expect(checks['resource-list']).toBe(
      'failed: generated resources: function f did not exit within 1 second',
    );
    for (const name of ['deterministic', 'rejects-config', 'rejects-input']) {
      expect(checks[name]).toBe('skipped: the function fails for every input');
    }
  });

  it('passes on errors that are not of the function', async () => {
    const run = async () => {
      throw new Error('no engine');
    };
    await expect(checkConformance(subject(run), async () => undefined)).rejects.toThrow('no engine');
  });

  it('uses the input of an example for a function that rejects the generated resources', async () => {
    const run = changeList((list) =>
      list?.items.some(({ kind }: JsonObject) => kind === 'Opening')
        ? ended(1, '', 'unknown kind')
        : undefined,
    );
    const resources = readResources(
      'apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations: {b: c}\n',
      { path: 'a.yaml' },
    );
    expect((await runChecks(run))['resource-list']).toBe(
      'failed: generated resources: it exited with 1: unknown kind',
    );
    const checks = await runChecks(run, { inputs: [{ name: 'example basic', resources }] });
    expect(checks['resource-list']).toBe('passed');
    expect(checks.deterministic).toBe('passed');
    expect(checks.comments).toBe('skipped: the function rejects the generated resources');
  });

  it('does not ask for what the definition does not claim', async () => {
    const checks = await runChecks(good, { idempotent: false, hasFields: false });
    expect(checks.idempotent).toBe('skipped: the definition does not claim it');
    expect(checks['function-config']).toBe('skipped: its functionConfig has no fields');
  });
});
