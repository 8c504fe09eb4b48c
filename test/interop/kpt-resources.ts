import type { Random } from '@krmhub/yaml/testing/random';

/** Resources with comments everywhere and in every style of YAML, from a seed. */

const words = (text: string): string[] => text.split(' ');
const KEYS = words('foo bar app name image port data a-b a.b/c k_ n on');
const PLAIN = [
  ...words('foo 1 0x1f 1.5 true yes on null ~ nginx:1.2 10m 2020-01-01 -c --x a#b 1e3 .5 0o7 << = héllo 😀x'),
  ...['', 'a b', "it's", 'say "hi"', 'a,b', 'x'.repeat(120)],
];
const QUOTED = [
  ...["'single'", "'it''s'", '"double"', '"a\\tb"', '"a\\nb"', "'1'", '"true"', "''", '"\\u00e9"', '"😀"'],
  ...["' lead'", '"trail "', "'#c'", "'a: b'"],
];
const TAGGED = ['!!str 1', '!foo bar', '!!int "3"', '! x', '!!binary aGk='];
const LINES = ['line one', '  indented', '# not a comment', 'key: value', '', '- x', 'a\tb', 'trail '];
const FOLDED_LINES = LINES.filter((line) => line !== '' && !line.startsWith(' '));

/** Writes one resource line by line. */
class ResourceWriter {
  private readonly random: Random;
  private readonly lines: string[] = [];
  private readonly anchors: string[] = [];
  /** How often there is a comment, and how often the notation is unusual. */
  private readonly comments: number;
  private readonly unusual: number;
  private names = 0;

  constructor(random: Random) {
    this.random = random;
    this.comments = random.pick([0, 0.05, 0.2, 0.4]);
    this.unusual = random.pick([0, 0, 0.1, 0.3]);
  }

  resource(name: string): string {
    this.above(0);
    this.field('apiVersion: example.com/v1');
    this.field('kind: Thing');
    this.field('metadata:');
    this.field(`  name: ${name}`);
    if (this.random.chance(0.3)) this.field(`  annotations:${this.beside()}\n    x: y`);
    if (this.random.chance(0.2)) this.field('  labels: {a: b}');
    this.field('spec:');
    this.map(this.random.pick([2, 2, 4]), 4);
    this.above(0);
    const end = this.random.pick(['\n', '\n', '\n', '\r\n']);
    const text = this.lines.join('\n').replaceAll('\n', end);
    return (this.random.chance(0.03) ? '\ufeff' : '') + text + (this.random.chance(0.05) ? '' : end);
  }

  private field(text: string): void {
    this.above(text.length - text.trimStart().length);
    this.lines.push(text + this.beside());
  }

  private comment(): string {
    const text = this.random.pick(['comment', 'note: a', 'x', '# double', '- item', 'héllo']);
    return `#${this.random.pick([' ', '', ' '])}${text}${this.names++}`;
  }

  private beside(): string {
    return this.random.chance(this.comments) ? this.random.pick([' ', '  ']) + this.comment() : '';
  }

  /** Comments and empty lines. */
  private above(indent: number): void {
    const { random } = this;
    while (random.chance(this.comments)) {
      if (random.chance(0.2)) this.lines.push('');
      const column = random.chance(this.unusual) ? indent + random.pick([-4, -2, -1, 1, 2]) : indent;
      this.lines.push(' '.repeat(Math.max(0, column)) + this.comment());
      if (random.chance(0.2)) this.lines.push('');
    }
    if (random.chance(this.comments / 2)) this.lines.push('');
  }

  private key(): string {
    const name = `${this.random.pick(KEYS)}${this.names++}`;
    if (!this.random.chance(this.unusual / 3)) return name;
    return this.random.pick([`'q ${name}'`, `"${name}"`, `1${this.names}`, `!!str ${name}`]);
  }

  private map(indent: number, depth: number, first?: string): void {
    const count = 1 + this.random.below(this.random.chance(0.1) ? 8 : 4);
    for (let index = 0; index < count; index++) {
      if (index > 0 || first === undefined) this.above(indent);
      const start = index === 0 && first !== undefined ? first : ' '.repeat(indent);
      this.value(indent, depth, `${start}${this.key()}:`, false);
    }
    if (this.random.chance(this.comments)) this.above(indent);
  }

  private list(indent: number, depth: number, first?: string): void {
    const count = 1 + this.random.below(4);
    for (let index = 0; index < count; index++) {
      if (index > 0 || first === undefined) this.above(indent);
      this.value(indent, depth, `${index === 0 && first !== undefined ? first : ' '.repeat(indent)}-`, true);
    }
    if (this.random.chance(this.comments)) this.above(indent);
  }

  private value(indent: number, depth: number, start: string, inList: boolean): void {
    const { random } = this;
    const kind = random.next();
    if (depth > 0 && kind < 0.25) this.nestedMap(indent, depth - 1, start, inList);
    else if (depth > 0 && kind < 0.45) this.nestedList(indent, depth - 1, start, inList);
    else if (kind < 0.55) this.lines.push(`${start} ${this.flow(2)}${this.beside()}`);
    else if (kind < 0.62) this.block(indent + random.pick([2, 2, 4]), start);
    else if (kind < 0.64 && this.anchors.length > 0) {
      this.lines.push(`${start} *${random.pick(this.anchors)}${this.beside()}`);
    } else if (kind < 0.66 + this.unusual / 4) this.broken(indent + 2, start);
    else {
      const text = this.scalar();
      this.lines.push(start + (text === '' ? '' : random.pick([' ', ' ', '  ']) + text) + this.beside());
    }
  }

  private nestedMap(indent: number, depth: number, start: string, inList: boolean): void {
    const { random } = this;
    if (inList && random.chance(0.7)) {
      const space = random.chance(this.unusual / 5) ? '   ' : ' ';
      this.map(indent + 1 + space.length, depth, start + space);
      return;
    }
    let anchor = '';
    if (random.chance(0.05 + this.unusual / 4)) {
      anchor = `a${this.names++}`;
      this.anchors.push(anchor);
      anchor = ` &${anchor}`;
    }
    const step = random.pick([2, 2, 2, 4, 3]);
    this.lines.push(start + anchor + this.beside());
    this.above(indent + step);
    this.map(indent + step, depth);
  }

  private nestedList(indent: number, depth: number, start: string, inList: boolean): void {
    if (inList && this.random.chance(0.6)) {
      this.list(indent + 2, depth, `${start} `);
      return;
    }
    const step = inList ? 2 : this.random.pick([0, 0, 2, 2, 4]);
    this.lines.push(start + this.beside());
    this.above(indent + step);
    this.list(indent + step, depth);
  }

  private scalar(): string {
    const kind = this.random.next();
    if (kind < 0.65) return this.random.pick(PLAIN);
    return kind < 0.95 ? this.random.pick(QUOTED) : this.random.pick(TAGGED);
  }

  private flow(depth: number): string {
    const { random } = this;
    const items = (item: () => string): string =>
      Array.from({ length: random.below(4) }, item).join(random.pick([', ', ',']));
    if (depth === 0 || random.chance(0.5)) {
      const text = this.scalar();
      return /[[\],{}:?]/.test(text) ? 'z' : text;
    }
    if (random.chance(0.5)) return `[${items(() => this.flow(depth - 1))}]`;
    return `{${items(() => `${random.pick(KEYS)}${this.names++}: ${this.flow(depth - 1)}`)}}`;
  }

  private block(indent: number, start: string): void {
    const { random } = this;
    const style = random.chance(0.7) ? '|' : '>';
    const isFolded = style === '>';
    const chomping = random.pick(isFolded ? ['', '-'] : ['', '-', '+', '']);
    this.lines.push(`${start} ${style}${chomping}${this.beside()}`);
    const count = 1 + random.below(4);
    for (let index = 0; index < count; index++) {
      // kpt changes folded text with indented lines, or with an empty line at its start.
      const line = random.pick(isFolded ? FOLDED_LINES : LINES);
      this.lines.push(line === '' ? '' : ' '.repeat(indent) + (index === 0 ? line.trimStart() : line));
    }
    if (random.chance(0.2)) this.lines.push('');
  }

  /** A value of several lines. */
  private broken(indent: number, start: string): void {
    const space = ' '.repeat(indent);
    const [open, close] = this.random.pick([
      [' [a,', ']'],
      [' {a: 1,', '}'],
      [' first line', ''],
      [' "first line', '"'],
      [" 'first line", "'"],
    ] as const);
    const isFlow = close === ']' || close === '}';
    this.lines.push(start + open + (isFlow ? this.beside() : ''));
    if (isFlow) this.above(indent);
    this.lines.push(`${space}${close === '}' ? 'b: 2' : 'second'}${isFlow ? this.beside() : close}`);
    if (!isFlow) return;
    this.above(indent);
    this.lines.push(space + close + this.beside());
  }
}

export function randomResource(random: Random, name: string): string {
  return new ResourceWriter(random).resource(name);
}

/** Writes an object of Kubernetes, whose lists are matched by keys. */
export function randomWorkload(random: Random, name: string): string {
  const lines: string[] = [];
  const comments = random.pick([0.1, 0.3, 0.5]);
  const wide = random.pick([0, 2]);
  let names = 0;
  const add = (indent: number, text: string): void => {
    if (random.chance(comments)) lines.push(`${' '.repeat(indent)}# above ${names++}`);
    lines.push(' '.repeat(indent) + text + (random.chance(comments) ? ` # beside ${names++}` : ''));
  };
  const item = (indent: number, fields: string[]): void => {
    for (const [index, field] of fields.entries()) {
      if (index === 0) add(indent, `- ${field}`);
      else add(indent + 2, field);
    }
  };
  const list = (
    indent: number,
    key: string,
    fields: (index: number) => string[],
    below?: (indent: number) => void,
  ) => {
    add(indent, `${key}:`);
    for (let index = 0; index <= random.below(4); index++) {
      item(indent + wide, fields(index));
      below?.(indent + wide + 2);
    }
  };
  const container = (indent: number): void => {
    if (random.chance(0.5)) list(indent, 'env', (index) => [`name: E${index}`, `value: v${index}`]);
    if (random.chance(0.5)) {
      list(indent, 'ports', (index) =>
        random.chance(0.5)
          ? [`containerPort: ${80 + (index >> 1)}`, `protocol: ${index % 2 === 0 ? 'TCP' : 'UDP'}`]
          : [`containerPort: ${80 + index}`],
      );
    }
    if (random.chance(0.4)) list(indent, 'args', (index) => [`a${index}`]);
  };
  const isService = random.chance(0.3);
  add(0, `apiVersion: ${isService ? 'v1' : 'apps/v1'}`);
  add(0, `kind: ${isService ? 'Service' : 'Deployment'}`);
  add(0, 'metadata:');
  add(2, `name: ${name}`);
  if (random.chance(0.3)) list(2, 'finalizers', (index) => [`example.com/${index}`]);
  add(0, 'spec:');
  if (isService) {
    list(2, 'ports', (index) =>
      random.chance(0.5)
        ? [`port: ${80 + index}`, 'targetPort: 1']
        : [`port: ${80 + (index >> 1)}`, `protocol: ${index % 2 === 0 ? 'TCP' : 'UDP'}`],
    );
    return `${lines.join('\n')}\n`;
  }
  add(2, 'template:');
  add(4, 'spec:');
  list(6, 'containers', (index) => [`name: c${index}`, `image: nginx:${index}`], container);
  if (random.chance(0.4)) list(6, 'volumes', (index) => [`name: v${index}`, 'emptyDir: {}']);
  return `${lines.join('\n')}\n`;
}
