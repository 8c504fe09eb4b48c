import type { FunctionResult } from '@krmhub/functions/output/function-result';
import { lineDiff } from '@krmhub/functions/output/line-diff';
import { element } from '../form/dom.js';
import { nameHunks } from './hunk-names.js';

/** Lines of a diff, results, and characters of printed text that a page shows. */
const MAX_LINES = 2_000;
const MAX_RESULTS = 200;
const MAX_PRINTED = 20_000;

/** Shows what a function did, as text: all of it is of the function. */
export interface ShownOutput {
  /** Texts before and after, by file. */
  files: readonly { path: string; before: string; after: string }[];
  results: readonly FunctionResult[];
  printed: string;
  failure?: string;
}

export function outputElements({ files, results, printed, failure }: ShownOutput): HTMLElement[] {
  const shown: HTMLElement[] = [];
  if (failure !== undefined) shown.push(element('p', { class: 'try-failure', text: failure }));
  if (results.length > 0) shown.push(resultList(results));
  const changed = files.filter(({ before, after }) => before !== after);
  for (const { path, before, after } of changed) shown.push(diffElement(path, before, after));
  if (changed.length === 0 && failure === undefined)
    shown.push(element('p', { text: 'The function changes nothing.' }));
  if (printed.trim() !== '') shown.push(textBlock('Messages', printed.slice(0, MAX_PRINTED)));
  return shown;
}

function resultList(results: readonly FunctionResult[]): HTMLElement {
  const items = results.slice(0, MAX_RESULTS).map((result) => {
    const severity = result.severity ?? 'info';
    const tone = severity === 'error' ? 'danger' : severity === 'warning' ? 'warning' : 'plain';
    const where = resultPlace(result);
    return element(
      'li',
      {},
      element('span', { class: `label label-${tone}`, text: severity }),
      ' ',
      element('span', { text: result.message, attributes: { dir: 'auto' } }),
      where === '' ? null : element('span', { class: 'quiet', text: ` ${where}` }),
    );
  });
  const more = results.length - items.length;
  if (more > 0) items.push(element('li', { class: 'quiet', text: `and ${more} more` }));
  return element('ul', { class: 'try-results', attributes: { 'aria-label': 'Results' } }, ...items);
}

/** Returns the resource, the field, and the file of a result. */
function resultPlace({ resourceRef, field, file }: FunctionResult): string {
  const name = [resourceRef?.namespace, resourceRef?.name].filter(Boolean).join('/');
  return [
    [resourceRef?.kind, name].filter(Boolean).join(' '),
    field?.path,
    file?.path === undefined ? undefined : `in ${file.path}`,
  ]
    .filter(Boolean)
    .join(', ');
}

const DIFF_LINES: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'range' };

function diffElement(path: string, before: string, after: string): HTMLElement {
  const lines = nameHunks(lineDiff(before, after), before, after);
  const rows = lines.slice(0, MAX_LINES).map((line) => {
    return element('span', { class: `diff-${DIFF_LINES[line[0]!] ?? 'same'}`, text: `${line}\n` });
  });
  const more = lines.length - rows.length;
  if (more > 0) rows.push(element('span', { text: `… ${more} more lines\n` }));
  return block(`Changes of ${path}`, rows);
}

function textBlock(title: string, text: string): HTMLElement {
  return block(title, [text]);
}

function block(title: string, children: (Node | string)[]): HTMLElement {
  return element(
    'figure',
    { class: 'snippet' },
    element('figcaption', { text: title }),
    element('pre', { attributes: { tabindex: '0' } }, element('code', {}, ...children)),
  );
}
