import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { defined } from '@krmhub/schema/defined';
import type { RegistryKey } from '../catalogs/sign/key-files.js';
import type { RegistryKeys } from '../catalogs/sign/registry-keys.js';
import { type OpenSignIn, openSignIn, sealSignIn } from '../http/auth/open-sign-in.js';
import { SERVER_LIMITS } from '../limits.js';

/** What the bearer of a token of `/v2/token` may do. Reading needs no token. */
export interface AccessClaims {
  /** Hash of the registry token that it was issued for; absent for an anonymous token. */
  hash?: string;
  /** The sign-in in which that token was made. Clients and the database cannot read its key. */
  signIn?: OpenSignIn;
  /** Repositories, with the permitted actions. */
  access: readonly { repository: string; actions: readonly string[] }[];
  /** Seconds since 1970. */
  expires: number;
}

type SigningKeys = Pick<RegistryKeys, 'all' | 'signing'>;

/**
 * Issues short-lived tokens for clients of OCI registries, which support no other kind. Nothing is stored: they are
 * signed with a secret that follows from the registry key, which all processes of a registry have and its database
 * does not, so that a copy of the database is not enough to make one.
 */
export class AccessTokens {
  readonly #keys: SigningKeys;
  /** By the fingerprint of the registry key. */
  readonly #secrets = new Map<string, Buffer>();

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  async issue({ signIn, ...claims }: AccessClaims): Promise<string> {
    const secret = this.#secret(await this.#keys.signing());
    const sealed = defined({ signIn: signIn && sealSignIn(secret.toString('hex'), signIn) });
    const payload = Buffer.from(JSON.stringify({ ...claims, ...sealed })).toString('base64url');
    const signature = sign(payload, secret);
    return `${payload}.${signature.toString('base64url')}`;
  }

  /** Returns undefined if the token has a wrong signature or has expired. */
  async read(token: string, nowMilliseconds: number): Promise<AccessClaims | undefined> {
    const [payload = '', signature = '', more] = token.split('.');
    const given = Buffer.from(signature, 'base64url');
    const secrets = keysAround(await this.#keys.all(), nowMilliseconds).map((key) => this.#secret(key));
    const secret = secrets.find((one) => {
      const expected = sign(payload, one);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
    if (more !== undefined || secret === undefined) return undefined;
    const { signIn: sealed, ...claims } = JSON.parse(
      Buffer.from(payload, 'base64url').toString(),
    ) as AccessClaims;
    if (claims.expires * 1000 <= nowMilliseconds) return undefined;
    return { ...claims, ...defined({ signIn: sealed && openSignIn(secret.toString('hex'), sealed) }) };
  }

  #secret({ publicKey, privateKey }: RegistryKey): Buffer {
    let secret = this.#secrets.get(publicKey.fingerprint);
    if (secret === undefined) {
      const bytes = privateKey.export({ type: 'pkcs8', format: 'der' });
      secret = Buffer.from(hkdfSync('sha256', bytes, '', 'krmhub access tokens', 32));
      this.#secrets.set(publicKey.fingerprint, secret);
    }
    return secret;
  }
}

const sign = (payload: string, secret: Buffer) => createHmac('sha256', secret).update(payload).digest();

/**
 * Returns the keys that may have signed a token that has not expired: also a key that was replaced a moment ago, and
 * the next one, as the clock of another process may be ahead. At least one of them, as `signingKey` does.
 */
function keysAround(keys: readonly RegistryKey[], now: number): readonly RegistryKey[] {
  const milliseconds = SERVER_LIMITS.accessTokenSeconds * 1000;
  const startsBefore = (time: number) => (key: RegistryKey) => Date.parse(key.validFrom) <= time;
  const newest = keys.findIndex(startsBefore(now + milliseconds));
  const oldest = keys.findIndex(startsBefore(now - milliseconds));
  return keys.slice(newest === -1 ? -1 : newest, oldest === -1 ? undefined : oldest + 1);
}
