import { describe, expect, it } from 'vitest';
import { parse } from './parse.js';
import { StarlarkSyntaxError } from './syntax-error.js';
import type { Expression } from './tree.js';

/** Returns the message of a syntax error with its position. */
function problem(text: string): string {
  try {
    parse(text, { file: 'f' });
  } catch (error) {
    if (error instanceof StarlarkSyntaxError) return String(error);
    throw error;
  }
  throw new Error('parses');
}

function expression(text: string): Expression {
  const [statement] = parse(text).statements;
  if (statement?.kind !== 'expression') throw new Error('not an expression');
  return statement.expression;
}

/** Writes an expression with all parentheses. */
function show(node: Expression): string {
  switch (node.kind) {
    case 'identifier':
      return node.name;
    case 'int':
      return String(node.value);
    case 'binary':
      return `(${show(node.left)} ${node.operator} ${show(node.right)})`;
    case 'unary':
      return `(${node.operator} ${show(node.operand)})`;
    case 'conditional':
      return `(${show(node.whenTrue)} if ${show(node.condition)} else ${show(node.whenFalse)})`;
    case 'tuple':
      return `(${node.elements.map(show).join(', ')},)`;
    default:
      return node.kind;
  }
}

const value = (text: string) => (expression(text) as { value?: unknown }).value;

describe('literals', () => {
  it('reads ints of all bases and sizes', () => {
    expect(['0', '0x1F', '0o17', '0b101', '000'].map(value)).toEqual([0, 31, 15, 5, 0]);
    expect(value('123456789012345678901234567890')).toBe(123456789012345678901234567890n);
    expect(problem('0755')).toBe('f:1:1: obsolete form of octal literal; use 0o755');
    expect(problem('0x')).toBe('f:1:1: invalid hex literal');
  });

  it('reads floats', () => {
    expect(['1.', '.5', '1e3', '1.5E-3'].map(value)).toEqual([1, 0.5, 1000, 0.0015]);
    expect(expression('1.').kind).toBe('float');
    expect(problem('1e400')).toBe('f:1:1: invalid float literal');
  });

  it('reads strings with all escapes', () => {
    expect(value(String.raw`"\a\b\f\n\r\t\v\\\'\"\0\101\x41\u00e9\U0001F600"`)).toBe(
      '\x07\b\f\n\r\t\v\\\'"\0AAé😀',
    );
    expect(value(String.raw`r"\d\"" `)).toBe(String.raw`\d\"`);
    expect(value('"""a"b\nc"""')).toBe('a"b\nc');
    expect(value("'a\\\nb'")).toBe('ab');
    expect([...(value(String.raw`b"a\xff\377é"`) as Uint8Array)]).toEqual([97, 255, 255, 0xc3, 0xa9]);
    expect([...(value(String.raw`rb"\x"`) as Uint8Array)]).toEqual([92, 120]);
  });

  it('refuses escapes that mean nothing', () => {
    expect(problem(String.raw`"\q"`)).toContain(String.raw`invalid escape sequence \q`);
    expect(problem(String.raw`"\xff"`)).toContain(String.raw`non-ASCII hex escape \xff (use \u00FF`);
    expect(problem(String.raw`"\ud800"`)).toContain('invalid Unicode code point U+D800');
    expect(problem(String.raw`"\U00110000"`)).toContain('code point out of range');
    expect(problem('"abc')).toBe('f:1:1: unexpected EOF in string');
    expect(problem('"abc\n"')).toBe('f:1:1: unexpected newline in string');
  });
});

describe('expressions', () => {
  it('bind as the specification says', () => {
    expect(show(expression('a or b and not c == d | e ^ f & g << h + i * -j'))).toBe(
      '(a or (b and (not (c == (d | (e ^ (f & (g << (h + (i * (- j)))))))))))',
    );
    expect(show(expression('a - b - c'))).toBe('((a - b) - c)');
    expect(show(expression('not a in b'))).toBe('(not (a in b))');
    expect(show(expression('a not in b or c'))).toBe('((a not in b) or c)');
    expect(show(expression('a if b else c if d else e'))).toBe('(a if b else (c if d else e))');
    expect(show(expression('a, b + c'))).toBe('(a, (b + c),)');
  });

  it('has comparisons that do not associate', () => {
    expect(problem('a < b < c')).toBe('f:1:7: < does not associate with < (use parens)');
    expect(problem('a == b not in c')).toContain('== does not associate with not in');
    expect(show(expression('(a < b) == c'))).toBe('((a < b) == c)');
  });

  it('ends a comprehension clause before the next if', () => {
    const node = expression('[x for x in a if b if c for y in d]');
    expect(node.kind === 'comprehension' && node.clauses.map(({ kind }) => kind)).toEqual([
      'for',
      'if',
      'if',
      'for',
    ]);
  });
});

describe('statements', () => {
  it('take indentation, blank lines, comments and Windows line ends', () => {
    const { statements } = parse(
      'def f(x):\r\n  # comment\r\n\r\n  if x:\r\n\treturn 1\r\n  return 2; pass\r\nx = (1 +\r\n2) \\\r\n + 3 # end',
    );
    expect(statements.map(({ kind }) => kind)).toEqual(['def', 'assign']);
  });

  it('say what was expected', () => {
    expect(problem('def f(x) return x')).toBe("f:1:10: got return, want ':'");
    expect(problem('x = ')).toBe('f:1:5: got end of file, want primary expression');
    expect(problem('if x:\npass')).toBe('f:2:1: got pass, want indent');
    expect(problem('if x:\n    pass\n  pass')).toBe(
      'f:3:3: unindent does not match any outer indentation level',
    );
    expect(problem('import x')).toBe('f:1:1: got reserved word import, want primary expression');
    expect(problem('x = 1, ')).toContain('unparenthesized tuple with trailing comma');
    expect(problem('f(a.b=1)')).toContain('keyword argument must have form name=expr');
    expect(problem('load("m")')).toContain('load statement must import at least 1 symbol');
    expect(problem('x = 1)')).toBe("f:1:6: unexpected ')'");
    expect(problem('😀 = 1')).toBe("f:1:1: unexpected input character '😀'");
    expect(problem('"é😀" + $')).toContain('f:1:8: unexpected input character');
  });

  it('are refused when nested too deeply, not by a crash', () => {
    for (const text of ['(', '[', '{1:', '-', 'not ', 'lambda: ', 'f(', 'x[', '1 if 1 else ', 'a or (']) {
      expect(problem(text.repeat(100_000))).toContain('excessive nesting');
    }
    expect(problem(`x${'()'.repeat(100_000)}`)).toContain('excessive nesting');
    let calls = '1';
    for (let i = 0; i < 50; i++) calls = `[f(${calls})${'[0]'.repeat(300)}]`;
    expect(problem(calls)).toContain('excessive nesting');
    const flat = `[f(1)${'[0]'.repeat(300)}]`;
    expect(parse(`x = ${flat} + ${flat}\ny = ${flat}(${flat}, ${flat})`).statements).toHaveLength(2);
    const blocks = Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}if x:\n`).join('');
    expect(problem(blocks)).toContain('excessive nesting');
    expect(parse(`x = 1${' + 1'.repeat(50_000)}`).statements).toHaveLength(1);
  });
});
