import { EvaluationError } from '../values/evaluation-error.js';
import { quoteChar } from './json-decode.js';

/** What may come next: a value, an end of an array or a value, a key, and so on. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | 'after element' | 'after pair' | 'end';

const LOOKING_FOR: Readonly<Record<Expected, string>> = {
  value: 'looking for beginning of value',
  'value or ]': 'looking for beginning of value',
  key: 'looking for beginning of object key string',
  'key or }': 'looking for beginning of object key string',
  ':': 'after object key',
  'after element': 'after array element',
  'after pair': 'after object key:value pair',
  end: 'after top-level value',
};

const SCALAR =
  /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;

/** Throws an error for text that is not JSON. Any depth is fine: it keeps its own stack. */
export function validateJson(name: string, json: string): void {
  const closers: ('}' | ']')[] = [];
  let expected: Expected = 'value';
  let index = 0;
  const fail = (): never => {
    const startsScalar = /["tfn]|-|[0-9]/.test(json[index] ?? '') && /^(?:value|key)/.test(expected);
    const isKey = expected.startsWith('key');
    const problem =
      startsScalar && (!isKey || json[index] === '"')
        ? scalarProblem(json.slice(index))
        : characterProblem(json[index], LOOKING_FOR[expected]);
    throw new EvaluationError(`${name}: ${problem}`);
  };
  const afterValue = (): Expected => {
    const closer = closers.at(-1);
    return closer === undefined ? 'end' : closer === '}' ? 'after pair' : 'after element';
  };
  for (;;) {
    const space = /[ \t\r\n]*/y;
    space.lastIndex = index;
    space.test(json);
    index = space.lastIndex;
    const char = json[index];
    if (char === undefined && expected === 'end') return;
    if (char === ',' && (expected === 'after element' || expected === 'after pair')) {
      expected = expected === 'after pair' ? 'key' : 'value';
    } else if (char === ':' && expected === ':') {
      expected = 'value';
    } else if (
      (char === ']' && (expected === 'after element' || expected === 'value or ]')) ||
      (char === '}' && (expected === 'after pair' || expected === 'key or }'))
    ) {
      closers.pop();
      expected = afterValue();
    } else if (expected.startsWith('value') && (char === '[' || char === '{')) {
      closers.push(char === '[' ? ']' : '}');
      expected = char === '[' ? 'value or ]' : 'key or }';
    } else {
      const isKey = expected.startsWith('key');
      if (!expected.startsWith('value') && !isKey) fail();
      SCALAR.lastIndex = index;
      const scalar = SCALAR.exec(json)?.[0];
      if (scalar === undefined || (isKey && !scalar.startsWith('"'))) fail();
      const end = index + (scalar as string).length;
      // A number that goes on after its point or exponent is not complete.
      if (/[0-9]/.test(json[end - 1] ?? '') && /[.eE]/.test(json[end] ?? '')) fail();
      index = end;
      expected = isKey ? ':' : afterValue();
      continue;
    }
    index++;
  }
}

function characterProblem(char: string | undefined, where: string): string {
  return char === undefined
    ? 'unexpected end of JSON input'
    : `invalid character ${quoteChar(char)} ${where}`;
}

/** Returns what is wrong with text that starts like a string, a number, or a keyword. */
function scalarProblem(text: string): string {
  if (text.startsWith('"')) {
    const valid = /^"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/.exec(text)?.[0] ?? '';
    const rest = text.slice(valid.length);
    if (!rest.startsWith('\\')) return characterProblem(rest[0], 'in string literal');
    if (rest[1] !== 'u') return characterProblem(rest[1], 'in string escape code');
    const digits = /^\\u[0-9a-fA-F]*/.exec(rest)?.[0].length ?? 0;
    return characterProblem(rest[digits], 'in \\u hexadecimal character escape');
  }
  // At the end, numbers and keywords are followed by a space.
  const keyword = ['true', 'false', 'null'].find((known) => known[0] === text[0]);
  if (keyword !== undefined) {
    let index = 1;
    while (text[index] === keyword[index]) index++;
    const char = text[index] ?? ' ';
    return `invalid character ${quoteChar(char)} in literal ${keyword} (expecting '${keyword[index]}')`;
  }
  const number = /^-?(?:(?:0|[1-9][0-9]*)(?:(\.[0-9]*)?(?:[eE]([+-]?))?)?)?/.exec(text)?.[0] ?? '';
  const where = /[eE][+-]?$/.test(number)
    ? 'in exponent of numeric literal'
    : number.endsWith('.')
      ? 'after decimal point in numeric literal'
      : 'in numeric literal';
  return characterProblem(text[number.length] ?? ' ', where);
}
