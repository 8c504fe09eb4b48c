import type { Catalog, CatalogKind } from './catalog.js';
import type { FunctionDefinition, JsonObject } from './definition.js';
import type { Diagnostic, Path, Range } from './diagnostic.js';

/** Whether a diagnostic points at a field's name or at its value. */
export type Target = 'key' | 'value';

/** Where something of the normal form stands in the author's document. */
export interface Location {
  /** Path in the author's document. */
  path: Path;
  /** Of the nearest enclosing node that is written in the document. */
  range?: Range;
}

/** A definition on its way to the normal form: moved into place by the dialect reader, not checked yet. */
export interface Draft {
  file: string;
  /** In the shape of FunctionDefinition as far as the document allows; any field may be missing or of another type. */
  spec: JsonObject;
  /** `path` is relative to `spec`, in the normal form. */
  locate(path: Path, target?: Target): Location;
}

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
