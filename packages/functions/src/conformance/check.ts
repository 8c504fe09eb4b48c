/** What a check of a function found. */
export interface Check {
  name: string;
  status: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped. Text of the function: escape it before you print it. */
  reason?: string;
}

export type Outcome = Omit<Check, 'name'>;

export const PASSED: Outcome = { status: 'passed' };

export function failed(reason: string): Outcome {
  return { status: 'failed', reason };
}

export function skipped(reason: string): Outcome {
  return { status: 'skipped', reason };
}

/** Fails with the first problem. */
export function unless(problem: string | undefined): Outcome {
  return problem === undefined ? PASSED : failed(problem);
}
