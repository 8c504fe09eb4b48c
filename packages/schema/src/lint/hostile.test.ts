import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import type { Draft } from '../dialects/draft.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { runRules } from './rule.js';
import { RULES } from './rules.js';

/** `npm test` has a fourth of the pairs of keywords, and the campaign all of them. */
const isFullSize = process.env.KRMHUB_TEST_FULL_SIZE !== undefined;

function found(spec: JsonObject): Diagnostic[] {
  const draft: Draft = { file: '', spec, locate: (path) => ({ path }) };
  return runRules(RULES, draft, 'registry');
}
const withSchema = (schema: JsonValue): JsonObject => ({
  versions: [{ schema: { openAPIV3Schema: schema } }],
});
const codes = (spec: JsonObject): Set<string> => new Set(found(spec).map(({ code }) => code));

/** Of processor time: how long it takes depends on what else runs. */
function seconds(work: () => void): number {
  const start = process.cpuUsage();
  work();
  return process.cpuUsage(start).user / 1_000_000;
}

function nested(depth: number, make: (inner: JsonObject) => JsonObject): JsonObject {
  let schema: JsonObject = { type: 'string', default: 'x' };
  for (let level = 0; level < depth; level++) schema = make(schema);
  return schema;
}

function properties(count: number, make: (index: number) => JsonObject): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, make(index)]));
}

describe('hostile definitions', () => {
  it('patterns that backtrack are matched in linear time', () => {
    const schema = { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(9_000)}!` };
    expect(
      seconds(() =>
        expect(codes(withSchema({ type: 'object', properties: { a: schema } }))).toContain('schema/default'),
      ),
    ).toBeLessThan(5);
  });

  it('stops at many slow patterns', () => {
    const schema = {
      type: 'object',
      properties: properties(2_000, (index) => ({ type: 'string', pattern: `a{0,999}${index}` })),
    };
    expect(seconds(() => expect(codes(withSchema(schema))).toContain('schema/pattern-cost'))).toBeLessThan(
      10,
    );
  });

  const many = (count: number, make: (index: number) => JsonValue) =>
    Array.from({ length: count }, (_, index) => make(index));
  const emptyItems = many(20_000, () => ({}));
  it.each<[string, string, JsonObject]>([
    [
      'required fields for each of many items',
      'schema/default-unchecked',
      {
        items: { type: 'object', properties: { a: {} }, required: many(20_000, () => 'a') },
        default: emptyItems,
      },
    ],
    [
      'an enum for each of many items',
      'schema/default-unchecked',
      { items: { enum: many(20_000, (index) => `n${index}`) }, default: many(20_000, () => 'a') },
    ],
    [
      'keys for each of many items',
      'schema/list-type',
      {
        items: { type: 'object', properties: { a: { type: 'string', default: 'b' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': many(20_000, () => 'a'),
        default: emptyItems,
      },
    ],
  ])('stops at %s', (_name, code, list) => {
    const schema = { type: 'object', properties: { a: { type: 'array', ...list } } };
    expect(seconds(() => expect(codes(withSchema(schema))).toContain(code))).toBeLessThan(5);
  });

  it('reads a duration in linear time', () => {
    const schema = { type: 'string', format: 'duration', default: '1'.repeat(100_000) };
    expect(
      seconds(() =>
        expect(codes(withSchema({ type: 'object', properties: { a: schema } }))).toContain('schema/default'),
      ),
    ).toBeLessThan(2);
  });

  it.each(['constructor', 'toString', '__proto__'])('ignores the format %s of a number', (format) => {
    const schema = { type: 'object', properties: { a: { type: 'integer', format, default: 1 } } };
    expect(codes(withSchema(schema))).not.toContain('schema/default');
  });

  it('10,000 fields with defaults', () => {
    const schema = {
      type: 'object',
      properties: properties(10_000, (index) => ({
        type: 'array',
        items: { type: 'integer' },
        default: Array.from({ length: 30 }, () => index),
      })),
    };
    expect(
      seconds(() => expect(codes(withSchema(schema))).toContain('schema/default-unchecked')),
    ).toBeLessThan(10);
  });

  it('reports and skips parts above the limit', () => {
    const schema = {
      type: 'object',
      properties: properties(21_000, () => ({ type: 'string', description: 'x' })),
    };
    expect(seconds(() => expect(codes(withSchema(schema))).toContain('schema/too-large'))).toBeLessThan(10);
    schema.properties = properties(19_000, () => ({ type: 'string', description: 'x' }));
    expect(codes(withSchema(schema))).not.toContain('schema/too-large');
  });

  it('limits depth with a default at every level', () => {
    const deep = nested(500, (inner) => ({ type: 'object', properties: { a: inner }, default: { a: {} } }));
    expect(seconds(() => found(withSchema(deep)))).toBeLessThan(10);
    const branches = nested(30, (inner) => ({
      allOf: [inner],
      anyOf: [{ required: ['a'] }],
      not: { required: ['b'] },
    }));
    expect(seconds(() => found(withSchema(branches)))).toBeLessThan(10);
  });

  it('limits many API versions with nested defaults', () => {
    const items = { type: 'array', items: { type: 'integer' } };
    const value = { b: Array.from({ length: 100 }, () => 1) };
    const deep = nested(30, (inner) => ({
      type: 'object',
      properties: { a: inner, b: items },
      default: value,
    }));
    const versions = Array.from({ length: 100 }, () => ({ schema: { openAPIV3Schema: deep } }));
    expect(seconds(() => expect(codes({ versions })).toContain('schema/default-unchecked'))).toBeLessThan(15);
  });

  it('reports thousands of problems up to a limit', () => {
    const schema = { type: 'object', properties: properties(10_000, () => ({ type: 'bool', wrong: 1 })) };
    expect(found(withSchema(schema)).length).toBeLessThanOrEqual(2_000);
    expect(codes(withSchema(schema))).toContain('schema/unknown-type');
  });

  it('does not treat inherited property names as fields', () => {
    const spec = JSON.parse(
      '{"constructor": {}, "toString": "x", "__proto__": {"group": "a.b"}, "names": {"constructor": {"kind": "A"}}}',
    ) as JsonObject;
    const told = found(spec);
    expect(told.filter(({ code }) => code === 'shape/unknown-field').map(({ path }) => path)).toEqual([
      'constructor',
      'toString',
      '__proto__',
      'names.constructor',
    ]);
    expect(told.filter(({ code }) => code === 'shape/missing-field').map(({ path }) => path)).toContain(
      'group',
    );
    const schema = JSON.parse(
      '{"type": "object", "required": ["constructor", "valueOf"], "properties": {"__proto__": {"type": "string", "default": 1}, "hasOwnProperty": {"type": "string", "default": 1}}}',
    ) as JsonObject;
    expect([...codes(withSchema(schema))]).toEqual(
      expect.arrayContaining(['schema/prototype-name', 'schema/required-undeclared', 'schema/default']),
    );
  });

  it('never throws for values of any type', () => {
    const odd: JsonValue[] = [
      null,
      true,
      0,
      '',
      'x',
      [],
      [null],
      {},
      { a: null },
      [[{}]],
      'javascript:x',
      '((((',
      '[',
      '\u0000',
    ];
    const fields = ['group', 'names', 'description', 'publisher', 'versions', 'home', 'tags', 'maintainers'];
    const versionFields = [
      'name',
      'schema',
      'idempotent',
      'runtime',
      'usage',
      'examples',
      'license',
      'maintainers',
    ];
    const keywords = [
      'type',
      'properties',
      'items',
      'required',
      'enum',
      'default',
      'allOf',
      'not',
      'pattern',
      'additionalProperties',
      'minimum',
      'x-kubernetes-list-type',
      'x-kubernetes-list-map-keys',
      'x-kubernetes-preserve-unknown-fields',
      '$ref',
      'nullable',
      'format',
    ];
    for (const [at, value] of odd.entries()) {
      for (const field of fields) expect(() => found({ [field]: value })).not.toThrow();
      for (const field of versionFields)
        expect(() => found({ versions: [{ [field]: value }] })).not.toThrow();
      for (const field of ['container', 'exec', 'starlark']) {
        expect(() => found({ versions: [{ runtime: { [field]: value } }] })).not.toThrow();
        expect(() =>
          found({ versions: [{ runtime: { [field]: { platforms: value, image: value } } }] }),
        ).not.toThrow();
      }
      for (const [first, one] of keywords.entries()) {
        for (const [second, two] of keywords.entries()) {
          if (!isFullSize && (at + first + second) % 4 !== 0) continue;
          const inner = { [one]: value, [two]: 'x', default: { a: 1 }, type: 'object' };
          expect(() =>
            found(withSchema({ [one]: value, properties: { a: inner }, items: inner })),
          ).not.toThrow();
        }
      }
    }
  });

  it('escapes control characters in messages', () => {
    const told = found({ group: '\u001b[2J\u202e\ud800', names: { kind: '\u0007\n' }, '\u001b]0;x': 1 });
    expect(told.length).toBeGreaterThan(3);
    for (const { message, hint = '' } of told)
      expect(message + hint).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  });
});
