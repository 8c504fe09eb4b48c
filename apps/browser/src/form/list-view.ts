import { expandAllOf, type SchemaParts } from '@krmhub/schema/config-fields/schema-parts';
import type { JsonValue } from '@krmhub/schema/definition';
import { button, element } from './dom.js';
import { createRow, FieldNotes, fieldTitle, newValue } from './field-parts.js';
import type { FieldInput, FieldView, Problems } from './form-context.js';

/** A list is edited as text beyond this number of items. */
const MAX_ITEMS = 50;

/** A list, with a button for another item. */
export class ListView implements FieldView {
  readonly element: HTMLElement;
  readonly #input: FieldInput;
  readonly #items: SchemaParts;
  readonly #list = element('ol', { class: 'try-items' });
  readonly #notes: FieldNotes;
  readonly #add: HTMLButtonElement;
  readonly #more = element('p', { class: 'quiet' });
  #views: FieldView[] = [];
  #length = 0;

  constructor(input: FieldInput, items: SchemaParts) {
    const { path, name, context } = input;
    this.#input = input;
    this.#items = expandAllOf(items).parts;
    this.#notes = new FieldNotes(input);
    this.#add = button(
      'Add',
      () => void context.edit([...path, this.#length], newValue(this.#items)),
      `Add to ${name}`,
    );
    this.element = element(
      'fieldset',
      { class: 'try-field' },
      element('legend', {}, ...fieldTitle(input, 'list')),
      this.#notes.element,
      this.#list,
      this.#more,
      this.#add,
    );
  }

  show(value: JsonValue | undefined, problems: Problems): void {
    this.#notes.show(problems);
    const items = Array.isArray(value) ? value : [];
    this.#length = items.length;
    const count = Math.min(items.length, MAX_ITEMS);
    while (this.#views.length > count) {
      this.#views.pop();
      this.#list.lastChild?.remove();
    }
    const { budget } = this.#input.context;
    while (this.#views.length < count && budget.take(1)) this.#append(this.#views.length);
    this.#more.textContent =
      items.length > this.#views.length
        ? `${items.length - this.#views.length} more items can be edited in the YAML.`
        : '';
    for (const [at, view] of this.#views.entries()) view.show(items[at], problems);
  }

  #append(at: number): void {
    const { path, name, context } = this.#input;
    const title = `${name}[${at}]`;
    const { view, row } = createRow({ name: title, path: [...path, at], parts: this.#items, context });
    this.#views.push(view);
    this.#list.append(row);
  }
}
