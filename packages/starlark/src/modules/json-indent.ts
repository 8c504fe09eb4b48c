import { validateJson } from './json-validate.js';

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
