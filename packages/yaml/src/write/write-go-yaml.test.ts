import { describe, expect, it } from 'vitest';
import { documentRoot } from '../nodes/node.js';
import { parseDocument } from '../parse/parse.js';
import { writeGoYaml } from './write-go-yaml.js';

/** What kustomize 5.8.2 and kubectl 1.32 print for a resource. test/interop/go-yaml.test.ts asks them. */
const SOURCE = String.raw`# a comment
kind: ConfigMap
apiVersion: v1
metadata: {name: a}
list:
  - [1, [2], {}]
  - b: x   # why
    a: ~
numbers: [0, -0, 1e3, 1.10, 0.00001, 1234567.5, 1e20, 12345678901234567890, 9007199254740993]
words: [yes, "yes", No, True, "true", "~", null, "0o7", "1e3", "1_000", "0x1F", "12:30:45", "2001-12-14", "2001-13-45", ".5", ".inf", "=", "", "1.2.3", 100m, -f]
quotes: ["a: b", "a:b", "a #b", "a#b", "- a", "-a", "? a", "@a", "it's", "'a", 'say "hi"', "{a", " a", "a ", "---", "a\tb", "a\\b", "\u0007", "é", "😀", "\u00a0"]
text: |
  one
    two

  three
kept: "one\n\n"
stripped: "one\ntwo"
leading: " one\ntwo\n"
spaces: "one \ntwo\n"
crlf: "one\r\ntwo\r\n"
only: "\n"
long: aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhhhh iiiiiiiii jjjjjjjjj kkkkkkkkk
quotedLong: "aaaaaaaaa: bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhhhh iiiiiiiii jjjjjjjjj kkkkkkkkk"
doubleLong: "aaaaaaaaa\t bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhhhh iiiiiiiii  jjjjjjjjj kkkkkkkkk"
keys: {b: 1, a10: 1, a2: 1, B: 1, "": 1, "1": 1, "y": 1, a-b: 1, "x: y": 1, über: 1}
`;
const PRINTED = String.raw`apiVersion: v1
crlf: "one\r\ntwo\r\n"
doubleLong: "aaaaaaaaa\t bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg
  hhhhhhhhh iiiiiiiii  jjjjjjjjj kkkkkkkkk"
kept: |+
  one

keys:
  "": 1
  "1": 1
  B: 1
  a-b: 1
  a2: 1
  a10: 1
  b: 1
  'x: y': 1
  "y": 1
  über: 1
kind: ConfigMap
leading: |2
   one
  two
list:
- - 1
  - - 2
  - {}
- a: null
  b: x
long: aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg hhhhhhhhh
  iiiiiiiii jjjjjjjjj kkkkkkkkk
metadata:
  name: a
numbers:
- 0
- 0
- 1000
- 1.1
- 1e-05
- 1.2345675e+06
- 1e+20
- 12345678901234567890
- 9007199254740993
only: |2+

quotedLong: 'aaaaaaaaa: bbbbbbbbb ccccccccc ddddddddd eeeeeeeee fffffffff ggggggggg
  hhhhhhhhh iiiiiiiii jjjjjjjjj kkkkkkkkk'
quotes:
- 'a: b'
- a:b
- 'a #b'
- a#b
- '- a'
- -a
- '? a'
- '@a'
- it's
- '''a'
- say "hi"
- '{a'
- ' a'
- 'a '
- '---'
- "a\tb"
- a\b
- "\a"
- é
- "\U0001F600"
-  
spaces: "one \ntwo\n"
stripped: |-
  one
  two
text: |
  one
    two

  three
words:
- "yes"
- "yes"
- "No"
- true
- "true"
- "~"
- null
- "0o7"
- "1e3"
- "1_000"
- "0x1F"
- "12:30:45"
- "2001-12-14"
- 2001-13-45
- ".5"
- ".inf"
- =
- ""
- 1.2.3
- 100m
- -f
`;

const write = (text: string) => writeGoYaml(documentRoot(parseDocument(text)!));

describe('a resource that is written as kustomize does', () => {
  it('has the bytes that kustomize prints', () => expect(write(SOURCE)).toBe(PRINTED));

  it('stays the same when it is written again', () => expect(write(PRINTED)).toBe(PRINTED));

  it.each([
    ['a number in another base', 'a: 0o7'],
    ['a date', 'a: 2001-12-14'],
    ['an infinite number', 'a: .inf'],
    ['a tag', 'a: !!str x'],
    ['a merge key as text', 'a: <<'],
    ['a merge key', '"<<": {a: b}'],
    ['a key that is a number', '1: a'],
    ['a key twice', 'a: 1\n"a": 2'],
    ['a key that is too long', `${'x'.repeat(129)}: a`],
    ['a key of several lines', '"a\\nb": c'],
    ['a control character', 'a: "\\u0085"'],
    ['a separator of lines', 'a: "\\u2028"'],
    ['text alone', 'a'],
  ])('is left to another form with %s', (_, text) => expect(write(text)).toBeUndefined());

  it.each([
    ['{}', '{}\n'],
    ['[]', '[]\n'],
    ['[[a]]', '- - a\n'],
    ['[[{a: [], b: {}}]]', '- - a: []\n    b: {}\n'],
  ])('can be %s', (text, expected) => expect(write(text)).toBe(expected));
});
