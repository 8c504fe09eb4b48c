import type { LintResult } from '@krmhub/schema';

/** Diagnostics for documents that are neither definitions nor catalogs. */
const OTHER_DOCUMENT_CODES = new Set(['dialect/unknown-document', 'yaml/empty']);
/** What other tools accept, such as the key `on` of a workflow. It says nothing of what the document is. */
const OTHER_TEXT_CODES = new Set([
  'yaml/ambiguous-scalar',
  'yaml/duplicate-key',
  'yaml/integer-precision',
  'yaml/merge-key',
  'yaml/non-string-key',
  'yaml/not-finite',
  'yaml/tag',
]);

/** Reports whether a file contains no definition or catalog. */
export function hasOnlyOtherDocuments({ documents, diagnostics, skipped }: LintResult): boolean {
  if (documents.length > 0) return false;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const ofDocuments = errors.filter(({ code }) => !OTHER_TEXT_CODES.has(code));
  if (ofDocuments.length === 0) return skipped > 0;
  return ofDocuments.every(({ code }) => OTHER_DOCUMENT_CODES.has(code));
}
