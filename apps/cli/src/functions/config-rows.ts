import type { ConfigDescription, ConfigField, ConfigRule } from '@krmhub/schema';

/** The fields of a functionConfig as rows of a table, and what is to be said of all of them. */
export interface ConfigRows {
  /** Path, type, whether it is required where the object around it is there, and all the rest. */
  fields: string[][];
  notes: string[];
}

export function configRows(description: ConfigDescription): ConfigRows {
  const fields: string[][] = [];
  const visit = (field: ConfigField): void => {
    fields.push([field.path, field.type, field.required ? 'yes' : 'no', wordsOf(field)]);
    for (const inner of field.fields) visit(inner);
  };
  for (const field of description.fields) visit(field);
  const notes = description.rules.map((rule) => sentence(ruleText(rule)));
  if (fields.length === 0 && notes.length === 0) notes.push('It has no fields of its own.');
  if (!description.complete) notes.push('There is more than is shown; the schema has it all.');
  return { fields, notes };
}

function wordsOf({
  description,
  deprecated,
  nullable,
  default: fallback,
  rules,
  elements: inside,
}: ConfigField): string {
  return [
    ...(deprecated ? ['Deprecated.'] : []),
    ...(description === undefined ? [] : [sentence(description)]),
    ...(fallback === undefined ? [] : [`Default: ${fallback}.`]),
    ...rules.map((rule) => sentence(ruleText(rule))),
    ...(nullable ? ['May be null.'] : []),
    ...inside.flatMap((element) => [
      ...(element.description === undefined
        ? []
        : [`${capital(element.label)}: ${sentence(element.description)}`]),
      ...element.rules.map((rule) => `${capital(element.label)}: ${ruleText(rule)}.`),
    ]),
  ].join(' ');
}

function ruleText({ text: words, values, more }: ConfigRule): string {
  const listed = values.length === 0 ? words : `${words} ${values.join(', ')}`;
  return more === 0 ? listed : `${listed} and ${more} more`;
}

function sentence(text: string): string {
  return /[.!?:]$/.test(text) ? capital(text) : `${capital(text)}.`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
