import type { TokenStream } from './token-stream.js';
import type { Argument, Expression } from './tree.js';

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
