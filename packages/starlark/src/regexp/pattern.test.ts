import { describe, expect, test } from 'vitest';
import { Pattern, PatternError } from './pattern.js';

const free = () => {};
const all = (pattern: string, text: string) =>
  [...new Pattern(pattern).findAll(text, free)].map(([start, end]) => text.slice(start, end));
const groups = (pattern: string, text: string) => {
  const match = new Pattern(pattern).find(text, free);
  if (match === undefined) return undefined;
  return Array.from({ length: match.length / 2 }, (_, index) =>
    (match[index * 2] as number) < 0 ? null : text.slice(match[index * 2], match[index * 2 + 1]),
  );
};

describe('matches', () => {
  test.each([
    ['a+', 'caaandaab', ['aaa', 'aa']],
    ['a*', 'baac', ['', 'aa', '']],
    ['', 'ab', ['', '', '']],
    ['a|ab|abc', 'abc', ['a']],
    ['(?:a|ab)(?:c|bcd)', 'abcd', ['abcd']],
    ['a{2,3}', 'aaaaaaa', ['aaa', 'aaa']],
    ['a{2,3}?', 'aaaaa', ['aa', 'aa']],
    ['a{,2}', 'a{,2}', ['a{,2}']],
    ['x*?y', 'xxy', ['xxy']],
    ['(?U)a+', 'aaa', ['a', 'a', 'a']],
    ['(?i)straSSe', 'STRASSE', ['STRASSE']],
    ['(?i)[k]', 'K\xe2\x84\xaa', ['K', '\xe2\x84\xaa']],
    ['(?i:A)b', 'abAB', ['ab']],
    ['^b', 'a\nb', []],
    ['(?m)^b$', 'a\nb\nc', ['b']],
    ['a.c', 'a\ncabc', ['abc']],
    ['(?s)a.c', 'a\nc', ['a\nc']],
    ['\\bfoo\\b', 'foo foobar', ['foo']],
    ['\\Boo', 'foo oo', ['oo']],
    ['[^a-c]+', 'abcdefabc', ['def']],
    ['[]a]+', 'a]b', ['a]']],
    ['[a-]+', 'a-b', ['a-']],
    ['[[:alpha:]_]+', 'ab_1', ['ab_']],
    ['[[:^digit:]]+', 'ab1', ['ab']],
    ['\\pL+', 'a\xc3\xa91', ['a\xc3\xa9']],
    ['\\p{Greek}', 'a\xce\xb1', ['\xce\xb1']],
    ['\\P{Lu}+', 'Abc', ['bc']],
    ['[\\p{greek}]\\\\pa', '\xce\xb1\\pa', ['\xce\xb1\\pa']],
    ['[\\\\pa]+', '\\pa', ['\\pa']],
    ['.', '\xc3\xa9', ['\xc3\xa9']],
    ['\\x41\\x{42}\\103\\.', 'ABC.', ['ABC.']],
    ['\\Qa.b\\E+', 'a.bbb', ['a.bbb']],
    ['(a*)*', 'aab', ['aa', '']],
    ['(a*)+', 'b', ['', '']],
    ['(?:(?:^a)|b)+', 'abab', ['ab', 'b']],
    ['\\z', 'ab', ['']],
    ['a$', 'a\n', []],
  ])('%s in %j', (pattern, text, expected) => {
    expect(all(pattern, text)).toEqual(expected);
  });
});

test('gives the groups of a match', () => {
  expect(groups('(a)(b)?(?P<rest>c*)', 'xacc')).toEqual(['acc', 'a', null, 'cc']);
  expect(groups('(a|ab)(c|bcd)(d*)', 'abcd')).toEqual(['abcd', 'a', 'bcd', '']);
  expect(groups('(?:(a)|b)*', 'ab')).toEqual(['ab', 'a']);
  expect(groups('(|a)*', 'aa')).toEqual(['', '']);
  expect(groups('(|a)+', 'aa')).toEqual(['', '']);
});

test('names groups, and expands templates', () => {
  const pattern = new Pattern('(?P<year>\\d+)-(?<month>\\d+)');
  expect(pattern.groupNames).toEqual(['', 'year', 'month']);
  const match = pattern.find('on 2024-05', free) ?? [];
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of the pattern
  expect(pattern.expand('$month/${year} $1 $$ $9 $1x ${1}x $', 'on 2024-05', match)).toBe(
    '05/2024 2024 $   2024x $',
  );
});

test('names of groups may repeat, and are text in a class and in quotes', () => {
  const pattern = new Pattern('(?P<a>x)|(?P<a>y)(?P<_1>z)[(?P<b>]\\Q(?P<c>\\E');
  expect(pattern.groupNames).toEqual(['', 'a', 'a', '_1']);
  expect(pattern.expand('$a', 'yz<(?P<c>', pattern.find('yz<(?P<c>', free) ?? [])).toBe('y');
});

test.each([
  ['(', 'missing closing ): `(`'],
  [')', 'unexpected ): `)`'],
  ['a)', 'unexpected ): `a)`'],
  ['[', 'missing closing ]: `[`'],
  ['[z-a]', 'invalid character class range: `z-a`'],
  ['[[:word:]', 'missing closing ]: `[[:word:]`'],
  ['[[:nope:]]', 'invalid character class range: `[:nope:]`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['a{2}{3}', 'invalid nested repetition operator: `{2}{3}`'],
  ['*', 'missing argument to repetition operator: `*`'],
  ['a|*', 'missing argument to repetition operator: `*`'],
  ['a{1001}', 'invalid repeat count: `{1001}`'],
  ['(a{100}){11}', 'invalid repeat count: `{11}`'],
  ['a{3,2}', 'invalid repeat count: `{3,2}`'],
  ['\\', 'trailing backslash at end of expression: ``'],
  ['\\8', 'invalid escape sequence: `\\8`'],
  ['\\p{Nope}', 'invalid character class range: `\\p{Nope}`'],
  ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?<!a)', 'invalid named capture: `(?<!a)`'],
  ['(?P<name>', 'missing closing ): `(?P<name>`'],
  ['(?P<\xc3\xa9>a)', 'invalid named capture: `(?P<é>`'],
  ['(?P<1a', 'invalid named capture: `(?P<1a`'],
])('rejects %s', (pattern, problem) => {
  expect(() => new Pattern(pattern)).toThrow(PatternError);
  expect(() => new Pattern(pattern)).toThrow(`error parsing regexp: ${problem}`);
});

describe('hostile patterns', () => {
  test.each(['(a+)+$', '(a|a)*$', '(a*)*b', '(.*a){20}$', 'a?'.repeat(200) + 'a'.repeat(200)])(
    'counts steps in proportion to the text for %.20s',
    (source) => {
      const pattern = new Pattern(source);
      const steps = (length: number) => {
        let count = 0;
        pattern.find(`${'a'.repeat(length)}!`, (made) => {
          count += made;
        });
        return count;
      };
      expect(steps(2000)).toBeLessThan(2000 * (pattern.size + 2) * 4);
      expect(steps(2000) / steps(1000)).toBeLessThan(2.2);
    },
  );

  test('nested groups and large patterns are errors', () => {
    expect(() => new Pattern('('.repeat(2000) + ')'.repeat(2000))).toThrow('expression nests too deeply');
    expect(() => new Pattern('a{1000}'.repeat(1000))).toThrow('expression too large');
    expect(() => new Pattern('((a{10}){10}){100}')).toThrow('invalid repeat count');
  });

  test('ends when the counter of steps throws', () => {
    const pattern = new Pattern('(x+x+)+y');
    let left = 1000;
    const step = (made: number) => {
      left -= made;
      if (left < 0) throw new Error('too many steps');
    };
    expect(() => pattern.find('x'.repeat(100_000), step)).toThrow('too many steps');
  });
});
