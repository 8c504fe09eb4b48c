import { describe, expect, it } from 'vitest';
import { type ResourceNode, readDocument, readResources, toJson } from '../resources.js';
import { editTrees, editValues } from '../testing/edit-text.js';

const OLD: Readonly<Record<string, string>> = {
  null: 'a: # c',
  'a plain scalar': 'a: s # c',
  'a quoted scalar': 'a: "s" # c',
  'a literal block': 'a: | # c\n  s',
  'a scalar of two lines': "a: 's\n  t' # c",
  'an empty list': 'a: [] # c',
  'an empty map': 'a: {} # c',
  'a flow list': 'a: [1, {x: 1}] # c',
  'a flow map': 'a: {x: 1} # c',
  'a block list': 'a: # c\n- 1\n- x: 1 # in a',
  'a wide block list': 'a: # c\n  # in a\n  - 1\n  # below in a',
  'a block map': 'a: # c\n  x: 1 # in a\n  # below in a',
};
const NEW: Readonly<Record<string, unknown>> = {
  null: null,
  'a scalar': 't',
  'text of two lines': 'l1\nl2\n',
  'an empty list': [],
  'an empty map': {},
  'a list': [1, { k: 2 }],
  'a map': { k: 1, j: [3] },
};
/** The same entry in other places: comments above and below it, and collections around it. */
const PLACES: Readonly<Record<string, (entry: string) => string>> = {
  'between keys': (entry) => `z: 0 # z\n# above a\n${entry}\n# above b\nb: 1 # b\n`,
  'at the end': (entry) => `z: 0 # z\n# above a\n${entry}\n`,
  'at the end without a line break': (entry) => `z: 0 # z\n# above a\n${entry}`,
  'above a comment and an empty line': (entry) => `z: 0 # z\n${entry}\n# below a\n\nb: 1 # b\n`,
  'in a map': (entry) => `m:\n  z: 0 # z\n  # above a\n${indent(entry, '  ')}\n  b: 1 # b\ny: 1 # y\n`,
  'at the end of a map': (entry) => `m:\n    z: 0 # z\n${indent(entry, '    ')}\n# above y\ny: 1 # y\n`,
  'in an item': (entry) => `m:\n- z: 0 # z\n${indent(entry, '  ')}\n  b: 1 # b\n# above y\n- y # y\n`,
  'first in an item': (entry) => `m:\n  - ${indent(entry, '    ').trim()}\n    b: 1 # b\n  - y # y\n`,
};

function indent(text: string, by: string): string {
  return text.replace(/^/gm, by);
}

/** The comments of each field, by its path. */
function comments(node: ResourceNode, path = '', found = new Map<string, string>()): Map<string, string> {
  const { content } = node;
  const add = (at: string, text: string) => text !== '' && found.set(`${at} ${text}`, text);
  if (node.kind === 'map') {
    for (let i = 0; i < content.length; i += 2) {
      const at = `${path}/${content[i]!.value}`;
      for (const one of [content[i]!, content[i + 1]!])
        for (const text of [one.head, one.line]) add(at, text);
      comments(content[i + 1]!, at, found);
    }
  } else {
    content.forEach((item, i) => {
      const at = node.kind === 'list' ? `${path}/${i}` : path;
      for (const text of [item.head, item.line]) add(at, text);
      comments(item, at, found);
    });
  }
  return found;
}

const MATRIX = Object.keys(OLD).flatMap((from) => Object.keys(PLACES).map((place) => [from, place] as const));

describe('a change of kind', () => {
  it.each(MATRIX)('from %s, %s', (from, place) => {
    const text = PLACES[place]!(OLD[from]!);
    for (const [to, value] of Object.entries(NEW)) {
      const edited = editValues(text, (all: { a?: unknown; m?: { a: unknown } & { a: unknown }[] }) => {
        const map = 'a' in all ? all : Array.isArray(all.m) ? all.m[0]! : all.m!;
        map.a = value;
      });
      expect(edited.notes, to).toEqual([]);
      const before = comments(readDocument(text, '')!);
      const after = comments(readDocument(edited.text, '')!);
      for (const key of after.keys()) {
        if (!key.includes('below')) expect([...before.keys()], `${to}: ${edited.text}`).toContain(key);
      }
      for (const [key, comment] of before) {
        if (comment.includes('in a') || comment === '# c' || comment.includes('below')) continue;
        expect([...after.keys()], `${to}: ${edited.text}`).toContain(key);
      }
      if (text.includes('# below a\n\n')) expect(edited.text).toContain('# below a\n\n');
    }
  });
});

describe('text that no change concerns', () => {
  it.each([
    [
      'line ends of Windows',
      '# license\r\n---\r\na: 1\r\nb:  x\r\n',
      '# license\r\n---\r\na: 2\r\nb:  x\r\n',
    ],
    ['a byte order mark', '\ufeffa: 1\nb: {}\n', '\ufeffa: 2\nb: {}\n'],
    ['a missing line end', 'b: "x"\na: 1', 'b: "x"\na: 2'],
    ['documents without content', '# x\n---\na: 1\n---\n---\n# y\n', '# x\n---\na: 2\n---\n---\n# y\n'],
    ['JSON', '{"b":[1,2],\n  "a":1}\n', '{"b":[1,2],\n  "a":2}\n'],
    ['lists of both indentations', 'a: 1\nb:\n- x\nc:\n  - y\n', 'a: 2\nb:\n- x\nc:\n  - y\n'],
    ['the end of a document', '---\na: 1 # c\n...\n', '---\na: 2 # c\n...\n'],
  ])('keeps %s', (_, text, expected) => {
    const edited = editValues(text, (value: { a: unknown }) => {
      value.a = 2;
    });
    expect(edited).toEqual({ text: expected, notes: [] });
    expect(editTrees(text, () => {})).toEqual({ text, notes: [] });
  });
});

describe('anchors', () => {
  it.each([
    [
      'a change of an anchored value reaches its aliases',
      'a: &x 1\nb: *x\n',
      { a: 2, b: 2 },
      'a: &x 2\nb: *x\n',
      0,
    ],
    [
      'an alias of another value is expanded',
      'a: &x 1\nb: *x\nc: *x\n',
      { a: 1, b: 3, c: 1 },
      'a: &x 1\nb: 3\nc: *x\n',
      1,
    ],
    ['an alias keeps the value before', 'a: &x 1\nb: *x\n', { a: 2, b: 1 }, 'a: &x 2\nb: 1\n', 1],
    [
      'the first alias of a removed anchor takes it',
      'a: &x 1\nb: *x\nc: *x\n',
      { b: 1, c: 1 },
      'b: &x 1\nc: *x\n',
      1,
    ],
    [
      'a merged field is overridden',
      'a: &x\n  p: 1\n  q: 1\nb:\n  <<: *x\n',
      { a: { p: 1, q: 1 }, b: { p: 2, q: 1 } },
      'a: &x\n  p: 1\n  q: 1\nb:\n  <<: *x\n  p: 2\n',
      1,
    ],
    [
      'a change of a merged map reaches those that merge it',
      'a: &x\n  p: 1\nb:\n  <<: *x\n  q: 1\nc:\n  <<: [*x]\n',
      { a: { p: 2 }, b: { p: 2, q: 3 }, c: { p: 2 } },
      'a: &x\n  p: 2\nb:\n  <<: *x\n  q: 3\nc:\n  <<: [*x]\n',
      0,
    ],
    [
      'a merged field keeps its value',
      'a: &x\n  p: 1\n  r: 1\nb:\n  <<: *x\n  q: 1\n',
      { a: { p: 2, r: 1 }, b: { p: 1, q: 1, r: 1 } },
      'a: &x\n  p: 2\n  r: 1\nb:\n  <<: *x\n  p: 1\n  q: 1\n',
      1,
    ],
    [
      'a merge is expanded if its anchor is removed',
      'a: &x\n  p: 1\nb:\n  <<: *x\n  q: 1\n',
      { b: { p: 1, q: 1 } },
      'b:\n  p: 1\n  q: 1\n',
      1,
    ],
    [
      'a merge is expanded if a field of it is removed',
      'a: &x\n  p: 1\n  q: 1\nb:\n  <<: *x\n  r: 1\n',
      { a: { p: 1, q: 1 }, b: { q: 1, r: 1 } },
      'a: &x\n  p: 1\n  q: 1\nb:\n  q: 1\n  r: 1\n',
      1,
    ],
    [
      'a merge of a changed map stays',
      'a: &x {p: 1}\nb: *x\nc:\n  <<: *x\n  r: 1\n',
      { a: { p: 1, s: 2 }, b: { p: 1, s: 2 }, c: { p: 1, s: 2, r: 1 } },
      'a: &x {p: 1, s: 2}\nb: *x\nc:\n  <<: *x\n  r: 1\n',
      0,
    ],
    [
      'a merge of a changed map stays, and its field before is overridden',
      'a: &x {p: 1}\nc:\n  <<: *x # c\n  r: 1\n',
      { a: { p: 2 }, c: { p: 1, r: 1 } },
      'a: &x {p: 2}\nc:\n  <<: *x # c\n  p: 1\n  r: 1\n',
      1,
    ],
    [
      'a merge of several maps stays if one of them changes',
      'a: &x {p: 1}\nb: &y {q: 1}\nc: {<<: [*x, *y], r: 1}\n',
      { a: { p: 1 }, b: { q: 2, s: 1 }, c: { p: 1, q: 2, s: 1, r: 2 } },
      'a: &x {p: 1}\nb: &y {q: 2, s: 1}\nc: {<<: [*x, *y], r: 2}\n',
      0,
    ],
    [
      'an item that moves keeps its anchor',
      'a:\n# 1\n- p:   &x 1 # p\n  q: *x\n- 2\n- 3\nb: &y 1\nc: *y\n',
      { a: [2, 3, { p: 1, q: 1 }], b: 1, c: 1 },
      'a:\n- 2\n- 3\n# 1\n- p:   &x 1 # p\n  q: *x\nb: &y 1\nc: *y\n',
      0,
    ],
    [
      'an item that moves keeps its anchor, which an alias below the list uses',
      'a:\n- p: &x {k: 1} # p\n- 2\n- 3\nc: *x\n',
      { a: [2, 3, { p: { k: 1 } }], c: { k: 1 } },
      'a:\n- 2\n- 3\n- p: &x {k: 1} # p\nc: *x\n',
      0,
    ],
    [
      'an alias that moves within a list stays one',
      'x: &x 1\na:\n- p: *x # p\n- 2\n- 3\n',
      { x: 1, a: [2, 3, { p: 1 }] },
      'x: &x 1\na:\n- 2\n- 3\n- p: *x # p\n',
      0,
    ],
    [
      'an anchor does not move below its aliases',
      'a:\n- &x 1\n- 2\n- *x\nb: *x\n',
      { a: [2, 1, 1], b: 1 },
      'a:\n- 2\n- &x 1\n- *x\nb: *x\n',
      0,
    ],
    [
      'an anchor does not move between another one of its name and the alias of that',
      'a:\n- &x 1\n- 2\n- &x 3\nb: *x\n',
      { a: [2, 3, 1], b: 3 },
      'a:\n- 2\n- &x 3\n- 1\nb: *x\n',
      0,
    ],
  ])('%s', (_, text, value, expected, notes) => {
    const edited = editValues(text, () => value as never);
    expect(edited.text).toBe(expected);
    expect(edited.notes.map(({ kind }) => kind)).toEqual(Array(notes).fill('expanded'));
  });
});

it('knows where nodes are', () => {
  const text = 'a: &x "q" # c\nb: [1, {c: d}]\nk: |+\n  lit\n\nl:\n  - a: 1\n    b:\n  -\no: *x\n';
  const { node, start } = readResources(`z: 1\r\n---\r\n${text.replaceAll('\n', '\r\n')}`, '')[1]!;
  expect(start).toBe(9);
  const slices: string[] = [];
  const visit = (one: ResourceNode): void => {
    if (one.kind !== 'document') slices.push(text.slice(one.start, one.end));
    for (const child of one.content) visit(child);
  };
  visit(node);
  expect(slices).toEqual([
    text.trimEnd(),
    ...['a', '&x "q"', 'b', '[1, {c: d}]', '1', '{c: d}', 'c', 'd', 'k', '|+\n  lit\n', 'l'],
    '- a: 1\n    b:\n  -',
    ...['a: 1\n    b:', 'a', '1', 'b', '', '', 'o', '*x'],
  ]);
  expect(toJson(node)).toMatchObject({ b: [1, { c: 'd' }] });
});
