import { spawnSync } from 'node:child_process';
import type { JsonObject, JsonValue } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { load, YAML11_SCHEMA } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { NASTY_STRINGS } from '../testing/nasty-strings.js';
import { isWritable, toYaml, toYamlItem } from './to-yaml.js';

/** kubectl reads with sigs.k8s.io/yaml, as Go programs around Kubernetes do; `patch --local` asks no server. */
function kubectl(yaml: string) {
  return spawnSync('kubectl', ['patch', '--local', '--type', 'merge', '-p', '{}', '-o', 'json', '-f', '-'], {
    input: yaml,
    encoding: 'utf8',
    maxBuffer: 1e8,
    env: { ...process.env, KUBECONFIG: '/dev/null' },
  });
}

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

const READERS: Record<string, (yaml: string) => unknown> = {
  'yaml, 1.2': (text) => parse(text, { maxAliasCount: 0 }),
  'yaml, 1.1': (text) => parse(text, { version: '1.1', maxAliasCount: 0 }),
  'js-yaml': (text) => load(text, { maxDepth: 2_000 }),
  'js-yaml, 1.1': (text) => load(text, { schema: YAML11_SCHEMA, maxDepth: 2_000 }),
};

function createEntry(key: string, value: JsonValue): JsonObject {
  return Object.fromEntries([[key, value]]);
}

/** Compares own fields, `__proto__` among them. */
function same(actual: unknown, expected: unknown): void {
  expect(JSON.stringify(actual)).toBe(JSON.stringify(expected));
}

describe.each(Object.entries(READERS))('read by %s', (_, read) => {
  it.each(NASTY_STRINGS.map((text) => [text]))('%j survives a round trip', (text) => {
    same(read(toYaml(text)), text);
    same(read(toYaml({ a: text, b: [text, [text, 'x']] })), { a: text, b: [text, [text, 'x']] });
    same(read(toYaml(createEntry(text, text))), createEntry(text, text));
    same(read(toYaml(createEntry(text, [1]))), createEntry(text, [1]));
    same(read(toYaml([{ a: { b: 1 } }, createEntry(text, { a: text }), text])), [
      { a: { b: 1 } },
      createEntry(text, { a: text }),
      text,
    ]);
  });

  it('numbers survive a round trip', () => {
    const numbers = [
      0,
      1,
      -1,
      0.1,
      -0.5,
      1e21,
      1.5e21,
      -1e21,
      1e-7,
      1.25e-9,
      5e-324,
      1.7976931348623157e308,
      1e20,
      2 ** 53,
      2 ** 63,
      2 ** 64,
      123456789012,
    ];
    same(read(toYaml(numbers)), numbers);
    for (const number of numbers) same(read(toYaml({ number })), { number });
  });

  it('deep nesting survives a round trip', () => {
    let value: JsonValue = 'a\nb';
    for (let depth = 0; depth < 60; depth++) value = depth % 3 === 0 ? [1, value, 2] : { a: value, b: [] };
    same(read(toYaml(value)), value);
  });

  it('seeded random values survive a round trip', () => {
    for (let seed = 0; seed < 400; seed++) {
      const value = randomValue(new Random(seed), 0);
      same(read(toYaml(value)), value);
    }
  });
});

describe('read by kubectl', () => {
  const config = (data: JsonObject) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'nasty' },
    data,
  });
  const skip = hasKubectl ? undefined : 'kubectl is not on PATH';

  it('strings survive a round trip in a ConfigMap', ({ skip: skipTest }) => {
    if (skip !== undefined) skipTest(skip);
    const data = Object.fromEntries(NASTY_STRINGS.map((text, index) => [`key-${index}`, text]));
    const { stdout, stderr } = kubectl(toYaml(config(data)));
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(config(data));
  });

  it('keys survive a round trip, also long ones', ({ skip: skipTest }) => {
    if (skip !== undefined) skipTest(skip);
    const data = Object.fromEntries(NASTY_STRINGS.map((text) => [text, 'value']));
    const { stdout, stderr } = kubectl(toYaml(config(data)));
    expect(stderr).toBe('');
    expect(new Map(Object.entries(JSON.parse(stdout).data))).toEqual(new Map(Object.entries(data)));
  });

  it('seeded random values survive a round trip', ({ skip: skipTest }) => {
    if (skip !== undefined) skipTest(skip);
    for (let seed = 0; seed < 40; seed++) {
      const random = new Random(seed);
      const spec = Object.fromEntries(
        Array.from({ length: 10 }, (_, index) => [`v${index}`, randomValue(random, 0)]),
      );
      const document = { apiVersion: 'example.com/v1', kind: 'Anything', metadata: { name: 'nasty' }, spec };
      const { stdout, stderr } = kubectl(toYaml(document));
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toEqual(document);
    }
  });
});

describe('toYaml', () => {
  it('writes the same bytes as Kubernetes tools', () => {
    const value = {
      name: 'set-labels',
      version: '1.0',
      text: 'one\n  two\n',
      chomped: 'one\ntwo',
      list: [{ a: 1, b: [true, null] }, ['x', ['y']], [], {}],
      $ref: 'a: b',
      empty: '',
    };
    expect(toYaml(value)).toBe(`name: set-labels
version: "1.0"
text: |
  one
    two
chomped: |-
  one
  two
list:
- a: 1
  b:
  - true
  - null
- - x
  - - "y"
- []
- {}
"$ref": "a: b"
empty: ""
`);
  });

  it('quotes strings with trailing whitespace or line breaks', () => {
    expect(toYaml({ a: 'b \nc', d: 'e\n\n' })).toBe('a: "b \\nc"\nd: "e\\n\\n"\n');
  });

  it('writes an item at an indentation', () => {
    expect(toYamlItem({ a: [1], b: 'x\ny' }, 2)).toBe('  - a:\n    - 1\n    b: |-\n      x\n      y\n');
  });

  it('escapes invisible characters', () => {
    expect(toYaml('a\u202eb\u001b[31m\u200b')).toBe('"a\\u202eb\\u001b[31m\\u200b"\n');
  });

  it('never writes a bare CR or a document marker', () => {
    for (const text of NASTY_STRINGS) {
      const yaml = toYaml({ [text]: text, list: [text] });
      expect(yaml).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]/);
      expect(yaml).not.toMatch(/^(---|\.\.\.|%)/m);
      expect(yaml.endsWith('\n')).toBe(true);
    }
  });

  it('rejects values that some parsers cannot represent', () => {
    for (const text of ['\ud800', 'a\udc00b', '\udc00\ud800', 'a\n\ud83d']) {
      expect(isWritable(text)).toBe(false);
      expect(() => toYaml(text)).toThrow(TypeError);
      expect(() => toYaml({ a: [text] })).toThrow(/surrogate/);
      expect(() => toYaml(createEntry(text, 1))).toThrow(TypeError);
    }
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => toYaml([number])).toThrow(TypeError);
  });

  it('writes large integers as floats', () => {
    expect(toYaml([2 ** 53 - 1, 2 ** 53, -(2 ** 63), 1e20])).toBe(
      '- 9007199254740991\n- 9.007199254740992e+15\n- -9.223372036854776e+18\n- 1.0e+20\n',
    );
  });

  it('writes negative zero as JSON does', () => {
    expect(toYaml({ a: -0 })).toBe('a: 0\n');
  });

  it('handles deeper nesting than the parser accepts', () => {
    let value: JsonValue = 'x';
    for (let depth = 0; depth < 1_000; depth++) value = [value];
    expect(toYaml(value)).toBe(`${'- '.repeat(1_000)}x\n`);
  });
});

const PIECES = [
  ...'aZ09 -:#?|>&*!%@`"\'\\[]{},=~<.\n\t\r\u0085\u2028éא日',
  ': ',
  ' #',
  '😀',
  '\n\n',
  '  ',
  '---',
  'yes',
  '1e3',
];

function randomText(random: Random): string {
  if (random.chance(0.1)) return random.pick(NASTY_STRINGS.filter((text) => text.length < 100));
  return Array.from({ length: random.below(8) }, () => random.pick(PIECES)).join('');
}

function randomValue(random: Random, depth: number): JsonValue {
  const kind = random.below(depth > 5 ? 6 : 10);
  if (kind < 3) return randomText(random);
  if (kind === 3) return random.chance(0.5);
  if (kind === 4) return null;
  if (kind === 5)
    return random.chance(0.5) ? random.below(1e9) - 5e8 : random.next() * 10 ** (random.below(40) - 20);
  const length = random.below(4);
  if (kind < 8) return Array.from({ length }, () => randomValue(random, depth + 1));
  // A reader may name an integer-like key before the others, as JavaScript objects do, so none is made.
  return Object.fromEntries(
    Array.from({ length }, () => [`k${randomText(random)}`, randomValue(random, depth + 1)] as const),
  );
}
