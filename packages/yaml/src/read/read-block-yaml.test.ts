import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { YAML_LIMITS } from '../limits.js';
import { mutateText } from '../testing/mutate-text.js';
import { Random } from '../testing/random.js';
import { openText } from './open-text.js';
import { locateInBlockYaml, readBlockYaml } from './read-block-yaml.js';
import { parseText } from './read-yaml.js';
import { findForbiddenCharacter, SourceText } from './source.js';

const bytes = (text: string) => new TextEncoder().encode(text);
/** Reads the text as text of any other style. */
const parse = (text: string) => parseText(openText(bytes(text), { file: 'f.yaml' }, 'maxSourceBytes'));
const block = (text: string) => readBlockYaml(text, YAML_LIMITS);

const TEXT = `# A comment: "first"

---
# Another one
apiVersion: v1  # not the value
kind:   Catalog
"quoted key": "a \\"b\\" \\\\ \\n \\u00e9 é # ' : - "
metadata: # a mapping

  name: some text, with (parts); a=b:c
     # with more indentation
  labels: {} #
spec:
# with less
  list:
  # before items
  - group: banana.co
    names:
      kind: Split
    tags:
    - one
    - "2"
    - 3 # an item

    - null
    versions: []
  - text: |
      first # no comment
        second

      - third: 3

    # after a block
    more: |-
      one: "
      two


  indented:
    - true
    - false
    - |
      item
  number: 2.5
  negative: -12
  zero: 0
  digest: sha256-0f
  hex: ${'0f'.repeat(32)}
  url: https://banana.co/a_b/c.html
end: |  # of the text
  last

# A comment
`;

describe('block style', () => {
  it('is read as any other style', () => {
    const { documents, diagnostics } = parse(TEXT);
    expect(diagnostics).toEqual([]);
    expect(documents.map(({ value }) => value)).toEqual([block(TEXT)]);
  });

  it.each([
    ['nothing', ''],
    ['no line end', 'a: b'],
    ['a comment without a line end', 'a: b\n# c'],
    ['only comments', '# c\n\n# d\n'],
    ['a second document', 'a: b\n---\nc: d\n'],
    ['a document start with content', '--- a: b\n'],
    ['a comment right after a value', 'a: "b"# c\n'],
    ['a hash in a value', 'a: b#c\n'],
    ['a hash before a value', 'a: #b\n'],
    ['a comment before a scalar', 'a:\n  # c\n  b\n'],
    ['a literal block after a comment', 'a: |\n  b\n# c\n  d\n'],
    ['a directive after a comment', '# c\n%YAML 1.2\n---\na: b\n'],
    ['a scalar', 'a\n'],
    ['a sequence', '- a\n'],
    ['an indented document', '  a: b\n'],
    ['an empty value', 'a:\nb: c\n'],
    ['an empty value at the end', 'a:\n'],
    ['an empty item', 'a:\n-\n'],
    ['a sequence in an item', 'a:\n- - b\n'],
    ['a duplicate key', 'a: b\na: c\n'],
    ['a duplicate key in quotes', 'a: b\n"a": c\n'],
    ['a prototype key', '"__proto__": b\n'],
    ['a merge key', 'a:\n  <<: b\n'],
    ['a key that is a boolean', 'yes: b\n'],
    ['a key that is a number', '1: b\n'],
    ['a long key', `${'a'.repeat(300)}: b\n`],
    ['a scalar of several lines', 'a: b\n  c\n'],
    ['a quoted scalar of several lines', 'a: "b\n  c"\n'],
    ['text after a quoted scalar', 'a: "b" c\n'],
    ['a single-quoted scalar', "a: 'b'\n"],
    ['a mapping in a scalar', 'a: b: c\n'],
    ['a scalar that ends in a colon', 'a: b:\n'],
    ['an ambiguous word', 'a: yes\n'],
    ['a boolean in capitals', 'a: True\n'],
    ['an octal number', 'a: 010\n'],
    ['a negative zero', 'a: -0\n'],
    ['a large number', 'a: 9007199254740993\n'],
    ['an exponent', 'a: 1.0e+3\n'],
    ['a number of 64 digits', `a: ${'12'.repeat(32)}\n`],
    ['a number with an exponent of many digits', `a: 1e${'12'.repeat(31)}\n`],
    ['a date', 'a: 2001-01-01\n'],
    ['an anchor', 'a: &b c\n'],
    ['a tag', 'a: !b c\n'],
    ['a flow collection', 'a: [b]\n'],
    ['an unknown escape', 'a: "\\x41"\n'],
    ['half a surrogate pair', 'a: "\\ud83d"\n'],
    ['a tab', 'a:\tb\n'],
    ['a carriage return', 'a: b\r\n'],
    ['a folded block', 'a: >\n  b\n'],
    ['the indentation of a literal block', 'a: |2\n  b\n'],
    ['an empty literal block', 'a: |\nb: c\n'],
    ['an empty line before a literal block', 'a: |\n\n  b\n'],
    ['a line of spaces in a literal block', 'a: |\n  b\n    \n  c\n'],
    ['a line of spaces after a literal block', 'a: |\n  b\n \n   # c\n'],
    ['a less indented literal block', 'a:\n  b: |\n  c\n'],
    ['less indentation than before', 'a:\n    b: c\n  d: e\n'],
    ['more indentation than before', 'a:\n  b: c\n    d: e\n'],
    ['a key after an item', 'a:\n  - b\n  c: d\n'],
  ])('is not %s', (_, text) => {
    expect(block(text)).toBeUndefined();
  });

  it('has no more levels and keys than the limits allow', () => {
    const nested = (levels: number) =>
      Array.from({ length: levels }, (_, at) => `${' '.repeat(at)}a:${at === levels - 1 ? ' b' : ''}\n`).join(
        '',
      );
    expect(block(nested(YAML_LIMITS.maxDepth - 1))).toBeDefined();
    expect(block(nested(1_000))).toBeUndefined();
    const keys = (count: number) => Array.from({ length: count }, (_, at) => `a${at}: b\n`).join('');
    expect(block(keys(YAML_LIMITS.maxMappingKeys))).toBeDefined();
    expect(block(keys(YAML_LIMITS.maxMappingKeys + 1))).toBeUndefined();
  });
});

const STARTS = [
  ...['', 'a: b\n', 'c:\n', 'c:\n- e\n', 'h: |\n  x\n', 'c:\n  d: |-\n    y\n', '# z\n---\n'],
  ...['c:\n  - e\n  - f: g\n', 'c:\n- |\n  z\n'],
];
const INDENTATIONS = [0, 0, 0, 2, 2, 2, 2, 4, 4, 1, 3, 6];
const LINES = [
  ...[
    'a1: b',
    'c1:',
    'd1: 1',
    '- e',
    '- f1: g',
    '# c',
    '#',
    '',
    '- |',
    'h1: |',
    'i: |-',
    'j: "k" # c',
    '|',
    'x',
  ],
  ...[
    'l: m  # n',
    'o: p#q',
    '- # c',
    'r: # s',
    '---',
    '...',
    '- - t',
    'u: []',
    'v: {} # w',
    '"y": z',
    'k: a:b',
  ],
  ...[
    '"#": "#"',
    '- ',
    '-',
    'k2: |  # lit',
    'k3:  |-',
    'k4: >',
    '- null # x',
    'text',
    '# - a',
    '  # b',
    'k5:   v  ',
  ],
  ...[
    '" ": 1',
    'é: 1',
    'k6: é',
    'k7: "é" # é',
    'k8: 0x1',
    'k9: ~',
    "m1: 'a'",
    'm2: a\u00a0# b',
    'm3: -1 # c',
  ],
];
const ENDS = ['\n', '\n', '\n', '', '\n\n', '\n  ', '\n#', '\n# c\n'];

it('reads lines in any order as both parsers do, with the same positions, or not at all', () => {
  const random = new Random(20_240);
  let accepted = 0;
  for (let at = 0; at < 60_000; at++) {
    const lines = Array.from(
      { length: 1 + random.below(6) },
      () => ' '.repeat(random.pick(INDENTATIONS)) + random.pick(LINES),
    );
    const text = random.pick(STARTS) + lines.join('\n') + random.pick(ENDS);
    const value = block(text);
    if (value === undefined) continue;
    accepted += 1;
    const { documents, diagnostics } = parse(text);
    expect([text, diagnostics]).toEqual([text, []]);
    expect([text, documents.map((document) => document.value)]).toEqual([text, [value]]);
    expect([text, load(text)]).toEqual([text, value]);
    const source = new SourceText(text);
    for (const key of Object.keys(value)) {
      for (const target of ['key', 'value'] as const) {
        const found = locateInBlockYaml(text, YAML_LIMITS, [key], target);
        if (found === undefined) continue;
        const expected = documents[0]!.locate([key], target);
        expect([text, key, target, source.range(...found)]).toEqual([text, key, target, expected]);
      }
    }
  }
  expect(accepted).toBeGreaterThan(2_000);
}, 120_000);

/** Text that changes what the text around it means. */
const PIECES = [
  ...[
    '"',
    "'",
    ':',
    ': ',
    '- ',
    '-',
    ' #',
    '#',
    '|',
    '>',
    '|2\n',
    '|-\n',
    '[',
    ']',
    '{',
    '}',
    ',',
    '? ',
    '[]',
  ],
  ...['# c\n', '\n# c\n', '\n    # c\n', ' # c', '\n   \n', '\n---\n'],
  ...['\n', '\n\n', ' ', '  ', '\\', '@', '`', '%', '---\n', '...\n', '~', 'null', '-0', '1e3', '.5', '0x1F'],
  ...[
    '\u2028',
    '\u0085',
    '\u00a0',
    '😀',
    '\n  - a\n',
    '\nx: y\n',
    '<<',
    ' :',
    "''",
    '""',
    '"a"b',
    'é',
    '&a ',
  ],
  ...[
    'true',
    '0',
    '1',
    '.',
    'yes',
    'y: ',
    '- - ',
    '\\u0041',
    '\\ud83d',
    '\\x41',
    '\n    ',
    'a: b\n',
    '* ',
    '!',
  ],
];

it('never accepts what the parser refuses or reads differently', () => {
  const random = new Random(20_240);
  let accepted = 0;
  for (let at = 0; at < 4_000; at++) {
    // Half an emoji cannot be encoded.
    const text = new TextDecoder().decode(bytes(mutateText(random, TEXT, PIECES)));
    const value = block(text);
    // Such text is refused before.
    if (value === undefined || findForbiddenCharacter(text) !== undefined) continue;
    accepted += 1;
    const { documents, diagnostics } = parse(text);
    expect([text, diagnostics]).toEqual([text, []]);
    expect([text, documents.map((document) => document.value)]).toEqual([text, [value]]);
  }
  expect(accepted).toBeGreaterThan(500);
}, 120_000);
