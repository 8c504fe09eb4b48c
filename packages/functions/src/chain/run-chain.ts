/**
 * Runs functions one after the other on the resources of a package.
 *
 * A changed resource gets back the comments and the order of fields that the function lost.
 *
 * @module
 */

import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { FunctionFailure } from '../output/function-failure.js';
import { resultsText } from '../output/resource-list.js';
import type { RunResult } from '../output/run-result.js';
import { requireResources } from '../resource-list/require-resources.js';
import type { Resource } from '../resource-list/resource.js';
import { checkPlaces } from './check-places.js';
import { encodeInput } from './encode-input.js';
import { mergeSelected } from './merge-selected.js';
import type { ChainOptions, ChainResult, Step, StepResult } from './step.js';
import { passAll, readStepOutput } from './step-output.js';

const NOTHING = new Uint8Array();

/**
 * Runs functions one after the other, each with the output of those before it. A resource that a function gives back as
 * it was is not parsed. Ends at the first function that fails, unless its failure is deferred; a failure is in the
 * result.
 *
 * Rejects with the reason of the signal, and with errors that are not of a function.
 */
export async function runChain(
  resources: readonly Resource[],
  steps: readonly Step[],
  options: ChainOptions = {},
): Promise<ChainResult> {
  let current = resources;
  const done: StepResult[] = [];
  let failed: StepResult | undefined;
  for (const step of steps) {
    const { result, resources: next } = await runStep(current, step, options);
    done.push(result);
    options.onEnd?.(result);
    current = next;
    if (result.error === undefined) continue;
    failed ??= result;
    if (step.deferFailure !== true) break;
  }
  return { resources: current, steps: done, ...defined({ failed }) };
}

async function runStep(
  resources: readonly Resource[],
  step: Step,
  { signal, packagePath = '', format = 'edit', onStart }: ChainOptions,
): Promise<{ result: StepResult; resources: readonly Resource[] }> {
  signal?.throwIfAborted();
  const selected = step.select === undefined ? resources : resources.filter(step.select);
  const decision = await decide(step, selected);
  if (decision !== false) onStart?.(step, selected.length);
  if (decision !== true) return { result: notRun(step, selected, decision), resources };
  const start = performance.now();
  const counts = { selected: selected.length, output: 0 };
  let run: RunResult | undefined;
  let next = resources;
  let error: KrmhubError | undefined;
  try {
    requireResources(selected, 'input');
    const functionConfig =
      typeof step.functionConfig === 'function' ? step.functionConfig(resources) : step.functionConfig;
    await step.checkConfig?.(functionConfig, step.configFile);
    const { apiVersion } = step;
    const { input, items, isLarge } = encodeInput(selected, { functionConfig, apiVersion });
    run = await step.run(input, { signal });
    if (run.exitCode !== 0) error = exited(step, run);
    if (error === undefined || step.deferFailure === true) {
      const output = input.equals(run.output)
        ? passAll(selected, { isLast: functionConfig === undefined, format })
        : readStepOutput(run.output, {
            items,
            resources: selected,
            isLarge,
            isLast: functionConfig === undefined,
            packagePath,
            format,
            name: step.name,
          });
      counts.output = output.resources.length;
      requireResources(output.resources, 'output');
      if (step.type === 'mutator')
        requireOutput(step, { output: output.resources, selected, results: run.results });
      checkPlaces(output.resources);
      // What a validator changes is dropped.
      if (step.type === 'mutator') {
        next = step.select === undefined ? output.resources : mergeSelected(resources, selected, output);
      }
    }
  } catch (thrown) {
    if (signal?.aborted === true || !(thrown instanceof KrmhubError)) throw thrown;
    // Why the function failed says more than why its output cannot be read.
    error ??= thrown;
  }
  const milliseconds = performance.now() - start;
  const printed = run ?? (error instanceof FunctionFailure ? error : undefined);
  const { results = [] } = run ?? {};
  const written = run !== undefined && results.length > 0 ? resultsText(run.output) : undefined;
  const result: StepResult = {
    step,
    isSkipped: false,
    exitCode: run?.exitCode ?? printed?.exitCode ?? 0,
    results,
    ...defined({ resultsText: written }),
    stderr: printed?.stderr ?? NOTHING,
    stderrTruncated: printed?.stderrTruncated ?? false,
    milliseconds,
    ...defined({ peakBytes: run?.peakBytes }),
    ...counts,
    ...defined({ error }),
  };
  return { result, resources: next };
}

/** Returns whether the function runs, or why that cannot be decided. */
async function decide(step: Step, selected: readonly Resource[]): Promise<boolean | KrmhubError> {
  try {
    return (await step.condition?.(selected)) ?? true;
  } catch (error) {
    if (error instanceof KrmhubError) return error;
    throw error;
  }
}

function notRun(step: Step, selected: readonly Resource[], decision: false | KrmhubError): StepResult {
  return {
    step,
    isSkipped: decision === false,
    exitCode: 0,
    results: [],
    stderr: NOTHING,
    stderrTruncated: false,
    milliseconds: 0,
    selected: selected.length,
    output: 0,
    ...defined({ error: decision === false ? undefined : decision }),
  };
}

function exited({ name }: Step, run: RunResult): FunctionFailure {
  return new FunctionFailure(`function ${name} exited with ${run.exitCode}`, run);
}

function requireOutput(
  step: Step,
  {
    output,
    selected,
    results,
  }: { output: readonly Resource[]; selected: readonly Resource[]; results: RunResult['results'] },
): void {
  if (output.length === 0 && selected.length > 0 && step.allowEmpty !== true) {
    const what = selected.length === 1 ? 'the resource' : `all ${selected.length} resources`;
    // Libraries of functions write no resources with an error, and may exit with 0.
    const reported = results.find(({ severity }) => severity === 'error');
    const [line] = reported?.message.split('\n') ?? [];
    const why = line === undefined ? 'its output is empty' : `it reported an error: ${line}`;
    throw new KrmhubError('function-failed', `function ${step.name} would delete ${what}: ${why}`, {
      hint: 'If the function is meant to do that, use `--allow-empty`.',
    });
  }
}
