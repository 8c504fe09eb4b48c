import { describe, expect, it } from 'vitest';
import { readMachineYaml, readYaml } from '../index.js';
import { parseDocument } from '../parse/parse.js';

const bytes = (text: string) => new TextEncoder().encode(text);

/** The first error with its position, or the values. */
function read(text: string): unknown {
  const { documents, diagnostics } = readYaml(bytes(text), { file: 'f.yaml' });
  const [first] = diagnostics;
  if (first === undefined) return documents.map(({ value }) => value);
  return `${first.range!.start.line}:${first.range!.start.column} ${first.message}`;
}

const SPACE = 'a comment needs a space before its #';
const NO_LIST = 'an indented list or mapping cannot be inside [] or {}';
const TAB = 'a tab is used for indentation; YAML allows only spaces';
const OPEN_LIST = 'a list in brackets is not closed with ]';
const OPEN_MAPPING = 'a mapping in braces is not closed with }';
const OPEN_QUOTE = 'a quoted string is not closed';
const OR_INDENTATION = ', or a line in it is not indented';
const INDENTATION = 'the indentation does not match the surrounding lines';
const COLON = 'a space is missing after the colon';
const PROPERTY = 'a tag or anchor needs a space after it';

describe('what go-yaml reads', () => {
  it.each([
    ['a comment right behind quotes', 'a: "b"# c\n', `1:7 ${SPACE}`],
    ['a comment right behind a bracket', 'a: [b]# c\n', `1:7 ${SPACE}`],
    ['a comment right behind a comma', 'a: [b,# c\n d]\n', `1:7 ${SPACE}`],
    ['a comment right behind the indicator of a block', 'a: |# c\n  b\n', `1:5 ${SPACE}`],
    ['a dash in brackets', 'a: [-]\n', `1:5 ${NO_LIST}`],
    ['dashes in brackets', 'a: [-, -]\n', `1:5 ${NO_LIST}`],
    ['an escaped single quote', 'a: "\\\'"\n', '1:5 this escape does not exist in double-quoted strings'],
    ['a comma in a tag', '- !!str, a\n', `1:8 ${PROPERTY}`],
    ['a directive in a document', 'a: b\n%TAG ! x\n---\nc: d\n', '2:1 directives (%) are not allowed'],
    ['an unknown directive', '%A b # c\n---\na: b\n', '1:1 directives (%) are not allowed'],
    ['tabs for indentation in brackets', '- [\n\ta,\n b\n ]\n', `2:1 ${TAB}`],
    ['tabs for indentation in quotes', 'a: "b\n\tc"\n', `2:1 ${TAB}`],
    ['brackets without indentation', 'a: [b,\nc]\n', `1:4 ${OPEN_LIST}${OR_INDENTATION}`],
    ['a word in brackets without indentation', 'a: [b\nc]\n', `1:4 ${OPEN_LIST}${OR_INDENTATION}`],
    ['a comma without indentation', 'a: [b\n, c]\n', `1:4 ${OPEN_LIST}${OR_INDENTATION}`],
    ['the last bracket left of its block', 'a:\n  b: [\n    c\n]\n', `2:6 ${OPEN_LIST}${OR_INDENTATION}`],
    ['quotes without indentation', 'a: "b\nc"\n', `1:4 ${OPEN_QUOTE}${OR_INDENTATION}`],
    ['a last quote without indentation', "a: 'b\n\n'\n", `1:4 ${OPEN_QUOTE}${OR_INDENTATION}`],
    ['an escaped line break without indentation', 'a: "b\\\nc"\n', `1:4 ${OPEN_QUOTE}${OR_INDENTATION}`],
    ['first lines of a block with more spaces', 'a: >\n   \n # b\n', `3:2 ${INDENTATION}`],
    ['a block at the column of its dash', '-\n|\n  a\n', `2:1 ${INDENTATION}`],
    ['a colon before a bracket, which only go-yaml takes for text', '{a:}\n', `1:3 ${COLON}`],
    ['a colon before a comma', '[a:, b]\n', `1:3 ${COLON}`],
    ['an anchor with a colon', 'a: &b:c d\n', `1:6 ${PROPERTY}`],
    [
      'a question mark at the start of a word',
      '[?a]\n',
      '1:2 unquoted text may not begin with this character',
    ],
    ['a tag of another type', 'a: !!map [b]\n', '1:10 the value does not match its tag !!map'],
    ['a key with a type', '!!int 1: b\n', '1:7 the value does not match its tag !!int'],
    ['a number that a tag makes text', 'a: ! 12\n', '1:6 "12" after ! is a string, and not to Go parsers'],
    ['the same with an anchor', 'a: &b ! 1\n', '1:9 "1" after ! is a string, and not to Go parsers'],
    ['a bracket in quotes without indentation', 'a: {b: "c\n}"}\n', `1:8 ${OPEN_QUOTE}${OR_INDENTATION}`],
  ])('is refused: %s', (_, text, problem) => {
    expect(read(text)).toBe(problem);
    expect(readMachineYaml(bytes(text), { file: 'f' }).documents).toEqual([]);
    // The runner, kpt, and kustomize read all of them, but for the directives.
    if (!problem.includes('directive')) expect(parseDocument(text)).toBeDefined();
  });
});

describe('what go-yaml refuses', () => {
  it.each([
    ['an escaped slash', 'a: "b\\/c"\n', { a: 'b/c' }],
    ['a character as two units', '{"a": "\\ud83d\\ude00"}\n', { a: '😀' }],
    ['half a character, of which lint warns', 'a: "\\ud83d"\n', { a: '\ud83d' }],
    ['tabs in an empty line', 'a: b\n\t\nc: d\n', { a: 'b', c: 'd' }],
    ['tabs before a comment', 'a:\n\t# c\n  b: c\n', { a: { b: 'c' } }],
    ['tabs in an empty line of a plain scalar', 'a: b\n\t\n  c\n', { a: 'b\nc' }],
    ['a tab behind a dash', '-\ta\n', ['a']],
    ['a tab behind the indentation', 'a:\n \tb\n', { a: 'b' }],
    ['a tab at the start of a block', 'a: |\n \tb\n', { a: '\tb\n' }],
    ['a colon on the next line', '{"a"\n: b, c\n : d}\n', { a: 'b', c: 'd' }],
    ['a key of several lines in braces', '{a\n  b: c}\n', { 'a b': 'c' }],
    ['a question mark in a word', '[a?b, c ? d]\n', ['a?b', 'c ? d']],
    ['a colon at the start of a word', '[:a, {b: ::c}]\n', [':a', { b: '::c' }]],
    ['names of anchors with dots', 'a: &b.c d\ne: *b.c\n', { a: 'd', e: 'd' }],
  ])('is read: %s', (_, text, value) => {
    expect(read(text)).toEqual([value]);
    expect(() => parseDocument(text)).toThrow();
  });

  it('is read: documents behind the end of another', () => {
    expect(read('...\n# c\n...\na: b\n...\nc: d\n...\n---\ne\n')).toEqual([{ a: 'b' }, { c: 'd' }, 'e']);
    expect(read('a: b\n... c\n')).toBe('2:5 unexpected token');
  });

  it('is read: a value right behind a key in quotes', () => {
    expect(read('{"a":b, "c"::d, \'e\' :f}\n')).toEqual([{ a: 'b', c: ':d', e: 'f' }]);
  });
});

describe('syntax errors', () => {
  it.each([
    ['spec\n  names: x\n', '1:1 a key must be on one line and end with a colon'],
    ['a: b\nc\nd: e\n', '2:1 a key has no colon after it'],
    ['a: b: c\n', '1:4 a mapping or list cannot begin here; text with a colon or dash requires quotes'],
    ['a: - b\n', '1:4 a list cannot begin on the line of its key'],
    ['--- a: b\n', '1:5 a list or mapping cannot begin on the line of ---'],
    ['a:\n  b: c\n d: e\n', `3:1 ${INDENTATION}`],
    ['- a\nb: c\n', '2:1 a list item has no dash'],
    ['a: {b: c d: e}\n', '1:11 a comma is missing between two items'],
    ['a: {b: "c" d: e}\n', '1:12 a comma is missing between two items'],
    ['a: {b: c\nd: e\n', `1:4 ${OPEN_MAPPING}${OR_INDENTATION}`],
    ['a: {b: {c: d}\ne: f\n', `1:4 ${OPEN_MAPPING}${OR_INDENTATION}`],
    ['a: {b: [c, d}\n', '1:8 a list in brackets is closed with }, not with ]'],
    ['a: {b: c]\n', '1:4 a mapping in braces is closed with ], not with }'],
    ['a: {b: ]\n', '1:4 a mapping in braces is closed with ], not with }'],
    ['a: [{b: c},\n  d}\n', '1:4 a list in brackets is closed with } in line 2, not with ]'],
    ['a:\n  - {b: c\n---\nd: e\n', `2:5 ${OPEN_MAPPING}`],
    ['a: [b,\n...\n', `1:4 ${OPEN_LIST}`],
    ['a: [b\n---c\n', `1:4 ${OPEN_LIST}${OR_INDENTATION}`],
    ['{\n  "a": "x"\n  "b": 2\n}\n', `3:3 a comma is missing before this line, or ${OPEN_MAPPING}`],
    ['[\n  "a"\n  "b"\n]\n', `3:3 a comma is missing before this line, or ${OPEN_LIST}`],
    ['[a, , b]\n', '1:5 extra comma'],
    ['a: {b', `1:4 ${OPEN_MAPPING}`],
    ['a: {b: [c]', `1:4 ${OPEN_MAPPING}`],
    ['a: {b: ', `1:4 ${OPEN_MAPPING}`],
    ['a: [', `1:4 ${OPEN_LIST}`],
    ['a: [{b: c}, "d", ', `1:4 ${OPEN_LIST}`],
    ['a: "b\n', `1:4 ${OPEN_QUOTE}`],
    ['a: ["b", "c\n', `1:10 ${OPEN_QUOTE}`],
    ['a: "b\n---\nc: d\n', `1:4 ${OPEN_QUOTE}`],
    ['a: @b\n', '1:4 unquoted text may not begin with this character'],
    ['a: & b\n', '1:4 an anchor or alias has no name'],
    ['a: &b &c d\n', '1:7 a value can have only one anchor'],
    ['a: &b *c\n', '1:7 an alias may have neither an anchor nor a tag'],
    ['a: !b !c d\n', '1:7 a value can have only one tag'],
    ['a: |x\n', '1:5 only an indentation digit, + or - may follow | or >'],
    ['a:\n\tb: c\n', `2:1 ${TAB}`],
    [': a\n', '1:1 an empty key is not a string'],
  ])('%j: %s', (text, problem) => {
    expect(read(text)).toBe(problem);
  });

  it('hide no other document, and no comment twice', () => {
    const text = 'a: [\n--- # CHANGE: a\nb: "\n---\nc: yes\n---\nd: 1\nd: 2\n';
    const { documents, diagnostics, placeholders } = readYaml(bytes(text), { file: 'f' });
    expect(documents.map(({ value }) => value)).toEqual([{ c: 'yes' }, { d: 1 }]);
    expect(diagnostics.map(({ code, range }) => `${code} ${range!.start.line}`)).toEqual([
      'yaml/syntax 1',
      'yaml/syntax 3',
      'yaml/ambiguous-scalar 5',
      'yaml/duplicate-key 8',
    ]);
    expect(placeholders.map(({ start }) => start)).toEqual([{ line: 2, column: 5 }]);
  });
});
