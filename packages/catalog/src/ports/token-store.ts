import type { Time, TokenRecord } from './records.js';

/** Access tokens, each by the hash of its secret. */
export interface TokenStore {
  /** `hash` is the SHA-256 of the secret, in hexadecimal. */
  createToken(token: TokenRecord, hash: string): Promise<void>;
  tokenByHash(hash: string): Promise<TokenRecord | undefined>;
  tokens(): Promise<TokenRecord[]>;
  /** Gives the token as it is now; undefined where there is none of that id. */
  revokeToken(id: string, at: Time, reason?: string): Promise<TokenRecord | undefined>;
  touchToken(id: string, at: Time): Promise<void>;
}
