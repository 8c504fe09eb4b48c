import { YamlError } from '../error.js';
import type { JsonValue } from '../json-value.js';
import { ResourceNode } from './node.js';

/** Nodes that the aliases of one value may expand to. */
const MAX_ALIASED = 100_000;
/** Levels, with those of aliases. A document without aliases has at most 200. */
const MAX_LEVELS = 1000;

/**
 * The JSON value of a node, with its aliases replaced. Numbers that JSON cannot represent and times become text. Throws
 * `invalid-document` if an alias is inside its own anchor, or if the aliases expand to more than 100,000 nodes.
 */
export function toJson(node: ResourceNode): JsonValue {
  return new JsonBuilder().value(node);
}

class JsonBuilder {
  /** Anchored collections around the current node. */
  private readonly open = new Set<ResourceNode>();
  private aliases = 0;
  private aliased = 0;
  private levels = 0;

  value(node: ResourceNode): JsonValue {
    if (this.aliases > 0 && ++this.aliased > MAX_ALIASED) {
      throw new YamlError(`the aliases expand to more than ${MAX_ALIASED} values`);
    }
    switch (node.kind) {
      case 'document':
        return this.value(node.content[0]!);
      case 'scalar':
        return scalarValue(node);
      case 'alias':
        return this.alias(node);
      default:
        return this.collection(node);
    }
  }

  private alias(node: ResourceNode): JsonValue {
    const target = node.target!;
    if (this.open.has(target)) {
      throw new YamlError(`the alias *${node.value} is inside its own anchor`);
    }
    this.aliases++;
    const value = this.value(target);
    this.aliases--;
    return value;
  }

  private collection(node: ResourceNode): JsonValue {
    if (++this.levels > MAX_LEVELS) {
      throw new YamlError(`the aliases expand to more than ${MAX_LEVELS} levels`);
    }
    if (node.anchor !== '') this.open.add(node);
    const value = node.kind === 'list' ? node.content.map((item) => this.value(item)) : this.map(node);
    this.open.delete(node);
    this.levels--;
    return value;
  }

  private map({ content }: ResourceNode): JsonValue {
    const value: Record<string, JsonValue> = {};
    for (let i = 0; i + 1 < content.length; i += 2) {
      const key = content[i]!;
      const name = key.kind === 'alias' ? key.target!.value : key.value;
      // Not assigned: `__proto__` would set the prototype.
      Object.defineProperty(value, name, {
        value: this.value(content[i + 1]!),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return value;
  }
}

function scalarValue(node: ResourceNode): JsonValue {
  const { value } = node;
  switch (node.tag) {
    case '!!null':
      return null;
    case '!!bool':
      return value.toLowerCase() === 'true';
    case '!!int':
    case '!!float': {
      const number = parseNumber(value.replaceAll('_', ''));
      return Number.isFinite(number) ? number : value;
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
      return new ResourceNode('scalar', '!!str', 0, value);
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
      node.content.push(new ResourceNode('scalar', '!!str', 0, key), fromJson(item));
    }
  }
  return node;
}
