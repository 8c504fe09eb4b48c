import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import { readBundle, SIGNING_LIMITS, verifyParsedBundle } from '@krmhub/signing';
import type { Io } from '../io/io.js';
import { type FoundBundle, unreadableBundle } from './found-bundle.js';
import { fileDigests, type SigningTarget } from './signing-target.js';

/** The largest file that a signature without an envelope can cover: it is read into memory. */
const MAX_MESSAGE_BYTES = 1_073_741_824;

/** Reads the bundle of a file or digest. A missing bundle counts as a bundle that fails. */
export async function readFileBundle(
  io: Io,
  target: Exclude<SigningTarget, { kind: 'reference' }>,
  option: string | undefined,
): Promise<{ digest: string; found: FoundBundle[] }> {
  if (target.kind === 'digest' && option === undefined) {
    throw new KrmhubError('usage', `cannot find the bundle of ${target.digest}: a digest has no file`, {
      hint: `Set the bundle: krmhub verify ${target.digest} --bundle FILE`,
    });
  }
  const digests = target.kind === 'file' ? await fileDigests(target) : [target.digest];
  const source = option ?? `${(target as { name: string }).name}.sigstore.json`;
  return { digest: digests[0]!, found: [await parseFileBundle(io, target, digests, source)] };
}

async function parseFileBundle(
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
      return unreadableBundle(source, 'no such file');
    }
    throw error;
  }
  const bundle = readBundle(bytes);
  if (typeof bundle === 'string') return unreadableBundle(source, bundle);
  const isMessage = bundle.content.$case === 'messageSignature';
  const message =
    isMessage && target.kind === 'file'
      ? await readMessage(io, target.name, { digest: digests[0]!, source })
      : undefined;
  if (message !== undefined && sha256(message) !== digests[0]) {
    throw new KrmhubError(
      'conflict',
      escapeControls(`${(target as { name: string }).name} changed while krmhub was reading it`),
    );
  }
  const artifact = { digests, ...defined({ bytes: message }) };
  return { source, verify: (trust) => verifyParsedBundle(bundle, artifact, trust) };
}

async function readMessage(
  io: Io,
  name: string,
  { digest, source }: { digest: string; source: string },
): Promise<Uint8Array> {
  const file = path.resolve(io.cwd, name);
  try {
    const { size } = await stat(file);
    if (size <= MAX_MESSAGE_BYTES) return await readFile(file);
  } catch (error) {
    throw diskError(error, escapeControls(`cannot read ${name}`));
  }
  throw new KrmhubError('too-large', escapeControls(`${name} exceeds ${MAX_MESSAGE_BYTES} bytes`), {
    hint: escapeControls(`Verify its digest instead: krmhub verify ${digest} --bundle ${shellWord(source)}`),
  });
}
