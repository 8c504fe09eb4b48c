import { type Resource, runChain } from '@krmhub/functions/fn';
import { type FnStep, hasExited, type Progress } from './progress.js';

/** What a chain gave. */
export interface StepsResult {
  /** No function failed. */
  ok: boolean;
  /** After the last function that passed, or whose failure is deferred. */
  resources: readonly Resource[];
}

/**
 * Runs the functions of one package. A function that exited with another code than 0 has been printed, and gives `ok:
 * false`. Throws what else went wrong.
 */
export async function runSteps(
  resources: readonly Resource[],
  steps: readonly FnStep[],
  { progress, signal, packagePath }: { progress: Progress; signal: AbortSignal; packagePath?: string },
): Promise<StepsResult> {
  const { onStart, onEnd } = progress;
  const result = await runChain(resources, steps, {
    signal,
    onStart,
    onEnd,
    ...(packagePath === undefined ? {} : { packagePath }),
  });
  const { failed } = result;
  if (failed?.error !== undefined && !hasExited(failed)) throw failed.error;
  return { ok: failed === undefined, resources: result.resources };
}
