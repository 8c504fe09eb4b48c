import type { Random } from '@krmhub/yaml/testing/random';

/** Resources in every notation of YAML, from a seed. */

const words = (text: string): string[] => text.split(' ');

/** Plain scalars with one meaning: krmhub writes them as kustomize does. */
const PLAIN = [
  ...words(
    'yes No on OFF y N true False TRUE null ~ 1e -f --flag=a a:b a#b 0 -0 1 1e3 1E-7 -1.5e+300 1.0 1.10 0.1',
  ),
  ...words(
    '0.0001 0.00001 123456.5 1234567.5 1e20 1e21 123456789012345 9007199254740993 12345678901234567890',
  ),
  ...words(
    "-9223372036854775808 1.2.3 10.0.0.0/8 100m 1Gi nginx:1.27 http://example.com/?a=b&c=d <html> it's",
  ),
  ...['', 'a b c', 'with trailing\ttab', 'say "hi"', 'über', '漢字'],
];
/** Plain scalars that readers take differently: krmhub leaves them as they are. JSON has no infinite numbers. */
const SPECIAL = words(
  '007 0o7 0x1F 0b101 1_000 +1 .5 1. 12:30:45 18446744073709551616 << = 2001-12-14 2001-12-14T21:59:43Z 2001-13-45',
);
/** What strings have in them; joined in random order. kustomize refuses or changes other control characters. */
const PARTS = [
  ...words('a word nginx 1 0 12 . - -- --- ... : # ? , [ ] { } & * ! | > \' " % @ ` \\ / = < << ~ $(VAR)'),
  ...words(
    'yes null true 1e3 0x1F -1 .inf ü é 漢字 😀 \u00a0 \u0000 \u0007 \u001b \u200b \ud7ff \ue000 \ufffd',
  ),
  ...[' ', '  ', '    ', ': ', ' :', ' #', '# ', '? ', '\t', '\n', '\n\n', '\n ', ' \n', '\r', '\r\n'],
];
/** kustomize sorts `v2`, `v10` and `v1beta1` in another order each time, because each is before the next. */
const KEYS = [
  ...words(
    'a b B a1 a2 a10 a01 a100 a20b a-b a.b a_b 1 10 2 01 1.5 y no null true ~ x:y #x - ? it\'s "q" << =',
  ),
  ...words('über 漢字 😀 key.with/slash v1 v1beta1 v1alpha2 v10'),
  ...['', 'a b', 'x: y', '- x', 'x'.repeat(100)],
];

/** Returns the text of a resource. Its field `spec` has anything. */
export function randomResource(random: Random, name: string): string {
  const value = block(random, randomValue(random, 0), '  ');
  return `${comment(random, '')}apiVersion: example.com/v1\nkind: Anything\nmetadata:\n  name: ${name}\nspec:${value}`;
}

type Value = { plain: string } | string | Value[] | [string, Value][] | { entries: [string, Value][] };

function randomValue(random: Random, depth: number): Value {
  const kind = random.next();
  if (depth < 4 && kind < 0.25) {
    return Array.from({ length: random.below(5) }, () => randomValue(random, depth + 1));
  }
  if (depth === 0 || (depth < 4 && kind < 0.5)) {
    const names = random.shuffled(KEYS).slice(0, random.below(8));
    return { entries: names.map((name) => [name, randomValue(random, depth + 1)]) };
  }
  if (kind < 0.7) return { plain: random.pick(random.chance(0.02) ? SPECIAL : PLAIN) };
  return randomText(random);
}

function randomText(random: Random): string {
  if (random.chance(0.2)) return random.pick([...PLAIN, ...SPECIAL]);
  if (random.chance(0.3)) return longText(random);
  return Array.from({ length: random.below(8) }, () => random.pick(PARTS)).join('');
}

/** Longer than a line, so that it is folded. */
function longText(random: Random): string {
  const words = Array.from({ length: 10 + random.below(30) }, () => {
    const word = random.chance(0.15) ? random.pick(PARTS) : 'x'.repeat(1 + random.below(12));
    return word + ' '.repeat(random.chance(0.1) ? 2 : 1);
  });
  return random.chance(0.5) ? words.join('').trim() : words.join('');
}

/** A value behind a key or a dash, with the line break at its end. */
function block(random: Random, value: Value, indent: string): string {
  if (typeof value === 'string') return ` ${scalar(random, value, indent)}\n`;
  if ('plain' in value)
    return `${value.plain === '' ? '' : ` ${value.plain}`}${random.chance(0.1) ? ' # why' : ''}\n`;
  if (Array.isArray(value)) {
    if (value.length === 0 || random.chance(0.1)) return ` ${flow(value)}\n`;
    const items = (value as Value[]).map(
      (item) => `${comment(random, indent)}${indent}-${block(random, item, `${indent}  `)}`,
    );
    return `\n${items.join('')}`;
  }
  const { entries } = value;
  if (entries.length === 0 || random.chance(0.1)) return ` ${flow(value)}\n`;
  const lines = entries.map(([name, child]) => {
    return `${comment(random, indent)}${indent}${quoted(name)}:${block(random, child, `${indent}  `)}`;
  });
  return `\n${lines.join('')}`;
}

function comment(random: Random, indent: string): string {
  return random.chance(0.1) ? `${indent}# a comment: "quoted"\n` : '';
}

function scalar(random: Random, text: string, indent: string): string {
  const isLines = /^[\n\u0020-\u007e\u00a0-\u{1ffff}]+$/u.test(text) && !/^[ \n]| \n|\n | $/.test(text);
  if (isLines && random.chance(0.5)) {
    return `|${random.pick(['', '-', '+'])}\n${text.replace(/^(?=.)/gm, indent)}`;
  }
  const isQuotable = /^[\u0020-\u007e\u00a0-\u{1ffff}]*$/u.test(text);
  if (isQuotable && random.chance(0.5)) return `'${text.replaceAll("'", "''")}'`;
  return quoted(text);
}

/** JSON, which is YAML on one line. */
function flow(value: Value): string {
  if (typeof value === 'string') return quoted(value);
  if ('plain' in value) return /^[\w.]+$/.test(value.plain) ? value.plain : quoted(value.plain);
  if (Array.isArray(value)) return `[${(value as Value[]).map(flow).join(', ')}]`;
  return `{${value.entries.map(([name, child]) => `${quoted(name)}: ${flow(child)}`).join(', ')}}`;
}

/** Between double quotes. JSON leaves some characters as they are that YAML escapes. */
function quoted(text: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escaped);
}
