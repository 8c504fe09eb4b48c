import type { TokenStream } from './token-stream.js';
import type { Expression, Identifier, Parameter } from './tree.js';

/** Parses the parameters of a `def` (up to `)`) or `lambda` (up to `:`). The resolver checks their order. */
export function parseParameters(
  tokens: TokenStream,
  parseTest: (tokens: TokenStream) => Expression,
): Parameter[] {
  const parameters: Parameter[] = [];
  while (tokens.peek() !== ')' && tokens.peek() !== ':' && tokens.peek() !== 'end of file') {
    if (parameters.length > 0) {
      tokens.expect(',');
      if (tokens.peek() === ')') break;
    }
    parameters.push(parseParameter(tokens, parseTest));
  }
  return parameters;
}

function parseParameter(tokens: TokenStream, parseTest: (tokens: TokenStream) => Expression): Parameter {
  const { start } = tokens.token;
  if (tokens.accept('**') !== undefined) {
    return { kind: '**', name: parseIdentifier(tokens), start, end: tokens.lastEnd };
  }
  if (tokens.accept('*') !== undefined) {
    const name = tokens.peek() === 'identifier' ? parseIdentifier(tokens) : undefined;
    return { kind: '*', name, start, end: tokens.lastEnd };
  }
  const name = parseIdentifier(tokens);
  if (tokens.accept('=') === undefined) return { kind: 'required', name, start, end: tokens.lastEnd };
  return { kind: 'optional', name, default: parseTest(tokens), start, end: tokens.lastEnd };
}

/** Parses a name. */
export function parseIdentifier(tokens: TokenStream): Identifier {
  if (tokens.peek() !== 'identifier') tokens.unexpected('not an identifier');
  const { start, end, value } = tokens.take();
  return { kind: 'identifier', name: value as string, start, end };
}
