import {
  type AccessRules,
  type FunctionReader,
  isAsAbsent,
  type ServedEntryReader,
  type TokenRecord,
  tokenActor,
} from '@krmhub/catalog';
import { type FunctionName, KrmhubError } from '@krmhub/schema';
import type { RegistryContext } from '../context.js';
import { answerAsAbsent, refuseLacking } from './authorize.js';

/**
 * Throws `forbidden` if a token may not yank and deprecate a function. One that the token may not read is looked up
 * first, and not found.
 */
export function refuseToYank(
  c: RegistryContext,
  rules: AccessRules,
  token: TokenRecord,
  { group, kind }: FunctionName,
): void {
  answerAsAbsent(c, rules, token);
  if (isAsAbsent(rules, tokenActor(rules, token), 'yank', { group, kind })) return;
  refuseLacking(rules, token, 'yank', { group });
}

/**
 * Runs a change that `refuseToYank` let pass. If the token may read the function and only the release is wrong, nothing
 * was refused. A hidden function and an absent one need the same reads to find that out.
 */
export async function changeOfRelease<Result>(
  c: RegistryContext,
  store: Pick<FunctionReader, 'function'> & Pick<ServedEntryReader, 'servedEntries'>,
  { group, kind }: FunctionName,
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found' && c.get('isRefusedAsAbsent') === true) {
      const isKnown = (await store.function(group, kind)) !== undefined;
      c.set('isRefusedAsAbsent', !isKnown && (await store.servedEntries(group, kind)).length === 0);
    }
    throw error;
  }
}
