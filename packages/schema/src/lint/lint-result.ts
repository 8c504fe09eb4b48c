import type { Diagnostic } from '../diagnostics/diagnostic.js';
import type { Catalog, CatalogKind } from '../documents/catalog.js';
import type { FunctionDefinition } from '../documents/definition.js';

/** The documents of a file, and its diagnostics. */
export interface LintResult {
  /** Sorted by position. Without an `error`, every definition below is complete. */
  diagnostics: Diagnostic[];
  documents: LintedDocument[];
  /** The number of skipped documents of other tools; 0 if they are errors. */
  skipped: number;
}

export type LintedDocument =
  | { kind: 'KRMFunctionDefinition'; definition: FunctionDefinition }
  | { kind: CatalogKind; catalog: Catalog };
