import type { JsonValue } from '@krmhub/schema/definition';
import { element } from './dom.js';
import { FieldNotes, fieldTitle } from './field-parts.js';
import type { FieldInput, FieldView, Problems } from './form-context.js';

/** A value of any type: the form only says that it is there. */
export class TextOnlyView implements FieldView {
  readonly element: HTMLElement;
  readonly #notes: FieldNotes;
  readonly #state = element('span', { class: 'quiet' });

  constructor(input: FieldInput) {
    this.#notes = new FieldNotes(input);
    this.element = element(
      'div',
      { class: 'try-field' },
      element('p', {}, ...fieldTitle(input, 'any value'), ' ', this.#state),
      this.#notes.element,
    );
  }

  show(value: JsonValue | undefined, problems: Problems): void {
    this.#notes.show(problems);
    this.#state.textContent = value === undefined ? 'Not set: add it in the YAML.' : 'Edit it in the YAML.';
  }
}
