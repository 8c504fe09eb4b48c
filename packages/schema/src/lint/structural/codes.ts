import { error, info, warning } from '@krmhub/yaml/code-entry';

/** The codes of the rules for schemas, a part of `LINT_RULES`. */
export const SCHEMA_RULES = {
  'schema/unknown-type': error(
    'The `type` is not array, boolean, integer, number, object, or string.',
    'Use one of these types, for example `boolean` instead of `bool`.',
  ),
  'schema/forbidden-keyword': error(
    'The schema has a keyword that structural schemas forbid, such as `$ref`.',
    'Replace the keyword as the message describes.',
  ),
  'schema/unknown-keyword': warning(
    'The keyword does not exist in Kubernetes OpenAPI v3 schemas. Tools ignore it.',
    'Correct the spelling, or remove the keyword.',
  ),
  'schema/keyword-case': error(
    'A keyword differs from one of OpenAPI only by case: some tools read it as that one, others ignore it.',
    'Write the keyword as OpenAPI spells it, once.',
  ),
  'schema/keyword-value': error(
    'The value of a keyword has the wrong type.',
    'Use a value of the type in the message.',
  ),
  'schema/root-type': error(
    'The root of the schema is not an object. A functionConfig is always an object.',
    'Set `type: object` at the root.',
  ),
  'schema/root-restriction': error(
    'The root of the schema has `additionalProperties` or `nullable`, which are forbidden there.',
    'Remove the keyword, and declare the fields in `properties`.',
  ),
  'schema/missing-type': warning(
    'A part of the schema has no `type`, so it accepts values of all types.',
    'Add `type`.',
  ),
  'schema/array-without-items': warning('An array has no schema for its items.', 'Add `items`.'),
  'schema/properties-and-map': warning(
    '`additionalProperties` is next to `properties`, or is `false`. Kubernetes rejects both cases.',
    'Use `properties` for named fields, or `additionalProperties` for a map. Objects with `properties` are already closed.',
  ),
  'schema/meta-type': error(
    '`apiVersion` or `kind` is not a string, or `metadata` is not an object.',
    'Correct the type, or remove the field. Every resource has it.',
  ),
  'schema/meta-restriction': warning(
    '`metadata` at the root restricts more than `name` and `generateName`. Kubernetes rejects this.',
    'Keep only the properties `name` and `generateName`.',
  ),
  'schema/junctor-keyword': warning(
    'Structural schemas forbid this keyword inside allOf, anyOf, oneOf, or not.',
    'Move the keyword to the schema of the field.',
  ),
  'schema/junctor-undeclared': warning(
    'A field appears only inside allOf, anyOf, oneOf, or not.',
    'Declare the field and its type in `properties` too.',
  ),
  'schema/extension': error(
    'An `x-kubernetes-` keyword has a wrong value, or has no effect here.',
    'Correct or remove the keyword. The message says what it requires.',
  ),
  'schema/list-type': error(
    '`x-kubernetes-list-type` or its map keys do not match the items.',
    'For a map, declare the keys as required scalars. For a set, make the items atomic.',
  ),
  'schema/pattern': error(
    'A pattern is not a valid RE2 regular expression. Tools written in Go use RE2.',
    'Remove look-arounds and backreferences.',
  ),
  'schema/pattern-cost': error(
    'A pattern is longer than 1,000 characters, or the patterns are too complex to compile.',
    'Shorten the patterns, or use smaller repeat counts.',
  ),
  'schema/default': error('A default does not match its schema.', 'Correct the default or the schema.'),
  'schema/default-required': warning(
    'A required field has a default. Some tools do not apply defaults and require the field.',
    'Remove the field from `required`, or remove the default.',
  ),
  'schema/default-unchecked': warning(
    'The schemas with defaults are too large to check.',
    'Set each default on its own field, not on a parent object.',
  ),
  'schema/unchecked': warning(
    'A CEL rule or a format that Kubernetes enforces is not checked by krmhub.',
    'Correct the expression, or check the value in the function too.',
  ),
  'schema/nullable-enum': warning(
    '`nullable: true` is next to an `enum` without null. Some tools allow null, others do not.',
    'Add null to the enum, or remove `nullable`.',
  ),
  'schema/number-for-integer': warning(
    'A field of type number has an integer format.',
    'Use `type: integer`.',
  ),
  'schema/required-undeclared': warning(
    '`required` contains a field that `properties` does not declare.',
    'Declare the field, or correct the name.',
  ),
  'schema/empty-range': error(
    'The lower bound is higher than the upper bound, so no value is valid.',
    'Correct the bounds.',
  ),
  'schema/prototype-name': error(
    'A field has the name `__proto__`, `constructor`, or `prototype`, which attacks on JavaScript programs use.',
    'Rename the field.',
  ),
  'schema/open': warning(
    'The schema accepts any functionConfig, so tools cannot check it.',
    'Declare the fields in `properties`.',
  ),
  'schema/undescribed': info(
    'Fields of the schema have no description.',
    'Add a `description` to each field. Users read it in the reference.',
  ),
  'schema/too-large': error(
    'The schema has more than 20,000 parts. The rest is not checked.',
    'Reduce the size of the schema.',
  ),
} as const;
