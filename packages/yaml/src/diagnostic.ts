/** Problems in documents: a message, a position, and a fix. They are data and are never thrown. */

export const SEVERITIES = ['error', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** One-based, in UTF-16 code units, as in editors. */
export interface Position {
  line: number;
  column: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface Diagnostic {
  /** Stable and documented in docs/lint-rules.md, such as `image/floating-tag`. */
  code: string;
  severity: Severity;
  message: string;
  file: string;
  /** Field path in Kubernetes syntax, such as `spec.versions[0].name`; empty for the whole document. */
  path: string;
  range?: Range;
  hint?: string;
}

/** The part of a field that a diagnostic marks. */
export type Target = 'key' | 'value';

export type PathSegment = string | number;
export type Path = readonly PathSegment[];

const PLAIN_SEGMENT = /^[A-Za-z_$][\w$-]*$/;

/** Formats a path: `['spec', 'versions', 0, 'a.b']` is `spec.versions[0]["a.b"]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (PLAIN_SEGMENT.test(segment)) text += text === '' ? segment : `.${segment}`;
    else text += `[${JSON.stringify(segment)}]`;
  }
  return text;
}
