/**
 * Diagnostics, which are problems in documents, and errors of operations.
 *
 * A diagnostic has a message, a position, and a fix. Diagnostics are data and are never thrown.
 *
 * @module
 */

import type { Diagnostic } from '@krmhub/yaml/diagnostic';
import { compareText } from '../names/compare-text.js';

export * from '@krmhub/yaml/diagnostic';

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === 'error');
}

/** Compares diagnostics by file, position, and code, the order in which authors fix them. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareText(a.file, b.file) ||
    (a.range?.start.line ?? 0) - (b.range?.start.line ?? 0) ||
    (a.range?.start.column ?? 0) - (b.range?.start.column ?? 0) ||
    compareText(a.code, b.code) ||
    compareText(a.path, b.path)
  );
}
