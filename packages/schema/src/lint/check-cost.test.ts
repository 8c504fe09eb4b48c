import { describe, expect, it } from 'vitest';
import { checkCost } from './check-cost.js';

const cost = (text: string) => checkCost(new TextEncoder().encode(text));
const NAME = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';

describe('checkCost', () => {
  it.each([
    ['a definition without expressions', 'description: It does this.\n', 0],
    ['a description that has the word', 'description: a pattern and a rule\n', 0],
    ['patterns', `a: {pattern: '${NAME}'}\nb: {pattern: 'a{100}'}\n`, 109],
    ['a pattern that is no text', 'pattern: {type: string}\n', 0],
    ['a CEL rule', 'x-kubernetes-validations: [{rule: self == 1}]\n', 90],
    ['an escaped key', '"patt\\u0065rn": a{100}\n', 100],
    ['an escaped key in JSON', '{"\\u0070attern": "a{100}"}', 100],
    ['a key on two lines', '? "pat\\\n  tern"\n: a{100}\n', 100],
    ['an alias', 'a: &a a{100}\nb: [{pattern: *a}, {pattern: *a}]\n', 200],
    ['the texts of defaults that are matched', 'pattern: a{100}\ndefault: {a: [aaaaa, {b: aaaaa}]}\n', 120],
    ['a file that is no YAML', 'rule: [\n', Number.POSITIVE_INFINITY],
  ])('counts %s', (_name, text, expected) => {
    expect(cost(text)).toBe(expected);
  });

  it('reads UTF-16', () => {
    expect(checkCost(Buffer.from('\ufeffpattern: a{100}\n', 'utf16le'))).toBeGreaterThan(0);
  });
});
