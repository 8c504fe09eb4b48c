import type { Random } from './random.js';

/** Values at the edges of their types. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  int: [
    '0',
    '1',
    '-1',
    '2',
    '3',
    '7',
    '-3',
    '10',
    '16',
    '36',
    '64',
    '97',
    '255',
    '233',
    '0x1F600',
    '2147483648',
    '9007199254740993',
    '-(1 << 63)',
    '1 << 70',
  ],
  float: [
    '0.0',
    '-0.0',
    '1.0',
    '1.5',
    '-2.5',
    '0.1',
    '1e6',
    '123456789.0',
    '1e21',
    '1e-7',
    '5e-324',
    '1e308',
    'float("nan")',
    'float("inf")',
    'float("-inf")',
  ],
  string: [
    '""',
    '"a"',
    '"abc"',
    '"aXbXc"',
    '"X"',
    '"é"',
    '"héllo wörld"',
    '"😀"',
    '"😀"[:2]',
    '"ǅ"',
    '"ß"',
    '"İK"',
    '"  a b  "',
    '"a\\tb\\n\\nc\\n"',
    '"%s %d"',
    '"%r%%"',
    '"{} {}"',
    '"{0}{a!r}"',
    '"\\x7f\\0"',
    '"0x10"',
    '"-12"',
    '"1e3"',
    '"0b1"',
    '"Abc Def"',
    '"ABC"',
    '"١"',
    '"banana"',
    '"an"',
    '"\\u2028\\u00a0"',
  ],
  bytes: ['b""', 'b"abc"', 'b"\\xff\\x00z"', 'bytes("é😀")'],
  list: [
    '[]',
    '[1, 2, 3]',
    '[3, 1, 2]',
    '[1, "a", None]',
    '["b", "a", "c"]',
    '[[1], [0, 2], []]',
    '[1, 1.0, True]',
    '[("a", 1), ("b", 2)]',
    '["é", "a"]',
    '[0.5, -1, 1 << 65]',
  ],
  tuple: ['()', '(1,)', '(1, 2)', '("a", "b")', '(1, [2], {})', '("a", 1, 2.5)'],
  dict: [
    '{}',
    '{"a": 1}',
    '{"b": [1], "a": {"c": None}}',
    '{1: "x", 2.5: "y", (1, 2): "z"}',
    '{"é": "ü", "": 0}',
  ],
  set: ['set()', 'set([1, 2, 3])', 'set(["a", 2, 1.5])'],
  range: ['range(0)', 'range(5)', 'range(10, 0, -3)', 'range(-2, 9, 4)'],
  bool: ['True', 'False'],
  none: ['None'],
  callable: ['len', 'str', 'repr', 'type', 'lambda x: x', 'lambda x: -x', 'lambda x, y=1: (x, y)', 'bool'],
};
const TYPES = Object.keys(VALUES);

const FUNCTIONS = [
  'abs',
  'all',
  'any',
  'bool',
  'bytes',
  'chr',
  'dict',
  'dir',
  'enumerate',
  'fail',
  'float',
  'getattr',
  'hasattr',
  'hash',
  'int',
  'len',
  'list',
  'max',
  'min',
  'ord',
  'range',
  'repr',
  'reversed',
  'set',
  'sorted',
  'str',
  'tuple',
  'type',
  'zip',
] as const;
const MODULE_FUNCTIONS = [
  'json.encode',
  'json.decode',
  'json.indent',
  'json.encode_indent',
  'math.ceil',
  'math.floor',
  'math.fabs',
  'math.mod',
  'math.round',
  'math.remainder',
  'math.copysign',
  'math.sqrt',
  'time.parse_duration',
  'time.parse_time',
  'time.from_timestamp',
] as const;

/** The methods of each type. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  string: [
    'capitalize',
    'codepoint_ords',
    'codepoints',
    'count',
    'elem_ords',
    'elems',
    'endswith',
    'find',
    'format',
    'index',
    'isalnum',
    'isalpha',
    'isdigit',
    'islower',
    'isspace',
    'istitle',
    'isupper',
    'join',
    'lower',
    'lstrip',
    'partition',
    'removeprefix',
    'removesuffix',
    'replace',
    'rfind',
    'rindex',
    'rpartition',
    'rsplit',
    'rstrip',
    'split',
    'splitlines',
    'startswith',
    'strip',
    'title',
    'upper',
  ],
  bytes: ['elems'],
  list: ['append', 'clear', 'extend', 'index', 'insert', 'pop', 'remove'],
  dict: ['clear', 'get', 'items', 'keys', 'pop', 'popitem', 'setdefault', 'update', 'values'],
  set: [
    'add',
    'clear',
    'difference',
    'discard',
    'intersection',
    'issubset',
    'issuperset',
    'pop',
    'remove',
    'symmetric_difference',
    'union',
    'update',
  ],
};
const KEYWORDS = ['key', 'reverse', 'sep', 'base', 'x', 'a', 'default', 'indent', 'iterable'] as const;
const BINARY = [
  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'not in',
  '|',
  '&',
  '^',
  '<<',
  '>>',
  'and',
  'or',
] as const;
const LITERAL_JSON = [
  '"[1, 2.5, {}]"',
  '"{\\"a\\": \\"\\\\u00e9\\\\n\\"}"',
  '"[1,]"',
  '"nul"',
  '"-"',
  '"1e5"',
  '"\\"a"',
] as const;
const LITERAL_TIMES = [
  '"1h2m3.5s"',
  '"-3ms"',
  '"1x"',
  '"2020-06-26T17:38:36Z"',
  '"2020-02-30T00:00:00+02:00"',
] as const;

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
