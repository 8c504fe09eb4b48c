import type { JsonObject } from '@krmhub/schema';
import { keyword, propertiesOf, propertyOf, requiredOf } from '@krmhub/schema/json-schema/open-api';

/** What every functionConfig has, whether its schema declares it or not. */
const IMPLICIT_FIELDS = ['apiVersion', 'kind'];

/** The schema of a functionConfig with what is said of every resource filled in, so that declaring it is no change. */
export function withImplicitFields(schema: JsonObject): JsonObject {
  const open =
    Object.keys(propertiesOf(schema)).length === 0 && keyword(schema, 'additionalProperties') === undefined;
  const metadata = propertyOf(schema, 'metadata') ?? {};
  return {
    ...schema,
    ...(open ? { additionalProperties: true } : {}),
    properties: {
      ...propertiesOf(schema),
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: {
        ...metadata,
        type: 'object',
        additionalProperties: true,
        properties: { name: { type: 'string' }, generateName: { type: 'string' }, ...propertiesOf(metadata) },
      },
    },
    required: requiredOf(schema).filter((name) => !IMPLICIT_FIELDS.includes(name)),
  };
}
