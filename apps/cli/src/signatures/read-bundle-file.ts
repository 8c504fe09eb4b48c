import { BUNDLE_LIMITS } from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { readBundle } from '@krmhub/signing/read-bundle';
import { readStatement, type Statement } from '@krmhub/signing/statement';
import type { Io } from '../io/io.js';

/** A bundle in a file. */
export interface BundleFile {
  bytes: Uint8Array;
  /** What it signs, not verified; absent for a signature without an in-toto statement. */
  statement?: Statement;
}

/** Reads a bundle to send. A file that is not a bundle, for example a private key, is never sent. */
export async function readBundleFile(io: Io, name: string): Promise<BundleFile> {
  const bytes = await readFileUpTo(io, name, BUNDLE_LIMITS.maxBytes);
  if (bytes.byteLength > BUNDLE_LIMITS.maxBytes) {
    throw new KrmhubError('too-large', `bundle ${name} exceeds ${BUNDLE_LIMITS.maxBytes} bytes`, {
      hint: 'Push a large attestation to an OCI registry: krmhub sign HOST/REPOSITORY:TAG --key FILE --predicate FILE --type URI',
    });
  }
  const bundle = readBundle(bytes);
  if (typeof bundle === 'string') {
    throw new KrmhubError('untrusted', `${name} is not a sigstore bundle: ${bundle}`, {
      hint: 'Nothing was sent. Create a bundle: krmhub sign FILE --key FILE.key',
    });
  }
  const { content } = bundle;
  const statement =
    content.$case === 'dsseEnvelope' ? readStatement(content.dsseEnvelope.payload) : 'a plain signature';
  return { bytes, ...defined({ statement: typeof statement === 'string' ? undefined : statement }) };
}
