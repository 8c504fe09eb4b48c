import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { KrmhubError } from '../diagnostics/error.js';
import type { FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import { runRules } from '../lint/rule.js';
import { shape } from '../lint/shape.js';
import { functionDefinition, functionVersion } from '../testing/functions.js';
import { definitionSpecJsonSchema } from './definition.js';
import { functionConfigSchema, toJsonSchema } from './function-config.js';

const definition = (openAPIV3Schema: JsonObject): FunctionDefinition =>
  functionDefinition({
    group: 'fn.acme.example',
    versions: [functionVersion('v1', { schema: { openAPIV3Schema } })],
  });

const config = (more: JsonObject): JsonObject => ({
  apiVersion: 'fn.acme.example/v1',
  kind: 'SetLabels',
  metadata: { name: 'x', annotations: { 'config.kubernetes.io/local-config': 'true' } },
  ...more,
});

/** As an editor would: strict about the schema itself. */
const accepts = (schema: JsonObject, value: JsonValue): boolean => validator(schema)(value);

function validator(schema: JsonObject): (value: JsonValue) => boolean {
  const ajv = new Ajv({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    validateFormats: false,
    ownProperties: true,
  });
  const validate = ajv.compile(schema);
  return (value) => validate(value) as boolean;
}

describe('the JSON Schema of a definition', () => {
  it('accepts complete definitions, and rejects others', () => {
    const good = definition({ type: 'object' });
    expect(accepts(definitionSpecJsonSchema, good as unknown as JsonValue)).toBe(true);
    expect(accepts(definitionSpecJsonSchema, { ...good, names: {} } as unknown as JsonValue)).toBe(false);
  });

  it('agrees with the shape rule about missing, unknown, and mistyped fields', () => {
    const odd: (JsonValue | undefined)[] = [undefined, null, 1, true, '', 'x', [], ['x'], {}, { a: 1 }];
    const walk = (path: string[], target: JsonObject): string[][] =>
      Object.entries(target).flatMap(([key, value]) => {
        const at = [...path, key];
        const inner = typeof value === 'object' && value !== null && key !== 'openAPIV3Schema';
        return [at, ...(inner ? walk(at, value as JsonObject) : [])];
      });
    const base = definition({ type: 'object' }) as unknown as JsonObject;
    // Patterns and the number of runtimes are other rules'.
    const withoutPatterns = JSON.stringify(definitionSpecJsonSchema, (key, one) =>
      key === 'pattern' || key === 'minProperties' ? undefined : one,
    );
    const isAccepted = validator(JSON.parse(withoutPatterns) as JsonObject);
    let compared = 0;
    for (const path of [
      ...walk([], base),
      ['extra'],
      ['names', 'plural'],
      ['versions', '0', 'runtime', 'exec'],
    ]) {
      for (const value of odd) {
        const spec = structuredClone(base);
        let parent = spec as Record<string, JsonValue>;
        for (const step of path.slice(0, -1)) parent = parent[step] as Record<string, JsonValue>;
        if (value === undefined) delete parent[path.at(-1)!];
        else parent[path.at(-1)!] = value;
        const told = runRules([shape], { file: '', spec, locate: (at) => ({ path: at }) }, 'registry');
        expect(told.length === 0, `${path.join('.')} = ${JSON.stringify(value)}`).toBe(isAccepted(spec));
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(100);
  });
});

describe('functionConfigSchema', () => {
  const schema = functionConfigSchema(
    definition({
      type: 'object',
      required: ['labels', 'mode'],
      properties: {
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        mode: { type: 'string', enum: ['a', 'b'], default: 'a' },
        size: { type: 'integer', minimum: 0, exclusiveMinimum: true, example: 3 },
        port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        note: { type: 'string', nullable: true, oneOf: [{ minLength: 2 }, { maxLength: 0 }] },
        free: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { a: { type: 'string' } },
        },
        closed: {
          type: 'object',
          properties: { a: { type: 'string' } },
          anyOf: [{ properties: { a: { minLength: 1 } } }],
        },
        time: { type: 'string', format: 'duration' },
      },
    }),
    'v1',
  );
  const labels = { labels: { a: 'b' } };

  it('fixes apiVersion and kind, and leaves metadata open', () => {
    expect(accepts(schema, config(labels))).toBe(true);
    expect(accepts(schema, { ...config(labels), kind: 'SetLabel' })).toBe(false);
    expect(accepts(schema, { ...config(labels), apiVersion: 'fn.acme.example/v2' })).toBe(false);
    expect(schema).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'SetLabels (fn.acme.example/v1)',
    });
  });

  it.each<[string, JsonObject, boolean]>([
    ['a required field is missing', {}, false],
    ['a required field with a default is missing', labels, true],
    ['a misspelled field', { ...labels, mod: 'a' }, false],
    ['an exclusive bound, met', { ...labels, size: 1 }, true],
    ['an exclusive bound, not met', { ...labels, size: 0 }, false],
    ['int-or-string with an integer', { ...labels, port: 80 }, true],
    ['int-or-string with a string', { ...labels, port: '80%' }, true],
    ['int-or-string with neither', { ...labels, port: true }, false],
    ['null where it is nullable', { ...labels, note: null }, true],
    ['oneOf beside nullable', { ...labels, note: 'x' }, false],
    ['null where it is not nullable', { ...labels, mode: null }, false],
    ['an unknown field where they are preserved', { ...labels, free: { b: 1 } }, true],
    ['an unknown field of a closed object', { ...labels, closed: { b: 1 } }, false],
    ['a branch is not closed', { ...labels, closed: { a: 'x' } }, true],
  ])('%s', (_name, fields, valid) => {
    expect(accepts(schema, config(fields))).toBe(valid);
  });

  it('omits keywords that editors do not support', () => {
    const text = JSON.stringify(schema);
    expect(text).not.toMatch(/x-kubernetes|nullable|"example"|duration/);
    expect(text).toContain('"examples":[3]');
  });

  it('omits patterns that editors cannot compile', () => {
    const converted = toJsonSchema({ properties: { a: { pattern: '(?i)a' }, b: { pattern: '^b$' } } });
    expect(converted.properties).toEqual({ a: {}, b: { pattern: '^b$' } });
  });

  it('lists the known API versions in the error', () => {
    expect(() => functionConfigSchema(definition({ type: 'object' }), 'v9')).toThrow(KrmhubError);
  });

  it('returns a valid schema for an invalid schema', () => {
    const odd: JsonValue[] = [
      null,
      true,
      0,
      -1,
      1.5,
      '',
      'x',
      [],
      [null, 1, 'x', {}],
      {},
      { a: 1 },
      { a: { type: 'bool' } },
    ];
    const keywords = [
      'type',
      'properties',
      'items',
      'required',
      'enum',
      'default',
      'allOf',
      'anyOf',
      'not',
      'pattern',
      'additionalProperties',
      'minimum',
      'exclusiveMinimum',
      'multipleOf',
      'minLength',
      'nullable',
      'format',
      'description',
      'example',
      '$ref',
      'const',
      'if',
    ];
    const metaschema = new Ajv().getSchema('http://json-schema.org/draft-07/schema#')!;
    for (const one of keywords) {
      for (const value of odd) {
        for (const two of keywords) {
          const hostile: JsonObject = { [two]: 'x', nullable: true, [one]: value };
          const converted = toJsonSchema({ ...hostile, properties: { a: hostile } });
          expect(metaschema(converted), JSON.stringify(hostile)).toBe(true);
        }
      }
    }
    expect(metaschema(functionConfigSchema(definition({ nullable: true, type: 'array' }), 'v1'))).toBe(true);
  });

  it('handles very deep schemas, and omits names of Object.prototype', () => {
    let deep: JsonObject = { type: 'string' };
    for (let level = 0; level < 10_000; level++) deep = { type: 'object', properties: { a: deep } };
    expect(() => JSON.stringify(toJsonSchema(deep))).not.toThrow();
    const hostile = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"a":{"type":"string"}}}',
    );
    expect(Object.keys(toJsonSchema(hostile).properties as JsonObject)).toEqual(['a']);
  });
});

interface Row {
  name: string;
  schema: JsonObject;
  valid: JsonValue[] | null;
  invalid: { object: JsonValue }[] | null;
  needsCEL: boolean;
}
/** Draft-07 has no such formats, and one schema cannot be read at all. */
const OTHER_FORMATS = new Set(['k8sLongName', 'k8sShortName', 'numeric formats invalid', 'invalid regex']);
const file = fileURLToPath(
  new URL('../../../../../shared/data/schema/instance/validate-custom-resource.json', import.meta.url),
);

describe.skipIf(!existsSync(file))(
  'the Kubernetes table of valid and invalid objects (skipped if shared/data is missing)',
  () => {
    const rows = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Row[]) : [];
    it.each(
      rows
        .filter(({ name, needsCEL }) => !needsCEL && !OTHER_FORMATS.has(name))
        .map((row) => [row.name, row] as const),
    )('%s', (_name, row) => {
      const schema = toJsonSchema(row.schema);
      for (const object of row.valid ?? [])
        expect(accepts(schema, object), JSON.stringify(object)).toBe(true);
      for (const { object } of row.invalid ?? [])
        expect(accepts(schema, object), JSON.stringify(object)).toBe(false);
    });
  },
);
