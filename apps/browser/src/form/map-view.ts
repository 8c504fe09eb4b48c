import { expandAllOf, type SchemaParts } from '@krmhub/schema/config-fields/schema-parts';
import type { JsonValue } from '@krmhub/schema/definition';
import { isObject } from '@krmhub/schema/json/access';
import { button, element, newId } from './dom.js';
import { createRow, FieldNotes, fieldTitle, newValue, type Row } from './field-parts.js';
import type { FieldInput, FieldView, Problems } from './form-context.js';

const MAX_ENTRIES = 50;

/** A map with keys that the user chooses. */
export class MapView implements FieldView {
  readonly element: HTMLElement;
  readonly #input: FieldInput;
  readonly #values: SchemaParts;
  readonly #notes: FieldNotes;
  readonly #list = element('ul', { class: 'try-items' });
  readonly #more = element('p', { class: 'quiet' });
  readonly #key: HTMLInputElement;
  readonly #rows = new Map<string, Row>();

  constructor(input: FieldInput, values: SchemaParts) {
    this.#input = input;
    this.#values = expandAllOf(values).parts;
    this.#notes = new FieldNotes(input);
    const id = newId();
    this.#key = element('input', {
      attributes: { type: 'text', id, autocomplete: 'off', spellcheck: 'false' },
      on: {
        keydown: (event) => {
          if ((event as KeyboardEvent).key !== 'Enter') return;
          event.preventDefault();
          this.#add();
        },
      },
    });
    this.element = element(
      'fieldset',
      { class: 'try-field' },
      element('legend', {}, ...fieldTitle(input, 'map')),
      this.#notes.element,
      this.#list,
      this.#more,
      element(
        'div',
        { class: 'try-add' },
        element('label', { text: 'New key', attributes: { for: id } }),
        this.#key,
        button('Add', () => this.#add(), `Add to ${input.name}`),
      ),
    );
  }

  show(value: JsonValue | undefined, problems: Problems): void {
    const { context } = this.#input;
    this.#notes.show(problems);
    const all = isObject(value) ? Object.entries(value) : [];
    const entries = all.slice(0, MAX_ENTRIES);
    const keys = new Set(entries.map(([key]) => key));
    for (const [key, { row }] of this.#rows) {
      if (keys.has(key)) continue;
      row.remove();
      this.#rows.delete(key);
    }
    for (const [key, inner] of entries) {
      if (!this.#rows.has(key) && context.budget.take(1)) this.#append(key);
      this.#rows.get(key)?.view.show(inner, problems);
    }
    const more = all.length - this.#rows.size;
    this.#more.textContent = more > 0 ? `${more} more entries can be edited in the YAML.` : '';
  }

  #append(key: string): void {
    const { path, context } = this.#input;
    const added = createRow({ name: key, path: [...path, key], parts: this.#values, context });
    this.#rows.set(key, added);
    this.#list.append(added.row);
  }

  #add(): void {
    const { path, context } = this.#input;
    const key = this.#key.value.trim();
    if (key !== '' && !this.#rows.has(key)) void context.edit([...path, key], newValue(this.#values));
    this.#key.value = '';
  }
}
