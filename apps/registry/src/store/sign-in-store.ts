import type { Act, Time } from '@krmhub/catalog';

/**
 * What an identity provider gave when a user signed in. The session of that sign-in, and the personal tokens that were
 * made in it, share it: providers let a refresh token be used once.
 */
export interface SignInRecord {
  /** UUID. */
  id: string;
  /** ID of the user. */
  user: string;
  /**
   * The tokens of the provider, sealed with a random key. Each session and token has that key, sealed with its own
   * secret, of which only a hash is stored: so nothing that is stored opens this text.
   */
  sealed: string;
  createdAt: Time;
  /** When the provider last confirmed the user for this sign-in. */
  confirmedAt: Time;
  /** When the provider refused to do so. Tokens of the sign-in have been useless since. */
  endedAt?: Time;
}

/** A sign-in, and its key, sealed with the secret of what refers to it. */
export interface SealedSignIn {
  id: string;
  key: string;
}

/** Sign-ins that a session, a usable token, or a login that waits for its program refers to. Others are deleted. */
export interface SignInStore {
  /** Returns also a sign-in that ended. */
  signIn(id: string): Promise<SignInRecord | undefined>;
  /**
   * Replaces the sealed text of a sign-in that still has `replaces`. Returns false if another process was faster, or the
   * sign-in has ended.
   */
  replaceSignIn(
    id: string,
    change: { replaces: string; sealed: string; confirmedAt?: Time | undefined },
  ): Promise<boolean>;
  /**
   * Ends a sign-in with its sessions. Its tokens are useless then, or with `keepsTokens` go on as those of a provider that
   * cannot be asked.
   */
  endSignIn(id: string, how: { keepsTokens: boolean }, act: Act & { reason: string }): Promise<void>;
}
