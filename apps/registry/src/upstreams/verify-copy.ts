import { setImmediate } from 'node:timers/promises';
import type { VerificationResult } from '@krmhub/catalog';
import { type SourceArtifact, type SourceVerification, type Trust, verifySource } from '@krmhub/signing';

/** Verifies bundles against a copy. Other work runs between two bundles. */
export async function verifyCopy(
  bundles: readonly Uint8Array[],
  copy: SourceArtifact,
  trust: Trust,
): Promise<VerificationResult> {
  const found: SourceVerification = { signatures: [], problems: [] };
  for (const bundle of bundles) {
    await setImmediate();
    const { signatures, problems } = verifySource([bundle], copy, trust);
    found.signatures.push(...signatures);
    found.problems.push(...problems);
  }
  return found;
}
