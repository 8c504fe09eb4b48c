import type { JsonValue } from '@krmhub/yaml/json-value';
import type { Random } from '@krmhub/yaml/testing/random';

/** Random YAML in every style, with what readers disagree about. */

/** Plain scalars that every reader takes for the same. */
const PLAIN = [
  ...[
    'a',
    'some words',
    'v1.2.3',
    'a/b:c',
    'x#y',
    '10.0.0.1',
    'true',
    'False',
    'null',
    '~',
    '0',
    '-12',
    '2.5',
  ],
  ...['1.5e+3', '0x1F', 'nginx:1.27', 'a-b_c', '-x', 'http://a.example/?b=c', 'é', '😀', "it's", 'a"b', '$x'],
  ...[
    'a,b',
    'a]b',
    'yesterday',
    'none',
    '(x)',
    '1.2.3',
    '0bd8',
    '.5x',
    '9007199254740991',
    'a\n  b',
    '*.txt x',
  ],
];
/** Plain scalars that YAML 1.1 and YAML 1.2, or their readers, take for different things. */
export const DISPUTED = [
  ...[
    'yes',
    'No',
    'on',
    'OFF',
    'y',
    '010',
    '0o17',
    '1_000',
    '0b101',
    '1e3',
    '12e03',
    '.5',
    '5.',
    '+.5',
    '+12',
  ],
  ...[
    '.inf',
    '-.INF',
    '.nan',
    '2001-01-01',
    '2001-12-14 21:59:43',
    '2001-12-14t21:59:43.10-05:00',
    '12:30:45',
  ],
  ...[
    '190:20:30',
    '<<',
    '=',
    '9007199254740993',
    '1e400',
    '0o8',
    '0x_F',
    '-0',
    '-0.0',
    '!x',
    '! 12',
    '!!str 12',
  ],
  ...['!!int "3"', '!!float 1', '!!null ""', '!!bool yes', '&a.b x', '0xFFFFFFFFFFFFFFFFFF', '+0x1', '08'],
];
const QUOTED = [
  ...[
    '""',
    "''",
    '"a"',
    "'b'",
    '"\\n\\t\\x41\\u00e9"',
    "'it''s'",
    '"# no"',
    "': '",
    '"a\n    b"',
    "'a\n\n    b'",
  ],
  ...['"a \\\n    b"', '"yes"', "'010'", '"\\/"', '"\\ud83d\\ude00"', '"\\\\ \\" \\e"', "'\\n'", '"{}"'],
];
const BLOCKS = ['|', '>', '|-', '>-', '|+', '>+', '|2', '>2-'];
const LINES = ['a', 'b c', '  indented', '# no comment', '', '- x', 'k: v', 'tab\there', 'trailing '];

interface Style {
  random: Random;
  disputed: boolean;
  anchors: string[];
}

/** One to three documents. `disputed`: also what YAML 1.1 and 1.2 read in different ways. */
export function randomYaml(random: Random, disputed: boolean): string {
  const documents = Array.from({ length: random.chance(0.15) ? 1 + random.below(3) : 1 }, () => {
    const style: Style = { random, disputed, anchors: [] };
    if (random.chance(0.1)) return `${flow(style, 0)}\n`;
    return block(style, '', 0);
  });
  const text = documents.join(random.pick(['---\n', '--- # next\n', '...\n---\n']));
  const start = random.chance(0.2)
    ? random.pick(['---\n', '# comment\n', '\n', '# a\n---\n', '--- # x\n'])
    : '';
  const whole = start + text;
  return random.chance(0.05) ? whole.replaceAll('\n', '\r\n') : whole;
}

function block(style: Style, indent: string, depth: number): string {
  const { random } = style;
  const isList = random.chance(0.35);
  const lines: string[] = [];
  for (let count = 1 + random.below(4); count > 0; count--) {
    if (random.chance(0.1))
      lines.push(random.pick([`${indent}# comment\n`, '\n', '# left\n', `${indent}  # right\n`]));
    if (isList) lines.push(`${indent}-${random.pick([' ', ' ', ' ', '   '])}${item(style, indent, depth)}`);
    else {
      const key = random.pick([
        `k${count}`,
        `"k ${count}"`,
        `'k${count}'`,
        `some key ${count}`,
        `k${count}/x`,
      ]);
      const isExplicit = random.chance(0.03);
      lines.push(`${indent}${isExplicit ? `? ${key}\n${indent}` : key}:${value(style, indent, depth)}`);
    }
  }
  return lines.join('');
}

/** What follows a dash and a space. */
function item(style: Style, indent: string, depth: number): string {
  if (depth < 4 && style.random.chance(0.3)) {
    // On the line of the dash, with the column of its first key.
    return block(style, `${indent}  `, depth + 1).trimStart();
  }
  return value(style, indent, depth).replace(/^ /, '');
}

/** What follows a colon. */
function value(style: Style, indent: string, depth: number): string {
  const { random, anchors } = style;
  const comment = random.chance(0.1) ? ' # comment' : '';
  const below = `${indent}${random.pick(['  ', '  ', '    ', ' '])}`;
  if (depth < 4 && random.chance(0.3)) return `${comment}\n${block(style, below, depth + 1)}`;
  if (anchors.length > 0 && random.chance(0.05)) return ` *${random.pick(anchors)}${comment}\n`;
  if (random.chance(0.15)) {
    const lines = Array.from({ length: 1 + random.below(4) }, () => random.pick(LINES));
    const body = lines.map((line) => (line === '' ? '\n' : `${indent}  ${line}\n`)).join('');
    return ` ${random.pick(BLOCKS)}${comment}\n${body}`;
  }
  if (random.chance(0.04)) return `${comment}\n`;
  let anchor = '';
  if (random.chance(0.04)) {
    anchor = `&a${anchors.length} `;
    anchors.push(`a${anchors.length}`);
  }
  const text = random.chance(0.2) ? flow(style, depth, below) : scalar(style).replaceAll('\n', `\n${indent}`);
  return ` ${anchor}${text}${comment}\n`;
}

function flow(style: Style, depth: number, indent = ' '): string {
  const { random } = style;
  if (depth > 4 || random.chance(0.4)) return scalar(style).replaceAll('\n', `\n${indent}`);
  const separator = random.pick([', ', ',', ' , ', `,\n${indent}`, `, # c\n${indent}`]);
  const isMap = random.chance(0.5);
  const items = Array.from({ length: random.below(4) }, (_, index) => {
    const inner = flow(style, depth + 1, indent);
    if (!isMap) return random.chance(0.1) ? `k${index}: ${inner}` : inner;
    const key = random.pick([`k${index}`, `"k${index}"`, `k ${index}`]);
    return `${key}${key.endsWith('"') && random.chance(0.3) ? ':' : ': '}${inner}`;
  });
  return `${isMap ? '{' : '['}${items.join(separator)}${isMap ? '}' : ']'}`;
}

function scalar({ random, disputed }: Style): string {
  if (random.chance(0.3)) return random.pick(QUOTED);
  return random.pick(disputed && random.chance(0.2) ? DISPUTED : PLAIN);
}

/** Text that changes what the text around it means. */
export const PIECES = [
  ...['"', "'", ':', ': ', '- ', '-', ' #', '#', '|', '>', '|2\n', '>-', '[', ']', '{', '}', ',', '? ', '?'],
  ...['\n', '\n\n', ' ', '  ', '\\', '@', '`', '%', '---\n', '...\n', '~', 'null', '-0', '1e3', '.5', '0x1F'],
  ...[
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
    '\t',
    '\n\t',
    '&a ',
    '*a',
  ],
  ...['!', '!!str ', '!!int ', '\r\n', '<<: ', '&', '*', '\\/', '\\ud83d', '%TAG ! x\n', '\n]', '\n}'],
];

/** Keys in one order, since maps of other languages have none, and zero without a sign. */
export function sorted(value: JsonValue): JsonValue {
  if (value === 0) return 0;
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key]!)]),
  );
}
