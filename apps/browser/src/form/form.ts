/**
 * A form made from the schema of a functionConfig.
 *
 * A field shows the value at its path, and reports a change of it. The editor then changes the text of the
 * functionConfig, and the form shows the new value. So the form knows nothing that the text does not have.
 *
 * @module
 */

import type { JsonObject } from '@krmhub/schema/definition';
import type { ConfigState } from '../config/edit-config.js';
import { Budget } from './budget.js';
import { createField } from './create-field.js';
import { FieldsView } from './fields-view.js';
import { type Edit, type FormContext, problemsByPath } from './form-context.js';

/** What every functionConfig has, and the form leaves to the text. */
const RESOURCE_FIELDS = ['apiVersion', 'kind', 'metadata'];

export class Form {
  readonly element: HTMLElement;
  readonly #fields: FieldsView;
  readonly #group: HTMLFieldSetElement;

  constructor(schema: JsonObject, edit: Edit) {
    const budget = new Budget();
    const context: FormContext = {
      edit: (path, value) => {
        budget.refill();
        return edit(path, value);
      },
      budget,
      createField,
    };
    this.#fields = new FieldsView([schema], [], context, RESOURCE_FIELDS);
    this.#group = document.createElement('fieldset');
    this.#group.className = 'try-form';
    const legend = document.createElement('legend');
    legend.textContent = 'Form';
    this.#group.append(legend, this.#fields.element);
    this.element = this.#group;
  }

  /** A text that cannot be read cannot be edited either. */
  show({ value, problems }: ConfigState): void {
    this.#group.disabled = value === undefined;
    if (value !== undefined) this.#fields.show(value, problemsByPath(problems));
  }
}
