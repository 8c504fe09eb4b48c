import { KrmhubError } from '../../diagnostics/error.js';
import type { JsonValue } from '../../documents/definition.js';
import { ResourceNode } from './node.js';

/** Nodes that the aliases of one value may expand to. */
const MAX_ALIASED = 100_000;

/**
 * The JSON value of a node, with its aliases replaced. Numbers that JSON cannot represent and times become text. Throws
 * `invalid-document` if an alias is inside its own anchor, or if the aliases expand to more than 100,000 nodes.
 */
export function toJson(node: ResourceNode): JsonValue {
  return new JsonBuilder().value(node);
}

class JsonBuilder {
  private readonly open = new Set<ResourceNode>();
  private aliased = 0;

  value(node: ResourceNode): JsonValue {
    switch (node.kind) {
      case 'document':
        return this.value(node.content[0]!);
      case 'scalar':
        return scalarValue(node);
      case 'alias':
        return this.alias(node);
      case 'list':
        return this.inside(node, () => node.content.map((item) => this.value(item)));
      case 'map':
        return this.inside(node, () => {
          const value: Record<string, JsonValue> = {};
          for (let i = 0; i + 1 < node.content.length; i += 2) {
            const key = node.content[i]!;
            const name = key.kind === 'alias' ? key.target!.value : key.value;
            // Not assigned: `__proto__` would set the prototype.
            Object.defineProperty(value, name, {
              value: this.value(node.content[i + 1]!),
              enumerable: true,
              writable: true,
              configurable: true,
            });
          }
          return value;
        });
    }
  }

  private alias(node: ResourceNode): JsonValue {
    const target = node.target!;
    if (this.open.has(target)) {
      throw new KrmhubError('invalid-document', `the alias *${node.value} is inside its own anchor`);
    }
    return this.value(target);
  }

  private inside<T>(node: ResourceNode, build: () => T): T {
    if (node.anchor !== '') {
      this.aliased += node.content.length;
      if (this.aliased > MAX_ALIASED) {
        throw new KrmhubError('invalid-document', `the aliases expand to more than ${MAX_ALIASED} values`);
      }
      this.open.add(node);
    }
    try {
      return build();
    } finally {
      this.open.delete(node);
    }
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
      const number = numberOf(value.replaceAll('_', ''));
      return Number.isFinite(number) ? number : value;
    }
    default:
      return value;
  }
}

function numberOf(text: string): number {
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
