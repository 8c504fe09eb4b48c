import { compareGoKeys } from './go-key-order.js';
import { isTextInGo } from './go-scalars.js';
import { readMeaning } from './meaning.js';
import type { YamlNode, YamlScalar } from './tree.js';

/** A value as Go has it after YAML became JSON, with its keys in the order in which go-yaml 2 writes them. */
export type GoValue = GoScalar | GoCollection;
export type GoScalar =
  /** A number, a boolean or null. */
  { kind: 'word'; word: string } | { kind: 'text'; text: string };
export type GoCollection =
  | { kind: 'list'; items: GoValue[] }
  | { kind: 'map'; entries: [key: string, value: GoValue][] };

/** Bytes of a key on the line of its value. Longer ones have another notation. */
const MAX_KEY_BYTES = 128;
const [MIN_INTEGER, MAX_INTEGER] = [-(2n ** 63n), 2n ** 64n - 1n];

/** Undefined for what readers take differently, and for keys and characters that resources do not have. */
export function goValue(node: YamlNode): GoValue | undefined {
  if (node.kind === 'scalar') return goScalar(node);
  if (node.tag !== undefined) return undefined;
  if (node.kind === 'list') {
    const items: GoValue[] = [];
    for (const child of node.items) {
      const item = goValue(child);
      if (item === undefined) return undefined;
      items.push(item);
    }
    return { kind: 'list', items };
  }
  const entries = new Map<string, GoValue>();
  for (const [key, child] of node.entries) {
    const [name, value] = [goScalar(key), goValue(child)];
    if (value === undefined || name?.kind !== 'text' || !isSimpleKey(name.text)) return undefined;
    if (entries.has(name.text)) return undefined;
    entries.set(name.text, value);
  }
  return { kind: 'map', entries: [...entries].sort(([a], [b]) => compareGoKeys(a, b)) };
}

/** Digits of other scripts have an order of their own, and kustomize merges what is at `<<`, also in quotes. */
function isSimpleKey(name: string): boolean {
  if (name === '<<') return false;
  return !/[\r\n\u0085]|[^\P{Nd}0-9]/u.test(name) && new TextEncoder().encode(name).length <= MAX_KEY_BYTES;
}

function goScalar(scalar: YamlScalar): GoScalar | undefined {
  const meaning = readMeaning(scalar);
  switch (meaning.type) {
    case 'null':
      return { kind: 'word', word: 'null' };
    case 'boolean':
      return { kind: 'word', word: String(meaning.value) };
    case 'number':
      return { kind: 'word', word: goNumber(meaning.value) };
    case 'text':
      // kustomize refuses or changes these: JSON in Go does not escape them, and YAML does not allow them.
      return /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|\p{Surrogate}/u.test(meaning.value)
        ? undefined
        : { kind: 'text', text: meaning.value };
    default:
      return goSpecial(scalar);
  }
}

/** What may be a number or a date: long integers, and what Go takes for text in each version of YAML. */
function goSpecial({ value, tag }: YamlScalar): GoScalar | undefined {
  if (tag !== undefined || value === '<<') return undefined;
  if (isInteger(value)) return { kind: 'word', word: value };
  return isTextInGo(value) ? { kind: 'text', text: value } : undefined;
}

/** Reports whether a text is an integer that Go keeps, and that a double may not. */
function isInteger(text: string): boolean {
  return /^-?[1-9]\d{0,19}$/.test(text) && fits(BigInt(text));
}

function fits(value: bigint): boolean {
  return value >= MIN_INTEGER && value <= MAX_INTEGER;
}

/** As Go writes it: a whole number without an exponent, a fraction with one from a million on. */
function goNumber(number: number): string {
  if (Number.isInteger(number) && fits(BigInt(number))) return String(BigInt(number));
  const [digits = '', power = ''] = number.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(number);
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}
