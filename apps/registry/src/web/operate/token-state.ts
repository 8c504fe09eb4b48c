import type { TokenRecord } from '@krmhub/catalog';
import { tokenProblem } from '../../http/auth/tokens.js';
import type { UserSettings } from '../../http/auth/user-session.js';
import { tokenDetail } from '../../http/presentation.js';
import type { TokenWithState } from './tokens-page.js';

/** Returns a token with why it cannot be used now. */
export function tokenWithState(
  token: TokenRecord,
  { clock, config }: { clock: () => Date; config: UserSettings },
): TokenWithState {
  return { ...tokenDetail(token), state: tokenProblem(token, clock(), config) ?? 'good' };
}

export function isGood({ state }: TokenWithState): boolean {
  return state === 'good';
}
