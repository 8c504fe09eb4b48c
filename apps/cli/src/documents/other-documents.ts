import type { LintResult } from '@krmhub/schema';
import { VALUE_CODES } from '@krmhub/yaml';

/** Diagnostics for documents that are neither definitions nor catalogs. */
const OTHER_DOCUMENT_CODES = new Set(['dialect/unknown-document', 'yaml/empty']);

/** Reports whether a file contains no definition or catalog. */
export function hasOnlyOtherDocuments({ documents, diagnostics, skipped }: LintResult): boolean {
  if (documents.length > 0) return false;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  // What other tools accept, such as the key `on` of a workflow, says nothing of what the document is.
  const ofDocuments = errors.filter(({ code }) => !VALUE_CODES.has(code));
  if (ofDocuments.length === 0) return skipped > 0;
  return ofDocuments.every(({ code }) => OTHER_DOCUMENT_CODES.has(code));
}
