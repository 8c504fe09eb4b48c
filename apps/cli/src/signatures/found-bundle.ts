import type { Trust, Verification } from '@krmhub/signing';

/** A bundle, or a file in its place, that was found for an artifact. */
export interface FoundBundle {
  /** File name, or digest of the manifest that contains it. */
  source: string;
  /** For a legacy signature, which has no statement: the digest of the signed manifest. */
  manifest?: string;
  verify(trust: Trust): Verification;
}

/** Returns a bundle that fails verification, for evidence that cannot be read. */
export function unreadableBundle(source: string, reason: string): FoundBundle {
  const checks = [{ check: 'bundle' as const, passed: false, message: reason }];
  return { source, verify: () => ({ verified: false, checks }) };
}
