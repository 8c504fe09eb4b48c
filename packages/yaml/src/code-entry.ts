import type { Severity } from './diagnostic.js';

/** The meaning of a diagnostic code, as in docs/lint-rules.md. */
export interface CodeEntry {
  severity: Severity;
  summary: string;
  /** The fix, in one sentence. */
  fix: string;
}

export const error = (summary: string, fix: string) => ({ severity: 'error', summary, fix }) as const;
export const warning = (summary: string, fix: string) => ({ severity: 'warning', summary, fix }) as const;
export const info = (summary: string, fix: string) => ({ severity: 'info', summary, fix }) as const;
