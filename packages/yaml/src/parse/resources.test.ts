import { describe, expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import {
  annotation,
  copyComments,
  field,
  fromJson,
  readDocument,
  readResourceList,
  readResources,
  removeAnnotation,
  removeEmptyAnnotations,
  setAnnotation,
  syncOrder,
  toJson,
  writeDocument,
  writeResourceList,
} from '../resources.js';

function roundTrip(text: string): string {
  const texts = readResources(text, 'test.yaml').map(({ node, seqIndent }) =>
    writeDocument(node, { seqIndent }),
  );
  return texts.join('---\n');
}

function one(text: string) {
  return readResources(text, 'test.yaml')[0]!.node;
}

describe('a round trip', () => {
  it.each([
    [
      'comments in all places',
      '# head\na: 1 # beside\n# above\nb:\n  # above c\n  c: 2\n  # below c\n# above d\nd: 3\n',
    ],
    ['compact lists', 'a:\n- 1\n- b: 2\n  c: 3\n'],
    ['wide lists', 'a:\n  - 1\n  - b: 2\n    c: 3\n'],
    ['quotes', `a: '1'\nb: "x\\ty"\nc: it's\nd: ''\n`],
    ['block scalars', 'a: |\n  x\n    y\n\n  z\nb: |-\n  x\nc: |+\n  x\n\nd: >-\n  x y\n'],
    ['flow collections', 'a: [1, {b: c}]\nd: {}\ne: []\n'],
    ['anchors', 'a: &x\n  b: 1\nc: *x\n'],
    ['empty values', 'a:\nb: ~\nc: null\n'],
    ['long lines', `a: ${'word '.repeat(60)}end\n`],
    ['several documents', 'a: 1\n---\nb: 2\n'],
    ['a comment above the dash of a map', 'a:\n# above\n- b: 1\n'],
  ])('keeps %s', (_, text) => expect(roundTrip(text)).toBe(text));

  it.each([
    ['spaces', 'a:   1\nb:\n    c: 2   #  x\n', 'a: 1\nb:\n  c: 2 #  x\n'],
    ['empty lines', 'a: 1\n\n\nb: 2\n', 'a: 1\nb: 2\n'],
    ['line ends of Windows', 'a: 1\r\nb: 2\r\n', 'a: 1\nb: 2\n'],
    ['a byte order mark', '\ufeffa: 1\n', 'a: 1\n'],
    ['documents without content', '# x\n---\na: 1\n---\n---\nb: 2\n', 'a: 1\n---\nb: 2\n'],
    ['characters outside the Basic Multilingual Plane', 'a: "\u{1f600}"\n', 'a: "\\U0001F600"\n'],
    ['merge keys', 'a: &x {b: 1}\nc:\n  <<: *x\n', 'a: &x {b: 1}\nc:\n  !!merge <<: *x\n'],
    ['a missing line end', 'a: 1', 'a: 1\n'],
    // go-yaml would write them so that they are read as something else.
    ['folded text with indented lines', 'a: >\n  x\n    y\n', 'a: "x\\n  y\\n"\n'],
    ['folded text with empty lines at its end', 'a: >+\n  x\n\n', 'a: "x\\n\\n"\n'],
    ['text that starts with a tab', 'a: |2\n  \tx\n', 'a: "\\tx\\n"\n'],
  ])('normalizes %s', (_, text, written) => expect(roundTrip(text)).toBe(written));

  it('finds the style of lists in long lines quickly', () => {
    const line = `a: "${'- '.repeat(500_000)}"\nb:\n  - 1\n`;
    expect(readResources(line, 'test.yaml')[0]!.seqIndent).toBe('wide');
  });

  it('writes the first style of lists of each document', () => {
    const wide = 'a:\n  - 1\n';
    const compact = 'a:\n- 1\n';
    expect(roundTrip(`${wide}---\n${compact}`)).toBe(`${wide}---\n${compact}`);
  });
});

describe('comments that are copied into the style of JSON', () => {
  it.each([
    ['a map', 'a: # of a\n  b: 1\nc: 2\n', '{"a": {"b": 1}, "c": 2}', '{"a": {"b": 1}, # of a\n  "c": 2}\n'],
    ['a list at the end', 'a: # of a\n- 1\n', '{"a": [1]}', '{"a": [1], # of a\n}\n'],
    ['an empty map', 'a: {} # of a\nc: 2\n', '{"a": {}, "c": 2}', '{"a": {}, # of a\n  "c": 2}\n'],
    ['a scalar', 'a: 1 # of a\nc: 2\n', '{"a": 1, "c": 2}', '{"a": 1, # of a\n  "c": 2}\n'],
  ])('are behind %s, so that the text can be read', (_, before, after, expected) => {
    const node = one(after);
    copyComments(one(before), node);
    const text = writeDocument(node);
    expect(text).toBe(expected);
    expect(toJson(one(text))).toEqual(toJson(one(after)));
  });
});

describe('a comment in a flow collection', () => {
  it.each([
    ['of a mapping', 'a: {b: c # of c\n  }\n', 'a: {b: c, # of c\n}\n'],
    ['of a list', 'a:\n- b: {c: [d # of d\n      ]}\n', 'a:\n- b: {c: [d, # of d\n    ]}\n'],
    ['of a nested mapping', 'a: {c: {d: e # of e\n      }}\n', 'a: {c: {d: e, # of e\n  }}\n'],
    [
      'of an item in a list',
      'a:\n- {c: [d], # of c\n  e: {} # of e\n  }\n',
      'a:\n- {c: [d], # of c\n  e: {}, # of e\n  }\n',
    ],
    [
      'of a list in a list',
      '- [a, # of a\n  {b: c}, # of b\n  d # of d\n  ]\n',
      '- [a, # of a\n  {b: c}, # of b\n  d, # of d\n  ]\n',
    ],
    ['of a list at the top', '[a, {b: c}, # of b\n  d # of d\n]\n', '[a, {b: c}, # of b\n  d, # of d\n]\n'],
    ['of a wide list', 'a:\n  - {b: c # of c\n    }\n', 'a:\n  - {b: c, # of c\n    }\n'],
  ])('leaves no bracket %s where parsers reject it', (_, text, expected) => {
    const written = roundTrip(text);
    expect(written).toBe(expected);
    expect(parseDocument(written)).toMatchObject({ errors: [], warnings: [] });
    expect(roundTrip(written)).toBe(written);
  });
});

it('writes no comment into a block scalar', () => {
  const text = 'a: &x # of a\n- | # of the item\n  line\n';
  const written = roundTrip(text);
  expect(written).toBe('a: &x\n- | # of a # of the item\n  line\n');
  expect(toJson(one(written))).toEqual(toJson(one(text)));
});

describe('a text that kpt misreads or cannot read', () => {
  it.each([
    ['a placeholder', 'a: 1\nb: {{c}}\n', '2:4: a key is a map or a list, expected a string'],
    ['a list as a key', 'a: 1\nb:\n  ? [c]\n  : d\n', '3:3: a key is a map or a list, expected a string'],
    ['a key that stands for a map', 'a: &x {b: c}\nd:\n  *x : e\n', '3:3: a key is a map'],
    ['text', 'a\n', '1:1: the document is a scalar, expected a map'],
    ['metadata that is text', 'a: 1\nmetadata: b\n', '2:1: `metadata` is a scalar, expected a map'],
    [
      'annotations that are a list',
      'metadata:\n  annotations: [a]\n',
      '2:3: `metadata.annotations` is a list',
    ],
    ['metadata elsewhere', 'a: &x {name: b}\nmetadata: *x\n', '2:1: `metadata` is an alias, expected a map'],
    ['duplicate keys', 'a: 1\nb:\n  c: 1\n  c: 2\n', '4:3: the key "c" occurs twice'],
    ['content behind the end', 'a: 1\n...\nb: 2\n', '3:1: did not find expected <document start>'],
    ['text behind a separator', 'a: 1\n---x\nb: 2\n', '2:1: invalid document separator: ---x'],
    ['a tab', 'a:\n\tb: 1\n', '2:1: found character that cannot start any token'],
    ['a control character', 'a: \x01\n', '1:1: control characters are not allowed'],
    ['too many levels', `${'['.repeat(300)}\n`, '1:201: more than 200 nested lists and mappings'],
    ['an unknown anchor', 'a: 1\nb: *x\n', "2:4: unknown anchor 'x' referenced"],
    ['a line of a later document', 'a: 1\n---\nb: [\n', '4:1: did not find expected node content'],
  ])('is rejected: %s', (_, text, message) => {
    expect(() => readResources(text, 'test.yaml')).toThrow(`cannot read test.yaml:${message}`);
  });
});

describe('a text with something that is not closed', () => {
  it.each([
    ['a: {b: [c, d\n', "2:1: did not find expected ',' or ']'; the [ in line 1, column 8 is not closed"],
    ['a: {b: [c, d}\n', "1:13: did not find expected ',' or ']'; the [ in line 1, column 8 is closed with }"],
    [
      'x: y\n---\na: {\nb: ]\n',
      '4:4: did not find expected node content; the { in line 3, column 4 is closed with ]',
    ],
    ['a: {b: c\n...\n', "2:1: did not find expected ',' or '}'; the { in line 1, column 4 is not closed"],
    ['a: ["b", "c\n', 'found unexpected end of stream; the " in line 1, column 10 is not closed'],
  ])('names where it was opened: %j', (text, message) => {
    expect(() => readResources(text, 'test.yaml')).toThrow(message);
  });

  it.each([
    ['{\n  "a": "x"\n  "b": 2\n}\n', "did not find expected ',' or '}'"],
    ['a: [b, , c]\n', 'did not find expected node content'],
  ])('is not said where only a comma is wrong: %j', (text, reason) => {
    expect(() => readResources(text, 'test.yaml')).toThrow(new RegExp(`: ${reason}$`));
  });
});

describe('a last quote at the start of a line, as go-yaml writes it', () => {
  it.each([
    ["a: 'b\n\n'\nc: d\n", { a: 'b\n', c: 'd' }],
    ["a:\n  - - b: 'c\n\n'\n      'd': e\n", { a: [[{ b: 'c\n', d: 'e' }]] }],
    ["a: {b: 'c\n\n', d: e}\n", { a: { b: 'c\n', d: 'e' } }],
    ["a: 'b\n\n\n' # c\n'd': e\n' f': g\n', h': i\n", { a: 'b\n\n', d: 'e', ' f': 'g', ', h': 'i' }],
  ])('is read: %j', (text, value) => {
    const node = readDocument(text, 'a.yaml')!;
    expect(toJson(node)).toEqual(value);
    expect(parse(writeDocument(node))).toEqual(value);
  });
});

describe('a list of resources', () => {
  it('has no item that kpt cannot read', () => {
    const text = (item: string) => `kind: ResourceList\nitems:\n- kind: A\n- ${item}\n`;
    const read = (item: string) => () => readResourceList(text(item), 'the output');
    expect(read('a')).toThrow('cannot read the output: line 4: the document is a scalar, expected a map');
    expect(read('metadata: [a]')).toThrow('line 4: `metadata` is a list, expected a map');
    expect(read('metadata: null')().items).toHaveLength(2);
  });
});

describe('comments and order after a function', () => {
  it('come back', () => {
    const from = one('# head\na: 1 # beside\nlist:\n# item\n- b: 1\n  c: 2 # c\nd: 3\n');
    const to = one('d: 3\nlist:\n- c: 5\n  b: 1\na: 1\nnew: 1\n');
    copyComments(from, to);
    syncOrder(from, to);
    expect(writeDocument(to)).toBe(
      '# head\na: 1 # beside\nlist:\n# item\n- b: 1\n  c: 5 # c\nd: 3\nnew: 1\n',
    );
  });

  it('do not replace comments of the function', () => {
    const to = one('a: 1 # new\n');
    copyComments(one('a: 1 # old\nb: 2\n'), to);
    expect(writeDocument(to)).toBe('a: 1 # new\n');
  });

  it('are kept if the kind of a value changes', () => {
    const to = one('a:\n- 1\nb: 2\n');
    copyComments(one('a: {x: 1} # a\nb: 2 # b\n'), to);
    expect(writeDocument(to)).toContain('b: 2 # b');
  });
});

describe('a list of resources', () => {
  const item = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n';

  it('is written and read', () => {
    const text = writeResourceList({ apiVersion: 'config.kubernetes.io/v1', items: [one(item)] });
    expect(text).toBe(
      'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n',
    );
    const list = readResourceList(text, 'stdout');
    expect(list.kind).toBe('ResourceList');
    expect(writeDocument(list.items[0]!)).toBe(item);
  });

  it('may have no list around it', () => {
    expect(readResourceList(`${item}---\n${item}`, 'stdout').items).toHaveLength(2);
  });
});

describe('annotations', () => {
  it('are added in single quotes and removed without a trace', () => {
    const text = 'kind: A\nmetadata:\n  name: a\n';
    const node = one(text);
    setAnnotation(node, 'internal.config.kubernetes.io/index', '0');
    expect(writeDocument(node)).toBe(`${text}  annotations:\n    internal.config.kubernetes.io/index: '0'\n`);
    expect(annotation(node, 'internal.config.kubernetes.io/index')).toBe('0');
    removeAnnotation(node, 'internal.config.kubernetes.io/index');
    removeEmptyAnnotations(node);
    expect(writeDocument(node)).toBe(text);
  });
});

describe('JSON', () => {
  it('has the values that Go reads', () => {
    const node = one('a: 0x10\nb: yes\nc: 1_000\nd: ~\ne: &x [1.5]\nf: *x\n__proto__: 1\ng: 010\n');
    expect(JSON.stringify(toJson(node))).toBe(
      '{"a":16,"b":"yes","c":1000,"d":null,"e":[1.5],"f":[1.5],"__proto__":1,"g":8}',
    );
  });

  it('is written with quotes where they are needed', () => {
    const value = {
      a: 'x',
      b: '1',
      c: 1,
      d: null,
      e: ['true'],
      f: 'x\ny',
      g: '',
      h: 'yes',
      i: { no: '1:30' },
    };
    expect(writeDocument(fromJson(value))).toBe(
      'a: x\nb: "1"\nc: 1\nd: null\ne:\n- "true"\nf: |-\n  x\n  y\ng: ""\nh: "yes"\ni:\n  "no": "1:30"\n',
    );
  });

  it('refuses an alias inside its own anchor, and aliases of aliases', () => {
    expect(() => toJson(one('a: &x [*x]\n'))).toThrow('the alias *x is inside its own anchor');
    const lines = ['a0: &a0 [1,1,1,1,1,1,1,1,1,1]'];
    for (let i = 1; i < 10; i++) {
      lines.push(`a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(',')}]`);
    }
    expect(() => toJson(one(`${lines.join('\n')}\n`))).toThrow('more than 100000 values');
  });

  it('refuses aliases of large or of deep values', () => {
    const large = `a: &a [[${'1,'.repeat(2000)}1]]\nb: [${Array.from({ length: 100 }, () => '*a').join(',')}]\n`;
    expect(() => toJson(one(large))).toThrow('more than 100000 values');
    const deep = ['a0: &a0 [1]'];
    for (let i = 1; i < 2000; i++) deep.push(`a${i}: &a${i} [*a${i - 1}]`);
    expect(() => toJson(one(`${deep.join('\n')}\n`))).toThrow('more than');
  });

  it('finds fields', () => expect(field(one('a: 1\n'), 'b')).toBeUndefined());
});
