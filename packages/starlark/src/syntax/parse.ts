/**
 * Parses a program into a syntax tree.
 *
 * @module
 */

import { parseExpressionList, parseLoopTarget, parseTest } from './parse-expression.js';
import { parseLoad } from './parse-load.js';
import { parseIdentifier, parseParameters } from './parse-parameters.js';
import { Source } from './source.js';
import { TokenStream } from './token-stream.js';
import type { TokenKind } from './tokens.js';
import type { ArithmeticOperator, IfStatement, Statement, SyntaxTree } from './tree.js';

const ASSIGNMENTS: ReadonlySet<TokenKind> = new Set<TokenKind>([
  '=',
  '+=',
  '-=',
  '*=',
  '/=',
  '//=',
  '%=',
  '&=',
  '|=',
  '^=',
  '<<=',
  '>>=',
]);

/** Parses a program. `file` is for messages. Throws `StarlarkSyntaxError` at the first problem. */
export function parse(text: string, { file = 'input.star' }: { file?: string } = {}): SyntaxTree {
  const source = new Source(file, text);
  const tokens = new TokenStream(source);
  const statements: Statement[] = [];
  while (tokens.peek() !== 'end of file') {
    if (tokens.accept('newline') === undefined) parseStatement(tokens, statements);
  }
  return { source, statements };
}

/** Parses one compound statement, or a line of simple ones. */
function parseStatement(tokens: TokenStream, into: Statement[]): void {
  switch (tokens.peek()) {
    case 'def':
      into.push(parseDef(tokens));
      break;
    case 'if':
      into.push(parseIf(tokens));
      break;
    case 'for':
      into.push(parseFor(tokens));
      break;
    case 'while':
      into.push(parseWhile(tokens));
      break;
    default:
      parseSimpleLine(tokens, into);
  }
}

function parseDef(tokens: TokenStream): Statement {
  const { start } = tokens.take();
  const name = parseIdentifier(tokens);
  tokens.expect('(');
  const parameters = parseParameters(tokens, parseTest);
  tokens.expect(')');
  const body = parseSuite(tokens);
  return { kind: 'def', name, parameters, body, start, end: tokens.lastEnd };
}

function parseIf(tokens: TokenStream): Statement {
  const { start } = tokens.token;
  const branches: IfStatement['branches'] = [];
  do {
    tokens.take();
    const condition = parseTest(tokens);
    branches.push({ condition, body: parseSuite(tokens) });
  } while (tokens.peek() === 'elif');
  const otherwise = tokens.accept('else') === undefined ? undefined : parseSuite(tokens);
  return { kind: 'if', branches, otherwise, start, end: tokens.lastEnd };
}

function parseFor(tokens: TokenStream): Statement {
  const { start } = tokens.take();
  const target = parseLoopTarget(tokens);
  tokens.expect('in');
  const iterable = parseExpressionList(tokens);
  const body = parseSuite(tokens);
  return { kind: 'for', target, iterable, body, start, end: tokens.lastEnd };
}

function parseWhile(tokens: TokenStream): Statement {
  const { start } = tokens.take();
  const condition = parseTest(tokens);
  const body = parseSuite(tokens);
  return { kind: 'while', condition, body, start, end: tokens.lastEnd };
}

/** Parses `:` and the statements that it introduces: an indented block, or the rest of the line. */
function parseSuite(tokens: TokenStream): Statement[] {
  tokens.expect(':');
  return tokens.nested(() => {
    const body: Statement[] = [];
    if (tokens.accept('newline') === undefined) {
      parseSimpleLine(tokens, body);
      return body;
    }
    tokens.expect('indent');
    while (tokens.peek() !== 'outdent' && tokens.peek() !== 'end of file') parseStatement(tokens, body);
    tokens.expect('outdent');
    return body;
  });
}

/** Parses simple statements separated by semicolons. */
function parseSimpleLine(tokens: TokenStream, into: Statement[]): void {
  for (;;) {
    into.push(parseSimple(tokens));
    if (tokens.accept(';') === undefined) break;
    if (tokens.peek() === 'newline' || tokens.peek() === 'end of file') break;
  }
  if (tokens.peek() !== 'end of file') tokens.expect('newline');
}

function parseSimple(tokens: TokenStream): Statement {
  const { start } = tokens.token;
  switch (tokens.peek()) {
    case 'return': {
      tokens.take();
      const ends = tokens.peek() === 'newline' || tokens.peek() === ';' || tokens.peek() === 'end of file';
      const value = ends ? undefined : parseExpressionList(tokens);
      return { kind: 'return', value, start, end: tokens.lastEnd };
    }
    case 'break':
    case 'continue':
    case 'pass': {
      const { kind } = tokens.take() as { kind: 'break' | 'continue' | 'pass' };
      return { kind, start, end: tokens.lastEnd };
    }
    case 'load':
      return parseLoad(tokens);
    default: {
      const left = parseExpressionList(tokens);
      if (!ASSIGNMENTS.has(tokens.peek())) {
        return { kind: 'expression', expression: left, start, end: left.end };
      }
      const { kind, start: operatorStart } = tokens.take();
      const operator = kind === '=' ? undefined : (kind.slice(0, -1) as ArithmeticOperator);
      const value = parseExpressionList(tokens);
      return { kind: 'assign', target: left, operator, operatorStart, value, start, end: value.end };
    }
  }
}
