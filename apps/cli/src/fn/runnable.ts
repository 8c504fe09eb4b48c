import type { Step } from '@krmhub/functions/fn';
import type { FunctionOutcome } from '@krmhub/functions/plan';

/** A function that is ready to run. */
export interface Runnable extends Pick<Step, 'name' | 'run' | 'checkConfig'> {
  /** What names it in results. */
  recorded: Pick<FunctionOutcome, 'image' | 'exec' | 'function'>;
}
