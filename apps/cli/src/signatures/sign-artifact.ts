import path from 'node:path';
import { formatReference, type Reference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import {
  predicateStatement,
  SIGNATURE_PREDICATE,
  type Statement,
  signStatement,
  verifyBundle,
} from '@krmhub/signing';
import { readFileUpTo } from '../files/read-file.js';
import { writeFileAtomically } from '../files/write-file.js';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { visible } from '../io/text.js';
import { connectOci } from '../registry/connect-oci.js';
import { attachBundle } from './attach-bundle.js';
import { type BundleSigner, type BundleSignerOptions, bundleSigner } from './bundle-signer.js';
import { fileDigests, findTarget, type SigningTarget } from './signing-target.js';
import { statementOfFile, statementOfRelease } from './statement-of-file.js';

export interface SignOptions extends BundleSignerOptions {
  output?: string;
  overwrite?: boolean;
  release?: string;
  readme?: string;
  predicate?: string;
  type?: string;
  plainHttp?: string[];
}

/** Bytes of a predicate that is signed: a bundle around it may have as many. */
const MAX_PREDICATE_BYTES = 2_097_152;

/** Signs a file into a bundle beside it, or an artifact in an OCI registry into one that refers to it. */
export async function signArtifact(io: Io, name: string, options: SignOptions): Promise<void> {
  checkOptions(options);
  const target = await findTarget(io, name);
  if (target.kind === 'reference') return signReference(io, target.reference, options);
  const output = bundleFile(target, options);
  const subject = target.kind === 'digest' ? target.digest : (await fileDigests(target))[0];
  const statement = await statementFor(io, target, subject, options);
  const bundle = await signChecked(await bundleSigner(io, options), statement, subject);
  await writeBundle(io, output, bundle, options);
  await printLine(io, `Signed ${subject} (${statement.predicateType})`);
}

async function signReference(io: Io, reference: Reference, options: SignOptions): Promise<void> {
  if (options.release !== undefined || options.readme !== undefined) {
    throw new KrmhubError('usage', '--release is for the file of a definition', {
      hint: 'The manifest of a release says itself which one it is: sign it as it is.',
    });
  }
  const { registry, repository } = reference;
  const progress = new Progress(io);
  const client = connectOci(io, progress, options.plainHttp);
  // Once: what is signed, said and attached is the same, whatever happens to the tag meanwhile.
  const { digest, bytes, mediaType } = await client.manifest(reference).finally(() => progress.clear());
  await printLine(io, visible(`${formatReference(reference)} is ${digest}`));
  const statement = await statementFor(io, { kind: 'reference', reference }, digest, options);
  const bundle = await signChecked(await bundleSigner(io, options), statement, digest);
  if (options.output !== undefined) await writeBundle(io, options.output, bundle, options);
  const attached = await attachBundle(client, reference, {
    subject: { mediaType, digest, size: bytes.byteLength },
    bundle,
    predicateType: statement.predicateType,
    created: io.now(),
  }).finally(() => progress.clear());
  await printLine(
    io,
    visible(`Signed ${formatReference({ registry, repository, digest })} (${statement.predicateType})`),
  );
  await printLine(io, `Bundle: ${attached}`);
}

async function statementFor(
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
    return statementOfRelease(io, target.name, { release, ...(readme === undefined ? {} : { readme }) });
  }
  if (target.kind === 'file') return statementOfFile(io, target.name, digest as `sha256:${string}`);
  return predicateStatement({ digest }, SIGNATURE_PREDICATE, {});
}

async function readPredicate(io: Io, name: string): Promise<Record<string, unknown>> {
  const bytes = await readFileUpTo(io, name, MAX_PREDICATE_BYTES);
  if (bytes.byteLength > MAX_PREDICATE_BYTES) {
    throw new KrmhubError('too-large', `${name} has more than ${MAX_PREDICATE_BYTES} bytes`);
  }
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new KrmhubError('invalid-document', `${name} is no JSON`, { cause });
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    return json as Record<string, unknown>;
  }
  throw new KrmhubError('invalid-document', `${name} is no JSON object, which a predicate is`);
}

/** What does not hold for us holds for nobody, and is not handed out. */
export async function signChecked(
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
    `the signature was made and does not hold: ${reason?.check}: ${reason?.message}`,
    { hint: 'Nothing was written. Name the trusted root of the instance that signs with --trusted-root.' },
  );
}

async function writeBundle(io: Io, name: string, bundle: Uint8Array, options: SignOptions): Promise<void> {
  const overwrite = options.overwrite === true;
  const outcome = await writeFileAtomically(path.resolve(io.cwd, name), bundle, { overwrite });
  await printLine(io, visible(`${outcome === 'written' ? 'Wrote' : 'Unchanged:'} ${name}`));
}

function bundleFile(target: Exclude<SigningTarget, { kind: 'reference' }>, options: SignOptions): string {
  const { output, predicate } = options;
  if (output !== undefined) return output;
  if (target.kind === 'file' && predicate === undefined) return `${target.name}.sigstore.json`;
  throw new KrmhubError(
    'usage',
    target.kind === 'digest'
      ? 'a digest has no file to put the bundle beside'
      : 'beside a file is the place of its signature, and this is an attestation',
    { hint: 'Name the file of the bundle with --output.' },
  );
}

function checkOptions({ key, keyless, release, readme, predicate, type, ...rest }: SignOptions): void {
  const wrong = (message: string, hint: string) => new KrmhubError('usage', message, { hint });
  if (key === undefined && keyless !== true) {
    throw wrong(
      'it is not said who signs',
      'Say --key FILE, or --keyless where an identity token is at hand.',
    );
  }
  if (key !== undefined && keyless === true) {
    throw wrong('--key and --keyless exclude each other', 'Say one of them.');
  }
  const { fulcioUrl, rekorUrl, rekorVersion, timestampUrl, identityTokenFile } = rest;
  const services = [fulcioUrl, rekorUrl, rekorVersion, timestampUrl, identityTokenFile];
  if (key !== undefined && services.some((option) => option !== undefined)) {
    throw wrong('a key signs by itself, and asks no service', 'Leave those options out, or say --keyless.');
  }
  if ((predicate === undefined) !== (type === undefined)) {
    throw wrong(
      '--predicate and --type go together',
      'Name the file of the predicate, and the URI of its type.',
    );
  }
  if (type !== undefined && !URL.canParse(type)) {
    throw wrong(
      '--type is no URI',
      'Name the type of the predicate, such as https://slsa.dev/provenance/v1.',
    );
  }
  if (predicate !== undefined && release !== undefined) {
    throw wrong('--release signs a release, and --predicate says something else', 'Say one of them.');
  }
  if (readme !== undefined && release === undefined) {
    throw wrong('--readme goes with --release', 'Name the release that it belongs to.');
  }
}
