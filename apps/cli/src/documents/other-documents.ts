import type { LintResult } from '@krmhub/schema';

/** What a file of a folder may hold besides definitions and catalogs without being a problem. */
const FOREIGN = new Set(['dialect/unknown-document', 'yaml/empty']);

/** Whether every document of a file is of another kind, or there is none. */
export function holdsOnlyOtherDocuments({ documents, diagnostics, skipped }: LintResult): boolean {
  if (documents.length > 0) return false;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  return errors.length === 0 ? skipped > 0 : errors.every(({ code }) => FOREIGN.has(code));
}
