import type { TokenRecord } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';
import {
  isRecentlyConfirmed,
  type OpenSignIn,
  openSignIn,
  type SignInChecker,
  type SignInState,
} from './open-sign-in.js';
import { hashSecret, isManaged, tokenProblem, withCurrentGroups } from './tokens.js';
import { isSessionToken, type UserSettings } from './user-session.js';

/** A registry token, as a request names it. */
export interface TokenCredential {
  hash: string;
  /** Opens the sign-in in which the token was made. Undefined if the request does not have the key. */
  openSignIn(sealed: OpenSignIn): OpenSignIn | undefined;
}

/** Returns the credential of a client that sends the token itself. */
export function secretCredential(secret: string): TokenCredential {
  return { hash: hashSecret(secret), openSignIn: (sealed) => openSignIn(secret, sealed) };
}

/** Why a token cannot be used now. */
export interface Unusable {
  /** As `the token is …`. */
  is: string;
  hint?: string;
  /** The identity provider does not respond: the token may be usable again in a minute. */
  isAway?: boolean;
}

export interface CheckedToken {
  token: TokenRecord;
  /** The sign-in in which it was made. Absent if the provider cannot be asked about it. */
  signIn?: OpenSignIn | undefined;
  problem?: Unusable | undefined;
}

export interface CheckDeps {
  signIns: SignInChecker;
  clock: () => Date;
  config: UserSettings;
}

const HINT_SUSPENDED = 'Ask an administrator of the registry, who can restore the user: krmhub user restore.';
const HINT_INACTIVE = 'Ask who manages the directory of your organization to activate the user.';
const HINT_ENDED =
  'Sign in again: krmhub login. On the pages, you can create other tokens after you sign in again.';

/**
 * Finds the token of a request, and checks whether it is usable now. The provider is asked about a token that was made in
 * a sign-in, unless it confirmed the user within the last minute. Undefined for an unknown token.
 */
export async function checkToken(
  stored: () => Promise<TokenRecord | undefined>,
  open: TokenCredential['openSignIn'],
  deps: CheckDeps,
): Promise<CheckedToken | undefined> {
  const find = async () => {
    const token = await stored();
    return token && withCurrentGroups(token, deps.clock(), deps.config);
  };
  const token = await find();
  const before = token && unusable(token, deps);
  if (token?.signIn === undefined || before !== undefined) return token && { token, problem: before };
  const signIn = open(token.signIn);
  if (signIn === undefined) return { token, problem: ENDED };
  if (isRecentlyConfirmed(Date.parse(token.signIn.confirmedAt), deps.clock().getTime()))
    return { token, signIn };
  const state = await deps.signIns.check(signIn);
  // With the groups that the user has now.
  const current = await find();
  const problem = current && (unusable(current, deps) ?? unconfirmed(current, state, deps));
  return current && { token: current, problem, signIn: current.signIn && signIn };
}

const ENDED: Unusable = { is: 'of a sign-in that the identity provider has ended', hint: HINT_ENDED };

function unusable(token: TokenRecord, { clock, config }: CheckDeps): Unusable | undefined {
  const is = tokenProblem(token, clock(), config);
  if (is === undefined) return undefined;
  if (token.signIn?.endedAt !== undefined) return { is, hint: HINT_ENDED };
  const { user } = token;
  if (user?.suspendedAt === undefined) return { is };
  const isInactive = user.directory?.isActive === false && isManaged(user, config);
  return { is, hint: isInactive ? HINT_INACTIVE : HINT_SUSPENDED };
}

/** Returns why a token is not usable by what the provider said, or did not say. */
function unconfirmed(
  token: TokenRecord,
  state: SignInState | undefined,
  deps: CheckDeps,
): Unusable | undefined {
  // The provider ended its own session, and gave nothing with which it can be asked after that.
  if (token.signIn === undefined) return undefined;
  if (state === undefined) return ENDED;
  const { problem, confirmedAt, isOffline } = state;
  if (problem?.code === 'unauthorized')
    return { is: `not confirmed by the identity provider: ${problem.message}` };
  if (!isOffline && !isSessionToken(token)) {
    const { signIn: _, ...asked } = token;
    return unusable(asked, deps);
  }
  const isStale = deps.clock().getTime() - confirmedAt >= SERVER_LIMITS.unconfirmedMilliseconds;
  if (!isStale) return undefined;
  return {
    is: 'of a user whom the identity provider cannot confirm now, because it does not respond',
    hint: 'Try again in a minute.',
    isAway: true,
  };
}
