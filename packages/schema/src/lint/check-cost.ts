import { readMachineYaml } from '@krmhub/yaml/read/read-machine-yaml';
import type { JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { countCompiling } from '../json-schema/pattern-set.js';

/** Estimates how long the expressions of a small definition take to check, for a caller that must not be held up. */

/** Only a definition with one of these has expressions. A backslash can hide a key, and a zero is in UTF-16. */
const SIGNS = ['pattern', 'rule', '\\', '\0'];
/** Instructions of a pattern that compile as fast as one character of a CEL rule, at the worst. */
const INSTRUCTIONS_PER_CHARACTER = 10;
/** Steps of a match that take as long as compiling an instruction. */
const STEPS_PER_INSTRUCTION = 50;

/**
 * Returns what compiling the patterns and CEL rules of a definition costs at most, and matching its defaults. One unit is
 * an instruction of a pattern, and takes 1 to 3 microseconds. Infinity for a file that cannot be read.
 */
export function checkCost(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!SIGNS.some((sign) => text.includes(sign))) return 0;
  const { documents } = readMachineYaml(bytes, { file: '' });
  if (documents.length === 0) return Number.POSITIVE_INFINITY;
  let instructions = 0;
  let characters = 0;
  let defaults = 0;
  const rest: [value: JsonValue, isDefault: boolean][] = documents.map((one) => [one, false]);
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [value, isDefault] = next;
    if (typeof value === 'string' && isDefault) defaults += value.length;
    if (Array.isArray(value)) for (const item of value) rest.push([item, isDefault]);
    if (!isObject(value)) continue;
    for (const [name, item] of Object.entries(value)) {
      rest.push([item, isDefault || name === 'default']);
      if (typeof item !== 'string') continue;
      if (name === 'pattern') instructions += countCompiling(item);
      else if (name === 'rule') characters += item.length;
    }
  }
  const steps = defaults * instructions;
  return instructions + characters * INSTRUCTIONS_PER_CHARACTER + steps / STEPS_PER_INSTRUCTION;
}
