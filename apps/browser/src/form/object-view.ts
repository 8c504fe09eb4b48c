import type { JsonValue } from '@krmhub/schema/definition';
import { button, element } from './dom.js';
import { FieldNotes, fieldTitle } from './field-parts.js';
import { FieldsView } from './fields-view.js';
import type { FieldInput, FieldView, Problems } from './form-context.js';

/** An object in a fold. Its fields are made when it opens: schemas can have thousands. */
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
      { class: 'try-object', on: { toggle: () => this.#fill() } },
      element('summary', {}, ...fieldTitle(input, 'object')),
      this.#notes.element,
      this.#remove,
    );
    this.element.open = isRequired;
    if (isRequired) this.#fill();
  }

  show(value: JsonValue | undefined, problems: Problems): void {
    this.#notes.show(problems);
    if (value !== undefined && this.#value === undefined) this.element.open = true;
    this.#value = value;
    this.#problems = problems;
    this.#remove.hidden = value === undefined || typeof this.#input.path.at(-1) === 'number';
    if (this.element.open) this.#fill();
    this.#fields?.show(value, problems);
  }

  #fill(): void {
    if (this.#fields !== undefined || !this.element.open) return;
    const { parts, path, context } = this.#input;
    this.#fields = new FieldsView(parts, path, context);
    this.#remove.before(this.#fields.element);
    this.#fields.show(this.#value, this.#problems);
  }
}
