import type { Diagnostic, Severity } from '../diagnostics/diagnostic.js';
import { compareDiagnostics, SEVERITIES } from '../diagnostics/diagnostic.js';

/** Maximum number of stored findings per file and severity. A file with empty entries can have millions. */
const MAX_STORED = 5_000;

type Counts = Record<Severity, number>;

/** Collects the findings of one file in bounded memory. Further findings are only counted. */
export class Findings {
  readonly #stored: Diagnostic[] = [];
  readonly #counts: Counts = { error: 0, warning: 0, info: 0 };
  /** Whether checks were skipped because there were too many errors. */
  incomplete = false;

  /** Reports whether there are too many errors to store. */
  get isFull(): boolean {
    return this.#counts.error >= MAX_STORED;
  }

  add(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) {
      if (++this.#counts[diagnostic.severity] <= MAX_STORED) this.#stored.push(diagnostic);
    }
  }

  /** Returns the worst findings up to the limit, in the order of the file, and counts the rest. */
  limited(limit: number, file: string): Diagnostic[] {
    const all = limitDiagnostics(this.#stored, limit, file, this.#counts);
    const more = all.at(-1);
    if (!this.incomplete || more === undefined) return all;
    return [...all.slice(0, -1), { ...more, message: `${more.message}; the rest was not checked` }];
  }
}

/** Returns the worst findings up to the limit, in the order of the file, and counts the rest of `counts`. */
export function limitDiagnostics(
  diagnostics: readonly Diagnostic[],
  limit: number,
  file: string,
  counts: Counts = countBySeverity(diagnostics),
): Diagnostic[] {
  const sorted = [...diagnostics].sort(compareDiagnostics);
  if (sorted.length <= limit) return sorted;
  const listed = new Set(
    SEVERITIES.flatMap((severity) => sorted.filter((one) => one.severity === severity)).slice(0, limit),
  );
  const shown = countBySeverity([...listed]);
  const rest = (severity: Severity) => counts[severity] - shown[severity];
  const worst = SEVERITIES.find((severity) => rest(severity) > 0) ?? 'info';
  return [
    ...sorted.filter((one) => listed.has(one)),
    { code: 'lint/more', severity: worst, message: `and ${formatCounts(rest)} more`, file, path: '' },
  ];
}

const PLURALS: Record<Severity, string> = { error: 'errors', warning: 'warnings', info: 'notes' };

/** `3 errors, 1 warning`. */
function formatCounts(countOf: (severity: Severity) => number): string {
  return SEVERITIES.flatMap((severity) => {
    const count = countOf(severity);
    const word = count === 1 ? PLURALS[severity].slice(0, -1) : PLURALS[severity];
    return count === 0 ? [] : [`${count} ${word}`];
  }).join(', ');
}

function countBySeverity(diagnostics: readonly Diagnostic[]): Counts {
  const counts: Counts = { error: 0, warning: 0, info: 0 };
  for (const { severity } of diagnostics) counts[severity]++;
  return counts;
}
