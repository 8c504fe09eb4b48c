import type { TryItData, TryItExample } from '@krmhub/schema/documents/try-it';
import { element, newId } from '../form/dom.js';
import { outputElements } from './output.js';

/** Chooses what to start with: what the schema gives, or an example of a tester. */
export class Examples {
  readonly elements: HTMLElement[] = [];
  readonly #data: TryItData;
  readonly #choose: (functionConfig: string, resources: string) => void;
  readonly #recorded = element('div', { class: 'try-recorded' });

  constructor(data: TryItData, choose: (functionConfig: string, resources: string) => void) {
    this.#data = data;
    this.#choose = choose;
    const { examples } = data;
    if (examples.length === 0) return;
    const id = newId();
    const select = element('select', {
      attributes: { id },
      on: { change: () => this.choose(Number(select.value)) },
    });
    const names = [...examples.map(({ name }) => name), 'from the schema'];
    select.append(
      ...names.map((name, at) => element('option', { text: name, attributes: { value: String(at) } })),
    );
    const label = element('label', { text: 'Example', attributes: { for: id } });
    this.elements.push(element('p', { class: 'try-example' }, label, ' ', select), this.#recorded);
  }

  choose(at: number): void {
    const { functionConfig, resources, examples, script } = this.#data;
    const example = examples[at];
    this.#choose(
      example?.functionConfig ?? functionConfig,
      example === undefined ? resources : oneFile(example),
    );
    // What runs here is better than a record.
    this.#recorded.replaceChildren(
      ...(example === undefined || script !== undefined ? [] : recorded(example)),
    );
  }
}

/** The files of an example as one: documents below each other. */
function oneFile({ input }: TryItExample): string {
  return Object.values(input)
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
    .join('---\n');
}

function recorded({ input, output = input, messages }: TryItExample): HTMLElement[] {
  const paths = [...new Set([...Object.keys(input), ...Object.keys(output)])];
  return outputElements({
    files: paths.map((path) => ({ path, before: input[path] ?? '', after: output[path] ?? '' })),
    results: [],
    printed: messages.join('\n'),
  });
}
