import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import type { CheckedDefinition } from './check-config.js';
import { acceptsField, usedFields } from './used-fields.js';

const definition = (openAPIV3Schema: JsonObject): CheckedDefinition => ({
  group: 'example.com',
  names: { kind: 'SetLabels' },
  versions: [{ name: 'v1', schema: { openAPIV3Schema } }],
});
const string = { type: 'string' };
const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    labels: { type: 'object', additionalProperties: string },
    selector: { type: 'boolean' },
    'odd name': string,
    items: {
      type: 'array',
      items: { type: 'object', properties: { name: string, tags: { type: 'array', items: string } } },
    },
    any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
  allOf: [{ properties: { more: { properties: { inner: string } } } }],
};

const fields = (config: JsonObject, max = 100) =>
  usedFields(definition(SCHEMA), 'v1', { apiVersion: 'example.com/v1', kind: 'SetLabels', ...config }, max);

describe('usedFields', () => {
  it('has declared names, and no text of the user', () => {
    const config = {
      metadata: { name: 'secret' },
      labels: { secret: 'secret' },
      selector: true,
      'odd name': 'secret',
      items: [{ name: 'secret' }, { tags: ['secret'], secret: 'secret' }],
      any: { secret: { secret: 'secret' } },
      more: { inner: 'secret' },
      secret: { secret: 1 },
    };
    const found = fields(config);
    expect(found).toEqual([
      ...['*', 'any', 'any.*', 'items', 'items[*].*', 'items[*].name', 'items[*].tags', 'labels', 'labels.*'],
      ...['more', 'more.inner', 'selector'],
    ]);
    expect(fields(config, 3)).toHaveLength(3);
  });

  it('has only names of the schema, whatever the functionConfig is', () => {
    const random = new Random(3);
    const value = (depth: number): JsonValue => {
      const kind = random.below(depth > 3 ? 2 : 5);
      if (kind === 0) return 'SECRET';
      if (kind === 1) return null;
      if (kind === 2) return [value(depth + 1), value(depth + 1)];
      const names = ['labels', 'items', 'any', 'more', 'name', 'tags', 'SECRET', '__proto__', 'constructor'];
      return Object.fromEntries(random.some(names, 0.4).map((name) => [name, value(depth + 1)]));
    };
    for (let count = 0; count < 300; count++) {
      const config = Object.fromEntries(
        ['labels', 'items', 'any', 'more', 'SECRET', '__proto__'].map((name) => [name, value(0)]),
      );
      const found = fields(config);
      expect(found.join()).not.toMatch(/SECRET|__proto__|constructor/);
      const accepted = definition({ ...SCHEMA, 'x-kubernetes-preserve-unknown-fields': true });
      for (const field of found.filter((one) => !/(?:items|labels|more)\b.*\.\*/.test(one)))
        expect(acceptsField(accepted, 'v1', field), field).toBe(true);
    }
  });
});

describe('acceptsField', () => {
  const { selector: _, ...rest } = SCHEMA.properties as JsonObject;
  const without = definition({ ...SCHEMA, properties: rest });

  it.each([
    ['selector', false],
    ['labels', true],
    ['labels.*', true],
    ['items[*].name', true],
    ['items[*].names', false],
    ['any.*', true],
    ['more.inner', true],
    ['more.other', false],
    ['other', false],
  ])('knows what a schema still has: %s', (field, expected) => {
    expect(acceptsField(without, 'v1', field)).toBe(expected);
  });
});
