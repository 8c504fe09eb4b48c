import { expandAliases, ResourceNode, STYLE, TEXT_STYLES, textNode } from '@krmhub/schema/resource-yaml';
import {
  Dict,
  EvaluationError,
  HeapValue,
  intFromDouble,
  List,
  normalizeInt,
  StarlarkFloat,
  Tuple,
  typeName,
  type Value,
} from '@krmhub/starlark';

/**
 * Between YAML trees and Starlark values. Scalars have the types that readers in Go give them (go-yaml 3), as in kpt.
 * A dict or list remembers the node that it was read from, so that what a script leaves as it is keeps its text.
 */

/** Values of documents and trees, those that occur twice included: scripts can build trees that explode. */
const MAX_NODES = 3_000_000;

/** Nested collections, as for documents that are read. */
const MAX_DEPTH = 200;

/** As for `int()`: conversions to and from decimal digits take quadratic time. */
const MAX_INT_DIGITS = 100_000;

/** Tags of scalars that are not text. */
const TYPED: ReadonlySet<string> = new Set(['!!int', '!!float', '!!bool', '!!null']);
const NULL = /^(?:|~|null|Null|NULL)$/;
const TRUE = /^(?:true|True|TRUE)$/;
const FALSE = /^(?:false|False|FALSE)$/;
const INTEGER = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9]\d*))$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const INFINITE = /^([-+]?)\.(?:inf|Inf|INF)$/;
const NOT_A_NUMBER = /^\.(?:nan|NaN|NAN)$/;

/** Returns the value of a scalar: None, a bool, an int of any size, a float, or a string. */
export function scalarValue({ value, style, tag }: ResourceNode): Value {
  const isTagged = (style & STYLE.tagged) !== 0;
  if (isTagged ? !TYPED.has(tag) : (style & TEXT_STYLES) !== 0) return value;
  if (NULL.test(value)) return null;
  if (TRUE.test(value)) return true;
  if (FALSE.test(value)) return false;
  const number = numberValue(value);
  if (number === undefined) return value;
  return isTagged && tag === '!!float' && typeof number !== 'object'
    ? new StarlarkFloat(Number(number))
    : number;
}

function numberValue(text: string): number | bigint | StarlarkFloat | undefined {
  if (!/^[-+.\d]/.test(text)) return undefined;
  const digits = text.replaceAll('_', '');
  const [, sign, hex, octal, binary, decimal] = INTEGER.exec(digits) ?? [];
  if (sign !== undefined) {
    if (digits.length > MAX_INT_DIGITS) throw new EvaluationError(`int: more than ${MAX_INT_DIGITS} digits`);
    const prefix =
      hex === undefined ? (octal === undefined ? (binary === undefined ? '' : '0b') : '0o') : '0x';
    const size = BigInt(prefix + (hex ?? octal ?? binary ?? decimal));
    return normalizeInt(sign === '-' ? -size : size);
  }
  if (FLOAT.test(digits)) return new StarlarkFloat(Number(digits));
  const [, direction] = INFINITE.exec(text) ?? [];
  if (direction !== undefined) return new StarlarkFloat(direction === '-' ? -Infinity : Infinity);
  return NOT_A_NUMBER.test(text) ? new StarlarkFloat(Number.NaN) : undefined;
}

/** Converts one document, and remembers where its dicts and lists come from. */
export class YamlValues {
  readonly #nodes = new Map<HeapValue, ResourceNode>();
  #left = MAX_NODES;

  /** Returns the value of a tree. Aliases and merge keys (`<<`) become copies. Throws `invalid-document`. */
  valueOf(node: ResourceNode): Value {
    return this.#value(expandAliases(node));
  }

  #value(node: ResourceNode): Value {
    if (--this.#left < 0) throw new EvaluationError(`the text has more than ${MAX_NODES} values`);
    if (node.kind === 'scalar') return scalarValue(node);
    let value: HeapValue;
    if (node.kind === 'list') value = new List(node.content.map((item) => this.#value(item)));
    else {
      value = new Dict();
      for (const [key, child] of collectFields(node)) (value as Dict).set(key, this.#value(child));
    }
    this.#nodes.set(value, node);
    return value;
  }

  /** Returns the writer of one result. */
  writer(): TreeWriter {
    return new TreeWriter(this.#nodes);
  }
}

/** Makes trees of values. A value that was not changed gives the very node that it was read from, without aliases. */
export class TreeWriter {
  readonly #nodes: ReadonlyMap<HeapValue, ResourceNode>;
  #left = MAX_NODES;

  constructor(nodes: ReadonlyMap<HeapValue, ResourceNode> = new Map()) {
    this.#nodes = nodes;
  }

  /** `name` is the value, for messages. Throws EvaluationError for what YAML does not have. */
  tree(value: Value, name: string, depth = 0): ResourceNode {
    if (--this.#left < 0)
      throw new EvaluationError(`cannot write ${name}: it has more than ${MAX_NODES} values`);
    if (depth > MAX_DEPTH) {
      throw new EvaluationError(
        `cannot write ${name}: it is nested deeper than ${MAX_DEPTH} levels, or contains itself`,
      );
    }
    if (!(value instanceof HeapValue) || value instanceof StarlarkFloat) return toScalar(value);
    return this.#collection(value, this.#nodes.get(value), name, depth);
  }

  #collection(value: HeapValue, origin: ResourceNode | undefined, name: string, depth: number): ResourceNode {
    if (value instanceof List || value instanceof Tuple) {
      const old = origin?.kind === 'list' ? origin.content : [];
      const made = new ResourceNode('list', '', 0, '');
      made.content = value.items.map((item, index) =>
        this.#child(item, old[index], `${name}[${index}]`, depth),
      );
      return origin?.kind === 'list' && hasSame(made.content, old) ? origin : made;
    }
    if (!(value instanceof Dict)) {
      throw new EvaluationError(`cannot write ${name}: a ${typeName(value)} is not a value of YAML`);
    }
    const old = origin?.kind === 'map' ? collectFields(origin) : new Map<string, ResourceNode>();
    const made = new ResourceNode('map', '', 0, '');
    let isSame = origin !== undefined;
    value.forEach((key, child) => {
      const text = keyText(key, name);
      const node = this.#child(child, old.get(text), `${name}[${JSON.stringify(text)}]`, depth);
      if (node !== old.get(text)) isSame = false;
      made.content.push(textNode(text), node);
    });
    return isSame && origin !== undefined && old.size * 2 === made.content.length ? origin : made;
  }

  /** A scalar with the same value as before keeps its node, and with it its text. */
  #child(value: Value, old: ResourceNode | undefined, name: string, depth: number): ResourceNode {
    if (old?.kind === 'scalar' && isSameScalar(value, scalarValue(old))) return old;
    return this.tree(value, name, depth + 1);
  }
}

function hasSame(items: readonly ResourceNode[], old: readonly ResourceNode[]): boolean {
  return items.length === old.length && items.every((item, index) => item === old[index]);
}

function isSameScalar(a: Value, b: Value): boolean {
  if (a instanceof StarlarkFloat && b instanceof StarlarkFloat) return Object.is(a.value, b.value);
  return a === b;
}

/** Returns the fields of a mapping, those of its merge keys included. */
function collectFields({ content }: ResourceNode): Map<string, ResourceNode> {
  const fields = new Map<string, ResourceNode>();
  const merged: ResourceNode[] = [];
  for (let at = 0; at + 1 < content.length; at += 2) {
    const [key, value] = [content[at]!, content[at + 1]!];
    if (key.tag === '!!merge' && value.kind !== 'scalar') merged.push(value);
    else if (key.kind === 'scalar') fields.set(key.value, value);
    else throw new EvaluationError('a key is a collection, expected a string');
  }
  for (const source of merged.flatMap((one) => (one.kind === 'list' ? one.content : [one]))) {
    if (source.kind !== 'map') continue;
    for (const [key, value] of collectFields(source)) if (!fields.has(key)) fields.set(key, value);
  }
  return fields;
}

function keyText(key: Value, name: string): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'number' || typeof key === 'bigint' || typeof key === 'boolean') return String(key);
  throw new EvaluationError(`cannot write ${name}: a ${typeName(key)} is not a key of YAML`);
}

function toScalar(value: null | boolean | number | bigint | string | StarlarkFloat): ResourceNode {
  if (typeof value === 'string') return textNode(value, value.includes('\n') ? STYLE.literal : 0);
  const text = value instanceof StarlarkFloat ? floatText(value.value) : String(value);
  return new ResourceNode('scalar', '', 0, text);
}

/** As go-yaml writes floats: without a fraction where there is none. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value < 0 ? '-.inf' : '.inf';
  return Number.isSafeInteger(value) ? String(intFromDouble(value)) : String(value);
}

/**
 * Returns the size of a tree as text, about, with aliases written out; what is larger than `max` is not counted to its
 * end.
 */
export function writtenSize(node: ResourceNode, max: number, indent = 0): number {
  if (node.kind === 'scalar') return node.value.length + indent + 4;
  let size = indent + 4;
  for (const child of node.content) {
    if (size > max) return size;
    size += writtenSize(child, max - size, indent + 2);
  }
  return size;
}
