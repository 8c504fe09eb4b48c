import type { JsonObject } from '../documents/definition.js';
import { mapRuntimes, RUNTIMES } from '../documents/definition.js';
import { flag, object, text, texts } from '../documents/schema-parts.js';
import { GROUP_PATTERN, KIND_PATTERN, MAX_GROUP_LENGTH, VERSION_PATTERN } from '../names/gvk.js';

/** JSON Schema (draft-07) of definitions in normal form, for the shape check. */

const runtime: JsonObject = {
  ...object(
    'How to run the function; at least one runtime.',
    [],
    mapRuntimes((kind) => RUNTIMES[kind].schema),
  ),
  minProperties: 1,
};

const version = object(
  'One API version of the functionConfig.',
  ['name', 'schema', 'idempotent', 'runtime', 'usage', 'examples', 'license'],
  {
    name: text('The API version of the functionConfig, such as `v1` or `v1beta1`.', {
      pattern: VERSION_PATTERN.source,
    }),
    schema: object('The schema of the functionConfig.', ['openAPIV3Schema'], {
      openAPIV3Schema: {
        type: 'object',
        description: 'A structural OpenAPI v3 schema, as in a CustomResourceDefinition.',
      },
    }),
    idempotent: flag('A second run on the output of the function changes nothing.'),
    runtime,
    usage: text('The URL of a document that explains how to use the function.'),
    examples: texts('URLs of documents with one example each; at least one.', { minItems: 1 }),
    license: text('The license of the function: an SPDX expression such as `Apache-2.0`.'),
    maintainers: texts('Overrides the maintainers of the definition for this API version.'),
    configMap: flag('The function also accepts a ConfigMap as functionConfig.'),
  },
);

/** The schema of the `spec` of a KRMFunctionDefinition, and of an entry of a catalog. */
export const definitionSpecJsonSchema: JsonObject = object(
  'The names, the configuration, and the runtime of the function.',
  ['group', 'names', 'description', 'publisher', 'versions'],
  {
    group: text('The API group of the functionConfig: a DNS name.', {
      pattern: GROUP_PATTERN.source,
      maxLength: MAX_GROUP_LENGTH,
    }),
    names: object('The names of the functionConfig.', ['kind'], {
      kind: text('The kind of the functionConfig, in PascalCase.', { pattern: KIND_PATTERN.source }),
    }),
    description: text('What the function does, in one line.'),
    publisher: text('The person or organization that owns the function.'),
    versions: {
      type: 'array',
      minItems: 1,
      items: version,
      description: 'The API versions of the functionConfig; at least one.',
    },
    home: text('The URL of the home page.'),
    maintainers: texts('The maintainers of the function.'),
    tags: texts('Search terms for the function, such as `mutator` or `validator`.'),
  },
);
