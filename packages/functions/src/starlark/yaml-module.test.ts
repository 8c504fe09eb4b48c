import { compile, parse, run, type Value } from '@krmhub/starlark';
import { describe, expect, it } from 'vitest';
import { FUNCTION_DIALECT } from './dialect.js';
import { YAML } from './yaml-module.js';

/** Returns what a script prints. */
function printed(script: string): string {
  const lines: string[] = [];
  const predeclared = new Map<string, Value>([['yaml', YAML]]);
  const program = compile(parse(script, { file: 'a.star' }), {
    predeclared: ['yaml'],
    dialect: FUNCTION_DIALECT,
  });
  run(program, { predeclared, load: () => new Map(), print: (line) => lines.push(line) });
  return lines.join('\n');
}

const decoded = (text: string) => printed(`print(yaml.decode(${JSON.stringify(text)}))`);

describe('the module yaml', () => {
  it.each([
    ['5', '5'],
    ['', 'None'],
    ['a: 1\na: 2\n', '{"a": 2}'],
    ['a: &x {b: [1, "2", no]}\nc: *x\n', '{"a": {"b": [1, "2", "no"]}, "c": {"b": [1, "2", "no"]}}'],
    ['a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n', '{"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}}'],
    ["a: 'b\n\n'\nc: d\n", '{"a": "b\\n", "c": "d"}'],
    ['__proto__: {polluted: true}\n', '{"__proto__": {"polluted": True}}'],
    [
      'a: !!str 1\nb: !!binary "aGk="\nc: !custom 2\nd: !!float 3\n',
      '{"a": "1", "b": "aGk=", "c": "2", "d": 3.0}',
    ],
  ])('decodes %j', (text, value) => expect(decoded(text)).toBe(value));

  it('decodes several documents, without those that are empty', () => {
    expect(
      printed('print(yaml.decode_all("---\\n---\\na: 1\\n---\\n# nothing\\n---\\nnull\\n---\\n- 2\\n"))'),
    ).toBe('[{"a": 1}, [2]]');
  });

  it('encodes text in quotes unless every reader takes it for text', () => {
    expect(
      printed(
        'print(yaml.encode({"kind": "Pod", "image": "nginx:1", "a": ["1", "y", "No", "true", "~", ".5", "x y", ""], "n": 1, "t": "a\\nb\\n", "e": [{}, [], [[1], {"b": None}]]}))',
      ),
    ).toBe(
      'kind: Pod\nimage: "nginx:1"\na:\n- "1"\n- "y"\n- "No"\n- "true"\n- "~"\n- ".5"\n- "x y"\n- ""\n"n": 1\nt: |\n  a\n  b\ne:\n- {}\n- []\n- - - 1\n  - b: null\n',
    );
    expect(printed('print(yaml.encode_all([{"a": 1}, "b"]))')).toBe('a: 1\n---\nb\n');
  });

  it.each([
    ['syntax', 'a: [1\n', /yaml\.decode: cannot read the text: line \d+: /],
    ['several documents', 'a: 1\n---\nb: 2\n', /it has 2 documents, expected one/],
    [
      'aliases that multiply',
      `a: &a [${'x,'.repeat(999)}x]\nb: &b [${'*a,'.repeat(99)}*a]\nc: [*b, *b]\n`,
      /more than 100000 values/,
    ],
    ['an alias inside its anchor', 'a: &a [*a]\n', /the alias \*a is inside its own anchor/],
    ['depth', '['.repeat(10_001), /depth|nest/],
    ['a key that is a list', '? [a]\n: b\n', /a key is a collection/],
  ])('refuses %s', (_, text, message) => expect(() => decoded(text)).toThrow(message));

  it('refuses many documents whose aliases multiply', () => {
    const one = `a: &a [${'x,'.repeat(999)}x]\nb: [${'*a,'.repeat(90)}*a]\n---\n`;
    expect(() => printed(`print(len(yaml.decode_all(${JSON.stringify(one)} * 40)))`)).toThrow(
      /more than 3000000 values/,
    );
  });
});
