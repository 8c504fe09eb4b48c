import { describeKind, type TokenStream } from './token-stream.js';
import type { Identifier, LoadStatement, StringLiteral } from './tree.js';

/** Parses `load("module", "name", local="name")`. */
export function parseLoad(tokens: TokenStream): LoadStatement {
  const { start } = tokens.take();
  const paren = tokens.expect('(').start;
  if (tokens.peek() !== 'string') {
    tokens.fail(tokens.token.start, 'first operand of load statement must be a string literal');
  }
  const module = parseString(tokens);
  const names: LoadStatement['names'] = [];
  while (tokens.peek() !== ')' && tokens.peek() !== 'end of file') {
    tokens.expect(',');
    if (tokens.peek() === ')') break;
    names.push(parseLoadedName(tokens));
  }
  tokens.expect(')');
  if (names.length === 0) tokens.fail(paren, 'load statement must import at least 1 symbol');
  return { kind: 'load', module, names, start, end: tokens.lastEnd };
}

function parseString(tokens: TokenStream): StringLiteral {
  const { start, end, value } = tokens.expect('string');
  return { kind: 'string', value: value as string, start, end };
}

function parseLoadedName(tokens: TokenStream): LoadStatement['names'][number] {
  if (tokens.peek() === 'string') {
    const { value, start, end } = parseString(tokens);
    const original: Identifier = { kind: 'identifier', name: value, start, end };
    return { local: original, original };
  }
  if (tokens.peek() !== 'identifier') {
    const got = describeKind(tokens.peek());
    tokens.fail(tokens.token.start, `load operand must be "name" or localname="name" (got ${got})`);
  }
  const { value, start, end } = tokens.take();
  const local: Identifier = { kind: 'identifier', name: value as string, start, end };
  if (tokens.peek() !== '=') {
    tokens.fail(
      tokens.token.start,
      `load operand must be "${local.name}" or ${local.name}="originalname" (want '=' after ${local.name})`,
    );
  }
  tokens.take();
  if (tokens.peek() !== 'string') {
    const example = `${local.name}="originalname"`;
    tokens.fail(tokens.token.start, `original name of loaded symbol must be quoted: ${example}`);
  }
  const original = parseString(tokens);
  return {
    local,
    original: { kind: 'identifier', name: original.value, start: original.start, end: original.end },
  };
}
