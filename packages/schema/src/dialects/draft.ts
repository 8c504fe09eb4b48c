import type { Path, Range, Target } from '../diagnostics/diagnostic.js';
import type { JsonObject } from '../documents/definition.js';

/** The position of a part of the normal form in the original document. */
export interface Location {
  /** Path in the original document. */
  path: Path;
  /** Range of the nearest enclosing node in the document. */
  range?: Range;
}

/** A definition in the structure of the normal form that is not checked yet. */
export interface Draft {
  file: string;
  /** Has the structure of FunctionDefinition, but any field may be missing or have another type. */
  spec: JsonObject;
  /** `path` is relative to `spec`, in the normal form. */
  locate(path: Path, target?: Target): Location;
}
