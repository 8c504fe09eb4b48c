import { SCHEMAS } from './generated/response-schemas.js';

/** The part of JSON Schema that SCHEMAS and RESPONSES use. */
export interface ResponseSchema {
  /** Name of a schema in SCHEMAS. */
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: { readonly [name: string]: ResponseSchema };
  readonly required?: readonly string[];
  readonly items?: ResponseSchema;
}

const NAMED: { readonly [name: string]: ResponseSchema } = SCHEMAS;

/**
 * Returns the path of the first value that does not match the schema, undefined if all match. It works without a schema
 * library, which would take longer to load than a short command takes to run.
 */
export function findMismatch(value: unknown, schema: ResponseSchema, path = ''): string | undefined {
  const { $ref, type, properties = {}, required = [], items } = schema;
  if ($ref !== undefined) return findMismatch(value, NAMED[$ref]!, path);
  const actual = jsonType(value);
  if (typeof type === 'string' ? type !== actual : type?.includes(actual) !== true)
    return path === '' ? 'the document root' : path;
  if (actual !== 'array' && actual !== 'object') return undefined;
  if (Array.isArray(value)) {
    if (items === undefined) return undefined;
    for (const [index, item] of value.entries()) {
      const found = findMismatch(item, items, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const [name, inner] of Object.entries(properties)) {
    const field = path === '' ? name : `${path}.${name}`;
    // A field that is inherited, such as through "__proto__", is not a field of the response.
    const present = Object.hasOwn(value as object, name);
    const found = present
      ? findMismatch((value as Record<string, unknown>)[name], inner, field)
      : required.includes(name)
        ? field
        : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
