import { describe, expect, it } from 'vitest';
import { readResources } from '../resources.js';
import { editValues } from '../testing/edit-text.js';
import { editFile } from './edit-file.js';

type Values = Record<string, unknown>;

/** The text after a function that sets these fields, and loses all comments and styles. */
function set(text: string, values: Values): string {
  const edited = editValues(text, (all: Values) => Object.assign(all, values));
  expect(edited.notes).toEqual([]);
  return edited.text;
}

/** The text after a function that wrote its input so. */
function written(text: string, output: string, shown?: string): string {
  const [before] = readResources(text, '');
  const after = readResources(output, '')[0]!.node;
  const edit = { before: before!, after, ...(shown && { shown: readResources(shown, '')[0]!.node }) };
  return editFile({ text, documents: [edit] }).text;
}

describe('a new value', () => {
  it.each([
    ['four columns', 'a:\n    b: 1\n', { c: { d: { e: 1 } } }, 'c:\n    d:\n        e: 1\n'],
    ['lists of maps', 'a:\n    b: 1\n', { c: [{ d: { e: 1 }, f: 2 }] }, 'c:\n- d:\n      e: 1\n  f: 2\n'],
    ['lists further right', 'a:\n    - b:\n          c: 1\n', { c: [{ d: 1 }] }, 'c:\n    - d: 1\n'],
    ['one column', 'a:\n b: 1\n', { c: { d: { e: 1 } } }, 'c:\n d:\n  e: 1\n'],
    ['text', 'a:\n    b: 1\n', { c: ' x\ny\n' }, 'c: |4\n     x\n    y\n'],
    ['items of text', 'a:\n    b: 1\n', { c: [' x\ny\n'] }, 'c:\n- |2\n   x\n  y\n'],
    ['no map in a map', 'a: 1\nb: [{c: 1}]\n', { c: { d: 1 } }, 'c:\n  d: 1\n'],
  ])('has the indentation of the document: %s', (_, text, values, added) =>
    expect(set(text, values)).toBe(text + added),
  );
});

it.each(['null', '~', '<<', 'yes', '1', '1e3'])(
  'a new key that readers take for another value is quoted: %s',
  (key) =>
    expect(set('a: 1\n', { b: { [key]: 2 }, [key]: 3 })).toMatch(
      new RegExp(`^(?:"${key}": 3\n)?a: 1\n(?:b:\n {2}"${key}": 2|"${key}": 3)\n`),
    ),
);

describe('a word that changes', () => {
  it.each([
    ['folded text', 'a: >- # c\n  one two\n  three four\n\n  five\nb: 1\n', 'three', '3'],
    ['folded text at its start', 'a: >\n    one\n    two\nb: 1\n', 'one', 'zero and one'],
    ['folded text at its end', 'a: >+\n    one\n    two\n\nb: 1\n', 'two', '2'],
    ['text in quotes', "a: 'it''s one\n  two\n\n  three' # c\nb: 1\n", 'two', 'too'],
    ['text in double quotes', 'a: "one\n  two \n  three"\n', 'three', '3 # 4'],
    ['plain text', 'a:\n  one\n  two\n   three # c\nb: 1\n', 'two', '2'],
    ['an item', '- a\n- one\n  two\n  three\n', 'two', 'too'],
    ['text with an anchor', 'a: &x >-\n  one\n  two\nb: *x\n', 'two', '2'],
  ])('leaves the other lines: %s', (_, text, word, now) => {
    const value = (given: unknown): unknown =>
      typeof given === 'string'
        ? given.replace(word, now)
        : Array.isArray(given)
          ? given.map(value)
          : Object.fromEntries(
              Object.entries(given as Values).map(([key, one]) => [
                key,
                typeof one === 'number' ? one : value(one),
              ]),
            );
    expect(editValues(text, value).text).toBe(text.replace(word, now));
  });
});

describe('a scalar that changes', () => {
  it.each([
    ['single quotes', "a: 'x' # c\n", "it's", "a: 'it''s' # c\n"],
    ['double quotes', 'a: "5"\n', '6', 'a: "6"\n'],
    ['no quotes', 'a: x # c\n', 'y z', 'a: y z # c\n'],
    ['the form of a plain scalar', 'a:\t1\t# c\n', 2, 'a:\t2\t# c\n'],
    ['a place below the key', 'a:\n  x # c\n', 'z', 'a:\n  z # c\n'],
    ['an anchor', 'a: &x 1 # c\n', 2, 'a: &x 2 # c\n'],
    [
      'the indentation of a block',
      'a: |-\n      one\n      two\nb: 1\n',
      'one \n two',
      'a: |-\n      one \n       two\nb: 1\n',
    ],
    [
      'blank lines of a block that have spaces',
      'a: |\n  one\n \n  two\n\n  three\n   \nb: 1\n',
      'zero\n\n2\n\nthree\n \n',
      'a: |\n  zero\n\n  2\n\n  three\n   \nb: 1\n',
    ],
    [
      'blank lines of a block above and below a change',
      'a: |\n  one\n \n  two\n \n  three\nb: 1\n',
      'one\n\n2\n\nthree\n',
      'a: |\n  one\n \n  2\n \n  three\nb: 1\n',
    ],
    ['an indicator of indentation', 'a: |2\n   x\n', '  y\nz\n', 'a: |2\n    y\n  z\n'],
    ['a folded block', 'a: >-\n  one\n  two\n', 'one\ntwo three', 'a: >-\n  one\n\n  two three\n'],
    ['characters that kyaml escapes', 'a: "\u{1f600} x"\n', '\u{1f600} y', 'a: "\u{1f600} y"\n'],
  ])('keeps %s', (_, text, value, expected) => expect(set(text, { a: value })).toBe(expected));

  it.each([
    ['a plain scalar becomes text that looks like a number', 'a: x\n', '12', 'a: "12"\n'],
    ['a quoted scalar becomes a number', 'a: "5"\n', 6, 'a: 6\n'],
    ['a plain scalar gets characters that need quotes', 'a: x\n', 'a: b', "a: 'a: b'\n"],
    ['a quoted scalar gets lines', "a: 'x'\n", 'l1\nl2', 'a: "l1\\nl2"\n'],
    ['a plain scalar gets lines', 'a: x\n', 'l1\nl2', 'a: |-\n  l1\n  l2\n'],
    ['a block becomes empty', 'a: |\n  x\n', '', 'a: ""\n'],
    ['lines are joined', 'a: "x\\\n  y" # c\n', 'z', 'a: "z" # c\n'],
  ])('gets another style if %s', (_, text, value, expected) =>
    expect(set(text, { a: value })).toBe(expected),
  );

  it.each([
    ['a: 0x10\n', 16],
    ['a: 1.50\n', 1.5],
    ['a: ~\n', null],
    ['a: 2001-12-14\n', '2001-12-14'],
    ['a: >\n  x\n  y\n', 'x y\n'],
    ['a: True\n', true],
  ])('is none: %j', (text, value) => expect(set(text, { a: value })).toBe(text));
});

describe('a flow collection', () => {
  it.each([
    ['in one line', 'a: [x, y]\n', ['x', 'y', 'a, b'], "a: [x, y, 'a, b']\n"],
    ['with blanks at its ends', 'a: [ x ]\n', ['x', 1], 'a: [ x, 1 ]\n'],
    ['with a comma at its end', 'a: {x: 1, }\n', { x: 1, z: 2 }, 'a: {x: 1, z: 2, }\n'],
    [
      'with a line for each item',
      'a: [\n  x, # x\n  y\n]\n',
      ['x', 'y', 'z'],
      'a: [\n  x, # x\n  y,\n  z\n]\n',
    ],
    [
      'that loses an item with its comment',
      'a: [\n  x, # x\n  y # y\n] # c\n',
      ['w', 'x'],
      'a: [\n  w,\n  x # x\n] # c\n',
    ],
    ['whose value was empty', 'a: {b: , c}\n', { b: 1, c: 2 }, 'a: {b: 1 , c: 2}\n'],
    ['without a space behind the colon', 'a: {"b":1}\n', { b: { c: 1 } }, 'a: {"b":{c: 1}}\n'],
    ['without braces in a list', 'a: [b: 1]\n', [{ b: 1, c: 2 }], 'a: [{b: 1, c: 2}]\n'],
    ['that becomes empty', 'a: {b: x,} # c\n', {}, 'a: {} # c\n'],
    ['that was empty', 'a: [] # c\nb: 1\n', ['1'], 'a: # c\n- "1"\nb: 1\n'],
    ['of another tag', 'a: !x {b: 1} # c\n', { b: 1 }, 'a: # c\n  b: 1\n'],
    [
      'whose last item ends with a comment now',
      'a: {x: 1, # one\n  y: 2}\n',
      { x: 1 },
      'a: {x: 1 # one\n  }\n',
    ],
    ['that gets a line', 'a:\n    [1 # one\n    ]\n', [1, 2], 'a:\n    [1, # one\n     2\n    ]\n'],
    ['with items in two lines', 'a: [1, 2,\n  3]\n', [1, 2, 3, 4], 'a: [1, 2,\n  3, 4]\n'],
    ['with a comment behind its bracket', 'a: [ # a\n  1]\n', [0], 'a: [ # a\n  0]\n'],
    [
      'with a comment above its last item',
      'a: [1, # one\n  # two\n  2]\n',
      [2, 1],
      'a: [\n  # two\n  2,\n  1 # one\n  ]\n',
    ],
    ['with comments above a comma', 'a: [1 # one\n  # more\n  , 2]\n', [2], 'a: [2]\n'],
  ])('%s', (_, text, value, expected) => expect(set(text, { a: value })).toBe(expected));

  const OLD = ['', '1', '"q"', '[]', '{}', '[1]', '{x: 1}', '*x'];
  const NEW = [null, 't', 'l1\nl2', [], {}, [1, { k: 2 }], { k: 1 }];
  const PLACES: readonly ((value: string) => string)[] = [
    (value) => `y: &x 7\nm: {z: 0, a: ${value}, b: 1} # m\nn: 1 # n\n`,
    (value) => `y: &x 7\nm: {\n  z: 0, # z\n  # above a\n  a: ${value}, # a\n  b: 1 # b\n}\nn: 1\n`,
    (value) => `y: &x 7\nm: {a: ${value}}\nn: 1\n`,
    (value) => `y: &x 7\nm: {z: [{a: ${value}}], b: 1}\nn: 1\n`,
  ];
  it.each(OLD)('keeps what is around a value of another kind in it: %s', (old) => {
    for (const place of PLACES) {
      for (const value of NEW) {
        const text = place(old);
        const edited = editValues(text, ({ m }: { m: { a: unknown; z?: unknown } }) => {
          (Array.isArray(m.z) ? m.z[0] : m).a = value;
        });
        expect(edited.notes.filter(({ kind }) => kind === 'rewritten')).toEqual([]);
        const [before, after] = place('@').split('@');
        expect(edited.text.startsWith(before!.trimEnd()), edited.text).toBe(true);
        expect(edited.text.endsWith(after!), edited.text).toBe(true);
      }
    }
  });
});

describe('what is new', () => {
  it.each([
    [
      'a list is indented as its siblings',
      'x:\n- 1\ny:\n  w: []\n  k:\n    - 1\n',
      { y: { w: [1], k: [1], m: [2] } },
      'x:\n- 1\ny:\n  w:\n    - 1\n  k:\n    - 1\n  m:\n    - 2\n',
    ],
    [
      'a key is in quotes if it has to be',
      '? a\n: 1\n"b: c": 2\n',
      { a: [1], 'd: e': 4 },
      '? a\n:\n- 1\n"b: c": 2\n\'d: e\': 4\n',
    ],
    [
      'the comment below a field stays there',
      'a:\n  b: 1\n  # below b\nc: 2\n',
      { a: { b: 1, k: 1 } },
      'a:\n  b: 1\n  # below b\n\n  k: 1\nc: 2\n',
    ],
    [
      'the blank line below the comment below a field stays',
      'a:\n  b: 1\n  # below b\n\nc: 2\n',
      { a: { b: 1, s: 'l1\nl2\n\n' } },
      'a:\n  b: 1\n  # below b\n\n  s: "l1\\nl2\\n\\n"\n\nc: 2\n',
    ],
    [
      'a comment above a field stays there, if another one is further left',
      'a:\n  b: 1\n  # c\n# about c\n  c: 1\n',
      { a: { b: 1, s: 1, c: 1 } },
      'a:\n  b: 1\n  s: 1\n  # c\n# about c\n  c: 1\n',
    ],
    ['the last line has no line break', 'a: 1', { b: 2 }, 'a: 1\nb: 2'],
    ['a block without a line break at its end keeps its value', 'a: |\n  x', { b: 2 }, 'a: |-\n  x\nb: 2'],
    ['the end of the document stays', '--- # c\na: 1\n...\n', { b: 2 }, '--- # c\na: 1\nb: 2\n...\n'],
  ])('%s', (_, text, values, expected) => expect(set(text, values)).toBe(expected));
});

describe('what is removed', () => {
  it.each([
    [
      'takes its comments with it',
      'a: 1\n\n# about b\nb: 2 # b\n\n# about c\nc: 3\n',
      { a: 1, c: 3 },
      'a: 1\n\n\n# about c\nc: 3\n',
    ],
    ['takes comments in it with it', 'a: 1\nb:\n  c: 1\n  # c\nd: 1\n', { a: 1, d: 1 }, 'a: 1\nd: 1\n'],
    [
      'leaves the next field behind the dash',
      'a:\n- b: 1\n  # about c\n  c: 2\n',
      { a: [{ c: 2 }] },
      'a:\n# about c\n- c: 2\n',
    ],
    ['takes its comment with it, if it was the last one', 'a: 1 # a\n', {}, '{}\n'],
    ['takes the comments of all items with it', '- 1 # 1\n  # one\n', [], '[]\n'],
    ['takes a comment that is further left', 'a:\n# b\n  b: 1\n  c: 1\n', { a: { c: 1 } }, 'a:\n  c: 1\n'],
    [
      'leaves the next field and its comment that is further left behind the dash',
      'a:\n- b: 1\n# about c\n  c: 2\n',
      { a: [{ c: 2 }] },
      'a:\n# about c\n- c: 2\n',
    ],
    [
      'leaves items that move their comments',
      'a:\n# one\n- 1 # 1\n# two\n- 2 # 2\n# three\n- 3 # 3\n',
      { a: [3, 1] },
      'a:\n# three\n- 3 # 3\n# one\n- 1 # 1\n',
    ],
    [
      'leaves containers of other names',
      'a:\n- name: x # x\n  v: 1\n- name: y # y\n  v: 1\n',
      { a: [{ name: 'y', v: 2 }] },
      'a:\n- name: y # y\n  v: 2\n',
    ],
  ])('%s', (_, text, value, expected) => expect(editValues(text, () => value).text).toBe(expected));
});

describe('a comment of a function', () => {
  it.each([
    [
      'is written if it is new',
      'a: 1\nb: 2\n',
      'a: 1 # kpt-set: a\n# head\nb: 2\nc: 3 # new\n',
      'a: 1 # kpt-set: a\n# head\nb: 2\nc: 3 # new\n',
    ],
    [
      'replaces the one before',
      'a: 1 # old\nb:\n  c: 1\n',
      'a: 1 # new\nb: # on b\n  c: 1 # c\n',
      'a: 1 # new\nb: # on b\n  c: 1 # c\n',
    ],
    ['is not written if it moved', 'a: 1 # x\nb: 2\n', 'a: 1\nb: 2 # x\n', 'a: 1 # x\nb: 2\n'],
    ['is not needed', '# head\na: 1 # x\nb: 2\n', 'a: 3\nb: 2\n', '# head\na: 3 # x\nb: 2\n'],
    [
      'is written beside blocks and lists',
      'a: |\n  x\nb: [1] # c\nl:\n- 1\n',
      'a: | # l\n  x\nb: [1] # d\nl:\n- 1 # one\n- 2 # two\n',
      'a: | # l\n  x\nb: [1] # d\nl:\n- 1 # one\n- 2 # two\n',
    ],
    [
      'is not repeated if only an empty line is gone',
      '# license\n\n# head\na: 1\n',
      '# license\n# head\na: 2\n',
      '# license\n\n# head\na: 2\n',
    ],
  ])('%s', (_, text, output, expected) => expect(written(text, output)).toBe(expected));

  it('is written above the document', () => {
    expect(written('# head\na: 1\n', '# license\n\n# head\na: 1\n')).toBe('# license\n\n# head\na: 1\n');
  });

  it('is not written if the function was shown it', () => {
    expect(written('a: 1\nb: 2\n', 'a: 1 # s\nb: 3\n', 'a: 1 # s\nb: 2\n')).toBe('a: 1\nb: 3\n');
  });
});
