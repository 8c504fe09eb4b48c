import { actorName, type TokenRecord } from '@krmhub/catalog';
import type { RequestOrigin } from '@krmhub/schema';
import type { RegistryContext } from '../context.js';

/** Who made a request, for the records of what it changes. */
export interface Caller {
  /** Name of the actor. */
  by: string;
  origin: RequestOrigin;
}

/** The registry itself, without a request. */
export const REGISTRY: Caller = { by: 'krmhub', origin: {} };

/** Returns the caller of a request that this actor made. */
export function callerOf(c: RegistryContext, token: Pick<TokenRecord, 'id' | 'name' | 'user'>): Caller {
  return { by: actorName(token), origin: { credential: token.id, ...requestOrigin(c) } };
}

/** Returns what is known of a request without a token. */
export function requestOrigin(c: RegistryContext): RequestOrigin {
  return { address: c.get('client'), requestId: c.get('requestId') };
}
