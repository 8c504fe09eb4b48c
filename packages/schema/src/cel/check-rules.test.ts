import { describe, expect, it } from 'vitest';
import { celRules, checkRules, uncheckedRule } from './check-rules.js';
import { escapedName, readFieldPath } from './schema-values.js';

describe('uncheckedRule', () => {
  it.each([
    ['self.a == 1', undefined],
    ['self.a == oldSelf.a', undefined],
    ['self.a == ', 'syntax error after character 7'],
    ['sets.union(self.a, [1]) == []', 'unknown variable sets'],
    ['self.?a.orValue(1) == 1', 'optional values, such as `a.?b`, are not supported'],
  ])('%s: %s', (rule, reason) => {
    expect(uncheckedRule({ rule })).toBe(reason);
  });
});

describe('checkRules', () => {
  it('ignores rules without an expression, and values that are null', () => {
    const schema = { type: 'object', nullable: true, 'x-kubernetes-validations': [{ message: 'a' }, 1] };
    expect(celRules(schema)).toEqual([]);
    const strict = { ...schema, 'x-kubernetes-validations': [{ rule: 'false' }] };
    expect(checkRules(strict, null)).toEqual([]);
    expect(checkRules(strict, {})).toEqual([
      { at: [], isKey: false, message: 'does not satisfy the rule false' },
    ]);
  });
});

describe('names in expressions', () => {
  it.each([
    ['a-b.c/d', 'a__dash__b__dot__c__slash__d'],
    ['a__b', 'a__underscores__b'],
    ['namespace', '__namespace__'],
    ['plain', 'plain'],
  ])('%s is %s', (name, escaped) => {
    expect(escapedName(name)).toBe(escaped);
  });

  it('reads the path of a field', () => {
    expect(readFieldPath(".spec.a['b.c'][0]")).toEqual(['spec', 'a', 'b.c', 0]);
  });
});
