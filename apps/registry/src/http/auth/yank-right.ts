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
import { type Authority, answerAsAbsent, refuseForbidden, refuseLacking } from './authorize.js';

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

/** As `refuseToYank`, for who attaches a bundle to a release: that begins no group, so nobody need learn of a hidden one. */
export async function refuseToAttach(
  c: RegistryContext,
  authority: Authority,
  token: TokenRecord,
  { group, kind }: FunctionName,
): Promise<void> {
  const { rules } = authority.access;
  answerAsAbsent(c, rules, token);
  if (isAsAbsent(rules, tokenActor(rules, token), 'publish', { group, kind })) return;
  await refuseForbidden(authority, token, 'publish', { group, kind });
}

/**
 * Runs a change that one of these let pass. If the token may read the function and only the release is wrong, nothing
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
