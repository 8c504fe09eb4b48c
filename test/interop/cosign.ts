import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { isInstalled } from './container-engine.js';
import { type Reason, User } from './oci-tools.js';
import type { Identity, Sigstore } from './sigstore-stand-in.js';

/** Path where `.ci/run` installs it, for test runs without it on the PATH. */
const installedPath = path.join(
  process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'),
  'krmhub-ci/cosign-v3.1.2/cosign',
);
const program = isInstalled('cosign') ? 'cosign' : existsSync(installedPath) ? installedPath : undefined;

export const noCosign: Reason = program === undefined ? 'cosign is not installed' : undefined;

/**
 * A user who signs and verifies with cosign: keys have an empty passphrase, and only the loopback interface
 * is reachable.
 */
export class Cosigner extends User {
  constructor(folder: string) {
    super(folder);
    // Nothing listens on port 9 of this machine, and Go uses no proxy for this machine.
    const nowhere = 'http://127.0.0.1:9';
    Object.assign(this.env, {
      COSIGN_PASSWORD: '',
      TUF_ROOT: this.at('tuf'),
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: '',
    });
  }

  read(name: string): string {
    return readFileSync(this.at(name), 'utf8');
  }

  cosign(...args: string[]): Promise<string> {
    return this.mustSucceed(program!, ...args);
  }

  cosignIsRefused(...args: string[]): Promise<string> {
    return this.isRefused(program!, ...args);
  }

  /** Options with which a command uses only this sigstore to sign, and trusts only it. */
  signingWith({ signingConfig, trustedRoot, token }: Sigstore, identity: Identity): string[] {
    this.write('signing-config.json', signingConfig);
    return [
      '--yes',
      '--signing-config=signing-config.json',
      ...this.trusting({ trustedRoot }),
      `--identity-token=${token(identity)}`,
    ];
  }

  trusting({ trustedRoot }: Pick<Sigstore, 'trustedRoot'>): string[] {
    return [`--trusted-root=${this.write('trusted-root.json', trustedRoot)}`];
  }
}

/** Options that name the required signer. */
export const signedBy = ({ subject, issuer }: Identity): string[] => [
  `--certificate-identity=${subject}`,
  `--certificate-oidc-issuer=${issuer}`,
];
