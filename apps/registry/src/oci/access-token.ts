import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { RegistryKey } from '../catalogs/sign/key-files.js';
import type { RegistryKeys } from '../catalogs/sign/registry-keys.js';
import { SERVER_LIMITS } from '../limits.js';

/** What the bearer of a token of `/v2/token` may do. Reading needs no token. */
export interface AccessClaims {
  /** Hash of the registry token that it was issued for; absent for an anonymous token. */
  hash?: string;
  /** Repositories, with the permitted actions. */
  access: readonly { repository: string; actions: readonly string[] }[];
  /** Seconds since 1970. */
  expires: number;
}

/**
 * Issues short-lived tokens for clients of OCI registries, which support no other kind. Nothing is stored: they are
 * signed with a secret that follows from the registry key, which all processes of a registry have and its database
 * does not, so that a copy of the database is not enough to make one.
 */
export class AccessTokens {
  readonly #keys: Pick<RegistryKeys, 'all' | 'signing'>;
  /** By the fingerprint of the registry key. */
  readonly #secrets = new Map<string, Buffer>();

  constructor(keys: Pick<RegistryKeys, 'all' | 'signing'>) {
    this.#keys = keys;
  }

  async issue(claims: AccessClaims): Promise<string> {
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const signature = this.#sign(payload, await this.#keys.signing());
    return `${payload}.${signature.toString('base64url')}`;
  }

  /** Returns undefined if the token has a wrong signature or has expired. */
  async read(token: string, nowMilliseconds: number): Promise<AccessClaims | undefined> {
    const [payload = '', signature = '', more] = token.split('.');
    const given = Buffer.from(signature, 'base64url');
    const keys = keysAround(await this.#keys.all(), nowMilliseconds);
    const isSigned = keys.some((key) => {
      const expected = this.#sign(payload, key);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
    if (more !== undefined || !isSigned) return undefined;
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as AccessClaims;
    return claims.expires * 1000 > nowMilliseconds ? claims : undefined;
  }

  #sign(payload: string, { publicKey, privateKey }: RegistryKey): Buffer {
    let secret = this.#secrets.get(publicKey.fingerprint);
    if (secret === undefined) {
      const bytes = privateKey.export({ type: 'pkcs8', format: 'der' });
      secret = Buffer.from(hkdfSync('sha256', bytes, '', 'krmhub access tokens', 32));
      this.#secrets.set(publicKey.fingerprint, secret);
    }
    return createHmac('sha256', secret).update(payload).digest();
  }
}

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
