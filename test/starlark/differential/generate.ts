import type { Random } from './random.js';
import {
  BINARY,
  FUNCTIONS,
  KEYWORDS,
  LITERAL_JSON,
  LITERAL_TIMES,
  METHODS,
  MODULE_FUNCTIONS,
  TYPES,
  VALUES,
} from './tables.js';

/** Writes random expressions and programs over all built-in functions, methods, and operators. */
export class Generator {
  constructor(private readonly random: Random) {}

  /** An expression that nests so deeply at most. */
  expression(depth = 3): string {
    const { random } = this;
    if (depth === 0 || random.once(5)) return this.value();
    const part = () => this.expression(depth - 1);
    switch (random.below(14)) {
      case 0:
      case 1:
      case 2:
        return this.method(depth);
      case 3:
      case 4:
      case 5:
        return `${random.pick(FUNCTIONS)}(${this.arguments(depth)})`;
      case 6:
        return this.moduleCall(depth);
      case 7:
      case 8:
        return `(${part()} ${random.pick(BINARY)} ${part()})`;
      case 9:
        return `(${random.pick(['-', '+', '~', 'not '])}${part()})`;
      case 10:
        return `(${part()})[${random.once(2) ? this.slice() : part()}]`;
      case 11:
        return `(${part()} if ${part()} else ${part()})`;
      case 12:
        return this.comprehension(depth);
      default:
        return this.format(depth);
    }
  }

  value(type: string = this.random.pick(TYPES)): string {
    return `(${this.random.pick(VALUES[type] as readonly string[])})`;
  }

  private method(depth: number): string {
    const type = this.random.pick(['string', 'string', 'string', ...Object.keys(METHODS)]);
    const receiver = this.random.once(6) ? this.expression(depth - 1) : this.value(type);
    const name = this.random.pick(METHODS[type] as readonly string[]);
    return `${receiver}.${name}(${this.arguments(depth, type === 'string' ? 'string' : undefined)})`;
  }

  /** Arguments are often of a type that the function takes. */
  private arguments(depth: number, likely?: string): string {
    const argument = () =>
      likely !== undefined && this.random.below(3) > 0
        ? this.value(this.random.once(4) ? 'int' : likely)
        : this.expression(depth - 1);
    const positional = this.random.list(3, argument);
    if (this.random.once(8)) positional.push(`${this.random.pick(KEYWORDS)}=${argument()}`);
    if (this.random.once(20)) positional.push(`*${this.value('list')}`);
    if (this.random.once(30)) positional.push(`**${this.value('dict')}`);
    return positional.join(', ');
  }

  private moduleCall(depth: number): string {
    const name = this.random.pick(MODULE_FUNCTIONS);
    if (this.random.once(3)) return `${name}(${this.arguments(depth)})`;
    if (name.startsWith('json.') && !name.startsWith('json.encode'))
      return `${name}(${this.random.pick(LITERAL_JSON)})`;
    if (name.startsWith('time.parse')) return `${name}(${this.random.pick(LITERAL_TIMES)})`;
    const type = name.startsWith('math.') ? ['int', 'float', 'float'] : ['list', 'dict', 'tuple', 'int'];
    const count = /mod|remainder|copysign/.test(name) ? 2 : 1;
    return `${name}(${Array.from({ length: count }, () => this.value(this.random.pick(type))).join(', ')})`;
  }

  private slice(): string {
    const index = () =>
      this.random.once(2) ? '' : this.random.pick(['0', '1', '2', '-1', '-2', '5', '100', 'None']);
    const step = this.random.once(3) ? `:${this.random.pick(['1', '2', '-1', '-2', '', '0'])}` : '';
    return `${index()}:${index()}${step}`;
  }

  private comprehension(depth: number): string {
    const iterable = this.random.once(3)
      ? this.expression(depth - 1)
      : this.value(this.random.pick(['list', 'dict', 'range', 'tuple', 'set']));
    const clause = `for x in ${iterable}${this.random.once(3) ? ` if ${this.random.pick(['x', 'not x', 'x != 1'])}` : ''}`;
    const element = this.random.pick(['x', '(x, x)', 'str(x)', 'x == x', '[x]', 'x * 2']);
    return this.random.once(3) ? `{x: ${element} ${clause}}` : `[${element} ${clause}]`;
  }

  private format(depth: number): string {
    const conversions = [
      '%s',
      '%r',
      '%d',
      '%i',
      '%x',
      '%X',
      '%o',
      '%e',
      '%f',
      '%g',
      '%E',
      '%G',
      '%c',
      '%%',
      '%(a)s',
      'x',
      '%5d',
      '%',
    ];
    const text = this.random.list(3, () => this.random.pick(conversions)).join('-');
    const type = this.random.pick(['int', 'float', 'string', 'tuple', 'dict']);
    return `("${text}" % ${this.random.once(3) ? this.expression(depth - 1) : `(${this.value(type)},)`})`;
  }

  /** A program that prints what it does. */
  program(): string {
    const lines = [`a = ${this.value('list')}`, `b = ${this.value('dict')}`, `c = ${this.value()}`];
    for (let count = 2 + this.random.below(6); count > 0; count--) lines.push(...this.statement());
    return `${[...lines, 'print(repr((a, b, c)))'].join('\n')}\n`;
  }

  private statement(): string[] {
    const { random } = this;
    const value = () => (random.once(3) ? random.pick(['a', 'b', 'c']) : this.expression(2));
    switch (random.below(11)) {
      case 0:
        return [`${random.pick(['a', 'b', 'c'])} = ${value()}`];
      case 1:
        return [
          `${random.pick(['a', 'b', 'c'])} ${random.pick(['+=', '-=', '*=', '|=', '&=', '%=', '//='])} ${value()}`,
        ];
      case 2:
        return [`${random.pick(['a', 'b', 'c'])}[${value()}] = ${value()}`];
      case 3:
        return [`a, ${random.pick(['c', '(b, c)', '[c]'])} = ${value()}`];
      case 4:
        return [
          `for v in ${value()}:`,
          '    print(repr(v))',
          `    ${random.pick(['a.append(v)', 'break', 'continue', 'pass', 'b[v] = 1', 'c = v'])}`,
        ];
      case 5:
        return [`if ${value()}:`, `    c = ${value()}`, 'else:', `    print(repr(${value()}))`];
      case 6:
        return [
          `def f(${random.pick(['x', 'x, y=2', '*args', 'x, *args, **kw', '*, k', 'x=[], *, k=1', '**kw'])}):`,
          `    ${random.pick(['return x', 'return', 'pass', 'a.append(1)', 'return (lambda: x)()'])}`,
          `print(repr(f(${this.arguments(1)})))`,
        ];
      case 7:
        return [`print(${this.arguments(2)})`];
      case 8:
        return [
          `c = ${random.pick(['a', 'b', 'c'])}.${random.pick(['pop', 'append', 'update', 'extend', 'get', 'index'])}(${value()})`,
        ];
      case 9:
        return [`for k, v in ${value()}:`, '    print(k, v)'];
      default:
        return [`print(repr(${value()}))`];
    }
  }
}
