/**
 * Signs and verifies files and OCI artifacts, and attaches bundles to them.
 *
 * A signature of a release names it, so that no registry can serve the release as another one. A signature is verified
 * before it is written.
 *
 * @module
 */

import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { formatReference, type Reference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';
import { escapeControls } from '@krmhub/schema/text';
import {
  predicateStatement,
  SIGNATURE_PREDICATE,
  type Statement,
  signStatement,
  verifyBundle,
} from '@krmhub/signing';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { connectOci } from '../registry/connect-oci.js';
import { type ArtifactOptions, resolveArtifact } from '../registry/release-artifact.js';
import { signInToRepository } from '../registry/workflow-token.js';
import { attachBundle } from './attach-bundle.js';
import { type BundleSigner, type BundleSignerOptions, bundleSigner } from './bundle-signer.js';
import { fileDigests, findTarget, type SigningTarget } from './signing-target.js';
import { artifactStatement, fileStatement, releaseFileStatement } from './statements.js';

export interface SignOptions extends BundleSignerOptions, ArtifactOptions {
  bundle?: string;
  overwrite?: boolean;
  release?: string;
  readme?: string;
  predicate?: string;
  type?: string;
  output: OutputFormat;
}

interface Signed {
  /** Digest of what is signed. */
  subject: string;
  predicateType: string;
  /** OCI reference of what is signed, by digest. */
  reference?: string;
  /** Digest of the manifest of the bundle in the OCI registry. */
  bundle?: string;
  /** File of the bundle. */
  file?: string;
}

/** Bytes of a predicate; the bundle around it has the same limit. */
const MAX_PREDICATE_BYTES = 2_097_152;

/** Signs a file into a bundle next to it, or an OCI artifact into a bundle that refers to it. */
export async function signArtifact(io: Io, text: string, given: SignOptions): Promise<void> {
  checkOptions(given);
  const { name, options } = await resolveArtifact(io, text, given, { files: true });
  const target = await findTarget(io, name);
  if (target.kind === 'reference') return signReference(io, target.reference, options);
  const output = bundlePath(target, options);
  const subject = target.kind === 'digest' ? target.digest : (await fileDigests(target))[0];
  const statement = await createStatement(io, target, subject, options);
  const bundle = await signAndVerify(await bundleSigner(io, options), statement, subject);
  await writeBundle(io, output, bundle, options);
  const { predicateType } = statement;
  await printLine(io, `signed ${subject} (${predicateType})`);
  await printSigned(io, options, { subject, predicateType, file: output });
}

function printSigned(io: Io, { output }: SignOptions, signed: Signed): Promise<void> {
  return printData(io, output, signed, async () => undefined);
}

async function signReference(io: Io, reference: Reference, options: SignOptions): Promise<void> {
  if (options.release !== undefined || options.readme !== undefined) {
    throw new KrmhubError('usage', '--release and --readme apply only to files', {
      hint: `Remove them: krmhub sign ${formatReference(reference)} --key FILE.key`,
    });
  }
  await signInToRepository(io, reference, options.registry);
  const { registry, repository } = reference;
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  // Resolves the tag once, so that a tag that moves cannot change what is signed.
  const stored = await client.manifest(reference).finally(() => progress.clear());
  const { digest, bytes, mediaType } = stored;
  await printLine(io, escapeControls(`resolved ${formatReference(reference)} to ${digest}`));
  const statement =
    options.predicate === undefined
      ? await artifactStatement(client, reference, stored).finally(() => progress.clear())
      : await createStatement(io, { kind: 'reference', reference }, digest, options);
  const bundle = await signAndVerify(await bundleSigner(io, options), statement, digest);
  if (options.bundle !== undefined) await writeBundle(io, options.bundle, bundle, options);
  const attached = await attachBundle(client, reference, {
    subject: { mediaType, digest, size: bytes.byteLength },
    bundle,
    predicateType: statement.predicateType,
    created: io.now(),
  }).finally(() => progress.clear());
  const { predicateType } = statement;
  const signed = formatReference({ registry, repository, digest });
  await printLine(io, escapeControls(`signed ${signed} (${predicateType})`));
  await printLine(io, `bundle: ${attached}`);
  await printSigned(io, options, {
    subject: digest,
    predicateType,
    reference: signed,
    bundle: attached,
    ...defined({ file: options.bundle }),
  });
}

async function createStatement(
  io: Io,
  target: SigningTarget,
  digest: string,
  { release, readme, predicate, type }: SignOptions,
): Promise<Statement> {
  if (predicate !== undefined && type !== undefined) {
    const named = target.kind === 'file' ? { name: path.basename(target.name) } : {};
    return predicateStatement({ ...named, digest }, type, await readPredicate(io, predicate));
  }
  if (target.kind === 'file' && release !== undefined) {
    return releaseFileStatement(io, target.name, { release, ...defined({ readme }) });
  }
  if (target.kind === 'file') return fileStatement(io, target.name, digest as `sha256:${string}`);
  return predicateStatement({ digest }, SIGNATURE_PREDICATE, {});
}

async function readPredicate(io: Io, name: string): Promise<Record<string, unknown>> {
  const bytes = await readFileUpTo(io, name, MAX_PREDICATE_BYTES);
  if (bytes.byteLength > MAX_PREDICATE_BYTES) {
    throw new KrmhubError('too-large', `predicate ${name} exceeds ${MAX_PREDICATE_BYTES} bytes`);
  }
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new KrmhubError('invalid-document', `predicate ${name} is not JSON`, { cause });
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    return json as Record<string, unknown>;
  }
  throw new KrmhubError('invalid-document', `predicate ${name} is not a JSON object`);
}

/** Signs a statement and verifies the result before it is written. Throws `untrusted`. */
export async function signAndVerify(
  { sign, trust }: BundleSigner,
  statement: Statement,
  digest: string,
): Promise<Uint8Array> {
  const bundle = await signStatement(statement, sign);
  const { verified, checks } = verifyBundle(bundle, { digests: [digest] }, trust);
  if (verified) return bundle;
  const reason = checks.find(({ passed }) => !passed);
  throw new KrmhubError(
    'untrusted',
    `cannot verify the new signature of ${digest}: ${reason?.check}: ${reason?.message}`,
    { hint: 'Nothing was written. Set the trusted root of the sigstore instance with --trusted-root FILE.' },
  );
}

async function writeBundle(io: Io, name: string, bundle: Uint8Array, options: SignOptions): Promise<void> {
  const overwrite = options.overwrite === true;
  const outcome = await writeFileAtomically(path.resolve(io.cwd, name), bundle, { overwrite });
  await printLine(io, escapeControls(`${outcome === 'written' ? 'wrote' : 'unchanged:'} ${name}`));
}

function bundlePath(target: Exclude<SigningTarget, { kind: 'reference' }>, options: SignOptions): string {
  const { bundle, predicate } = options;
  if (bundle !== undefined) return bundle;
  if (target.kind === 'file' && predicate === undefined) return `${target.name}.sigstore.json`;
  throw new KrmhubError(
    'usage',
    target.kind === 'digest'
      ? `--bundle is required to sign the digest ${target.digest}`
      : `--bundle is required for an attestation of ${target.name}`,
    { hint: 'Set a file for the bundle, for example: --bundle attestation.sigstore.json' },
  );
}

function checkOptions({ key, keyless, release, readme, predicate, type, ...rest }: SignOptions): void {
  const wrong = (message: string, hint: string) => new KrmhubError('usage', message, { hint });
  if (key === undefined && keyless !== true) {
    throw wrong(
      'cannot sign: --key or --keyless is required',
      'Create a key with `krmhub keygen`, then use --key krmhub.key.',
    );
  }
  if (key !== undefined && keyless === true) {
    throw wrong('--key cannot be combined with --keyless', 'Use one of them.');
  }
  const { fulcioUrl, rekorUrl, rekorVersion, timestampUrl, identityTokenFile } = rest;
  const services = [fulcioUrl, rekorUrl, rekorVersion, timestampUrl, identityTokenFile];
  if (key !== undefined && services.some((option) => option !== undefined)) {
    throw wrong(
      '--key cannot be combined with options for keyless signing',
      'Remove --fulcio-url, --rekor-url, --rekor-version, --timestamp-url, and --identity-token-file.',
    );
  }
  if ((predicate === undefined) !== (type === undefined)) {
    throw wrong('--predicate and --type must be used together', 'Use --predicate FILE --type URI');
  }
  if (type !== undefined && parseUrl(type) === undefined) {
    throw wrong(
      `--type ${type} is not a URI`,
      'Use a predicate type, for example: --type https://slsa.dev/provenance/v1',
    );
  }
  if (predicate !== undefined && release !== undefined) {
    throw wrong('--release cannot be combined with --predicate', 'Use one of them.');
  }
  if (readme !== undefined && release === undefined) {
    throw wrong('--readme requires --release', 'Add the release, for example: --release 1.0.0');
  }
}
