import type { Check } from '@krmhub/functions/conformance/check';
import { escapeControls, oneLine } from '@krmhub/schema/text';
import { type Io, paint, write } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';

/** A check as it is reported. */
export interface ReportedCheck extends Check {
  /** API version of the functionConfig, in a definition with several. */
  apiVersion?: string;
  at?: { file: string; line?: number };
  /** A unified diff from what is expected to what the function did, or what it wrote to stderr. */
  details?: string[];
}

const LABELS = {
  passed: ['green', '[PASS]'],
  failed: ['red', '[FAIL]'],
  skipped: ['yellow', '[SKIP]'],
} as const;

/** Prints checks as they end, and collects them. */
export class Report {
  readonly checks: ReportedCheck[] = [];
  readonly #io: Io;
  readonly #format: OutputFormat;

  constructor(io: Io, format: OutputFormat) {
    this.#io = io;
    this.#format = format;
  }

  async add(check: ReportedCheck): Promise<void> {
    this.checks.push(check);
    if (this.#format !== 'table') return;
    const { name, status, reason, apiVersion, at, details = [] } = check;
    const [color, label] = LABELS[status];
    const title = apiVersion === undefined ? name : `${apiVersion} ${name}`;
    const lines = [
      `${escapeControls(title)}${reason === undefined ? '' : `: ${oneLine(reason)}`}`,
      ...(at === undefined ? [] : [`  at ${escapeControls(place(at))}`]),
      ...details.map((line) => `  ${escapeControls(line)}`),
    ];
    await write(this.#io.stdout, `${paint(this.#io, this.#io.stdout, color, label)} ${lines.join('\n')}\n`);
  }

  count(status: Check['status']): number {
    return this.checks.filter((check) => check.status === status).length;
  }
}

function place({ file, line }: { file: string; line?: number }): string {
  return line === undefined ? file : `${file}:${line}`;
}
