import type { RequestOrigin } from '@krmhub/schema';
import type { WorkflowRun } from '../access/trusted-publishers/check-claims.js';
import type { DecidedThrough } from './event-store.js';
import type { Time } from './records.js';
import type { UserRecord } from './user-store.js';

/** Who revoked a token, and why. Without `by`, a client reported it as leaked. */
export interface Revocation {
  by?: string;
  reason?: string;
  origin?: RequestOrigin | undefined;
}

/** The sign-in of a user in which a token was made: the identity provider is asked whether it is still good. */
export interface TokenSignIn {
  id: string;
  /** The key of what is stored for it, sealed with the secret of the token. */
  key: string;
  /** When the provider last confirmed the user for it. */
  confirmedAt: Time;
  /** When the provider refused to do so. */
  endedAt?: Time;
}

export interface TokenRecord {
  id: string;
  name: string;
  scopes: string[];
  /** Globs for groups. A token of a workflow can also have `GROUP/KIND`, for one function. */
  groups: string[];
  /** Globs for artifact repositories. */
  repositories: string[];
  /** The team whose rights bound those of the token. */
  team?: string;
  /** The user whose rights bound those of the token. */
  user?: UserRecord;
  /** `login`: the user signed in to get it, with `krmhub login`. Absent for all others. */
  kind?: 'login';
  /** Absent if the provider of the user cannot be asked again, and for a token without a user. */
  signIn?: TokenSignIn;
  /** The run of a workflow for which the registry made the token. */
  run?: WorkflowRun;
  createdAt: Time;
  createdBy: string;
  expiresAt?: Time;
  lastUsedAt?: Time;
  revokedAt?: Time;
  /** Absent if a client reported the token as leaked. */
  revokedBy?: string;
  revokedReason?: string;
}

/** Reads tokens. */
export interface TokenReader {
  tokenByHash(hash: string): Promise<TokenRecord | undefined>;
  tokens(): Promise<TokenRecord[]>;
  /** Returns the personal tokens of a user, the oldest first. */
  tokensOfUser(user: string): Promise<TokenRecord[]>;
}

/** Stores access tokens by the hash of their secret. */
export interface TokenStore extends TokenReader {
  /**
   * `hash` is the SHA-256 of the secret, in hexadecimal. Rejects with `conflict` if the sign-in of the token has ended, or
   * the user has too many tokens, and with a RevisionConflict if the decision to create it is outdated.
   */
  createToken(
    token: TokenRecord,
    hash: string,
    origin?: RequestOrigin,
    decided?: DecidedThrough,
  ): Promise<void>;
  /**
   * As `createToken`, unless a token is known for which `isEnough` returns true. Returns whether it is stored: of
   * processes that start at the same time, one stores its token.
   */
  createFirstToken(
    token: TokenRecord,
    hash: string,
    isEnough: (known: TokenRecord) => boolean,
  ): Promise<boolean>;
  /** Returns the current token; undefined for an unknown ID. */
  revokeToken(id: string, at: Time, revocation?: Revocation): Promise<TokenRecord | undefined>;
  /** Records that a token was used; in the audit log, the first use of a day. */
  touchToken(id: string, at: Time, origin?: RequestOrigin): Promise<void>;
}
