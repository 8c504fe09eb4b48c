import { element, newId } from '../form/dom.js';

/** A text with its label. */
export function labeledText(
  label: string,
  { rows, maxLength }: { rows: number; maxLength: number },
): { element: HTMLElement; area: HTMLTextAreaElement } {
  const id = newId();
  const area = element('textarea', {
    attributes: {
      id,
      rows: String(rows),
      maxlength: String(maxLength),
      spellcheck: 'false',
      autocomplete: 'off',
      autocapitalize: 'off',
      wrap: 'off',
    },
  });
  const title = element('label', { text: label, attributes: { for: id } });
  return { area, element: element('div', { class: 'try-text' }, title, area) };
}
