import type { JsonValue } from '../json-value.js';
import { expandAliases } from './expand-aliases.js';
import { textNode } from './fields.js';
import { documentRoot, ResourceNode } from './node.js';

/**
 * The JSON value of a node, with its aliases replaced. Numbers that JSON cannot represent and times become text. Throws
 * `invalid-document` as `expandAliases` does.
 */
export function toJson(node: ResourceNode): JsonValue {
  return nodeValue(expandAliases(documentRoot(node)));
}

function nodeValue(node: ResourceNode): JsonValue {
  if (node.kind === 'scalar') return scalarValue(node);
  if (node.kind === 'list') return node.content.map(nodeValue);
  const { content } = node;
  const value: Record<string, JsonValue> = {};
  for (let at = 0; at + 1 < content.length; at += 2) {
    // Not assigned: `__proto__` would set the prototype.
    Object.defineProperty(value, content[at]!.value, {
      value: nodeValue(content[at + 1]!),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return value;
}

/** The value of a scalar, as go-yaml 3 reads it. What JSON cannot represent stays text. */
export function scalarValue(node: ResourceNode): JsonValue {
  const { value } = node;
  switch (node.tag) {
    case '!!null':
      return null;
    case '!!bool':
      return value.toLowerCase() === 'true';
    case '!!int':
    case '!!float': {
      const number = parseNumber(value.replaceAll('_', ''));
      // JSON has no negative zero.
      return Number.isFinite(number) ? number + 0 : value;
    }
    default:
      return value;
  }
}

function parseNumber(text: string): number {
  const sign = text.startsWith('-') ? -1 : 1;
  const digits = text.replace(/^[-+]/, '');
  // YAML 1.1 writes octal numbers so.
  if (/^0[0-7]+$/.test(digits)) return sign * Number.parseInt(digits, 8);
  return sign * Number(digits);
}

/** Nodes for a JSON value, in block style. Text is quoted only where readers would take it for something else. */
export function fromJson(value: JsonValue): ResourceNode {
  if (value === null) return new ResourceNode('scalar', '!!null', 0, 'null');
  switch (typeof value) {
    case 'string':
      return textNode(value);
    case 'boolean':
      return new ResourceNode('scalar', '!!bool', 0, String(value));
    case 'number':
      return new ResourceNode('scalar', Number.isInteger(value) ? '!!int' : '!!float', 0, String(value));
  }
  const node = new ResourceNode(
    Array.isArray(value) ? 'list' : 'map',
    Array.isArray(value) ? '!!seq' : '!!map',
    0,
    '',
  );
  if (Array.isArray(value)) for (const item of value) node.content.push(fromJson(item));
  else {
    for (const [key, item] of Object.entries(value)) {
      node.content.push(textNode(key), fromJson(item));
    }
  }
  return node;
}
