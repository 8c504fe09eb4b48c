import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../documents/definition.js';
import { checkConfig } from './check-config.js';

interface Case {
  schema?: JsonObject;
  rules?: JsonObject[];
  value: JsonObject;
  valid: boolean;
}
const file = new URL('../../../../test/fixtures/schemas/kubernetes-validation.json', import.meta.url);
const { properties, cases } = JSON.parse(readFileSync(file, 'utf8')) as {
  properties: JsonObject;
  cases: Case[];
};

function accepts({ schema, rules, value }: Case): boolean {
  const o = { type: 'object', properties, 'x-kubernetes-validations': rules ?? [] };
  const openAPIV3Schema: JsonObject = schema ?? { type: 'object', properties: { o } };
  const definition = {
    group: 'example.com',
    names: { kind: 'A' },
    versions: [{ name: 'v1', schema: { openAPIV3Schema } }],
  };
  const checked = checkConfig(definition, 'v1', { apiVersion: 'example.com/v1', kind: 'A', ...value });
  return checked.result === 'checked' && checked.problems.length === 0;
}

describe('a functionConfig', () => {
  it(`is accepted or refused as Kubernetes does: ${cases.length} cases`, () => {
    expect(cases.filter((one) => accepts(one) !== one.valid)).toEqual([]);
  });
});
