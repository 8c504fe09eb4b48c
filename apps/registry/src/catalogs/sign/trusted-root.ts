import { readFile } from 'node:fs/promises';
import { KrmhubError } from '@krmhub/schema';
import { publicGoodRoot, readTrustedRoot, type TrustedRoot } from '@krmhub/signing';

/** Reads the configured trusted root; without one, returns that of the public instance. */
export async function configuredRoot(file: string | undefined): Promise<TrustedRoot> {
  if (file === undefined) return publicGoodRoot();
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new KrmhubError('usage', `cannot read the trusted root ${file}: ${(cause as Error).message}`, {
      hint: 'Set KRMHUB_TRUSTED_ROOT to the trusted_root.json of a sigstore instance.',
      cause,
    });
  }
  // Publishers must not learn the path of the file.
  return { ...readTrustedRoot(text, file), name: 'the sigstore instance of this registry' };
}
