/** A place in a source file. */
export interface Position {
  file: string;
  /** From 1. */
  line: number;
  /** From 1, in Unicode code points. */
  column: number;
}

/** Returns `file:line:column`. */
export function formatPosition({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`;
}
