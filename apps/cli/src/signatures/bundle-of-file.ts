import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { readBundle, SIGNING_LIMITS, verifyParsedBundle } from '@krmhub/signing';
import { diskError, readFileUpTo } from '../files/read-file.js';
import type { Io } from '../io/io.js';
import { visible } from '../io/text.js';
import { type FoundBundle, unreadable } from './found-bundle.js';
import { fileDigests, type SigningTarget } from './signing-target.js';

/** Bytes of a file that a signature without an envelope is checked over, which are all in memory. */
const MAX_MESSAGE_BYTES = 1_073_741_824;

/** The bundle of a file or digest. One that is not there is a refusal, and no excuse. */
export async function bundleOfFile(
  io: Io,
  target: Exclude<SigningTarget, { kind: 'reference' }>,
  option: string | undefined,
): Promise<{ digest: string; found: FoundBundle[] }> {
  if (target.kind === 'digest' && option === undefined) {
    throw new KrmhubError('usage', 'a digest has no file that its bundle could be beside', {
      hint: 'Name the bundle with --bundle.',
    });
  }
  const digests = target.kind === 'file' ? await fileDigests(target) : [target.digest];
  const source = option ?? `${(target as { name: string }).name}.sigstore.json`;
  return { digest: digests[0]!, found: [await read(io, target, digests, source)] };
}

async function read(
  io: Io,
  target: Exclude<SigningTarget, { kind: 'reference' }>,
  digests: readonly string[],
  source: string,
): Promise<FoundBundle> {
  let bytes: Uint8Array;
  try {
    bytes = await readFileUpTo(io, source, SIGNING_LIMITS.maxBundleBytes);
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found') {
      return unreadable(source, 'there is no such file, and without a bundle nothing says who signed');
    }
    throw error;
  }
  const bundle = readBundle(bytes);
  if (typeof bundle === 'string') return unreadable(source, bundle);
  const isMessage = bundle.content.$case === 'messageSignature';
  const message = isMessage && target.kind === 'file' ? await messageOf(io, target.name) : undefined;
  if (message !== undefined && sha256(message) !== digests[0]) {
    throw new KrmhubError(
      'conflict',
      visible(`${(target as { name: string }).name} changes while it is read`),
    );
  }
  const artifact = { digests, ...(message === undefined ? {} : { bytes: message }) };
  return { source, verify: (trust) => verifyParsedBundle(bundle, artifact, trust) };
}

async function messageOf(io: Io, name: string): Promise<Uint8Array> {
  const file = path.resolve(io.cwd, name);
  try {
    const { size } = await stat(file);
    if (size <= MAX_MESSAGE_BYTES) return await readFile(file);
  } catch (error) {
    throw diskError(error, visible(`cannot read ${name}`));
  }
  throw new KrmhubError('too-large', visible(`${name} has more than ${MAX_MESSAGE_BYTES} bytes`), {
    hint: 'Verify its digest, as sha256:…, with --bundle.',
  });
}
