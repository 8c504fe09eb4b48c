import type { Random } from './random.js';

const PLAIN = [
  'word',
  'two words',
  'a/b:c',
  '16',
  '0x10',
  '1.0',
  '1.50',
  'true',
  'null',
  '~',
  'yes',
  '2001-12-14',
];
const PLAIN_LINES = [
  '12345678901234567890',
  'it\u2019s',
  'x#y',
  '-1',
  '<no>',
  'C:\\dir',
  '$(VAR)',
  '.5',
  'é',
];
const SINGLE = ["'it''s'", "'a: b'", "''", "'1'", "'# no'"];
const DOUBLE = ['"tab\\tend"', '"line\\n"', '"1"', '"{{ x }}"', '"\\u263a"', '""'];
const BLOCK_LINES = [
  'line',
  '  deeper',
  'trailing ',
  'key: value',
  '# no comment',
  '\ttab',
  '- dash',
  'x'.repeat(90),
];

/** Writes random documents in all styles of YAML. Keys and comments are unique. */
export class RandomYaml {
  private readonly random: Random;
  private count = 0;
  private anchors: string[] = [];
  /** Those of block maps, for merge keys. */
  private maps: string[] = [];
  private readonly hasAnchors: boolean;

  constructor(random: Random) {
    this.random = random;
    this.hasAnchors = random.chance(0.2);
  }

  /** The text of a document whose root is a map. */
  document(): string {
    this.anchors = [];
    this.maps = [];
    return `${this.random.chance(0.2) ? `# license ${++this.count}\n\n` : ''}${this.map(0, 0).join('\n')}\n`;
  }

  /** Compact or indented JSON. */
  json(value: unknown): string {
    const style = this.random.pick([undefined, 2, 4, '\t']);
    const text = JSON.stringify(value, null, style);
    return this.random.chance(0.3) ? text : `${text}\n`;
  }

  private comment(name: string): string {
    return `# ${name} ${++this.count}`;
  }

  private aboveLines(column: number, isFirst: boolean): string[] {
    const { random } = this;
    const lines: string[] = [];
    if (!isFirst && random.chance(0.15)) lines.push('');
    if (random.chance(0.2)) {
      lines.push(' '.repeat(column) + this.comment('above'));
      if (random.chance(0.3)) lines.push(' '.repeat(column) + this.comment('above'));
      if (!isFirst && random.chance(0.15)) lines.push('');
    }
    return lines;
  }

  private key(): string {
    const name = `k${++this.count}`;
    return this.random.pick([
      name,
      name,
      name,
      name,
      name,
      `"${name}"`,
      `'${name}: x'`,
      `${name}/a:b`,
      `${name} b`,
    ]);
  }

  private map(column: number, depth: number): string[] {
    const { random } = this;
    const lines: string[] = [];
    const size = 1 + random.below(depth === 0 ? 5 : 3);
    const indent = ' '.repeat(column);
    if (random.chance(0.3) && this.maps.length > 0) {
      const sources = random.chance(0.2)
        ? `[${this.maps.map((name) => `*${name}`).join(', ')}]`
        : `*${random.pick(this.maps)}`;
      lines.push(`${indent}<<: ${sources}`);
    }
    for (let i = 0; i < size; i++) {
      // The comment above the first key of an item would be behind its dash.
      if (i > 0 || depth === 0) lines.push(...this.aboveLines(column, i === 0));
      const key = this.key();
      const [first, ...below] = this.value(column, depth + 1, false);
      if (random.chance(0.03)) lines.push(`${indent}? ${key}`, `${indent}:${first}`, ...below);
      else lines.push(`${indent}${key}:${first}`, ...below);
    }
    if (random.chance(0.08)) lines.push(indent + this.comment('below'));
    return lines;
  }

  private list(column: number, depth: number): string[] {
    const { random } = this;
    const lines: string[] = [];
    const indent = ' '.repeat(column);
    for (let i = random.below(3); i >= 0; i--) {
      const above = this.aboveLines(column, lines.length === 0);
      const gap = random.pick([' ', ' ', ' ', '   ']);
      const inner = column + 1 + gap.length;
      const roll = random.next();
      if (depth < 4 && roll < 0.3) {
        const map = this.map(inner, depth + 1);
        lines.push(...above, `${indent}-${gap}${map[0]!.trimStart()}`, ...map.slice(1));
      } else if (depth < 4 && roll < 0.36) {
        const list = this.list(inner, depth + 1);
        while (/^ *(?:#|$)/.test(list[0]!)) list.shift();
        lines.push(...above, `${indent}-${gap}${list[0]!.trimStart()}`, ...list.slice(1));
      } else {
        const [first, ...below] = this.value(column, depth + 1, true);
        // go-yaml has no place for the comments of an empty item.
        const isEmpty = below.length === 0 && /^(?: #.*)?$/.test(first!);
        if (isEmpty) lines.push(`${indent}-`);
        else lines.push(...above, `${indent}-${first}`, ...below);
      }
    }
    if (random.chance(0.08)) lines.push(indent + this.comment('below'));
    return lines;
  }

  /** What is behind the colon or dash, and the lines below. */
  private value(column: number, depth: number, isItem: boolean): string[] {
    const { random } = this;
    const comment = random.chance(0.25) ? ` ${this.comment('beside')}` : '';
    const roll = random.next();
    if (this.hasAnchors && random.chance(0.3) && this.anchors.length > 0)
      return [` *${random.pick(this.anchors)}${comment}`];
    let anchor = '';
    let name = '';
    if (this.hasAnchors && random.chance(0.2)) {
      name = `x${++this.count}`;
      anchor = ` &${name}`;
    }
    const done = (lines: string[]): string[] => {
      if (name !== '') this.anchors.push(name);
      return lines;
    };
    if (!isItem && depth < 5 && roll < 0.25) {
      const map = this.map(column + random.pick([2, 2, 2, 4, 3]), depth);
      if (name !== '') this.maps.push(name);
      return done([anchor + comment, ...map]);
    }
    if (!isItem && depth < 5 && roll < 0.4) {
      return done([anchor + comment, ...this.list(column + random.pick([0, 0, 2, 2, 4]), depth)]);
    }
    if (roll < 0.5) return done(this.block(column, anchor, comment));
    if (roll < 0.62) return done(this.flow(column, anchor, comment));
    if (roll < 0.66) return done([`${anchor} ${random.pick(['[]', '{}'])}${comment}`]);
    if (roll < 0.7) return done([`${anchor}${comment}`]);
    if (roll < 0.74) {
      const quote = random.pick(['', '"', "'"]);
      const lines = [`${anchor} ${quote}first`, `${' '.repeat(column + 2)}second`];
      if (random.chance(0.3)) lines.push('', `${' '.repeat(column + 3)}third`);
      lines[lines.length - 1] += quote + comment;
      return done(lines);
    }
    if (roll < 0.77) return done([anchor, `${' '.repeat(column + 2)}below${comment}`]);
    return done([`${anchor} ${this.inline()}${comment}`]);
  }

  private block(column: number, anchor: string, comment: string): string[] {
    const { random } = this;
    const indent = ' '.repeat(column + random.pick([2, 2, 2, 4]));
    const lines = [random.pick(['line', 'first', '#!/bin/sh'])];
    for (let i = random.below(4); i > 0; i--) lines.push(random.chance(0.2) ? '' : random.pick(BLOCK_LINES));
    const header = random.pick(['|', '|', '>']) + random.pick(['', '-', '+']);
    return [`${anchor} ${header}${comment}`, ...lines.map((line) => (line === '' ? '' : indent + line))];
  }

  private inline(): string {
    const { random } = this;
    return random.pick(random.pick([PLAIN, PLAIN, PLAIN_LINES, SINGLE, DOUBLE]));
  }

  private flow(column: number, anchor: string, comment: string): string[] {
    const { random } = this;
    const isMap = random.chance(0.5);
    const items: string[] = [];
    for (let i = random.below(4); i >= 0; i--) {
      const value = random.pick(['a', '1', '"q"', "'s'", '[x, y]', '{z: 1}', '[]', '{}', 'null', 'b c']);
      items.push(isMap ? `f${++this.count}: ${value}` : value);
    }
    const [open, close] = isMap ? '{}' : '[]';
    const style = random.below(4);
    if (style === 0) {
      const indent = ' '.repeat(column + 2);
      const inner = items.map(
        (item, i) =>
          `${indent}${item}${i + 1 < items.length || random.chance(0.3) ? ',' : ''}${random.chance(0.2) ? ` ${this.comment('flow')}` : ''}`,
      );
      return [`${anchor} ${open}`, ...inner, `${' '.repeat(column + 1)}${close}${comment}`];
    }
    const space = style === 1 ? ' ' : '';
    return [`${anchor} ${open}${space}${items.join(', ')}${space}${close}${comment}`];
  }
}
