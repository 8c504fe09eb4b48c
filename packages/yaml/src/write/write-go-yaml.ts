import { ResourceNode, STYLE } from '../nodes/node.js';
import { resolveTag } from '../parse/resolve-tag.js';
import { DocumentWriter } from './document-writer.js';
import { compareGoKeys } from './go-key-order.js';

/** Columns after which a space becomes a line break. */
const WIDTH = 80;
/** Bytes of a key on the line of its value. Longer ones have another notation. */
const MAX_KEY_BYTES = 128;
const [MIN_INTEGER, MAX_INTEGER] = [-(2n ** 63n), 2n ** 64n - 1n];
/** Numbers that are written in one way only, but for zeros and exponents. */
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** Digits that every number keeps as a double. */
const MAX_DIGITS = 15;

/**
 * Writes a map or a list as go-yaml 2 writes its JSON, which is how kustomize prints resources: sorted keys, block
 * style, quotes only where needed, lines folded at 80 columns. Returns undefined if the text depends on how a reader
 * takes a scalar, or is one that resources do not have.
 */
export function writeGoYaml(root: ResourceNode): string | undefined {
  const tree = root.kind === 'scalar' ? undefined : sorted(root);
  return tree === undefined ? undefined : new DocumentWriter(WIDTH).write(tree, { seqIndent: 'compact' });
}

/** A node without comments, anchors, and styles of its own. */
function sorted(node: ResourceNode): ResourceNode | undefined {
  if (node.kind === 'alias' || (node.style & STYLE.tagged) !== 0) return undefined;
  if (node.kind === 'scalar') return goScalar(node);
  const made = new ResourceNode(node.kind === 'map' ? 'map' : 'list', '', 0, '');
  if (node.kind !== 'map') {
    for (const child of node.content) {
      const item = sorted(child);
      if (item === undefined) return undefined;
      made.content.push(item);
    }
    return made;
  }
  const entries = new Map<string, [key: ResourceNode, value: ResourceNode]>();
  for (let at = 0; at + 1 < node.content.length; at += 2) {
    const own = node.content[at]!;
    const [key, value] = [sorted(own), sorted(node.content[at + 1]!)];
    if (key === undefined || value === undefined || !isTextKey(own) || entries.has(own.value))
      return undefined;
    entries.set(own.value, [key, value]);
  }
  made.content = [...entries].sort(([a], [b]) => compareGoKeys(a, b)).flatMap(([, entry]) => entry);
  return made;
}

/** Digits of other scripts have an order of their own, and kustomize merges what is at `<<`, also in quotes. */
function isTextKey({ kind, tag, value }: ResourceNode): boolean {
  if (kind !== 'scalar' || tag !== '!!str' || value === '<<') return false;
  return !/[\r\n\u0085]|[^\P{Nd}0-9]/u.test(value) && new TextEncoder().encode(value).length <= MAX_KEY_BYTES;
}

function goScalar({ tag, value }: ResourceNode): ResourceNode | undefined {
  switch (tag) {
    case '!!str':
      return goText(value);
    case '!!null':
      return scalar('null');
    case '!!bool':
      return scalar(value.toLowerCase());
    case '!!int':
    case '!!float': {
      const word = goNumber(value);
      return word === undefined ? undefined : scalar(word);
    }
    default:
      return undefined;
  }
}

function scalar(value: string, style = 0): ResourceNode {
  return new ResourceNode('scalar', '', style, value);
}

function goText(value: string): ResourceNode | undefined {
  // kustomize refuses or changes these: JSON in Go does not escape them, and YAML does not allow them.
  if (/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|\p{Surrogate}/u.test(value)) return undefined;
  const isQuoted = value.includes('\n') ? value.includes('\t') : !isGoText(value);
  return scalar(value, isQuoted ? STYLE.doubleQuoted : 0);
}

const WORDS = /^(?:[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$/;
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;

/** Whether go-yaml 2, which knows the words of YAML 1.1 too, takes plain text for text. */
function isGoText(text: string): boolean {
  if (WORDS.test(text) || BASE_60.test(text)) return false;
  return resolveTag(text) === '!!str' || /^0o[-+]/.test(text);
}

/**
 * As Go writes it: a whole number without an exponent, a fraction with one from a million on. Undefined for a number
 * that readers could take differently.
 */
function goNumber(text: string): string | undefined {
  // Go keeps an integer that a double may not.
  if (/^-?[1-9]\d{0,19}$/.test(text) && fits(BigInt(text))) return text;
  if (!DECIMAL.test(text) || text.replace(/[eE].*|\D/g, '').length > MAX_DIGITS) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && fits(BigInt(number))) return String(BigInt(number));
  const [digits = '', power = ''] = number.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(number);
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function fits(value: bigint): boolean {
  return value >= MIN_INTEGER && value <= MAX_INTEGER;
}
