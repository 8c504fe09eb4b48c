import { BUNDLE_LIMITS } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { readBundle } from '@krmhub/signing/read-bundle';
import { readFileUpTo } from '../files/read-file.js';
import type { Io } from '../io/io.js';

/** A bundle that is to be sent: what is none, such as a key that was named in its place, does not leave the machine. */
export async function readBundleFile(io: Io, name: string): Promise<Uint8Array> {
  const bytes = await readFileUpTo(io, name, BUNDLE_LIMITS.maxBytes);
  if (bytes.byteLength > BUNDLE_LIMITS.maxBytes) {
    throw new KrmhubError('too-large', `${name} has more than ${BUNDLE_LIMITS.maxBytes} bytes`, {
      hint: 'Larger attestations go to a repository of their own, with `krmhub sign OCIREF --predicate`.',
    });
  }
  const bundle = readBundle(bytes);
  if (typeof bundle !== 'string') return bytes;
  throw new KrmhubError('untrusted', `${name} is no sigstore bundle: ${bundle}`, {
    hint: 'Nothing was sent. A bundle is what `krmhub sign` and `cosign sign-blob --bundle` write.',
  });
}
