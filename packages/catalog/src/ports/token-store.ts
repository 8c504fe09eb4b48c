import type { RequestOrigin } from '@krmhub/schema';
import type { Time, TokenRecord } from './records.js';

/** Who revoked a token, and why. Without `by`, a client reported it as leaked. */
export interface Revocation {
  by?: string;
  reason?: string;
  origin?: RequestOrigin;
}

/** Stores access tokens by the hash of their secret. */
export interface TokenStore {
  /** `hash` is the SHA-256 of the secret, in hexadecimal. */
  createToken(token: TokenRecord, hash: string, origin?: RequestOrigin): Promise<void>;
  /**
   * As `createToken`, unless a token is known for which `isEnough` returns true. Returns whether it is stored: of
   * processes that start at the same time, one stores its token.
   */
  createFirstToken(
    token: TokenRecord,
    hash: string,
    isEnough: (known: TokenRecord) => boolean,
  ): Promise<boolean>;
  tokenByHash(hash: string): Promise<TokenRecord | undefined>;
  tokens(): Promise<TokenRecord[]>;
  /** Returns the current token; undefined for an unknown ID. */
  revokeToken(id: string, at: Time, revocation?: Revocation): Promise<TokenRecord | undefined>;
  /** Records that a token was used; in the audit log, the first use of a day. */
  touchToken(id: string, at: Time, origin?: RequestOrigin): Promise<void>;
}
