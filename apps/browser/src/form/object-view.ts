import type { JsonValue } from '@krmhub/schema/definition';
import { button, element } from './dom.js';
import { FieldNotes, fieldTitle } from './field-parts.js';
import { countFields, FieldsView } from './fields-view.js';
import type { FieldInput, FieldView, Problems } from './form-context.js';

/**
 * An object in a fold. Its fields are made when it opens: schemas can have thousands. It opens by itself if it is
 * required or has a value, and the budget has its fields.
 */
export class ObjectView implements FieldView {
  readonly element: HTMLDetailsElement;
  readonly #input: FieldInput;
  readonly #notes: FieldNotes;
  readonly #remove: HTMLButtonElement;
  #fields: FieldsView | undefined;
  #value: JsonValue | undefined;
  #problems: Problems = new Map();

  constructor(input: FieldInput) {
    const { path, name, context, isRequired } = input;
    this.#input = input;
    this.#notes = new FieldNotes(input);
    this.#remove = button('Remove', () => void context.edit(path, undefined), `Remove ${name}`);
    this.element = element(
      'details',
      { class: 'try-object', on: { toggle: () => this.#opened() } },
      element('summary', {}, ...fieldTitle(input, 'object')),
      this.#notes.element,
      this.#remove,
    );
    if (isRequired) this.#open();
  }

  show(value: JsonValue | undefined, problems: Problems): void {
    this.#notes.show(problems);
    const isNew = value !== undefined && this.#value === undefined;
    this.#value = value;
    this.#problems = problems;
    this.#remove.hidden = value === undefined || typeof this.#input.path.at(-1) === 'number';
    if (isNew) this.#open();
    this.#fields?.show(value, problems);
  }

  #open(): void {
    const { parts, context } = this.#input;
    if (this.#fields === undefined) {
      if (!context.budget.take(countFields(parts))) return;
      this.#fill();
    }
    this.element.open = true;
  }

  /** A visitor opened it, or it is already filled. */
  #opened(): void {
    if (this.#fields !== undefined || !this.element.open) return;
    this.#input.context.budget.refill();
    this.#fill();
  }

  #fill(): void {
    const { parts, path, context } = this.#input;
    this.#fields = new FieldsView(parts, path, context);
    this.#remove.before(this.#fields.element);
    this.#fields.show(this.#value, this.#problems);
  }
}
