import { type ApiDocument, type ApiSchema, objectFields, referencedSchema } from './openapi-model.js';

/** Objects inside objects of an example; deeper ones are empty. */
const MAX_DEPTH = 5;

/**
 * Returns an example of a schema: its example, default, constant, first choice, or a value of its type. The same schema
 * gives the same example.
 */
export function exampleValue(schema: ApiSchema, document: ApiDocument, depth = 0): unknown {
  const name = referencedSchema(schema);
  if (name !== undefined) return exampleValue(document.components.schemas[name] ?? {}, document, depth);
  const { example, const: constant, enum: choices, items, anyOf, oneOf } = schema;
  if (example !== undefined) return example;
  if (schema.default !== undefined) return schema.default;
  if (constant !== undefined) return constant;
  if (choices !== undefined) return choices[0];
  const [first] = anyOf ?? oneOf ?? [];
  if (first !== undefined) return exampleValue(first, document, depth);
  const fields = objectFields(schema, document);
  if (fields !== undefined) {
    if (depth >= MAX_DEPTH) return {};
    return Object.fromEntries(
      Object.entries(fields.properties).map(([key, value]) => [
        key,
        exampleValue(value, document, depth + 1),
      ]),
    );
  }
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  switch (type) {
    case 'array':
      return items === undefined || depth >= MAX_DEPTH ? [] : [exampleValue(items, document, depth + 1)];
    case 'object':
      return {};
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return exampleText(schema);
  }
}

function exampleText({ format, pattern }: ApiSchema): string {
  if (format === 'date-time') return '2026-01-31T12:00:00.000Z';
  if (format === 'uri' || format === 'url') return 'https://example.com/';
  if (pattern?.includes('sha256:')) return `sha256:${'0'.repeat(64)}`;
  return 'text';
}
