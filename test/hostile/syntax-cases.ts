import { bytesOf, definition, PLACEHOLDER, withSource } from './definition.js';
import type { HostileCase } from './hostile-case.js';

/** Text that harms readers before they know its meaning. */

const repeat = (part: string, count: number) => part.repeat(count);
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('');

const around = (before: Uint8Array, after: Uint8Array) => Buffer.concat([before, after]);
const plain = () => JSON.stringify(definition());

function utf16(text: string, littleEndian: boolean): Uint8Array {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return littleEndian ? bytes : bytes.swap16();
}

/** `&a0 [x, x]`, each anchor twice in the next: 2^count values. */
function aliasBomb(count: number): string {
  return lines(count, (index) =>
    index === 0 ? 'a0: &a0 [lol, lol]\n' : `a${index}: &a${index} [*a${index - 1}, *a${index - 1}]\n`,
  );
}

const depths: HostileCase[] = [100, 1_000, 100_000].flatMap((depth) =>
  (
    [
      ['flow lists', repeat('[', depth) + repeat(']', depth)],
      ['flow mappings', repeat('{a: ', depth) + repeat('}', depth)],
      ['JSON objects', `${repeat('{"a":', depth)}1${repeat('}', depth)}`],
      ['open flow lists', repeat('[', depth)],
      ['open flow mappings', repeat('{"a":', depth)],
      ['flow pairs', repeat('[a: ', depth) + repeat(']', depth)],
      ['block lists', `${repeat('- ', depth)}a`],
      ['explicit keys', repeat('? ', depth)],
      ['explicit keys in a flow', repeat('{? ', depth)],
      ['block mappings', lines(Math.min(depth, 1_000), (index) => `${' '.repeat(index)}a:\n`)],
    ] as const
  ).map(
    ([what, text]): HostileCase => ({
      name: `${depth} nested ${what}`,
      verdict: 'refused',
      make: () => bytesOf(text),
    }),
  ),
);

const counts: HostileCase[] = [
  {
    name: '20,000 keys of a block mapping',
    verdict: 'refused',
    make: () => bytesOf(lines(20_000, (index) => `key${index}: ${index}\n`)),
  },
  {
    name: '20,000 keys of a JSON object',
    verdict: 'refused',
    make: () => withSource({ schema: PLACEHOLDER }, `{${lines(20_000, (index) => `"key${index}":1,`)}"z":1}`),
  },
  {
    name: 'one key 2,000 times',
    verdict: 'refused',
    make: () => bytesOf(repeat('key: value\n', 2_000)),
  },
  {
    name: '2,001 documents',
    verdict: 'refused',
    make: () => bytesOf(repeat(`---\n${plain()}\n`, 2_001).slice(0, 1_000_000)),
  },
  { name: '300,000 empty documents', verdict: 'refused', make: () => bytesOf(repeat('---\n', 250_000)) },
  {
    name: '200,000 flow separators',
    verdict: 'refused',
    make: () => bytesOf(`[${repeat(',,', 200_000)}`),
  },
  { name: '100,000 anchors', verdict: 'refused', make: () => bytesOf(lines(60_000, (n) => `- &a${n} x\n`)) },
  {
    name: '60,000 comments before the definition',
    verdict: 'taken',
    make: () => bytesOf(`${repeat('# a comment\n', 60_000)}${plain()}\n`),
  },
  {
    name: '400,000 empty lines before the definition',
    verdict: 'taken',
    make: () => bytesOf(`${repeat('\n', 400_000)}${plain()}\n`),
  },
];

const aliases: HostileCase[] = [
  { name: 'aliases that double 40 times', verdict: 'refused', make: () => bytesOf(aliasBomb(40)) },
  {
    name: 'an alias of ten thousand values, a thousand times',
    verdict: 'refused',
    make: () => bytesOf(`a: &a [${repeat('x, ', 10_000)}x]\nb: [${repeat('*a, ', 1_000)}*a]\n`),
  },
  { name: 'an alias inside its own anchor', verdict: 'refused', make: () => bytesOf('a: &a [*a, *a]\n') },
  {
    name: 'an alias of nothing',
    verdict: 'refused',
    make: () => withSource({ schema: PLACEHOLDER }, '*nothing'),
  },
  {
    name: 'an alias as a key',
    verdict: 'refused',
    make: () => bytesOf('a: &a text\n*a : value\n'),
  },
  {
    name: 'merge keys',
    verdict: 'refused',
    make: () => bytesOf('a: &a {x: 1}\nb: {<<: *a}\nc: {<<: [*a, *a]}\n'),
  },
  {
    name: 'merge keys that double',
    verdict: 'refused',
    make: () =>
      bytesOf(`a0: &a0 {x: 1}\n${lines(30, (n) => `a${n + 1}: &a${n + 1} {<<: [*a${n}, *a${n}]}\n`)}`),
  },
];

const tags: HostileCase[] = [
  '!!js/function "function () { return 1 }"',
  '!!js/regexp /(a+)+$/',
  '!!python/object/apply:os.system ["true"]',
  '!!binary "AAAA"',
  '!!set {a, b}',
  '!!omap [a: 1]',
  '!!timestamp 2001-01-01',
  '!!merge <<',
  '!ruby/object:Gem::Installer {}',
  '!<tag:example.com,2000:x> y',
  `!${'x'.repeat(100_000)} y`,
].map((source) => ({
  name: `the tag ${source.slice(0, 40)}`,
  verdict: 'refused',
  make: () => withSource({ schema: PLACEHOLDER }, source),
}));

const scalars: HostileCase[] = [
  {
    name: 'a plain scalar of a megabyte',
    verdict: 'refused',
    make: () => bytesOf(`a: ${repeat('x', 1_000_000)}`),
  },
  {
    name: 'a quoted scalar of a megabyte of escapes',
    verdict: 'refused',
    make: () => withSource({ spec: { description: PLACEHOLDER } }, `"${repeat('\\n', 500_000)}"`),
  },
  {
    name: 'a block scalar of 140,000 lines',
    verdict: 'refused',
    make: () => bytesOf(`a: |\n${repeat('  line\n', 140_000)}`),
  },
  {
    name: 'a folded scalar of 120,000 paragraphs',
    verdict: 'refused',
    make: () => bytesOf(`a: >\n${repeat('  line\n\n', 120_000)}`),
  },
  {
    name: 'a megabyte of blanks in quotes',
    verdict: 'refused',
    make: () => withSource({ spec: { description: PLACEHOLDER } }, `"x${repeat(' ', 1_000_000)}y"`),
  },
  {
    name: 'a megabyte of lines of blanks in quotes',
    verdict: 'refused',
    make: () => withSource({ spec: { description: PLACEHOLDER } }, `"x${repeat(' \n', 490_000)} y"`),
  },
  {
    name: 'a key of a megabyte',
    verdict: 'refused',
    make: () => bytesOf(`? ${repeat('k', 1_000_000)}\n: v\n`),
  },
  {
    name: 'a key of 1,025 characters',
    verdict: 'refused',
    make: () => bytesOf(`${repeat('k', 1_025)}: v\n`),
  },
  {
    name: 'a line of a megabyte of small values',
    verdict: 'refused',
    make: () => bytesOf(`[${repeat('a, ', 330_000)}a]`),
  },
  {
    name: 'a scalar of indentation',
    verdict: 'refused',
    make: () => bytesOf(`a:${repeat(`\n${' '.repeat(1_000)}`, 900)}x`),
  },
  {
    name: 'a scalar whose header has a wrong indentation',
    verdict: 'refused',
    make: () => bytesOf('a: |9\n x\n'),
  },
  ...[
    ['an integer of 400 digits', repeat('9', 400)],
    ['an integer of 100,000 digits', repeat('9', 100_000)],
    ['a hexadecimal integer of 10,000 digits', `0x${repeat('f', 10_000)}`],
    ['an exponent beyond every number', '1e999999999'],
    ['an exponent below every number', '1e-999999999'],
    ['2 to the power of 63', '9223372036854775808'],
    ['not a number', '.nan'],
    ['negative infinity', '-.inf'],
    ['octal', '0o777777777777777777777777777'],
  ].map(
    ([name = '', source = '']): HostileCase => ({
      name,
      verdict: 'refused',
      make: () => withSource({ version: { idempotent: PLACEHOLDER } }, source),
    }),
  ),
];

const characters: HostileCase[] = [
  {
    name: 'a byte order mark before a valid definition',
    verdict: 'either',
    make: () => bytesOf(`\ufeff${plain()}`),
  },
  { name: 'three byte order marks', verdict: 'refused', make: () => bytesOf(`\ufeff\ufeff\ufeff${plain()}`) },
  { name: 'UTF-16, little end first', verdict: 'refused', make: () => utf16(plain(), true) },
  { name: 'UTF-16, big end first', verdict: 'refused', make: () => utf16(plain(), false) },
  {
    name: 'UTF-16 without a mark',
    verdict: 'refused',
    make: () => Buffer.from(plain(), 'utf16le'),
  },
  {
    name: 'UTF-32',
    verdict: 'refused',
    make: () =>
      Buffer.concat([...`\ufeff${plain()}`].map((one) => Buffer.from([one.charCodeAt(0), 0, 0, 0]))),
  },
  ...(
    [
      ['a lone continuation byte', [0x80]],
      ['an overlong slash', [0xc0, 0xaf]],
      ['an overlong NUL', [0xc0, 0x80]],
      ['a surrogate in UTF-8', [0xed, 0xa0, 0x80]],
      ['a code point beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
      ['a truncated character at the end', [0xf0, 0x9f, 0x98]],
      ['bytes that no encoding has', [0xff, 0xfe, 0xfd, 0xfc]],
      ['NUL', [0x00]],
      ['a raw escape sequence', [0x1b, 0x5b, 0x32, 0x4a]],
      ['a bell and a backspace', [0x07, 0x08]],
      ['DEL', [0x7f]],
      ['a raw C1 introducer', [0xc2, 0x9b, 0x33, 0x31, 0x6d]],
      ['a lone carriage return', [0x0d]],
    ] as const
  ).map(
    ([what, bytes]): HostileCase => ({
      name: `${what} after the definition`,
      verdict: 'refused',
      make: () => around(bytesOf(`${plain()}\n# `), Buffer.from([...bytes, 0x78])),
    }),
  ),
  { name: 'nothing', verdict: 'refused', make: () => new Uint8Array() },
  { name: 'a megabyte of NUL', verdict: 'refused', make: () => new Uint8Array(1_000_000) },
  {
    name: 'a megabyte of every byte',
    verdict: 'refused',
    make: () => Uint8Array.from({ length: 1_000_000 }, (_, index) => (index * 7 + (index >> 8)) % 256),
  },
  { name: 'a gzip header', verdict: 'refused', make: () => Buffer.from('1f8b0800000000000003', 'hex') },
  { name: 'a directive', verdict: 'refused', make: () => bytesOf(`%YAML 1.1\n---\n${plain()}`) },
  {
    name: 'a hundred thousand directives',
    verdict: 'refused',
    make: () => bytesOf(`${repeat('%TAG ! x\n', 100_000)}---\n${plain()}`),
  },
  {
    name: 'a tab for indentation',
    verdict: 'refused',
    make: () => bytesOf('spec:\n\tgroup: x\n'),
  },
];

export const SYNTAX_CASES: readonly HostileCase[] = [
  ...depths,
  ...counts,
  ...aliases,
  ...tags,
  ...scalars,
  ...characters,
];
