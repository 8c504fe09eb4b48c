import type { Diagnostic, Severity } from '../diagnostic.js';
import { compareDiagnostics, SEVERITIES } from '../diagnostic.js';

/** In the order of the file, and no more than the limit: the worst are told, the rest is counted. */
export function capped(diagnostics: readonly Diagnostic[], limit: number, file: string): Diagnostic[] {
  const sorted = [...diagnostics].sort(compareDiagnostics);
  if (sorted.length <= limit) return sorted;
  const told = new Set(
    SEVERITIES.flatMap((severity) => sorted.filter((one) => one.severity === severity)).slice(0, limit),
  );
  const rest = sorted.filter((one) => !told.has(one));
  const worst = SEVERITIES.find((severity) => rest.some((one) => one.severity === severity)) ?? 'info';
  return [
    ...sorted.filter((one) => told.has(one)),
    { code: 'lint/more', severity: worst, message: `and ${countOf(rest)} more`, file, path: '' },
  ];
}

const PLURALS: Record<Severity, string> = { error: 'errors', warning: 'warnings', info: 'notes' };

/** `3 errors, 1 warning`. */
function countOf(diagnostics: readonly Diagnostic[]): string {
  return SEVERITIES.flatMap((severity) => {
    const count = diagnostics.filter((one) => one.severity === severity).length;
    const word = count === 1 ? PLURALS[severity].slice(0, -1) : PLURALS[severity];
    return count === 0 ? [] : [`${count} ${word}`];
  }).join(', ');
}
