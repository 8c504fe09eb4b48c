import type { JsonObject, JsonValue } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isObject } from '@krmhub/schema/json/access';
import {
  keyword,
  requiredProperties,
  schemaProperties,
  schemaProperty,
} from '@krmhub/schema/json-schema/open-api';
import { isSameContent } from './content.js';

/** Keywords of a schema that are only documentation. */
export const DOCUMENTATION: readonly string[] = ['description', 'title', 'example', 'externalDocs'];

/** The fields of every functionConfig, declared or not. */
const IMPLICIT_FIELDS = ['apiVersion', 'kind'];

/** Returns the schema of a functionConfig with the implicit fields, so that declaring them is not a change. */
export function withImplicitFields(schema: JsonObject): JsonObject {
  const open =
    Object.keys(schemaProperties(schema)).length === 0 &&
    keyword(schema, 'additionalProperties') === undefined;
  const metadata = schemaProperty(schema, 'metadata') ?? {};
  return {
    ...schema,
    ...defined({ additionalProperties: open ? true : undefined }),
    properties: {
      ...schemaProperties(schema),
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: {
        ...metadata,
        type: 'object',
        additionalProperties: true,
        properties: {
          name: { type: 'string' },
          generateName: { type: 'string' },
          ...schemaProperties(metadata),
        },
      },
    },
    required: requiredProperties(schema).filter((name) => !IMPLICIT_FIELDS.includes(name)),
  };
}

/** Keywords that never restrict values. */
const UNRESTRICTIVE: readonly string[] = [
  ...DOCUMENTATION,
  'nullable',
  'default',
  'x-kubernetes-preserve-unknown-fields',
];

/** Reports whether a schema accepts any functionConfig, as the schema of a converted function does. */
export function declaresNothing(schema: JsonObject): boolean {
  const { properties: _, required: __, ...root } = schema;
  const { metadata = {}, ...others } = schemaProperties(schema);
  return (
    acceptsAny(root, 'object') &&
    requiredProperties(schema).every((name) => IMPLICIT_FIELDS.includes(name)) &&
    Object.entries(others).every(
      ([name, value]) => IMPLICIT_FIELDS.includes(name) && acceptsAny(value, 'string'),
    ) &&
    acceptsAnyMetadata(metadata)
  );
}

function acceptsAnyMetadata(metadata: JsonValue): boolean {
  if (!isObject(metadata)) return false;
  const { properties: _, ...root } = metadata;
  return (
    acceptsAny(root, 'object') &&
    Object.values(schemaProperties(metadata)).every((value) => acceptsAny(value, 'string'))
  );
}

/** Reports whether a schema only states the implicit type of a value. */
function acceptsAny(schema: JsonValue, type: string): boolean {
  return (
    isObject(schema) &&
    Object.entries(schema).every(
      ([name, value]) =>
        UNRESTRICTIVE.includes(name) ||
        (name === 'type' && value === type) ||
        (name === 'additionalProperties' && (value === true || isSameContent(value, {}))),
    )
  );
}
