import type { Severity } from '@krmhub/schema';
import { plural } from '../../io/text.js';

/** What was looked at, and what was found in it. */
export interface Totals {
  files: number;
  findings: Record<Severity, number>;
  /** Files and documents of other kinds, and folders of Helm templates. */
  passedOver: { files: number; documents: number; templates: number };
}

/** `; 2 files and 1 document of other kinds skipped`, or nothing. */
export function passedOverText({ passedOver: { files, documents, templates } }: Totals): string {
  const others = [
    ...(files === 0 ? [] : [plural(files, 'file')]),
    ...(documents === 0 ? [] : [plural(documents, 'document')]),
  ];
  const said = [
    ...(others.length === 0 ? [] : [`${others.join(' and ')} of other kinds skipped`]),
    ...(templates === 0 ? [] : [`${plural(templates, 'folder')} of Helm templates skipped`]),
  ];
  return said.map((part) => `; ${part}`).join('');
}
