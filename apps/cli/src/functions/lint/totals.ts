import type { Severity } from '@krmhub/schema';
import { plural } from '@krmhub/schema/text';

/** The counts of a lint run. */
export interface Totals {
  files: number;
  findings: Record<Severity, number>;
  /** Files and documents of other kinds, and folders of Helm templates. */
  skipped: { files: number; documents: number; templates: number };
}

/** Returns, for example, `; 2 files and 1 document of other kinds skipped`, or an empty text. */
export function skippedText({ skipped: { files, documents, templates } }: Totals): string {
  const others = [
    ...(files === 0 ? [] : [plural(files, 'file')]),
    ...(documents === 0 ? [] : [plural(documents, 'document')]),
  ];
  const parts = [
    ...(others.length === 0 ? [] : [`${others.join(' and ')} of other kinds skipped`]),
    ...(templates === 0 ? [] : [`${plural(templates, 'folder')} of Helm templates skipped`]),
  ];
  return parts.map((part) => `; ${part}`).join('');
}
