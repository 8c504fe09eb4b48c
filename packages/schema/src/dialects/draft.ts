import type { Path, Range, Target } from '../diagnostics/diagnostic.js';
import type { JsonObject } from '../documents/definition.js';

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
