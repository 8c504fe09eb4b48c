import type { TokenScope } from '@krmhub/api/token-scopes';
import type { GuardedRoute } from './guarded-routes.js';
import type { Trick } from './path-tricks.js';

/** The clients that try the protected operations, and what each may do. */
export interface Role {
  name: string;
  /** Values of Authorization. */
  authorization: string[];
  /** Undefined if the token is not valid. */
  token?: { scopes: TokenScope[]; here: boolean; everywhere: boolean };
}

export /** The expected response: 401, 403, or anything else. */
function verdict({ needs, ofGroup }: GuardedRoute, { token }: Role): 401 | 403 | 'done' {
  if (needs === 'none') return 'done';
  if (token === undefined) return 401;
  if (needs === 'any') return 'done';
  const isAllowed = token.scopes.includes(needs) || (needs === 'audit' && token.scopes.includes('admin'));
  return isAllowed && (ofGroup ? token.here : token.everywhere) ? 'done' : 403;
}

/** Whether every client tries every trick, as in the campaign. */
const isFullSize = process.env.KRMHUB_TEST_FULL_SIZE === '1';

/** In the sample, the number of clients with each verdict that try one trick. */
const SAMPLE = { 403: 3, 401: 2 } as const;

/**
 * Returns which of the tricks each client without permission tries. `npm test` has a sample: some clients try
 * the first trick, and for each later trick they shift by one. So every trick is tried with and without a
 * valid token, and every client tries many tricks.
 */
export function tricksByRole(
  route: GuardedRoute,
  roles: readonly Role[],
  tricks: readonly Trick[],
): { role: Role; tricks: readonly Trick[] }[] {
  return ([403, 401] as const).flatMap((code) => {
    const clients = roles.filter((role) => verdict(route, role) === code);
    const isSampled = (at: number, trick: number) => (at + trick) % clients.length < SAMPLE[code];
    return clients.map((role, at) => ({
      role,
      tricks: isFullSize ? tricks : tricks.filter((_, trick) => isSampled(at, trick)),
    }));
  });
}
