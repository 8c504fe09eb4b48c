import type { Int } from '../values/integer.js';
import { parseParameters } from './parse-parameters.js';
import { MAX_SUFFIXES, type TokenStream } from './token-stream.js';
import type { TokenKind } from './tokens.js';
import type { Argument, BinaryExpressionOperator, Clause, DictEntry, Expression } from './tree.js';

/** Binary operators by precedence, weakest first. */
const LEVELS: readonly (readonly TokenKind[])[] = [
  ['or'],
  ['and'],
  [],
  ['==', '!=', '<', '>', '<=', '>=', 'in', 'not'],
  ['|'],
  ['^'],
  ['&'],
  ['<<', '>>'],
  ['-', '+'],
  ['*', '%', '/', '//'],
];
const NOT_LEVEL = 2;
const COMPARISON_LEVEL = 3;
const PRECEDENCE: ReadonlyMap<TokenKind, number> = new Map(
  LEVELS.flatMap((kinds, level) => kinds.map((kind) => [kind, level] as const)),
);
const AFTER_LIST: ReadonlySet<TokenKind> = new Set<TokenKind>([
  'end of file',
  'newline',
  '=',
  '}',
  ']',
  ')',
  ';',
]);

/** Parses `a` or `a, b, …`, which is a tuple. `trailingComma` says whether the list may end in a comma. */
export function parseExpressionList(tokens: TokenStream, trailingComma = false): Expression {
  return parseList(tokens, trailingComma, parseTest);
}

/** Parses what a `for` assigns to: `x`, `x, y`, `(x, y)`, `x[0]`. */
export function parseLoopTarget(tokens: TokenStream): Expression {
  return parseList(tokens, true, parseUnary);
}

function parseList(
  tokens: TokenStream,
  trailingComma: boolean,
  parse: (tokens: TokenStream) => Expression,
): Expression {
  const first = parse(tokens);
  if (tokens.peek() !== ',') return first;
  const elements = [first];
  while (tokens.peek() === ',') {
    const comma = tokens.take();
    if (AFTER_LIST.has(tokens.peek())) {
      if (!trailingComma) tokens.fail(comma.start, 'unparenthesized tuple with trailing comma');
      break;
    }
    elements.push(parse(tokens));
  }
  return { kind: 'tuple', elements, start: first.start, end: tokens.lastEnd };
}

/** Parses one expression: no tuple without parentheses. */
export function parseTest(tokens: TokenStream): Expression {
  return tokens.nested(() => {
    if (tokens.peek() === 'lambda') return parseLambda(tokens, parseTest);
    const whenTrue = parseBinary(tokens, 0);
    if (tokens.peek() !== 'if') return whenTrue;
    const start = tokens.take().start;
    const condition = parseBinary(tokens, 0);
    if (tokens.peek() !== 'else') tokens.fail(start, 'conditional expression without else clause');
    tokens.take();
    const whenFalse = parseTest(tokens);
    return {
      kind: 'conditional',
      condition,
      whenTrue,
      whenFalse,
      start: whenTrue.start,
      end: whenFalse.end,
    };
  });
}

/** Parses an expression after which an `if` is another clause. */
function parseTestWithoutConditional(tokens: TokenStream): Expression {
  return tokens.peek() === 'lambda'
    ? parseLambda(tokens, parseTestWithoutConditional)
    : parseBinary(tokens, 0);
}

function parseLambda(tokens: TokenStream, parseBody: (tokens: TokenStream) => Expression): Expression {
  return tokens.nested(() => {
    const { start } = tokens.take();
    const parameters = tokens.peek() === ':' ? [] : parseParameters(tokens, parseTest);
    tokens.expect(':');
    const body = parseBody(tokens);
    return { kind: 'lambda', parameters, body, start, end: body.end };
  });
}

/** Parses operators that bind at least as strongly as `level`. Chains of one level are a loop, not a recursion. */
function parseBinary(tokens: TokenStream, level: number): Expression {
  if (level <= NOT_LEVEL && tokens.peek() === 'not') {
    return tokens.nested(() => continueBinary(tokens, parseNot(tokens), level, NOT_LEVEL));
  }
  return tokens.nested(() => continueBinary(tokens, parseUnary(tokens), level, LEVELS.length - 1));
}

function parseNot(tokens: TokenStream): Expression {
  const { start } = tokens.take();
  const operand = parseBinary(tokens, NOT_LEVEL);
  return { kind: 'unary', operator: 'not', operand, start, end: operand.end };
}

/** `strongest` is the level of the operators that may follow `left` first. */
function continueBinary(
  tokens: TokenStream,
  first: Expression,
  level: number,
  strongest: number,
): Expression {
  let left = first;
  let allowed = strongest;
  for (;;) {
    const precedence = PRECEDENCE.get(tokens.peek());
    if (precedence === undefined || precedence < level || precedence > allowed) return left;
    const { start: operatorStart, kind } = tokens.take();
    let operator = kind as BinaryExpressionOperator;
    if (kind === 'not') {
      if (tokens.peek() !== 'in') tokens.unexpected('want in');
      tokens.take();
      operator = 'not in';
    }
    const right = parseBinary(tokens, precedence + 1);
    left = {
      kind: 'binary',
      operator,
      operatorStart,
      left,
      right,
      start: left.start,
      end: right.end,
    };
    // Comparisons do not associate; weaker operators may follow.
    if (precedence === COMPARISON_LEVEL && PRECEDENCE.get(tokens.peek()) === COMPARISON_LEVEL) {
      const next = tokens.peek() === 'not' ? 'not in' : tokens.peek();
      tokens.fail(tokens.token.start, `${operator} does not associate with ${next} (use parens)`);
    }
    allowed = precedence;
  }
}

/** Parses `-x`, `+x`, `~x`, or an operand with its suffixes. */
function parseUnary(tokens: TokenStream): Expression {
  const { token } = tokens;
  const { kind } = token;
  if (kind !== '-' && kind !== '+' && kind !== '~') return parseSuffixes(tokens);
  return tokens.nested(() => {
    tokens.take();
    const operand = parseUnary(tokens);
    return { kind: 'unary', operator: kind, operand, start: token.start, end: operand.end };
  });
}

function parseSuffixes(tokens: TokenStream): Expression {
  const before = tokens.suffixes;
  tokens.suffixes = 0;
  let result = parseOperand(tokens);
  for (; ; tokens.suffixes++) {
    if (tokens.suffixes > MAX_SUFFIXES) tokens.fail(tokens.token.start, 'excessive nesting');
    const { start } = result;
    if (tokens.peek() === '.') {
      const dot = tokens.take().start;
      const name = tokens.expect('identifier').value as string;
      result = { kind: 'dot', object: result, name, dot, start, end: tokens.lastEnd };
    } else if (tokens.peek() === '(') {
      const paren = tokens.take().start;
      const args = parseArguments(tokens, parseTest);
      tokens.expect(')');
      result = { kind: 'call', callee: result, args, paren, start, end: tokens.lastEnd };
    } else if (tokens.peek() === '[') {
      result = parseBrackets(tokens, result);
    } else {
      tokens.suffixes = Math.max(tokens.suffixes, before);
      return result;
    }
  }
}

/** Parses `[i]` or `[from:to:step]` after an expression. */
function parseBrackets(tokens: TokenStream, object: Expression): Expression {
  const bracket = tokens.take().start;
  const optional = () => (tokens.peek() === ':' || tokens.peek() === ']' ? undefined : parseTest(tokens));
  const first = tokens.peek() === ':' ? undefined : parseExpressionList(tokens);
  if (first !== undefined && tokens.peek() !== ':') {
    tokens.expect(']');
    return { kind: 'index', object, index: first, bracket, start: object.start, end: tokens.lastEnd };
  }
  tokens.expect(':');
  const to = optional();
  const step = tokens.accept(':') === undefined ? undefined : optional();
  tokens.expect(']');
  return { kind: 'slice', object, from: first, to, step, bracket, start: object.start, end: tokens.lastEnd };
}

function parseOperand(tokens: TokenStream): Expression {
  const { start, end, value } = tokens.token;
  switch (tokens.peek()) {
    case 'identifier':
      tokens.take();
      return { kind: 'identifier', name: value as string, start, end };
    case 'int':
      tokens.take();
      return { kind: 'int', value: value as Int, start, end };
    case 'float':
      tokens.take();
      return { kind: 'float', value: value as number, start, end };
    case 'string':
      tokens.take();
      return { kind: 'string', value: value as string, start, end };
    case 'bytes':
      tokens.take();
      return { kind: 'bytes', value: value as Uint8Array, start, end };
    case '[':
      return parseListDisplay(tokens);
    case '{':
      return parseDictDisplay(tokens);
    case '(':
      return parseParentheses(tokens);
    default:
      return tokens.unexpected('want primary expression');
  }
}

function parseParentheses(tokens: TokenStream): Expression {
  const { start } = tokens.take();
  if (tokens.accept(')') !== undefined) return { kind: 'tuple', elements: [], start, end: tokens.lastEnd };
  const inner = parseExpressionList(tokens, true);
  tokens.expect(')');
  return inner.kind === 'tuple' ? { ...inner, start, end: tokens.lastEnd } : inner;
}

function parseListDisplay(tokens: TokenStream): Expression {
  const { start } = tokens.take();
  if (tokens.accept(']') !== undefined) return { kind: 'list', elements: [], start, end: tokens.lastEnd };
  const first = parseTest(tokens);
  if (tokens.peek() === 'for') return parseComprehension(tokens, start, first, ']');
  const elements = [first];
  while (tokens.accept(',') !== undefined && tokens.peek() !== ']') elements.push(parseTest(tokens));
  if (tokens.peek() !== ']') tokens.unexpected("want ']', for, or if");
  tokens.take();
  return { kind: 'list', elements, start, end: tokens.lastEnd };
}

function parseDictDisplay(tokens: TokenStream): Expression {
  const { start } = tokens.take();
  if (tokens.accept('}') !== undefined) return { kind: 'dict', entries: [], start, end: tokens.lastEnd };
  const first = parseEntry(tokens);
  if (tokens.peek() === 'for') return parseComprehension(tokens, start, first, '}');
  const entries = [first];
  while (tokens.accept(',') !== undefined && tokens.peek() !== '}') entries.push(parseEntry(tokens));
  if (tokens.peek() !== '}') tokens.unexpected("want '}', for, or if");
  tokens.take();
  return { kind: 'dict', entries, start, end: tokens.lastEnd };
}

function parseEntry(tokens: TokenStream): DictEntry {
  const key = parseTest(tokens);
  const colon = tokens.expect(':').start;
  return { key, value: parseTest(tokens), colon };
}

function parseComprehension(
  tokens: TokenStream,
  start: number,
  body: Expression | DictEntry,
  close: ']' | '}',
): Expression {
  const clauses: Clause[] = [];
  for (;;) {
    const clauseStart = tokens.token.start;
    if (tokens.accept('for') !== undefined) {
      const target = parseLoopTarget(tokens);
      tokens.expect('in');
      // A conditional here would take the `if` of the next clause.
      const iterable = parseBinary(tokens, 0);
      clauses.push({ kind: 'for', target, iterable, start: clauseStart, end: tokens.lastEnd });
    } else if (tokens.accept('if') !== undefined) {
      const condition = parseTestWithoutConditional(tokens);
      clauses.push({ kind: 'if', condition, start: clauseStart, end: tokens.lastEnd });
    } else {
      if (tokens.peek() !== close) tokens.unexpected(`want '${close}', for, or if`);
      tokens.take();
      return { kind: 'comprehension', body, clauses, start, end: tokens.lastEnd };
    }
    if (clauses.length > MAX_CLAUSES) tokens.fail(clauseStart, 'excessive nesting');
  }
}

const MAX_CLAUSES = 50;

/** Parses the arguments of a call, up to the closing parenthesis. */
export function parseArguments(
  tokens: TokenStream,
  parseTest: (tokens: TokenStream) => Expression,
): Argument[] {
  const args: Argument[] = [];
  while (tokens.peek() !== ')') {
    args.push(parseArgument(tokens, parseTest));
    if (tokens.accept(',') === undefined) break;
  }
  return args;
}

function parseArgument(tokens: TokenStream, parseTest: (tokens: TokenStream) => Expression): Argument {
  const { start } = tokens.token;
  if (tokens.peek() === '*' || tokens.peek() === '**') {
    const { kind } = tokens.take() as { kind: '*' | '**' };
    return { kind, value: parseTest(tokens), start, end: tokens.lastEnd };
  }
  const value = parseTest(tokens);
  if (tokens.peek() !== '=') return { kind: 'positional', value, start, end: tokens.lastEnd };
  if (value.kind !== 'identifier') {
    return tokens.fail(tokens.token.start, 'keyword argument must have form name=expr');
  }
  tokens.take();
  return { kind: 'named', name: value.name, value: parseTest(tokens), start, end: tokens.lastEnd };
}
