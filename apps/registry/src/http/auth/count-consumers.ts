import type { AccessRules, ConsumerCounts, ConsumerReader, TokenRecord } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import { lackingRights } from './authorize.js';

/**
 * Reports whether a token may know who uses a function: it can break them, because it may publish, or owns the group, in
 * which perhaps only workflows publish.
 */
export function mayCountConsumers(
  rules: AccessRules,
  token: TokenRecord,
  { group, kind }: FunctionName,
): boolean {
  const has = (action: 'own' | 'publish') =>
    lackingRights(rules, token, action, { group, kind }).length === 0;
  return token.scopes.includes('publish') && (has('publish') || has('own'));
}

/** Counts the packages that use a function, of the reports that have not expired. */
export function countConsumers(
  { store, clock }: { store: ConsumerReader; clock: () => Date },
  { group, kind }: FunctionName,
): Promise<ConsumerCounts> {
  return store.countConsumers({ group, kind }, oldestReport(clock()), SERVER_LIMITS.maxConsumerNames);
}

/** Reports from before this time have expired. */
export function oldestReport(now: Date): string {
  return new Date(now.getTime() - SERVER_LIMITS.consumerMilliseconds).toISOString();
}
