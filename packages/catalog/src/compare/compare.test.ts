import type { FunctionDefinition, FunctionVersion, JsonObject } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { COMPATIBILITY_RULES, type CompatibilityRule, compareDefinitions } from './compare.js';

const withVersion = (overrides: Partial<FunctionVersion>, name = 'v1') =>
  functionDefinition({ versions: [functionVersion(name, overrides)] });
const withSchema = (schema: JsonObject) => withVersion({ schema: { openAPIV3Schema: schema } });
/** A functionConfig with one field. */
const withField = (field: JsonObject, more: JsonObject = {}) =>
  withSchema({ type: 'object', properties: { field }, ...more });
const withContainer = (container: object) =>
  withVersion({ runtime: { container: { image: 'registry.example.com/fn/labels:v1.0.0', ...container } } });
const platform = (overrides: object = {}) => ({
  bin: 'fn',
  os: 'linux' as const,
  arch: 'amd64' as const,
  uri: 'https://tools.example.com/v1/fn.tar.gz',
  sha256: 'a'.repeat(64),
  ...overrides,
});
const withScript = (starlark: string) => withVersion({ runtime: { starlark } });
const withPlatforms = (...platforms: ReturnType<typeof platform>[]) =>
  withVersion({ runtime: { exec: { platforms } } });

const preserve = { 'x-kubernetes-preserve-unknown-fields': true };
const intOrString = { 'x-kubernetes-int-or-string': true };
const text = { type: 'string' };
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const list = (more: JsonObject): JsonObject => ({ type: 'array', items: text, ...more });
/** Declares only what every functionConfig has. */
const declaredMetadata = object(
  { apiVersion: text, kind: text, metadata: object({ name: text }, { description: 'Words.' }) },
  { required: ['apiVersion', 'kind'], description: 'Words.', additionalProperties: true },
);
const [one, two] = [{ required: ['a'] }, { required: ['b'] }];

/** Two contents of one field, and the only rules that tell their difference. */
const fields: [before: JsonObject, after: JsonObject, ...rules: CompatibilityRule[]][] = [
  [object({ a: text, b: text }), object({ a: text }), 'property-removed'],
  [object({ a: text }), object({ a: text, b: text }), 'property-added'],
  [object({ a: text }), object({ a: text, b: object({ c: text }, { required: ['c'] }) }), 'property-added'],
  [object({ a: text }, preserve), object({ a: text, b: text }, preserve), 'property-added-to-open'],
  [object({ a: text }), object({ a: text, b: { ...text, default: 'x' } }), 'property-added-with-default'],
  [object({ a: text }), object({ a: text, b: text }, { required: ['b'] }), 'required-property-added'],
  [
    object({ a: text }),
    object({ a: text, b: { ...text, default: 'x' } }, { required: ['b'] }),
    'required-property-added',
  ],
  [object({ a: text }), object({ a: text }, { required: ['a'] }), 'property-required'],
  [object({ a: text }, { required: ['a'] }), object({ a: text }), 'property-optional'],
  [text, { type: 'integer' }, 'type-changed'],
  [{ type: 'number' }, { type: 'integer' }, 'type-changed'],
  [intOrString, text, 'type-changed'],
  [text, {}, 'type-changed'],
  [text, { ...preserve, enum: ['a'] }, 'type-changed'],
  [{ type: 'integer' }, { type: 'number' }, 'integer-to-number'],
  [text, intOrString, 'int-or-string-allowed'],
  [
    { type: 'integer' },
    { ...intOrString, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    'int-or-string-allowed',
  ],
  [object({ a: text }), preserve, 'any-type-allowed'],
  [text, { ...text, enum: ['a'] }, 'enum-narrowed'],
  [{ ...text, enum: ['a', 'b'] }, { ...text, enum: ['b'] }, 'enum-narrowed'],
  [{ ...text, enum: ['a', 'b'] }, { ...text, enum: ['b', 'c'] }, 'enum-narrowed', 'enum-widened'],
  [{ ...text, enum: ['a'] }, { ...text, enum: ['b', 'a'] }, 'enum-widened'],
  [{ ...text, enum: ['a'] }, text, 'enum-widened'],
  [
    { ...text, enum: ['a', 'b'] },
    { ...text, enum: ['b', 'a'] },
  ],
  [text, { ...text, pattern: '^a' }, 'pattern-changed'],
  [{ ...text, pattern: '^b' }, { ...text, pattern: '^a' }, 'pattern-changed'],
  [{ ...text, pattern: '^b' }, text, 'pattern-dropped'],
  [text, { ...text, maxLength: 3 }, 'bound-tightened'],
  [{ ...text, maxLength: 4 }, { ...text, maxLength: 3 }, 'bound-tightened'],
  [{ ...text, minLength: 1 }, { ...text, minLength: 2 }, 'bound-tightened'],
  [list({}), list({ minItems: 1 }), 'bound-tightened'],
  [
    { type: 'integer', minimum: 1 },
    { type: 'integer', minimum: 1, exclusiveMinimum: true },
    'bound-tightened',
  ],
  [{ type: 'integer', maximum: 2 }, { type: 'integer', maximum: 1 }, 'bound-tightened'],
  [{ type: 'integer', multipleOf: 2 }, { type: 'integer', multipleOf: 4 }, 'bound-tightened'],
  [{ type: 'integer' }, { type: 'integer', multipleOf: 4 }, 'bound-tightened'],
  [{ type: 'number', multipleOf: 0.3 }, { type: 'number', multipleOf: 0.1 }, 'bound-loosened'],
  [{ type: 'integer', multipleOf: 4 }, { type: 'integer' }, 'bound-loosened'],
  [list({}), list({ minItems: 0 }), 'bound-loosened'],
  [text, { ...text, minLength: 0 }, 'bound-loosened'],
  [{ ...text, maxLength: 3 }, text, 'bound-loosened'],
  [
    { type: 'integer', maximum: 1, exclusiveMaximum: true },
    { type: 'integer', maximum: 1 },
    'bound-loosened',
  ],
  [{ type: 'integer', minimum: -1 }, { type: 'integer', minimum: -2 }, 'bound-loosened'],
  [{ type: 'integer' }, { type: 'integer', exclusiveMaximum: true }],
  [text, { ...text, format: 'uri' }, 'format-added'],
  [{ ...text, format: 'colour' }, { ...text, format: 'uri' }, 'format-added'],
  [text, { ...text, format: 'colour' }, 'unknown-format-added'],
  [{ ...text, format: 'uri' }, { ...text, format: 'colour' }, 'other-difference'],
  [{ ...text, nullable: true }, text, 'nullable-removed'],
  [{ ...text, nullable: false }, { ...text, nullable: true }, 'nullable-added'],
  [text, { ...text, default: 'a' }, 'default-added'],
  [{ ...text, default: 'a' }, { ...text, default: 'b' }, 'default-changed'],
  [{ ...text, default: 'a' }, text, 'default-changed'],
  [{ type: 'object' }, object({ a: text }), 'closed', 'property-added'],
  [{ type: 'object', additionalProperties: true }, { type: 'object', additionalProperties: text }, 'closed'],
  [{ type: 'object', additionalProperties: text }, { type: 'object', additionalProperties: false }, 'closed'],
  [object({ a: text }), object({ a: text }, { additionalProperties: true }), 'opened'],
  [object({ a: text }), object({ a: text }, preserve), 'opened'],
  [{ type: 'object', additionalProperties: text }, { type: 'object' }, 'opened'],
  [
    { type: 'object', additionalProperties: text },
    { type: 'object', additionalProperties: { type: 'boolean' } },
    'type-changed',
  ],
  [object({ a: text }, preserve), object({ a: text }), 'preserve-unknown-removed'],
  [preserve, text, 'preserve-unknown-removed'],
  [list({}), list({ 'x-kubernetes-list-type': 'set' }), 'list-type-changed'],
  [
    list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] }),
    list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['b'] }),
    'list-type-changed',
  ],
  [list({ 'x-kubernetes-list-type': 'set' }), list({}), 'list-made-atomic'],
  [object({ a: text }), object({ a: text }, { 'x-kubernetes-map-type': 'atomic' }), 'map-type-changed'],
  [
    object({ a: text }, preserve),
    object({ a: text }, { ...preserve, 'x-kubernetes-embedded-resource': true }),
    'embedded-resource-added',
  ],
  [text, { ...text, 'x-kubernetes-validations': [{ rule: 'self != ""' }] }, 'cel-rule-changed'],
  [
    { ...text, 'x-kubernetes-validations': [{ rule: 'true' }] },
    { ...text, 'x-kubernetes-validations': [{ rule: 'self != ""' }] },
    'cel-rule-changed',
  ],
  [{ ...text, 'x-kubernetes-validations': [{ rule: 'true' }] }, text, 'restriction-dropped'],
  [
    { ...text, 'x-kubernetes-validations': [{ rule: 'true' }] },
    { ...text, 'x-kubernetes-validations': [{ rule: 'true', message: 'other words' }] },
  ],
  [object({ a: text }), object({ a: text }, { allOf: [one] }), 'restriction-added'],
  [object({ a: text }), object({ a: text }, { not: one }), 'restriction-added'],
  [object({ a: text }), object({ a: text }, { anyOf: [one] }), 'restriction-added'],
  [object({ a: text }, { allOf: [one, two] }), object({ a: text }, { allOf: [two] }), 'restriction-dropped'],
  [object({ a: text }, { not: one }), object({ a: text }), 'restriction-dropped'],
  [object({ a: text }, { oneOf: [one] }), object({ a: text }), 'restriction-dropped'],
  [object({ a: text }, { anyOf: [one] }), object({ a: text }, { anyOf: [two, one] }), 'any-of-branch-added'],
  [object({ a: text }, { oneOf: [one] }), object({ a: text }, { oneOf: [one, two] }), 'one-of-branch-added'],
  [object({ a: text }, { oneOf: [one] }), object({ a: text }, { oneOf: [one, one] }), 'one-of-branch-added'],
  [object({ a: text }, { anyOf: [one, two] }), object({ a: text }, { anyOf: [one] }), 'branch-removed'],
  [object({ a: text }, { oneOf: [one, two] }), object({ a: text }, { oneOf: [one] }), 'branch-removed'],
  [text, { ...text, description: 'Words.' }, 'documentation-changed'],
  [list({}), list({ uniqueItems: true }), 'other-difference'],
  [list({}), list({ uniqueItems: false })],
  [text, { ...text, maxLength: null }],
  [text, { ...text, maxLength: 'many' }, 'other-difference'],
  [{ type: 'array' }, list({}), 'other-difference'],
  [list({}), { ...list({}), items: { type: 'integer' } }, 'type-changed'],
];

/** Two definitions, and the only rules that tell their difference. */
const definitions: [before: FunctionDefinition, after: FunctionDefinition, ...rules: CompatibilityRule[]][] =
  [
    [functionDefinition(), functionDefinition({ group: 'other.example.com' }), 'function-renamed'],
    [functionDefinition(), functionDefinition({ names: { kind: 'Label' } }), 'function-renamed'],
    [
      functionDefinition({ versions: [functionVersion('v1'), functionVersion('v1beta1')] }),
      functionDefinition(),
      'version-removed',
    ],
    [
      functionDefinition({ versions: [functionVersion('v1'), functionVersion('v1alpha1')] }),
      functionDefinition(),
      'alpha-version-removed',
    ],
    [
      functionDefinition(),
      functionDefinition({ versions: [functionVersion('v1'), functionVersion('v2')] }),
      'version-added',
    ],
    [functionDefinition(), functionDefinition({ tags: ['labels'] }), 'documentation-changed'],
    [functionDefinition(), functionDefinition({ publisher: 'Other Co' }), 'publisher-changed'],
    [functionDefinition(), withVersion({ license: 'MIT' }), 'license-changed'],
    [functionDefinition(), withVersion({ idempotent: false }), 'idempotent-removed'],
    [withVersion({ idempotent: false }), functionDefinition(), 'idempotent-added'],
    [functionDefinition(), withVersion({ configMap: true }), 'config-map-added'],
    [withVersion({ configMap: true }), withVersion({ configMap: false }), 'config-map-removed'],
    [withContainer({}), withContainer({ requireNetwork: true }), 'network-required'],
    [withContainer({}), withContainer({ requireStorageMount: true }), 'storage-required'],
    [withContainer({ requireNetwork: true }), withContainer({ requireNetwork: false }), 'capability-dropped'],
    [withContainer({}), withContainer({ image: 'other.example.com/fn/labels:v1.0.0' }), 'registry-changed'],
    [
      withContainer({}),
      withContainer({ image: 'registry.example.com/fn/other:v1.0.0' }),
      'repository-changed',
    ],
    [withContainer({}), withContainer({ image: 'registry.example.com/fn/labels:v1.1.0' }), 'image-changed'],
    [withContainer({ sha256: 'a'.repeat(64) }), withContainer({ sha256: 'b'.repeat(64) }), 'image-changed'],
    [withContainer({}), withContainer({ sha256: 'b'.repeat(64) }), 'digest-added'],
    [withContainer({ sha256: 'b'.repeat(64) }), withContainer({}), 'digest-removed'],
    [
      withContainer({ image: `registry.example.com/fn/labels:v1.0.0@sha256:${'b'.repeat(64)}` }),
      withContainer({ sha256: 'b'.repeat(64) }),
    ],
    [
      withContainer({ sha256: 'b'.repeat(64) }),
      withContainer({ image: 'registry.example.com/fn/labels:v1.1.0' }),
      'digest-removed',
      'image-changed',
    ],
    [
      withContainer({ sha256: 'b'.repeat(64) }),
      withContainer({ image: 'other.example.com/fn/labels:v1.1.0' }),
      'digest-removed',
      'registry-changed',
      'image-changed',
    ],
    [
      withScript(`oci://tools.example.com/fn@sha256:${'b'.repeat(64)}`),
      withScript('oci://tools.example.com/fn:v2'),
      'digest-removed',
      'download-changed',
    ],
    [withPlatforms(platform()), withPlatforms(platform({ sha256: undefined })), 'digest-removed'],
    [
      withPlatforms(platform()),
      withPlatforms(platform({ uri: 'https://tools.example.com/v2/fn.tar.gz', sha256: undefined })),
      'digest-removed',
      'download-changed',
    ],
    [withSchema({ type: 'object', ...preserve }), withSchema(object({ a: text })), 'schema-declared'],
    [withSchema(declaredMetadata), withSchema(object({ a: text }, { required: ['a'] })), 'schema-declared'],
    [withSchema(object({ a: text }, preserve)), withSchema(object({ a: text })), 'preserve-unknown-removed'],
    [
      withSchema({ type: 'object', required: ['a'] }),
      withSchema(object({ a: text })),
      'closed',
      'property-added',
      'property-optional',
    ],
    [withContainer({}), withPlatforms(platform()), 'runtime-changed', 'runtime-changed'],
    [withPlatforms(platform()), withPlatforms(platform(), platform({ os: 'darwin' })), 'platform-added'],
    [withPlatforms(platform(), platform({ os: 'darwin' })), withPlatforms(platform()), 'platform-removed'],
    [withPlatforms(platform()), withPlatforms(platform({ sha256: 'b'.repeat(64) })), 'download-changed'],
    [
      withPlatforms(platform()),
      withPlatforms(platform({ uri: 'https://other.example.com/v1/fn.tar.gz' })),
      'registry-changed',
    ],
    [
      withVersion({ runtime: { starlark: 'https://tools.example.com/v1/fn.star' } }),
      withVersion({ runtime: { starlark: 'https://tools.example.com/v2/fn.star' } }),
      'download-changed',
    ],
    ...['git::https://', 'git+https://', 'git::ssh://git@', 'https:/', 'oci://'].flatMap(
      (start): typeof definitions => [
        [
          withScript(`${start}tools.example.com/r.git//v1`),
          withScript(`${start}other.example.com/r.git//v1`),
          'registry-changed',
        ],
        [
          withScript(`${start}tools.example.com/r.git//v1`),
          withScript(`${start}tools.example.com/r.git//v2`),
          'download-changed',
        ],
      ],
    ),
    [
      withScript('https://tools.example.com/fn.star'),
      withScript('https://tools.example.com\\@other.example.com/fn.star'),
      'registry-changed',
    ],
  ];

function nested(depth: number, innermost: JsonObject = text): JsonObject {
  let schema = innermost;
  for (let level = 0; level < depth; level++) schema = list({ items: schema });
  return schema;
}

function rules(before: FunctionDefinition, after: FunctionDefinition): string[] {
  return compareDefinitions(before, after).map(({ rule }) => rule);
}

describe('the table of rules', () => {
  it.for(fields)('%j → %j', ([before, after, ...expected]) => {
    expect(rules(withField(before), withField(after)).sort()).toEqual([...expected].sort());
  });

  it.for(definitions.map((row, index) => [index, row] as const))(
    'compares definitions, row %i',
    ([, row]) => {
      const [before, after, ...expected] = row;
      expect(rules(before, after)).toEqual(expected);
    },
  );

  it('reports schemas that are too deep or too large to compare', () => {
    expect(rules(withField(nested(70)), withField(nested(70, { type: 'integer' })))).toEqual([
      'not-compared',
    ]);
    const wide = (type: string) =>
      Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`f${index}`, { type }]));
    const told = rules(withField(object(wide('string'))), withField(object(wide('integer'))));
    expect(told.filter((rule) => rule === 'not-compared')).toHaveLength(1);
    expect(told.length).toBeLessThanOrEqual(20_000);
  });

  it('has a row for every rule', () => {
    const covered = new Set<string>([...fields, ...definitions].flatMap(([, , ...expected]) => expected));
    covered.add('not-compared');
    expect(Object.keys(COMPATIBILITY_RULES).filter((rule) => !covered.has(rule))).toEqual([]);
  });
});

describe('compareDefinitions', () => {
  it('reports no change if only the order of fields differs', () => {
    const schema = object({ a: text, b: object({ c: text }) }, { required: ['a', 'b'] });
    const turned = { required: ['b', 'a'], properties: { b: object({ c: text }), a: text }, type: 'object' };
    expect(rules(withField(schema), withField(turned))).toEqual([]);
    expect(rules(functionDefinition(), functionDefinition())).toEqual([]);
  });

  it('treats the standard fields of a functionConfig as declared', () => {
    const plain = withField(text);
    const declared = withSchema(
      object(
        { apiVersion: text, kind: text, metadata: object({ name: text }), field: text },
        { required: ['apiVersion', 'kind'] },
      ),
    );
    expect(rules(plain, declared)).toEqual([]);
    expect(rules(declared, plain)).toEqual([]);
    const restricted = object({ metadata: object({ name: { ...text, maxLength: 5 } }), field: text });
    expect(rules(plain, withSchema(restricted))).toEqual(['bound-tightened']);
  });

  it('reports the field, API version, and position, with the most severe change first', () => {
    const before = withField(list({ items: object({ 'a.b': text, c: text }) }));
    const after = withField(list({ items: object({ 'a.b': { ...text, default: 'x', maxLength: 3 } }) }));
    const items = 'spec.versions[0].schema.openAPIV3Schema.properties.field.items';
    expect(compareDefinitions(before, after).map(({ at: _, ...change }) => change)).toEqual([
      {
        rule: 'property-removed',
        effect: 'breaking',
        version: 'v1',
        path: `${items}.properties`,
        message: 'field[*].c is removed',
      },
      {
        rule: 'bound-tightened',
        effect: 'breaking',
        version: 'v1',
        path: `${items}.properties["a.b"].maxLength`,
        message: 'field[*]["a.b"] has the maxLength 3',
      },
      {
        rule: 'default-added',
        effect: 'review',
        version: 'v1',
        path: `${items}.properties["a.b"].default`,
        message: 'field[*]["a.b"] now defaults to "x"',
      },
    ]);
  });

  it('compares the digests of an image when its tag changes', () => {
    const image = (tag: string, digest: string) =>
      withContainer({ image: `registry.example.com/fn/labels:${tag}`, sha256: digest.repeat(64) });
    const messages = (after: FunctionDefinition) =>
      compareDefinitions(image('v1', 'a'), after).map(({ message }) => message);
    expect(messages(image('v2', 'a'))).toEqual([
      'the image tag changed from v1 to v2, the digest is the same',
    ]);
    expect(messages(image('v2', 'b'))).toEqual(['the image tag changed from v1 to v2, the digest changed']);
    expect(compareDefinitions(image('v1', 'a'), withContainer({}))[0]).toMatchObject({
      rule: 'digest-removed',
      effect: 'review',
    });
  });

  it('compares the capabilities of a new API version with the previously preferred one', () => {
    const before = functionDefinition({ versions: [functionVersion('v1beta1'), functionVersion('v1')] });
    const container = { image: 'registry.example.com/functions/set-labels:v2.0.0', requireNetwork: true };
    const after = functionDefinition({
      versions: [...before.versions, functionVersion('v2', { license: 'MIT', runtime: { container } })],
    });
    expect(compareDefinitions(before, after).map(({ rule, version }) => `${version} ${rule}`)).toEqual([
      'v2 network-required',
      'v2 digest-removed',
      'v2 license-changed',
      'v2 version-added',
    ]);
  });

  it('compares inherited property names like other names', () => {
    const named = (name: string, schema: JsonObject) =>
      withField(
        JSON.parse(
          `{"type":"object","properties":{"a":{"type":"string"},${JSON.stringify(name)}:${JSON.stringify(schema)}}}`,
        ) as JsonObject,
      );
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(rules(withField(object({ a: text })), named(name, text))).toEqual(['property-added']);
      expect(rules(named(name, text), withField(object({ a: text })))).toEqual(['property-removed']);
      expect(rules(named(name, text), named(name, { type: 'integer' }))).toEqual(['type-changed']);
    }
  });

  it('compares hostile schemas in bounded time', () => {
    const branches = (salt: string) =>
      Array.from({ length: 20_000 }, (_, index) => ({ required: [`${salt}${index}`] }));
    const values = (salt: string) => Array.from({ length: 50_000 }, (_, index) => `${salt}${index}`);
    const hostile = (salt: string) =>
      withField(
        object({ a: { ...text, enum: values(salt) } }, { anyOf: branches(salt), required: values(salt) }),
      );
    const started = process.cpuUsage();
    expect(rules(hostile('a'), hostile('b')).length).toBeGreaterThan(100);
    expect(process.cpuUsage(started).user).toBeLessThan(25_000_000);
  });
});
