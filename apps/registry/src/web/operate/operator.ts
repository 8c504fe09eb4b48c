import type { TokenRecord } from '@krmhub/catalog';
import { createContext, useContext } from 'hono/jsx';
import { lackingRights } from '../../auth/authorize.js';
import type { Session } from './sessions.js';

/** Who is signed in. */
export interface Operator {
  token: TokenRecord;
  session: Session;
}

/** Every change that the pages make is of the whole registry, as in the HTTP API. */
export const CHANGES = 'admin';

/** What of the rights to change something somebody has not got, in words; undefined for nothing. */
export function missingChangeScopes({ token }: Operator): string | undefined {
  const lacks = lackingRights(token, CHANGES);
  return lacks.length === 0 ? undefined : lacks.join(' and ');
}

const Current = createContext<Operator | undefined>(undefined);
export const OperatorProvider = Current.Provider;

/** Who looks at the page that is being rendered. */
export function useOperator(): Operator {
  const operator = useContext(Current);
  if (operator === undefined) throw new Error('A component was rendered outside of a page for operators.');
  return operator;
}
