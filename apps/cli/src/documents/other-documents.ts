import type { LintResult } from '@krmhub/schema';

/** Diagnostics for documents that are neither definitions nor catalogs. */
const OTHER_DOCUMENT_CODES = new Set(['dialect/unknown-document', 'yaml/empty']);

/** Reports whether a file contains no definition or catalog. */
export function hasOnlyOtherDocuments({ documents, diagnostics, skipped }: LintResult): boolean {
  if (documents.length > 0) return false;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  return errors.length === 0 ? skipped > 0 : errors.every(({ code }) => OTHER_DOCUMENT_CODES.has(code));
}
