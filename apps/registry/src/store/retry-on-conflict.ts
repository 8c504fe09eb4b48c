/** Plans that a concurrent change made outdated are made again, from the data as it is then. */

import { RevisionConflict } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../limits.js';

export interface RetryOptions<Result> {
  /** Absent for SERVER_LIMITS.planAttempts. */
  attempts?: number;
  /** Called before each further attempt. */
  onConflict?(): Promise<void>;
  /** Called after the last attempt: throws, or returns the result. */
  exhausted(): Result;
}

/** Runs work that reads, plans, and commits, until no other change comes in between. */
export async function retryOnConflict<Result>(
  work: (attempt: number) => Promise<Result>,
  { attempts = SERVER_LIMITS.planAttempts, onConflict, exhausted }: RetryOptions<Result>,
): Promise<Result> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
    await onConflict?.();
  }
  return exhausted();
}
