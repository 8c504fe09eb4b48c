/** The codes of the rules for schemas, as `LINT_RULES` has the others. */
export const SCHEMA_RULES = {
  'schema/unknown-type': {
    severity: 'error',
    summary: 'A `type` that is none of array, boolean, integer, number, object and string.',
    fix: 'Use one of the six; `bool` is `boolean`.',
  },
  'schema/forbidden-keyword': {
    severity: 'error',
    summary: 'A keyword that structural schemas forbid, such as `$ref`.',
    fix: 'Replace it as the message says.',
  },
  'schema/unknown-keyword': {
    severity: 'warning',
    summary: 'A keyword that OpenAPI v3 schemas of Kubernetes do not have. Readers ignore it.',
    fix: 'Correct the spelling, or remove it.',
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
    fix: 'Write a value of the type that the message names.',
  },
  'schema/root-type': {
    severity: 'error',
    summary: 'The root of the schema is not an object; a functionConfig always is.',
    fix: 'Write `type: object` at the root.',
  },
  'schema/root-restriction': {
    severity: 'error',
    summary: 'The root of the schema has `additionalProperties` or `nullable`.',
    fix: 'Remove it; declare the fields in `properties`.',
  },
  'schema/missing-type': {
    severity: 'warning',
    summary: 'A part of the schema has no `type`, so it accepts values of every type.',
    fix: 'Add the type.',
  },
  'schema/array-without-items': {
    severity: 'warning',
    summary: 'An array does not say what its items are.',
    fix: 'Add `items`.',
  },
  'schema/properties-and-map': {
    severity: 'warning',
    summary: '`additionalProperties` is next to `properties`, or is `false`. Kubernetes rejects both.',
    fix: 'Keep one: `properties` for named fields, `additionalProperties` for a map. Objects with `properties` are already closed.',
  },
  'schema/meta-type': {
    severity: 'error',
    summary: '`apiVersion` or `kind` is not a string, or `metadata` is not an object.',
    fix: 'Correct the type, or leave the field out: every resource has it.',
  },
  'schema/meta-restriction': {
    severity: 'warning',
    summary:
      '`metadata` at the root restricts more than `name` and `generateName`, which Kubernetes rejects.',
    fix: 'Keep only the properties `name` and `generateName`.',
  },
  'schema/junctor-keyword': {
    severity: 'warning',
    summary: 'A keyword is inside allOf, anyOf, oneOf or not that structural schemas forbid there.',
    fix: 'Move it to the field itself.',
  },
  'schema/junctor-undeclared': {
    severity: 'warning',
    summary: 'A field is named only inside allOf, anyOf, oneOf or not.',
    fix: 'Declare it with its type in `properties` too.',
  },
  'schema/extension': {
    severity: 'error',
    summary: 'An `x-kubernetes-` keyword has a wrong value, or is where it has no effect.',
    fix: 'Correct or remove it; the message says what it needs.',
  },
  'schema/list-type': {
    severity: 'error',
    summary: '`x-kubernetes-list-type` and its map keys do not fit the items.',
    fix: 'Make the keys declared, scalar and required; make the items of a set atomic.',
  },
  'schema/pattern': {
    severity: 'error',
    summary: 'A pattern is not a valid RE2 regular expression, which consumers written in Go use.',
    fix: 'Avoid look-around and back-references.',
  },
  'schema/pattern-cost': {
    severity: 'error',
    summary: 'A pattern is longer than 1,000 characters, or all patterns together cost too much to compile.',
    fix: 'Shorten the patterns, or use smaller repeat counts.',
  },
  'schema/default': {
    severity: 'error',
    summary: 'A default is not valid under its own schema.',
    fix: 'Correct the default or the schema.',
  },
  'schema/default-required': {
    severity: 'warning',
    summary: 'A required field has a default. Some consumers do not apply defaults and require the field.',
    fix: 'Remove the field from `required`, or remove the default.',
  },
  'schema/default-unchecked': {
    severity: 'warning',
    summary: 'The schemas that have defaults are too large to check the defaults.',
    fix: 'Move the defaults closer to the fields they are for.',
  },
  'schema/nullable-enum': {
    severity: 'warning',
    summary:
      '`nullable: true` is next to an `enum` without null. Readers disagree on whether null is allowed.',
    fix: 'Add null to the enum, or remove `nullable`.',
  },
  'schema/number-for-integer': {
    severity: 'warning',
    summary: 'A number has an integer format.',
    fix: 'Write `type: integer`.',
  },
  'schema/required-undeclared': {
    severity: 'warning',
    summary: '`required` names a field that `properties` does not declare.',
    fix: 'Declare the field, or correct the name.',
  },
  'schema/empty-range': {
    severity: 'error',
    summary: 'A lower bound is above its upper bound, so no value is valid.',
    fix: 'Correct the bounds.',
  },
  'schema/prototype-name': {
    severity: 'error',
    summary:
      'A field is named `__proto__`, `constructor` or `prototype`, which can be used to attack JavaScript readers.',
    fix: 'Choose another name.',
  },
  'schema/open': {
    severity: 'warning',
    summary: 'The schema accepts any functionConfig, so nothing checks what users write.',
    fix: 'Declare the fields in `properties`.',
  },
  'schema/undescribed': {
    severity: 'info',
    summary: 'Fields of the schema have no description.',
    fix: 'Add a `description` to each field; it is the reference that users read.',
  },
  'schema/too-large': {
    severity: 'error',
    summary: 'The schema has more than 20,000 parts; the rest is not checked.',
    fix: 'Reduce the size of the schema.',
  },
} as const;
