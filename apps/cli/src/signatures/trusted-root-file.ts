import { publicGoodRoot, readTrustedRoot, SIGNING_LIMITS, type TrustedRoot } from '@krmhub/signing';
import { readFileUpTo } from '../files/read-file.js';
import type { Io } from '../io/io.js';

/** The sigstore instance that is believed: of a file, else the public one as this program was shipped with it. */
export async function trustedRoot(io: Io, option: string | undefined): Promise<TrustedRoot> {
  const name = option ?? io.env.KRMHUB_TRUSTED_ROOT ?? '';
  if (name === '') return publicGoodRoot();
  const bytes = await readFileUpTo(io, name, SIGNING_LIMITS.maxTrustedRootBytes);
  return readTrustedRoot(new TextDecoder().decode(bytes), name);
}
