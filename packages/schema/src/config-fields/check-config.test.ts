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
    [{ labels: {}, replicas: 'x' }, 'spec.replicas', 'must be integer'],
    [{ labels: {}, mode: 'slow' }, 'spec.mode', 'must be one of fast, safe'],
    [{ labels: {}, ports: [{ port: 1 }, { port: 'a' }] }, 'spec.ports[1].port', 'must be integer'],
    [{ labels: {}, lables: {} }, 'spec', 'has the unknown field "lables"'],
  ])('with %j has the problem %j %j', (spec, path, message) => {
    const found = check(spec);
    expect(found.result === 'checked' && found.problems).toContainEqual({ path, message });
  });

  it('of another kind has a problem', () => {
    expect(check({ labels: {} }, { kind: 'Other' })).toMatchObject({ problems: [{ path: 'kind' }] });
  });

  it('that is too large is not checked', () => {
    const labels = Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`a${at}`, 'b']));
    expect(check({ labels })).toEqual({ result: 'unchecked' });
  });
});
