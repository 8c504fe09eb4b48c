import { describe, expect, it } from 'vitest';
import { KrmhubError } from '../diagnostics/error.js';
import type { FunctionDefinition, JsonObject } from '../documents/definition.js';
import { functionDefinition, functionVersion } from '../testing/functions.js';
import { type ConfigField, describeConfig } from './describe.js';
import { exampleConfig } from './example.js';
import { FURTHER_RULES } from './rules.js';

const createDefinition = (openAPIV3Schema: JsonObject): FunctionDefinition =>
  functionDefinition({
    group: 'fn.acme.example',
    versions: [functionVersion('v1', { schema: { openAPIV3Schema } })],
  });

const ofSpec = (spec: JsonObject): JsonObject => ({ type: 'object', properties: { spec } });
const described = (schema: JsonObject) => describeConfig(createDefinition(schema), 'v1');
const example = (schema: JsonObject) => exampleConfig(createDefinition(schema), 'v1');

/** The one field of a schema with one field, called `x`. */
function readField(schema: JsonObject, required = false): ConfigField {
  const { fields } = described({
    type: 'object',
    ...(required ? { required: ['x'] } : {}),
    properties: { x: schema },
  });
  expect(fields).toHaveLength(1);
  return fields[0]!;
}

/** Each rule as the reader sees it: the words, and the text after them. */
const said = (field: Pick<ConfigField, 'rules'>): string[] =>
  field.rules.map(({ text: words, values, more }) =>
    [words, ...values, ...(more > 0 ? [`+${more}`] : [])].join(' '),
  );

function everyField(fields: readonly ConfigField[]): ConfigField[] {
  return fields.flatMap((field) => [field, ...everyField(field.fields)]);
}

describe('describeConfig', () => {
  it('describes each type in words', () => {
    const types: [JsonObject, string][] = [
      [{ type: 'string' }, 'string'],
      [{ type: 'array', items: { type: 'string' } }, 'list of string'],
      [{ type: 'array', items: { type: 'array', items: { type: 'number' } } }, 'list of list of number'],
      [{ type: 'object', additionalProperties: { type: 'integer' } }, 'map of <key>: integer'],
      [{ type: 'object', additionalProperties: true }, 'map of <key>: any'],
      [{ type: 'object', properties: { a: { type: 'string' } } }, 'object'],
      [{ properties: { a: { type: 'string' } } }, 'object'],
      [
        { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        'integer or string',
      ],
      [{ anyOf: [{ type: 'boolean' }, { type: 'string' }] }, 'boolean or string'],
      [{ 'x-kubernetes-preserve-unknown-fields': true }, 'any'],
      [{}, 'any'],
      [{ type: 'array' }, 'list'],
    ];
    for (const [schema, words] of types) {
      expect(readField(schema)).toMatchObject({ type: words });
      expect(said(readField(schema))).not.toContain(FURTHER_RULES);
    }
  });

  it('lists required fields first, with one exact path per field', () => {
    const { fields } = described(
      ofSpec({
        type: 'object',
        required: ['ports', 'a.b'],
        properties: {
          note: { type: 'string' },
          'a.b': { type: 'string' },
          a: { type: 'object', properties: { b: { type: 'string' } } },
          ports: {
            type: 'array',
            items: {
              type: 'object',
              required: ['number'],
              properties: { name: {}, number: { type: 'integer' } },
            },
          },
          labels: { type: 'object', additionalProperties: { type: 'object', properties: { value: {} } } },
          '<key>': { type: 'object', properties: { value: {} } },
          '': { type: 'string' },
        },
      }),
    );
    expect(everyField(fields).map(({ path }) => path)).toEqual([
      'spec',
      'spec["a.b"]',
      'spec.ports',
      'spec.ports[].number',
      'spec.ports[].name',
      'spec.note',
      'spec.a',
      'spec.a.b',
      'spec.labels',
      'spec.labels.<key>.value',
      'spec["<key>"]',
      'spec["<key>"].value',
      'spec[""]',
    ]);
    expect(
      everyField(fields)
        .filter(({ required }) => required)
        .map(({ name }) => name),
    ).toEqual(['a.b', 'ports', 'number']);
  });

  it('lists every restriction of a value', () => {
    expect(said(readField({ type: 'integer', minimum: 1, maximum: 9, multipleOf: 2 }))).toEqual([
      'from 1 to 9',
      'a multiple of 2',
    ]);
    expect(said(readField({ type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1 }))).toEqual([
      'more than 0',
      'at most 1',
    ]);
    expect(
      said(readField({ type: 'string', minLength: 1, maxLength: 63, pattern: '^"a"$', format: 'hostname' })),
    ).toEqual(['format hostname', 'matches ^"a"$', '1 to 63 characters']);
    expect(said(readField({ type: 'string', enum: ['a', 'true', ''] }))).toEqual(['one of a "true" ""']);
    expect(said(readField({ type: 'string', enum: ['a'] }))).toEqual(['always a']);
    expect(said(readField({ type: 'array', items: {}, minItems: 1, maxItems: 1 }))).toEqual([
      'exactly 1 item',
    ]);
    expect(said(readField({ type: 'object', additionalProperties: true, maxProperties: 3 }))).toEqual([
      'at most 3 fields',
    ]);
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    expect(said(readField(open))).toEqual(['any fields']);
    expect(said(readField({ ...open, properties: { a: {} } }))).toEqual(['any other fields']);
    expect(
      said(readField({ type: 'string', enum: Array.from({ length: 50 }, (_, index) => `v${index}`) }))[0],
    ).toMatch(/ v39 \+10$/);
  });

  it('lists the rules for items of lists and maps', () => {
    const field = readField({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a', 'b'],
      items: {
        type: 'object',
        description: 'One of them.',
        additionalProperties: { type: 'string', maxLength: 3, nullable: true, default: 'x' },
      },
    });
    expect(said(field)).toEqual(['list of type map: items are identified by a b']);
    expect(field.elements.map((element) => [element.label, element.description, said(element)])).toEqual([
      ['each item', 'One of them.', []],
      ['each value of each item', undefined, ['default x', 'at most 3 characters', 'may be null']],
    ]);
  });

  it('lists defaults, null, deprecation, and examples', () => {
    expect(
      readField({
        type: 'boolean',
        default: false,
        nullable: true,
        description: 'Old.\n\nDeprecated: use y.',
      }),
    ).toMatchObject({
      default: 'false',
      nullable: true,
      deprecated: true,
    });
    expect(readField({ type: 'object', properties: { a: {} }, default: { a: ['x', 1] } }).default).toBe(
      '{"a": ["x", 1]}',
    );
    expect(said(readField({ type: 'string', example: 'yes' }))).toEqual(['for example "yes"']);
  });

  it('lists CEL rules with their messages', () => {
    const field = readField({
      type: 'object',
      properties: { a: {}, b: {} },
      'x-kubernetes-validations': [{ rule: 'has(self.a)', message: 'a is needed' }, { rule: 'self.b > 1' }],
    });
    expect(said(field)).toEqual(['a is needed has(self.a)', 'must satisfy self.b > 1']);
  });

  it('describes choices between required fields, and merges allOf', () => {
    const properties = { a: { type: 'string' }, b: {}, c: {} };
    const choices: [JsonObject, string][] = [
      [{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, 'exactly one of a b'],
      [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, 'at least one of a b'],
      [{ oneOf: [{ required: ['a', 'b'] }, { required: ['c'] }] }, 'exactly one of these sets a + b c'],
      [
        {
          oneOf: [
            { not: { anyOf: [{ required: ['a'] }, { required: ['b'] }] } },
            { required: ['a'] },
            { required: ['b'] },
          ],
        },
        'at most one of a b',
      ],
      [{ not: { required: ['a'] } }, 'without a'],
      [{ not: { required: ['a', 'b'] } }, 'never all of a b'],
    ];
    for (const [choice, words] of choices) {
      expect(said(readField({ type: 'object', properties, ...choice }))).toEqual([words]);
    }
    const merged = readField({
      type: 'object',
      properties,
      allOf: [{ required: ['c'] }, { properties: { a: { minLength: 2 } }, allOf: [{ minProperties: 1 }] }],
    });
    expect(said(merged)).toEqual(['at least 1 field']);
    expect(merged.fields.map((field) => [field.name, field.required, said(field)])).toEqual([
      ['c', true, []],
      ['a', false, ['at least 2 characters']],
      ['b', false, []],
    ]);
  });

  it('reports that a schema has more rules than the tree', () => {
    const more: JsonObject[] = [
      { $ref: '#/definitions/x' },
      { type: 'string', anyOf: [{ pattern: 'a' }, { enum: ['b'] }] },
      { type: 'object', patternProperties: { a: {} } },
      { type: 'string', const: 'a' },
      { type: 'string', minLength: 'one' },
      { not: { oneOf: [{}] } },
      { 'x-kubernetes-validations': ['self'] },
      { allOf: ['no schema'] },
    ];
    for (const schema of more) expect(said(readField(schema))).toContain(FURTHER_RULES);
    expect(said(readField({ type: 'bool' }))).toEqual(['has a type that OpenAPI does not define: bool']);
    expect(said(described({ properties: { kind: { enum: ['Other'] } } }))).toEqual([FURTHER_RULES]);
    expect(said(readField({ type: 'string', 'x-vendor': 1, title: 'A title' }))).toEqual([]);
  });

  it('omits apiVersion, kind, and metadata', () => {
    const meta = { apiVersion: { type: 'string' }, kind: { type: 'string', description: 'boilerplate' } };
    expect(
      described({ properties: { ...meta, metadata: { type: 'object' } }, required: ['kind', 'metadata'] }),
    ).toMatchObject({
      apiVersion: 'fn.acme.example/v1',
      kind: 'SetLabels',
      fields: [],
      rules: [],
      complete: true,
    });
    const named = { metadata: { type: 'object', properties: { name: { type: 'string', pattern: 'x' } } } };
    expect(described({ properties: named }).fields[0]!.fields[0]!.path).toBe('metadata.name');
  });

  it('accepts field names of Object.prototype', () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "integer"}}');
    const { fields } = described(ofSpec({ type: 'object', properties, required: ['toString', '__proto__'] }));
    expect(fields[0]!.fields.map(({ name, type }) => [name, type])).toEqual([
      ['__proto__', 'string'],
      ['constructor', 'integer'],
    ]);
    expect(said(fields[0]!)).toEqual(['must have toString']);
  });

  it('rejects an unknown API version, and lists the known ones', () => {
    expect(() => describeConfig(createDefinition({}), 'v2')).toThrowError(KrmhubError);
    expect(() => exampleConfig(createDefinition({}), 'v2')).toThrowError(/has no version v2/);
  });
});

describe('exampleConfig', () => {
  it('uses defaults, then examples, then enums, then placeholders', () => {
    const { value, check } = example(
      ofSpec({
        type: 'object',
        required: ['mode', 'port', 'host', 'items', 'labels', 'when'],
        properties: {
          mode: { type: 'string', enum: ['fast', 'slow'] },
          port: { type: 'integer', minimum: 1024 },
          host: { type: 'string', pattern: '^[a-z]+\\.example\\.com$|^v[0-9]+$' },
          items: { type: 'array', minItems: 2, items: { type: 'number', multipleOf: 0.5 } },
          labels: { type: 'object', additionalProperties: { type: 'string' } },
          when: { type: 'string', format: 'date' },
          left: { type: 'string' },
          fallback: { type: 'string', default: 'given', example: 'other' },
          shown: { type: 'boolean', example: false },
        },
      }),
    );
    expect(check).toBe('valid');
    expect(value).toEqual({
      apiVersion: 'fn.acme.example/v1',
      kind: 'SetLabels',
      metadata: { name: 'set-labels' },
      spec: {
        mode: 'fast',
        port: 1024,
        host: 'v1',
        items: [1, 1],
        labels: { key: 'example' },
        when: '2024-01-31',
        fallback: 'given',
        shown: false,
      },
    });
  });

  it('satisfies choices, allOf, and bounds', () => {
    const schemas: JsonObject[] = [
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: {} },
        oneOf: [{ required: ['b'] }, { required: ['a'] }],
      },
      {
        type: 'object',
        properties: { a: { type: 'number' } },
        allOf: [{ required: ['a'], properties: { a: { minimum: 7 } } }],
      },
      { type: 'integer', minimum: -9, maximum: -3, exclusiveMaximum: true },
      { type: 'integer', minimum: 3, multipleOf: 5 },
      { type: 'string', minLength: 30, maxLength: 31 },
      { type: 'string', maxLength: 2 },
      { type: 'object', additionalProperties: { type: 'string' }, minProperties: 3 },
      { type: 'object', properties: { a: {}, b: {} }, minProperties: 2 },
      { type: 'string', nullable: true, enum: [null, 'x'] },
      { 'x-kubernetes-int-or-string': true },
      { type: 'object', required: ['free'], additionalProperties: { type: 'boolean' } },
    ];
    for (const schema of schemas) {
      const { check, problem } = example({ type: 'object', required: ['x'], properties: { x: schema } });
      expect({ schema, check, problem }).toEqual({ schema, check: 'valid', problem: undefined });
    }
  });

  it('includes some optional fields if no field is required', () => {
    expect(example({ properties: { a: { type: 'string' }, b: { type: 'string' } } }).value).toMatchObject({
      a: 'example',
      b: 'example',
    });
    const sparing = example({ properties: { a: { type: 'string', pattern: '^unlikely[0-9]{7}$' } } });
    expect(sparing).toMatchObject({ check: 'valid' });
    expect(sparing.value).not.toHaveProperty('a');
  });

  it('reports the problem of an example that cannot be valid', () => {
    const schema = { required: ['a'], properties: { a: { type: 'string', pattern: '^unlikely[0-9]{7}$' } } };
    expect(example(schema)).toMatchObject({
      check: 'invalid',
      problem: 'a must match pattern "^unlikely[0-9]{7}$"',
    });
  });

  it('reports rules that the check ignores', () => {
    expect(example({ properties: { a: { type: 'string' } } }).partial).toBe(false);
    const spec = { type: 'object', 'x-kubernetes-validations': [{ rule: 'false' }] };
    expect(example(ofSpec(spec))).toMatchObject({ check: 'valid', partial: true });
  });

  it('does not use field names of Object.prototype', () => {
    const properties = JSON.parse(
      '{"__proto__": {"default": {"polluted": true}}, "constructor": {"default": 1}, "a": {"default": 1}}',
    );
    const { value, check } = example({ type: 'object', properties });
    expect(check).toBe('valid');
    expect(Object.keys(value)).toEqual(['apiVersion', 'kind', 'metadata', 'a']);
    expect((value as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('a hostile schema', () => {
  const wide = (count: number, inner: JsonObject): JsonObject => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, inner])),
  });
  const deep = (levels: number, around: (inner: JsonObject) => JsonObject): JsonObject => {
    let schema: JsonObject = { type: 'string' };
    for (let level = 0; level < levels; level++) schema = around(schema);
    return schema;
  };
  const long = 'x'.repeat(1_000_000);
  const schemas: Record<string, JsonObject> = {
    'many fields': wide(2_000, { type: 'string', description: 'y'.repeat(400) }),
    'many fields in many fields': wide(200, wide(200, { type: 'string' })),
    'deep objects': deep(60, (inner) => ({ type: 'object', required: ['a'], properties: { a: inner } })),
    'deep lists': deep(60, (items) => ({ type: 'array', items })),
    'deep maps': deep(60, (values) => ({ type: 'object', additionalProperties: values })),
    'deep allOf': deep(12, (inner) => ({ allOf: [inner, inner] })),
    'wide allOf': { type: 'object', allOf: Array.from({ length: 5_000 }, () => wide(3, { minLength: 1 })) },
    'many choices': {
      type: 'object',
      oneOf: Array.from({ length: 20_000 }, (_, i) => ({ required: [`n${i}`] })),
    },
    'a long name': ofSpec({
      type: 'object',
      properties: { [long]: wide(3, { type: 'string' }) },
      required: [long],
    }),
    'long texts': wide(3, { type: 'string', description: long, default: long, enum: [long], pattern: long }),
    'a long default': wide(2, {
      type: 'array',
      items: {},
      default: Array.from({ length: 200_000 }, () => 1),
    }),
    'huge minima': wide(20, { type: 'array', minItems: 1e9, items: { type: 'string', minLength: 1e9 } }),
    'required by the thousand': {
      type: 'object',
      required: Array.from({ length: 50_000 }, (_, i) => `r${i}`),
    },
    'costly patterns': wide(50, {
      type: 'string',
      pattern: '(((a{1,30}){1,30}){1,30}b',
      default: 'a'.repeat(1_500),
    }),
  };

  it.each(Object.keys(schemas))('is bounded: %s', (name) => {
    const definition = createDefinition(schemas[name]!);
    const before = process.cpuUsage();
    const description = describeConfig(definition, 'v1');
    const made = exampleConfig(definition, 'v1');
    expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
    const fields = everyField(description.fields);
    expect(new Set(fields.map(({ path }) => path)).size).toBe(fields.length);
    expect(fields.length).toBeLessThanOrEqual(400);
    expect(JSON.stringify(description).length).toBeLessThan(600_000);
    expect(JSON.stringify(made).length).toBeLessThan(100_000);
  });

  it('reports what it omits', () => {
    const inner = wide(700, {});
    expect(described({ properties: { a: inner, b: { type: 'string' } } })).toMatchObject({ complete: false });
    const { fields } = described({ properties: { a: inner, b: { type: 'string' } } });
    expect(fields.map(({ name, omitted }) => [name, omitted])).toEqual([
      ['a', 302],
      ['b', 0],
    ]);
    expect(described(wide(1, { type: 'string', description: long })).complete).toBe(false);
  });
});
