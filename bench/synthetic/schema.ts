import type { JsonObject, JsonValue } from '@krmhub/schema';
import type { Random } from './random.js';
import { FIELD_FORMS, FIELD_NOUNS, PROSE } from './vocabulary.js';

/** Returns a sentence of words by Zipf's law. */
export function sentence(random: Random, count: number): string {
  const text = Array.from({ length: count }, () => PROSE.pick(random)).join(' ');
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

/** Returns the schema of a functionConfig: as varied as real ones, and of about this many bytes in YAML. */
export function functionConfigSchema(random: Random, bytes: number): JsonObject {
  const properties: JsonObject = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: random.chance(0.9)
      ? { type: 'object' }
      : {
          type: 'object',
          properties: { name: { type: 'string', minLength: 1 } },
          required: ['name'],
        },
  };
  const own: string[] = [];
  let left = bytes - 150;
  while (left > 0) {
    const name = freshName(random, properties);
    const property = anyProperty(random, left > MIN_NESTED_BYTES ? 0 : MAX_DEPTH);
    properties[name] = property;
    own.push(name);
    left -= sizeInYaml(property, 3) + name.length + 8;
  }
  const required = own.filter((name) => random.chance(0.2) && !hasDefault(properties[name]));
  return {
    type: 'object',
    description: sentence(random, random.between(5, 14)),
    properties,
    ...(required.length > 0 ? { required } : {}),
  };
}

const MAX_DEPTH = 2;
/** Bytes that must be left for a property with properties of its own: they take up to this many. */
const MIN_NESTED_BYTES = 900;

function anyProperty(random: Random, depth: number): JsonObject {
  const description = sentence(random, random.between(4, 16));
  const kind = random.next();
  if (depth < MAX_DEPTH && kind < 0.16) return { type: 'object', description, ...fields(random, depth + 1) };
  if (depth < MAX_DEPTH && kind < 0.28) {
    return { type: 'array', description, items: { type: 'object', ...fields(random, depth + 1) } };
  }
  if (kind < 0.38) return { type: 'array', description, items: { type: 'string' } };
  if (kind < 0.46) {
    const maxLength = random.pick([63, 253, 1024]);
    return { type: 'object', description, additionalProperties: { type: 'string', maxLength } };
  }
  if (kind < 0.58) return { type: 'boolean', description, ...(random.chance(0.5) ? { default: true } : {}) };
  if (kind < 0.68)
    return { type: 'integer', description, minimum: 0, maximum: random.pick([10, 100, 65_535]) };
  return { type: 'string', description, ...restriction(random) };
}

function fields(random: Random, depth: number): JsonObject {
  const properties: JsonObject = {};
  for (let count = random.between(1, 3); count > 0; count--) {
    properties[freshName(random, properties)] = anyProperty(random, depth);
  }
  const required = Object.keys(properties).filter(
    (name) => random.chance(0.3) && !hasDefault(properties[name]),
  );
  return { properties, ...(required.length > 0 ? { required } : {}) };
}

function restriction(random: Random): JsonObject {
  const kind = random.next();
  if (kind < 0.12) return { pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 };
  if (kind < 0.26) return { enum: ['Always', 'IfNotPresent', 'Never'].slice(0, random.between(2, 3)) };
  if (kind < 0.36) return { minLength: 1 };
  return kind < 0.42 ? { default: PROSE.pick(random) } : {};
}

/** A field with a default is never missing, so it is not required. */
function hasDefault(property: JsonValue | undefined): boolean {
  return typeof property === 'object' && property !== null && 'default' in property;
}

function freshName(random: Random, taken: JsonObject): string {
  for (let attempt = 0; ; attempt++) {
    const name = random.pick(FIELD_NOUNS) + random.pick(FIELD_FORMS) + (attempt > 20 ? attempt : '');
    if (!(name in taken)) return name;
  }
}

/** An estimate: each level is two spaces deeper, each scalar a line. */
function sizeInYaml(value: JsonValue, level: number): number {
  if (value === null || typeof value !== 'object') return String(value).length + 1;
  let size = 1;
  for (const [name, item] of Object.entries(value))
    size += level * 2 + name.length + 2 + sizeInYaml(item, level + 1);
  return size;
}
