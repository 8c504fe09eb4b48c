import type { Trust, Verification } from '@krmhub/signing';

/** A bundle, or what should have been one, that somebody put beside an artifact. */
export interface FoundBundle {
  /** Where it is: a file, or the digest of the manifest that has it. */
  source: string;
  /** Of a signature of the old form, which has no statement: the manifest that it is of. */
  manifest?: string;
  verify(trust: Trust): Verification;
}

/** Evidence that cannot be read is a refusal like any other. */
export function unreadable(source: string, reason: string): FoundBundle {
  const checks = [{ check: 'bundle' as const, passed: false, message: reason }];
  return { source, verify: () => ({ verified: false, checks }) };
}
