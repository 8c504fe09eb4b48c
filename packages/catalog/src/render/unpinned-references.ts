import type { RunnableVersion } from '@krmhub/schema';
// Imports single modules, because separate processes read upstream catalogs and load everything that is imported here.
import { declaredPrograms } from '../runtimes/runtimes.js';

/** Returns the references without a valid digest. An invalid digest pins nothing: runtimes may ignore it. */
export function unpinnedReferences(version: RunnableVersion): string[] {
  return declaredPrograms(version).flatMap(({ reference, beside, inside }) =>
    isDigest(beside) || isDigest(inside) ? [] : reference,
  );
}

/** Reports whether a digest has 64 hexadecimal digits and is not all zeros. */
function isDigest(sha256: string | undefined): boolean {
  return sha256 !== undefined && /^(?!0{64}$)[a-f0-9]{64}$/.test(sha256);
}
