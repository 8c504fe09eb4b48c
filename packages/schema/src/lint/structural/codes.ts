/** The codes of the rules for schemas, a part of `LINT_RULES`. */
export const SCHEMA_RULES = {
  'schema/unknown-type': {
    severity: 'error',
    summary: 'The `type` is not array, boolean, integer, number, object, or string.',
    fix: 'Use one of these types, for example `boolean` instead of `bool`.',
  },
  'schema/forbidden-keyword': {
    severity: 'error',
    summary: 'The schema has a keyword that structural schemas forbid, such as `$ref`.',
    fix: 'Replace the keyword as the message describes.',
  },
  'schema/unknown-keyword': {
    severity: 'warning',
    summary: 'The keyword does not exist in Kubernetes OpenAPI v3 schemas. Tools ignore it.',
    fix: 'Correct the spelling, or remove the keyword.',
  },
  'schema/keyword-case': {
    severity: 'error',
    summary:
      'A keyword differs from one of OpenAPI only by case: some tools read it as that one, others ignore it.',
    fix: 'Write the keyword as OpenAPI spells it, once.',
  },
  'schema/keyword-value': {
    severity: 'error',
    summary: 'The value of a keyword has the wrong type.',
    fix: 'Use a value of the type in the message.',
  },
  'schema/root-type': {
    severity: 'error',
    summary: 'The root of the schema is not an object. A functionConfig is always an object.',
    fix: 'Set `type: object` at the root.',
  },
  'schema/root-restriction': {
    severity: 'error',
    summary: 'The root of the schema has `additionalProperties` or `nullable`, which are forbidden there.',
    fix: 'Remove the keyword, and declare the fields in `properties`.',
  },
  'schema/missing-type': {
    severity: 'warning',
    summary: 'A part of the schema has no `type`, so it accepts values of all types.',
    fix: 'Add `type`.',
  },
  'schema/array-without-items': {
    severity: 'warning',
    summary: 'An array has no schema for its items.',
    fix: 'Add `items`.',
  },
  'schema/properties-and-map': {
    severity: 'warning',
    summary: '`additionalProperties` is next to `properties`, or is `false`. Kubernetes rejects both cases.',
    fix: 'Use `properties` for named fields, or `additionalProperties` for a map. Objects with `properties` are already closed.',
  },
  'schema/meta-type': {
    severity: 'error',
    summary: '`apiVersion` or `kind` is not a string, or `metadata` is not an object.',
    fix: 'Correct the type, or remove the field. Every resource has it.',
  },
  'schema/meta-restriction': {
    severity: 'warning',
    summary: '`metadata` at the root restricts more than `name` and `generateName`. Kubernetes rejects this.',
    fix: 'Keep only the properties `name` and `generateName`.',
  },
  'schema/junctor-keyword': {
    severity: 'warning',
    summary: 'Structural schemas forbid this keyword inside allOf, anyOf, oneOf, or not.',
    fix: 'Move the keyword to the schema of the field.',
  },
  'schema/junctor-undeclared': {
    severity: 'warning',
    summary: 'A field appears only inside allOf, anyOf, oneOf, or not.',
    fix: 'Declare the field and its type in `properties` too.',
  },
  'schema/extension': {
    severity: 'error',
    summary: 'An `x-kubernetes-` keyword has a wrong value, or has no effect here.',
    fix: 'Correct or remove the keyword. The message says what it requires.',
  },
  'schema/list-type': {
    severity: 'error',
    summary: '`x-kubernetes-list-type` or its map keys do not match the items.',
    fix: 'For a map, declare the keys as required scalars. For a set, make the items atomic.',
  },
  'schema/pattern': {
    severity: 'error',
    summary: 'A pattern is not a valid RE2 regular expression. Tools written in Go use RE2.',
    fix: 'Remove look-arounds and backreferences.',
  },
  'schema/pattern-cost': {
    severity: 'error',
    summary: 'A pattern is longer than 1,000 characters, or the patterns are too complex to compile.',
    fix: 'Shorten the patterns, or use smaller repeat counts.',
  },
  'schema/default': {
    severity: 'error',
    summary: 'A default does not match its schema.',
    fix: 'Correct the default or the schema.',
  },
  'schema/default-required': {
    severity: 'warning',
    summary: 'A required field has a default. Some tools do not apply defaults and require the field.',
    fix: 'Remove the field from `required`, or remove the default.',
  },
  'schema/default-unchecked': {
    severity: 'warning',
    summary: 'The schemas with defaults are too large to check.',
    fix: 'Set each default on its own field, not on a parent object.',
  },
  'schema/unchecked': {
    severity: 'warning',
    summary: 'A CEL rule or a format that Kubernetes enforces is not checked by krmhub.',
    fix: 'Correct the expression, or check the value in the function too.',
  },
  'schema/nullable-enum': {
    severity: 'warning',
    summary: '`nullable: true` is next to an `enum` without null. Some tools allow null, others do not.',
    fix: 'Add null to the enum, or remove `nullable`.',
  },
  'schema/number-for-integer': {
    severity: 'warning',
    summary: 'A field of type number has an integer format.',
    fix: 'Use `type: integer`.',
  },
  'schema/required-undeclared': {
    severity: 'warning',
    summary: '`required` contains a field that `properties` does not declare.',
    fix: 'Declare the field, or correct the name.',
  },
  'schema/empty-range': {
    severity: 'error',
    summary: 'The lower bound is higher than the upper bound, so no value is valid.',
    fix: 'Correct the bounds.',
  },
  'schema/prototype-name': {
    severity: 'error',
    summary:
      'A field has the name `__proto__`, `constructor`, or `prototype`, which attacks on JavaScript programs use.',
    fix: 'Rename the field.',
  },
  'schema/open': {
    severity: 'warning',
    summary: 'The schema accepts any functionConfig, so tools cannot check it.',
    fix: 'Declare the fields in `properties`.',
  },
  'schema/undescribed': {
    severity: 'info',
    summary: 'Fields of the schema have no description.',
    fix: 'Add a `description` to each field. Users read it in the reference.',
  },
  'schema/too-large': {
    severity: 'error',
    summary: 'The schema has more than 20,000 parts. The rest is not checked.',
    fix: 'Reduce the size of the schema.',
  },
} as const;
