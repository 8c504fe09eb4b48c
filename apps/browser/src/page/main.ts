/**
 * "Try it" on the page of a function: a form and a text for the functionConfig, resources to edit, and what the function
 * does to them.
 *
 * The page itself only shows text. Documents are read in one worker, and code of publishers runs in another one, in a
 * frame with an opaque origin (run-client.ts).
 *
 * @module
 */

import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import { defined } from '@krmhub/schema/defined';
import type { TryItData } from '@krmhub/schema/documents/try-it';
import type { ConfigState } from '../config/edit-config.js';
import { button, element } from '../form/dom.js';
import { Form } from '../form/form.js';
import { ConfigClient, type Edit } from './config-client.js';
import { Examples } from './examples.js';
import { type Loaded, load } from './load.js';
import { Runner } from './runner.js';
import { labeledText } from './text-area.js';

/** UTF-16 code units of a functionConfig. */
const MAX_CONFIG = 65_536;

/** Shows "Try it" in a section whose `data-try` is the path of its data. */
export async function openTryIt(section: HTMLElement): Promise<void> {
  const area = element('div', { class: 'try-area', attributes: { 'aria-busy': 'true' } });
  area.append(element('p', { text: 'Loading…', attributes: { role: 'status' } }));
  section.querySelector('.try-examples')?.remove();
  section.append(area);
  try {
    const loaded = await load(section.dataset.try ?? '');
    await loadStyle(loaded.data.files.style);
    area.replaceChildren(...new TryIt(loaded).elements);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    area.replaceChildren(
      element('p', { class: 'try-failure', text: message, attributes: { role: 'alert' } }),
    );
  }
  area.removeAttribute('aria-busy');
}

function loadStyle(href: string): Promise<void> {
  return new Promise((resolve) => {
    const done = () => resolve();
    document.head.append(
      element('link', { attributes: { rel: 'stylesheet', href }, on: { load: done, error: done } }),
    );
  });
}

class TryIt {
  readonly elements: HTMLElement[];
  readonly #client: ConfigClient;
  readonly #form: Form;
  readonly #yaml: HTMLTextAreaElement;
  readonly #problems = element('ul', { class: 'try-problems', attributes: { 'aria-live': 'polite' } });
  #state: ConfigState = { text: '', problems: [] };

  constructor({ data, run }: Loaded) {
    this.#client = new ConfigClient(workerPath(data), definitionOf(data));
    this.#form = new Form(data.schema, (path, value) => this.#update({ path, ...defined({ value }) }));
    const yaml = labeledText('YAML of the functionConfig', { rows: 14, maxLength: MAX_CONFIG });
    this.#yaml = yaml.area;
    this.#yaml.addEventListener('input', () => this.#update());
    const runner =
      run === undefined
        ? undefined
        : new Runner({ data, ...run }, async () => {
            await this.#update();
            return this.#state;
          });
    const examples = new Examples(data, (functionConfig, resources) => {
      this.#yaml.value = functionConfig;
      if (runner !== undefined) runner.resources = resources;
      void this.#update();
    });
    const copy = button('Copy YAML', () => void navigator.clipboard?.writeText(this.#yaml.value));
    copy.hidden = navigator.clipboard === undefined;
    this.elements = [
      ...examples.elements,
      element(
        'div',
        { class: 'try-config' },
        this.#form.element,
        element('div', { class: 'try-yaml' }, yaml.element, copy, this.#problems),
      ),
      ...(runner?.elements ?? []),
    ];
    examples.choose(0);
  }

  /** Reads the text, or changes it, and shows it. */
  async #update(edit?: Edit): Promise<void> {
    const { from, state } = await this.#client.ask(() => this.#yaml.value, edit);
    // The user typed meanwhile: the change is made in the newer text.
    if (this.#yaml.value !== from) return this.#update(edit);
    if (state.text !== from) this.#yaml.value = state.text;
    this.#state = state;
    this.#form.show(state);
    this.#problems.replaceChildren(
      ...state.problems.map(({ path, message }) =>
        element('li', {}, ...(path === '' ? [] : [element('code', { text: path }), ' ']), message),
      ),
    );
  }
}

function definitionOf({ group, kind, version, schema }: TryItData): CheckedDefinition {
  return { group, names: { kind }, versions: [{ name: version, schema: { openAPIV3Schema: schema } }] };
}

/** Rules need a larger worker. */
function workerPath({ schema, files }: TryItData): string {
  return JSON.stringify(schema).includes('"x-kubernetes-validations"') ? files.rules : files.config;
}
