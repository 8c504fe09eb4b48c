import { type Resource, runChain } from '@krmhub/functions/fn';
import { defined } from '@krmhub/schema/defined';
import type { KrmhubError } from '@krmhub/schema/error';
import type { FnSession } from './fn-session.js';
import { type FnStep, hasExited } from './progress.js';
import type { FnSettings } from './settings.js';

/** What a chain gave. */
export interface StepsResult {
  /** No function failed. */
  ok: boolean;
  /** After the last function that passed, or whose failure is deferred. */
  resources: readonly Resource[];
  /** Why a function failed, if not by its exit code, which has been printed. */
  error?: KrmhubError;
}

interface StepsSession extends Pick<FnSession, 'progress' | 'signal'> {
  settings: FnSettings;
  packagePath?: string;
}

/**
 * Runs the functions of one package. Throws what is not of a function.
 */
export async function runSteps(
  resources: readonly Resource[],
  steps: readonly FnStep[],
  { progress, signal, settings, packagePath }: StepsSession,
): Promise<StepsResult> {
  const { onStart, onEnd } = progress;
  const result = await runChain(resources, steps, {
    signal,
    onStart,
    onEnd,
    format: settings.format,
    ...defined({ packagePath }),
  });
  const { failed } = result;
  const error = failed === undefined || hasExited(failed) ? undefined : failed.error;
  return {
    ok: failed === undefined,
    resources: result.resources,
    ...defined({ error }),
  };
}
