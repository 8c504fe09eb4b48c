import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** What the bearer of a token of `/v2/token` may do, besides reading, which everybody may. */
export interface AccessClaims {
  /** Hash of the secret that it was given for; absent for who gave none. */
  hash?: string;
  /** Repositories and what may be done there. */
  access: readonly { repository: string; actions: readonly string[] }[];
  /** Seconds since 1970. */
  expires: number;
}

/**
 * Short-lived tokens for clients of OCI registries, which know no others. Nothing is stored: they are signed with a key
 * that lives as long as the process, after which clients ask for new ones.
 */
export class AccessTokens {
  readonly #key = randomBytes(32);

  issue(claims: AccessClaims): string {
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    return `${payload}.${this.#sign(payload).toString('base64url')}`;
  }

  /** Undefined where it is none of ours, or over. */
  read(token: string, nowMilliseconds: number): AccessClaims | undefined {
    const [payload = '', signature = '', more] = token.split('.');
    const given = Buffer.from(signature, 'base64url');
    const expected = this.#sign(payload);
    if (more !== undefined || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      return undefined;
    }
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as AccessClaims;
    return claims.expires * 1000 > nowMilliseconds ? claims : undefined;
  }

  #sign(payload: string): Buffer {
    return createHmac('sha256', this.#key).update(payload).digest();
  }
}
