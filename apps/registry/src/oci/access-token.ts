import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

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
 * Issues short-lived tokens for clients of OCI registries, which support no other kind. Nothing is stored:
 * the tokens are signed with a key that lives as long as the process. After a restart, clients request new
 * ones.
 */
export class AccessTokens {
  readonly #key = randomBytes(32);

  issue(claims: AccessClaims): string {
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    return `${payload}.${this.#sign(payload).toString('base64url')}`;
  }

  /** Returns undefined if the token has a wrong signature or has expired. */
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
