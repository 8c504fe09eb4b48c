import { defined } from '@krmhub/schema/defined';
import type { JsonObject } from '@krmhub/schema/definition';
import { type FunctionOutcome, resultValue } from './results-document.js';

/** One step of a pipeline, as a render status records it. */
export interface StepOutcome extends FunctionOutcome {
  type: 'mutator' | 'validator';
  /** Name in the Kptfile. */
  step?: string;
  /** Why it failed, if not by its exit code. */
  error?: string;
  /** Its condition in the Kptfile. */
  when?: string;
}

/** Where and why a render failed. `reason` is absent for a function that failed by its exit code. */
export interface RenderFailure {
  /** Folders of the packages down to the one that failed, relative to the working directory. */
  packages: readonly string[];
  reason?: string;
}

/** What a render says about itself: the value of `status` in a Kptfile (kpt.dev/v1, "Status"). */
export interface RenderOutcome {
  steps: readonly StepOutcome[];
  failure?: RenderFailure;
}

/** Bytes of error output of a step that a status keeps, from its start. */
const MAX_STDERR = 16_384;
/** Results of a step that a status keeps. */
const MAX_RESULTS = 1_000;

/** Returns the condition `Rendered` and the render status as kpt writes them. */
export function renderStatus({ steps, failure }: RenderOutcome): {
  condition: JsonObject;
  status: JsonObject | undefined;
} {
  const [mutators, validators] = (['mutator', 'validator'] as const).map((type) =>
    steps.filter((one) => one.type === type).map(stepValue),
  );
  const errors = steps.filter(({ exitCode }) => exitCode !== 0);
  const condition = {
    type: 'Rendered',
    status: failure === undefined ? 'True' : 'False',
    reason: failure === undefined ? 'RenderSuccess' : 'RenderFailed',
    ...defined({ message: failure === undefined ? undefined : failureMessage(failure) }),
  };
  if (steps.length === 0) return { condition, status: undefined };
  const status = defined({
    mutationSteps: mutators!.length === 0 ? undefined : mutators!,
    validationSteps: validators!.length === 0 ? undefined : validators!,
    errorSummary: failure === undefined || errors.length === 0 ? undefined : errors.map(summary).join('\n'),
  });
  return { condition, status };
}

function stepValue(outcome: StepOutcome): JsonObject {
  const { error, exitCode, when, skipped } = outcome;
  const results = outcome.results.slice(0, MAX_RESULTS);
  const errors = results.filter(({ severity }) => severity === 'error');
  return {
    ...names(outcome),
    ...defined({
      executionError: error,
      stderr: outcome.stderr === '' ? undefined : shortened(outcome.stderr),
    }),
    exitCode,
    ...defined({
      results: results.length === 0 ? undefined : results.map(resultValue),
      errorResults: errors.length === 0 ? undefined : errors.map(resultValue),
      when,
      skipped: skipped === true ? skipped : undefined,
    }),
  };
}

/** kpt has no field for a function of a catalog: it gets a name. */
function names({ step, image, exec, function: type }: StepOutcome): { [field: string]: string } {
  const name = step ?? (image === undefined && exec === undefined ? type : undefined);
  return defined({ name, image, exec });
}

function summary(outcome: StepOutcome): string {
  const [name = ''] = Object.values(names(outcome));
  return `${name}: ${outcome.error ?? `exit code ${outcome.exitCode}`}`;
}

/** kpt shows its operations as they are nested. */
function failureMessage({ packages: [first = '.', ...more], reason }: RenderFailure): string {
  const lines = [`pkg.render: pkg ${first}`, ...more.map((name) => `pkg ${name}`)];
  return [...lines, `pipeline.run: ${reason ?? 'already handled error'}`].join(':\n\t');
}

/** Without a limit, a Kptfile could become too large to be read. */
function shortened(text: string): string {
  if (text.length <= MAX_STDERR) return text;
  return `${text.slice(0, MAX_STDERR)}\n… ${text.length - MAX_STDERR} more characters`;
}
