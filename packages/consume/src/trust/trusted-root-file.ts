import { publicGoodRoot, readTrustedRoot, SIGNING_LIMITS, type TrustedRoot } from '@krmhub/signing';
import { readFileUpTo } from '../files/read-file.js';
import type { Environment, WorkingFolder } from '../ports.js';

/** Returns the trusted root of sigstore: from a file, else the public one that krmhub includes. */
export async function trustedRoot(
  io: Environment & WorkingFolder,
  option: string | undefined,
): Promise<TrustedRoot> {
  const name = option ?? io.env.KRMHUB_TRUSTED_ROOT ?? '';
  if (name === '') return publicGoodRoot();
  const bytes = await readFileUpTo(io, name, SIGNING_LIMITS.maxTrustedRootBytes);
  return readTrustedRoot(new TextDecoder().decode(bytes), name);
}
