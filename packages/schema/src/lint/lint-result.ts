import type { Diagnostic } from '../diagnostics/diagnostic.js';
import type { Catalog, CatalogKind } from '../documents/catalog.js';
import type { FunctionDefinition } from '../documents/definition.js';

/** What a file holds, as far as it could be read, and everything that is wrong with it. */
export interface LintResult {
  /** Sorted by position. With no `error` among them, every definition below is complete. */
  diagnostics: Diagnostic[];
  documents: LintedDocument[];
  /** Documents of other tools that were passed over; 0 where they are problems. */
  skipped: number;
}

export type LintedDocument =
  | { kind: 'KRMFunctionDefinition'; definition: FunctionDefinition }
  | { kind: CatalogKind; catalog: Catalog };
