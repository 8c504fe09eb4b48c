import type { AccessRules, Action, TokenRecord } from '@krmhub/catalog';
import { createContext, useContext } from 'hono/jsx';
import { lackingRights } from '../../http/auth/authorize.js';
import type { Session } from './sessions.js';

/** Who is signed in: a user, or a token. */
export interface Operator {
  token: TokenRecord;
  /** The access rules at the time of the request. */
  rules: AccessRules;
  session: Session;
}

/** Scope of every change on the pages: each affects the whole registry, as in the HTTP API. */
export const CHANGES = 'admin';

/** Returns which rights the operator lacks to change anything; undefined if none. */
export function missingChangeScopes({ rules, token }: Operator): string | undefined {
  const lacks = lackingRights(rules, token, CHANGES);
  return lacks.length === 0 ? undefined : lacks.join(' and ');
}

/** Whether the operator may open a page that needs a right for the whole registry. */
export function mayOpen({ rules, token }: Operator, needs: Action): boolean {
  return lackingRights(rules, token, needs).length === 0;
}

/** Whether the operator owns any group, alone or by a pattern. */
export function ownsGroups(operator: Operator): boolean {
  const { rules, token } = operator;
  if (mayOpen(operator, CHANGES)) return true;
  const teams = token.user === undefined ? [token.team ?? ''] : rules.teamsOf(token.user);
  return teams.some((team) => {
    const { owns, grants } = rules.rightsOf(team);
    return owns.length > 0 || grants.some(({ may }) => may.includes('own'));
  });
}

const Current = createContext<Operator | undefined>(undefined);
export const OperatorProvider = Current.Provider;

/** Returns the operator of the page that is being rendered. */
export function useOperator(): Operator {
  const operator = useContext(Current);
  if (operator === undefined) throw new Error('A component was rendered outside an operator page.');
  return operator;
}
