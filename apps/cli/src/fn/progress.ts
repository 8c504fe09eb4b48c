import type { Step, StepResult } from '@krmhub/functions/fn';
import { FunctionFailure } from '@krmhub/functions/output/function-failure';
import { type StepOutcome, summaryLines } from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import type { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { type Io, paint, write } from '../io/io.js';
import type { Runnable } from './runnable.js';

/** A function that ran, for results and reports. */
export interface RanFunction extends StepOutcome {
  name: string;
  /** Folder of the package, as the user knows it; absent outside of `fn render`. */
  package?: string;
  passed: boolean;
  milliseconds: number;
  /** The most memory that it was seen with; absent if that is not known, or not asked for. */
  memoryBytes?: number;
  /** Resources that it got. */
  selected: number;
}

/** A step, and what is recorded of it. */
export interface FnStep extends Step {
  recorded: Runnable['recorded'] & Pick<StepOutcome, 'step' | 'when'>;
  /** Says how many resources it gets. */
  isSelective: boolean;
}

/** Prints the functions as they run, in the form of kpt, and collects what they did. */
export class Progress {
  readonly ran: RanFunction[] = [];
  /** For each function that ran, YAML with its results as it wrote them; undefined for none. */
  readonly written: (string | undefined)[] = [];
  readonly #io: Io;
  readonly #isTruncated: boolean;
  readonly #hasStats: boolean;
  #package: string | undefined;
  #queue: Promise<void> = Promise.resolve();

  constructor(io: Io, { isTruncated, hasStats }: { isTruncated: boolean; hasStats: boolean }) {
    this.#io = io;
    this.#isTruncated = isTruncated;
    this.#hasStats = hasStats;
  }

  /** The functions that start now are of this package. */
  enterPackage(name: string): void {
    this.#package = name;
    this.print(`Package "${escapeControls(name)}": `);
  }

  readonly onStart = (step: Step, selected: number): void => {
    const count = (step as FnStep).isSelective ? ` on ${selected} resource(s)` : '';
    this.print(`[RUNNING] "${escapeControls(step.name)}"${count}`);
  };

  readonly onEnd = (result: StepResult): void => {
    const { milliseconds, error, exitCode, results, selected, stderr, peakBytes, isSkipped } = result;
    const step = result.step as FnStep;
    const passed = error === undefined;
    const outcome: RanFunction = {
      ...step.recorded,
      name: step.name,
      ...defined({ package: this.#package }),
      type: step.type,
      passed,
      stderr: Buffer.from(stderr).toString(),
      exitCode: passed ? 0 : exitCode || 1,
      ...defined({
        skipped: isSkipped ? true : undefined,
        error: passed || hasExited(result) ? undefined : failureReason(error),
      }),
      results,
      milliseconds: Math.round(milliseconds),
      ...defined({ memoryBytes: peakBytes }),
      selected,
    };
    this.ran.push(outcome);
    this.written.push(result.resultsText);
    if (isSkipped) {
      this.print(`[SKIPPED] "${escapeControls(step.name)}" (condition not met)`);
      return;
    }
    const label = passed
      ? paint(this.#io, this.#io.stderr, 'green', '[PASS]')
      : paint(this.#io, this.#io.stderr, 'red', '[FAIL]');
    this.print(`${label} "${escapeControls(step.name)}" in ${duration(milliseconds)}`);
    for (const line of summaryLines(outcome, this.#isTruncated)) this.print(escapeControls(line));
    if (hasExited(result)) this.print(`  Exit code: ${exitCode}\n`);
    if (this.#hasStats) this.print(escapeControls(statsLine(outcome)));
  };

  /** Notes a function that could not be made ready to run. */
  recordFailure(
    failure: Omit<RanFunction, 'passed' | 'stderr' | 'exitCode' | 'results' | 'milliseconds' | 'selected'>,
  ): void {
    const nothing = { stderr: '', exitCode: 1, results: [], milliseconds: 0, selected: 0 };
    this.ran.push({ ...failure, ...nothing, passed: false });
    this.written.push(undefined);
  }

  /** Prints a line on stderr, after those before it. */
  print(line: string): void {
    this.#queue = this.#queue.then(() => write(this.#io.stderr, `${line}\n`));
  }

  /** Waits until everything is printed. */
  async flush(): Promise<void> {
    await this.#queue;
  }
}

/** Reports whether a function failed by its exit code, which says all that there is to say. */
export function hasExited({ error, exitCode }: StepResult): boolean {
  return exitCode !== 0 && (error === undefined || error instanceof FunctionFailure);
}

/** As kpt says it of a program that cannot be started. */
function failureReason({ code, message }: KrmhubError): string {
  return code === 'not-found' || code === 'unavailable' ? `unexpected function error: ${message}` : message;
}

/** As Go prints a duration that is cut to tenths of a second. */
function duration(milliseconds: number): string {
  const tenths = Math.floor(milliseconds / 100);
  if (tenths === 0) return '0s';
  if (tenths < 10) return `${tenths * 100}ms`;
  const minutes = Math.floor(tenths / 600);
  const seconds = (tenths % 600) / 10;
  return `${minutes === 0 ? '' : `${minutes}m`}${seconds}s`;
}

function statsLine({ name, milliseconds, memoryBytes, selected }: RanFunction): string {
  const memory = memoryBytes === undefined ? '-' : `${(memoryBytes / 2 ** 20).toFixed(1)} MiB`;
  return `  Stats: ${name}: ${milliseconds} ms, memory ${memory}, ${selected} resource(s)`;
}
