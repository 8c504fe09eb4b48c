import { createPublicKey } from 'node:crypto';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { MAX_KEY_LENGTH, publicKey } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import { emptyRoot, keySigner, type PayloadSigner, readPrivateKey, type Trust } from '@krmhub/signing';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { keyPassword } from './key-password.js';
import type { ServiceOptions } from './signing-services.js';

export interface BundleSignerOptions extends ServiceOptions {
  key?: string;
  keyless?: boolean;
  identityTokenFile?: string;
  trustedRoot?: string;
}

/** A signer, and the trust to verify its signatures with before they are written. */
export interface BundleSigner {
  /** As the registry describes the signer; absent for an identity, which only its certificate states. */
  name?: string;
  sign: PayloadSigner;
  trust: Trust;
}

export async function bundleSigner(io: Io, options: BundleSignerOptions): Promise<BundleSigner> {
  if (options.key !== undefined) return signerWithKey(io, options.key);
  // Loading the client of the signing services takes longer than signing with a key.
  const [
    { keylessSigner, readTokenClaims },
    { identityToken },
    { signingServices, isPublicInstance: isPublic },
    roots,
  ] = await Promise.all([
    import('@krmhub/signing/keyless'),
    import('../registry/identity-token.js'),
    import('./signing-services.js'),
    import('@krmhub/consume/trust/trusted-root-file'),
  ]);
  const services = signingServices(io, options);
  const trust = { keys: [], root: await roots.trustedRoot(io, options.trustedRoot) };
  const token = await identityToken(io, options.identityTokenFile);
  const { subject, issuer } = readTokenClaims(token);
  await printLine(io, escapeControls(`signing as ${subject} (${issuer})`));
  if (isPublic(services)) {
    await printLine(io, `the log at ${services.rekorUrl} publishes this identity and the digest permanently`);
  }
  return { sign: keylessSigner(services, token), trust };
}

async function signerWithKey(io: Io, name: string): Promise<BundleSigner> {
  const text = new TextDecoder().decode(await readFileUpTo(io, name, MAX_KEY_LENGTH));
  const key = await readPrivateKey(text, name, () => keyPassword(io, name));
  const own = publicKey(createPublicKey(key), name);
  return {
    name: `the key ${own.fingerprint}`,
    sign: keySigner(key),
    trust: { keys: [own], root: emptyRoot() },
  };
}
