import { quote } from '../../diagnostics/quote.js';
import { isSet, schemaProperties, schemaProperty } from '../../json-schema/open-api.js';
import type { SchemaCheck } from './nodes.js';

const FORBIDDEN = new Set(['type', 'title', 'description', 'default', 'nullable', 'additionalProperties']);

/** Checks that allOf, anyOf, oneOf, and not only restrict values that are declared outside. */
export const junctors: SchemaCheck = (nodes, report) => {
  for (const { schema, path, level, declared } of nodes) {
    if (level !== 'junctor') continue;
    // `anyOf: [{type: integer}, {type: string}]` is the standard form of int-or-string.
    const intOrString = declared !== undefined && isSet(declared, 'x-kubernetes-int-or-string');
    for (const name of Object.keys(schema)) {
      if (schema[name] === null || (name === 'nullable' && schema[name] === false)) continue;
      if (!FORBIDDEN.has(name) && !name.startsWith('x-kubernetes-')) continue;
      if (intOrString && name === 'type') continue;
      const message = `\`${name}\` is not allowed inside allOf, anyOf, oneOf, or not`;
      report('schema/junctor-keyword', [...path, name], message, {
        hint: 'Move it to the schema of the field.',
        target: 'key',
      });
    }
    if (declared === undefined) continue;
    for (const name of Object.keys(schemaProperties(schema))) {
      if (schemaProperty(declared, name) !== undefined) continue;
      const message = `the field ${quote(name)} appears only inside allOf, anyOf, oneOf, or not`;
      report('schema/junctor-undeclared', [...path, 'properties', name], message, {
        hint: 'Also declare it with its type in `properties` of the object.',
        target: 'key',
      });
    }
  }
};
