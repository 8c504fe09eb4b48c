import type { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import { sealText, tryOpenText } from './sealed-text.js';

/** A sign-in of a user with an identity provider, and the key of what the registry stores for it. */
export interface OpenSignIn {
  id: string;
  key: string;
}

/** What is known of a sign-in now. */
export interface SignInState {
  /** When the provider last confirmed the user. Milliseconds since 1970. */
  confirmedAt: number;
  /** Whether the provider can be asked. */
  canAsk: boolean;
  /** Whether the provider confirms the user also after the user signed out there. */
  isOffline: boolean;
  /** Why the provider, which was asked, did not confirm the user: `unauthorized`, or `unavailable` if it is away. */
  problem?: KrmhubError;
}

/** Asks identity providers about the users of sign-ins. */
export interface SignInChecker {
  /**
   * Returns the state of a sign-in, after it asked the provider unless it did so within the last minute. Undefined if the
   * sign-in has ended.
   */
  check(signIn: OpenSignIn): Promise<SignInState | undefined>;
}

const PURPOSE = 'key of a sign-in';

/** Returns a sign-in for a row whose client has the secret. */
export function sealSignIn(secret: string, { id, key }: OpenSignIn): OpenSignIn {
  return { id, key: sealText(secret, PURPOSE, key) };
}

/** Opens the sign-in of a row with the secret of the client. Undefined if it was changed. */
export function openSignIn(secret: string, { id, key: sealed }: OpenSignIn): OpenSignIn | undefined {
  const key = tryOpenText(secret, PURPOSE, sealed);
  return key === undefined ? undefined : { id, key };
}

/** Whether it was within the last minute. The clock of another process may be ahead: its minute is not waited for. */
export function isRecentlyConfirmed(at: number | undefined, now: number): boolean {
  return at !== undefined && Math.abs(now - at) < SERVER_LIMITS.confirmMilliseconds;
}

/** Returns the sign-in for new tokens of its user. Undefined if the provider cannot be asked about it. */
export async function signInForTokens(
  signIns: SignInChecker,
  signIn: OpenSignIn | undefined,
): Promise<OpenSignIn | undefined> {
  return signIn !== undefined && (await signIns.check(signIn))?.canAsk === true ? signIn : undefined;
}
