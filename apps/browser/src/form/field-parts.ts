import type { SchemaParts } from '@krmhub/schema/config-fields/schema-parts';
import { valueType } from '@krmhub/schema/config-fields/schema-parts';
import type { JsonValue } from '@krmhub/schema/definition';
import { formatPath } from '@krmhub/schema/diagnostic';
import { keyword, type OpenApiKeyword } from '@krmhub/schema/json-schema/open-api';
import { button, element, newId } from './dom.js';
import type { FieldInput, FieldView, Problems } from './form-context.js';

/** Characters of a description. The configuration tab has all of it. */
const MAX_HELP = 400;

/** Returns the first value of a keyword. */
export function firstKeyword(parts: SchemaParts, name: OpenApiKeyword): JsonValue | undefined {
  for (const part of parts) {
    const value = keyword(part, name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Choices of a list; more are typed. */
const MAX_CHOICES = 300;

/** Returns the values of an enum of scalars. */
export function allowedValues(parts: SchemaParts): JsonValue[] | undefined {
  for (const part of parts) {
    const values = keyword(part, 'enum') as JsonValue[] | undefined;
    if (values !== undefined && values.length > 0 && values.length <= MAX_CHOICES && values.every(isScalar))
      return values;
  }
  return undefined;
}

export function isScalar(value: JsonValue): boolean {
  return value === null || typeof value !== 'object';
}

/** Returns the value that a new item or entry has. */
export function newValue(parts: SchemaParts): JsonValue {
  const given = firstKeyword(parts, 'default') ?? firstKeyword(parts, 'example') ?? allowedValues(parts)?.[0];
  if (given !== undefined) return given;
  switch (valueType(parts)) {
    case 'array':
      return [];
    case 'object':
      return {};
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return (firstKeyword(parts, 'minimum') as number | undefined) ?? 0;
    default:
      return '';
  }
}

/** The text below a field: what it is for, and what is wrong with it. */
export class FieldNotes {
  readonly id = newId();
  readonly element: HTMLElement;
  readonly #problem = element('p', { class: 'try-problem' });
  readonly #path: string;

  constructor({ parts, path }: FieldInput) {
    this.#path = formatPath(path);
    this.#problem.hidden = true;
    const description = firstKeyword(parts, 'description');
    const text = typeof description === 'string' ? description.trim() : '';
    const short = text.length > MAX_HELP ? `${text.slice(0, MAX_HELP)}…` : text;
    const help =
      short === '' ? null : element('p', { class: 'try-help', text: short, attributes: { dir: 'auto' } });
    this.element = element('div', { attributes: { id: this.id } }, help, this.#problem);
  }

  /** Returns whether something is wrong. */
  show(problems: Problems): boolean {
    const own = problems.get(this.#path) ?? [];
    this.#problem.textContent = own.join('; ');
    this.#problem.hidden = own.length === 0;
    return own.length > 0;
  }
}

/** Returns the name of a field with its type. */
export function fieldTitle({ name, isRequired }: FieldInput, type: string): (Node | string)[] {
  return [
    element('code', { text: name }),
    ' ',
    element('span', { class: 'quiet', text: isRequired ? `${type}, required` : type }),
  ];
}

/** An item of a list, or an entry of a map. */
export interface Row {
  view: FieldView;
  row: HTMLElement;
}

/** Creates the field of an item or entry, with a button that removes it. */
export function createRow(input: Omit<FieldInput, 'isRequired'>): Row {
  const { path, name, context } = input;
  const view = context.createField({ ...input, isRequired: true });
  const remove = button('Remove', () => void context.edit(path, undefined), `Remove ${name}`);
  return { view, row: element('li', {}, view.element, remove) };
}
