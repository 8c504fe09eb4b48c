import { describe, expect, it } from 'vitest';
import type { FunctionDefinition, JsonObject } from '../documents/definition.js';
import { checkConfig } from './check-config.js';

const schema: JsonObject = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['labels'],
      properties: {
        labels: { type: 'object', additionalProperties: { type: 'string', pattern: '^[a-z]+$' } },
        replicas: { type: 'integer', minimum: 1, nullable: true },
        mode: { type: 'string', enum: ['fast', 'safe'] },
        ports: { type: 'array', items: { type: 'object', properties: { port: { type: 'integer' } } } },
      },
    },
  },
};
const definition = {
  group: 'example.com',
  names: { kind: 'SetLabels' },
  description: 'Sets labels.',
  versions: [{ name: 'v1', schema: { openAPIV3Schema: schema }, idempotent: true, runtime: {} }],
} as unknown as FunctionDefinition;

const check = (spec: JsonObject | undefined, more: JsonObject = {}) =>
  checkConfig(definition, 'v1', {
    apiVersion: 'example.com/v1',
    kind: 'SetLabels',
    metadata: { name: 'a', annotations: { b: 'c' } },
    ...(spec === undefined ? {} : { spec }),
    ...more,
  });

describe('a functionConfig', () => {
  it('that satisfies its schema has no problems', () => {
    const spec = { labels: { a: 'b' }, replicas: null, mode: 'fast', ports: [{ port: 1 }] };
    expect(check(spec)).toEqual({ result: 'checked', problems: [] });
  });

  it.each<[JsonObject | undefined, string, string]>([
    [undefined, '', "must have required property 'spec'"],
    [{}, 'spec', "must have required property 'labels'"],
    [{ labels: { a: 'B' } }, 'spec.labels.a', 'must match pattern "^[a-z]+$"'],
    [{ labels: {}, replicas: 0 }, 'spec.replicas', 'must be >= 1'],
    [{ labels: {}, replicas: 'x' }, 'spec.replicas', 'must be an integer, not a string'],
    [{ labels: {}, mode: 'slow' }, 'spec.mode', 'must be one of fast, safe'],
    [
      { labels: {}, ports: [{ port: 1 }, { port: 'a' }] },
      'spec.ports[1].port',
      'must be an integer, not a string',
    ],
    [{ labels: {}, lables: {} }, 'spec', 'has the unknown field "lables"; did you mean "labels"?'],
  ])('with %j has the problem %j %j', (spec, path, message) => {
    const found = check(spec);
    expect(found).toMatchObject({ problems: [{ path, message }] });
  });

  it('of another kind has a problem', () => {
    expect(check({ labels: {} }, { kind: 'Other' })).toMatchObject({ problems: [{ path: 'kind' }] });
  });

  it('that is too large is not checked', () => {
    const labels = Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`a${at}`, 'b']));
    expect(check({ labels })).toEqual({ result: 'unchecked', reason: 'it has 20000 values or more' });
  });
});

describe('a functionConfig with rules of Kubernetes', () => {
  const inSpec = (properties: JsonObject, more: JsonObject = {}): FunctionDefinition => {
    const spec = { type: 'object', properties, ...more };
    const openAPIV3Schema = { type: 'object', properties: { spec } };
    return { ...definition, versions: [{ ...definition.versions[0]!, schema: { openAPIV3Schema } }] };
  };
  const problems = (of: FunctionDefinition, spec: JsonObject, exact?: () => bigint) => {
    const config = { apiVersion: 'example.com/v1', kind: 'SetLabels', metadata: { name: 'a' }, spec };
    const checked = checkConfig(of, 'v1', config, exact);
    return checked.result === 'checked'
      ? checked.problems.map(({ path, message }) => `${path} ${message}`)
      : undefined;
  };
  const rules = (...list: JsonObject[]) => ({ 'x-kubernetes-validations': list });

  it.each([
    [0.1, [0.3, 0.7, 1.1, 3, -0.3], [0.35, 0.31]],
    [0.01, [19.99, 4.35, 1e7], [0.005]],
    [3, [0, 9, -3], [1, 2_147_483_647.5]],
  ])('tolerates the rounding of decimal multiples of %s', (multipleOf, valid, invalid) => {
    const of = inSpec({ a: { type: 'number', multipleOf } });
    for (const a of valid) expect(problems(of, { a })).toEqual([]);
    for (const a of invalid)
      expect(problems(of, { a })).toEqual([`spec.a must be multiple of ${multipleOf}`]);
  });

  it.each(['^[[:alpha:]]+$', '\\Aabc\\z', '(?i)^ABC$', '^(?P<y>abc)$', '^\\pL+$'])(
    'matches the RE2 pattern %s',
    (pattern) => {
      const of = inSpec({ a: { type: 'string', pattern } });
      expect(problems(of, { a: 'abc' })).toEqual([]);
      expect(problems(of, { a: '1' })).toEqual([`spec.a must match pattern "${pattern}"`]);
    },
  );

  it('checks the range of integers by their digits, which a number cannot have', () => {
    const of = inSpec({ a: { type: 'integer', format: 'int64' } });
    const a = 2 ** 63;
    expect(problems(of, { a }, () => 9_223_372_036_854_775_807n)).toEqual([]);
    expect(problems(of, { a }, () => 9_223_372_036_854_775_808n)).toEqual([
      'spec.a must be an integer of 64 bits',
    ]);
    expect(problems(inSpec({ a: { type: 'integer', format: 'int32' } }), { a: 2 ** 31 })).toHaveLength(1);
  });

  it('finds duplicates in sets, and in maps by their keys with defaults', () => {
    const item = {
      type: 'object',
      properties: { name: { type: 'string' }, port: { type: 'integer', default: 80 } },
    };
    const of = inSpec({
      set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      map: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name', 'port'],
        items: item,
      },
    });
    expect(problems(of, { set: ['a', 'b', 'a'] })).toEqual(['spec.set[2] is the same as item 0']);
    expect(problems(of, { map: [{ name: 'a' }, { name: 'a', port: 80 }] })).toEqual([
      'spec.map[1] has the same name and port as item 0',
    ]);
    expect(problems(of, { set: ['a'], map: [{ name: 'a' }, { name: 'a', port: 81 }] })).toEqual([]);
  });

  it('evaluates CEL rules, with their messages and the field that they are about', () => {
    const properties = {
      low: { type: 'integer' },
      high: { type: 'integer', default: 10 },
      names: { type: 'array', items: { type: 'string', ...rules({ rule: "self != 'a-b'" }) } },
      'full-name': { type: 'string' },
    };
    const rule = 'self.low <= self.high';
    const of = (more: JsonObject) => inSpec(properties, rules({ rule, ...more }));
    expect(problems(of({}), { low: 10 })).toEqual([]);
    expect(problems(of({}), { low: 11 })).toEqual([`spec does not satisfy the rule ${rule}`]);
    expect(problems(of({ message: 'too high' }), { low: 11 })).toEqual(['spec is not valid: too high']);
    expect(problems(of({ message: 'too high', fieldPath: '.low' }), { low: 11 })).toEqual([
      'spec.low is not valid: too high',
    ]);
    const messageExpression = "'more than ' + string(self.high)";
    expect(problems(of({ message: 'a', messageExpression }), { low: 11 })).toEqual([
      'spec is not valid: more than 10',
    ]);
    expect(problems(of({}), { low: 1, names: ['x', 'a-b'] })).toEqual([
      "spec.names[1] does not satisfy the rule self != 'a-b'",
    ]);
    expect(problems(of({}), {})).toEqual([expect.stringContaining('not found: low')]);
    const escaped = inSpec(properties, rules({ rule: "self.full__dash__name == 'a'" }));
    expect(problems(escaped, { 'full-name': 'a' })).toEqual([]);
  });

  it('skips rules about the value before, and rules that it cannot read', () => {
    const of = inSpec(
      { a: { type: 'string' } },
      rules({ rule: 'self.a == oldSelf.a' }, { rule: 'sets.contains([1], [1])' }),
    );
    expect(problems(of, { a: 'b' })).toEqual([]);
  });

  it('is not checked if its rules cost too much', () => {
    const items = { type: 'integer' };
    const rule = 'self.a.all(x, self.a.all(y, self.a.all(z, x + y + z >= 0)))';
    const of = inSpec({ a: { type: 'array', items } }, rules({ rule }));
    expect(problems(of, { a: Array.from({ length: 1_000 }, () => 1) })).toBeUndefined();
  });

  it('drops nulls where Kubernetes does, before it looks for required fields', () => {
    const of = inSpec({ a: { type: 'string' }, b: { type: 'string', nullable: true } }, { required: ['b'] });
    expect(problems(of, { a: null, b: null })).toEqual([]);
    expect(problems(inSpec({ a: { type: 'string' } }, { required: ['a'] }), { a: null })).toHaveLength(1);
  });

  it('does not treat inherited names as fields', () => {
    const spec = JSON.parse('{"__proto__": {"a": 1}, "constructor": 1}') as JsonObject;
    expect(problems(inSpec({ a: { type: 'string' } }), spec)).toHaveLength(2);
  });
});
