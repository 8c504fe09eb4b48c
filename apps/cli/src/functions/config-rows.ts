import type { ConfigDescription, ConfigField, ConfigRule } from '@krmhub/schema';

/** The fields of a functionConfig as rows of a table, and notes below it. */
export interface ConfigRows {
  /** Path, type, whether the field is required in its object, and the description. */
  fields: string[][];
  notes: string[];
}

export function configRows(description: ConfigDescription): ConfigRows {
  const fields: string[][] = [];
  const visit = (field: ConfigField): void => {
    fields.push([field.path, field.type, field.required ? 'yes' : 'no', describeField(field)]);
    for (const inner of field.fields) visit(inner);
  };
  for (const field of description.fields) visit(field);
  const notes = description.rules.map((rule) => toSentence(ruleText(rule)));
  if (fields.length === 0 && notes.length === 0) notes.push('The functionConfig has no fields.');
  if (!description.complete) notes.push('This list is incomplete. See the schema.');
  return { fields, notes };
}

function describeField({
  description,
  deprecated,
  nullable,
  default: fallback,
  rules,
  elements: inside,
}: ConfigField): string {
  return [
    ...(deprecated ? ['Deprecated.'] : []),
    ...(description === undefined ? [] : [toSentence(description)]),
    ...(fallback === undefined ? [] : [`Default: ${fallback}.`]),
    ...rules.map((rule) => toSentence(ruleText(rule))),
    ...(nullable ? ['May be null.'] : []),
    ...inside.flatMap((element) => [
      ...(element.description === undefined
        ? []
        : [`${capitalize(element.label)}: ${toSentence(element.description)}`]),
      ...element.rules.map((rule) => `${capitalize(element.label)}: ${ruleText(rule)}.`),
    ]),
  ].join(' ');
}

function ruleText({ text: words, values, more }: ConfigRule): string {
  const listed = values.length === 0 ? words : `${words} ${values.join(', ')}`;
  return more === 0 ? listed : `${listed} and ${more} more`;
}

function toSentence(text: string): string {
  return /[.!?:]$/.test(text) ? capitalize(text) : `${capitalize(text)}.`;
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
