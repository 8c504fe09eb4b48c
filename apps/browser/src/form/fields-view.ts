import {
  declaredFields,
  expandAllOf,
  requiredFields,
  type SchemaParts,
} from '@krmhub/schema/config-fields/schema-parts';
import type { JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { isObject } from '@krmhub/schema/json/access';
import { PROTOTYPE_NAMES } from '@krmhub/schema/json-schema/open-api';
import { element } from './dom.js';
import type { FieldView, FormContext, Problems } from './form-context.js';

/** A schema with more fields is edited as text. */
const MAX_FIELDS = 200;

/** Returns the number of fields that a view of an object makes. */
export function countFields(schemas: SchemaParts): number {
  return Math.min(shownFields(expandAllOf(schemas).parts).length, MAX_FIELDS);
}

function shownFields(parts: SchemaParts, omitted: readonly string[] = []): [string, SchemaParts][] {
  return [...declaredFields(parts)].filter(([name]) => !omitted.includes(name) && !PROTOTYPE_NAMES.has(name));
}

/** The declared fields of an object, required ones first. */
export class FieldsView implements FieldView {
  readonly element = element('div', { class: 'try-fields' });
  readonly #fields = new Map<string, FieldView>();

  constructor(schemas: SchemaParts, path: Path, context: FormContext, omitted: readonly string[] = []) {
    const { parts } = expandAllOf(schemas);
    const required = requiredFields(parts);
    const declared = shownFields(parts, omitted);
    const isFirst = ([name]: readonly [string, SchemaParts]) => required.has(name);
    const ordered = [...declared.filter(isFirst), ...declared.filter((one) => !isFirst(one))];
    for (const [name, own] of ordered.slice(0, MAX_FIELDS)) {
      const field = context.createField({
        name,
        path: [...path, name],
        parts: expandAllOf(own).parts,
        isRequired: required.has(name),
        context,
      });
      this.#fields.set(name, field);
      this.element.append(field.element);
    }
    const hidden = ordered.length - this.#fields.size;
    const note =
      hidden > 0
        ? `${hidden} more fields can be edited in the YAML.`
        : ordered.length === 0
          ? 'Its fields can be edited in the YAML.'
          : undefined;
    if (note !== undefined) this.element.append(element('p', { class: 'quiet', text: note }));
  }

  show(value: JsonValue | undefined, problems: Problems): void {
    const fields = isObject(value) ? value : {};
    for (const [name, field] of this.#fields)
      field.show(Object.hasOwn(fields, name) ? fields[name] : undefined, problems);
  }
}
