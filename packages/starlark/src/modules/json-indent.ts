import { EvaluationError } from '../values/evaluation-error.js';
import { quoteChar } from './json-decode.js';

/** Bytes that indentation can add for each byte of JSON; hostile units and depths are counted before they are made. */
type Allocate = (bytes: number) => void;

/**
 * Returns JSON, a byte string, with each element on a line that starts with a prefix and a unit for each level. Throws
 * an error for text that is not JSON.
 */
export function indentJson(
  name: string,
  json: string,
  prefix: string,
  unit: string,
  allocate: Allocate,
): string {
  validateJson(name, json);
  const parts: string[] = [];
  let depth = 0;
  let opened = false;
  const add = (text: string) => {
    allocate(text.length);
    parts.push(text);
  };
  const newLine = () => {
    allocate(1 + prefix.length + unit.length * depth);
    parts.push(`\n${prefix}${unit.repeat(depth)}`);
  };
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^ \t\r\n[\]{},:"]+/gs)) {
    const closes = token === '}' || token === ']';
    if (closes) depth--;
    if (opened !== closes && (opened || closes)) newLine();
    opened = token === '{' || token === '[';
    if (opened) depth++;
    add(token === ':' ? ': ' : token);
    if (token === ',') newLine();
  }
  return parts.join('');
}

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

/** Checks JSON without a stack of JavaScript, so that any depth is fine. */
function validateJson(name: string, json: string): void {
  const closers: ('}' | ']')[] = [];
  let expected: Expected = 'value';
  let index = 0;
  const fail = (): never => {
    const char = json[index];
    throw new EvaluationError(
      char === undefined
        ? `${name}: unexpected end of JSON input`
        : `${name}: invalid character ${quoteChar(char)} ${LOOKING_FOR[expected]}`,
    );
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
      index += (scalar as string).length;
      expected = isKey ? ':' : afterValue();
      continue;
    }
    index++;
  }
}
