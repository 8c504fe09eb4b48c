import type { AccessCheck, AccessDecision } from '@krmhub/api/model';
import {
  type AccessObject,
  type AccessRules,
  type Actor,
  ANONYMOUS,
  can,
  INSIDER,
  parseAccessObject,
  type SourceReader,
  type TokenRecord,
  type TokenStore,
  teamActor,
  tokenActor,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { unknownTeam } from '../http/auth/issue-token.js';
import type { KnownAccess } from '../http/auth/request-actor.js';
import { tokenProblem } from '../http/auth/tokens.js';
import { repositoryObject } from '../store/sight.js';

export interface CheckAccessDeps {
  store: Pick<TokenStore, 'tokens'> & Pick<SourceReader, 'ownedGroups'>;
  access: KnownAccess;
  clock: () => Date;
}

/**
 * Decides what an actor may do, with the grant or the rule that says so. Rejects with `not-found` for an unknown token
 * or team, and with `invalid-request` for an object that cannot exist.
 */
export async function checkAccess(
  { store, access: { rules }, clock }: CheckAccessDeps,
  wanted: AccessCheck,
): Promise<AccessDecision> {
  const { actor, problem } = await findActor(rules, await store.tokens(), wanted.actor, clock());
  const object = await findObject(store, wanted.object);
  const decision = can(rules, actor, wanted.action, object);
  const allowed = problem === undefined && decision.allowed;
  const reason =
    problem ?? (decision.allowed ? decision.because : `missing: ${decision.lacks.join(' and ')}`);
  return { ...wanted, allowed, reason, ...defined({ token: actor.id, team: actor.team }) };
}

async function findObject(store: CheckAccessDeps['store'], text: string): Promise<AccessObject> {
  const object = parseAccessObject(text);
  if (object === undefined) {
    throw new KrmhubError('invalid-request', `${JSON.stringify(text)} is not an object of access`, {
      hint: 'Use GROUP, GROUP/KIND, catalog:NAME, repository:NAME, or registry.',
    });
  }
  if (object === 'registry' || 'catalog' in object) return object;
  const found = 'repository' in object ? repositoryObject(object.repository) : object;
  if (!('group' in found)) return found;
  return { ...found, isNew: !(await store.ownedGroups([found.group])).has(found.group) };
}

async function findActor(
  rules: AccessRules,
  tokens: readonly TokenRecord[],
  text: string,
  now: Date,
): Promise<{ actor: Actor; problem?: string | undefined }> {
  if (text === 'anonymous') return { actor: ANONYMOUS };
  if (text === 'internal') return { actor: INSIDER };
  if (text.startsWith('team:')) {
    const team = text.slice('team:'.length);
    const unknown = unknownTeam(rules, team);
    if (unknown !== undefined) throw new KrmhubError('not-found', unknown.message, { hint: unknown.hint });
    return { actor: teamActor(team) };
  }
  const problem = (token: TokenRecord) => tokenProblem(token, now.toISOString());
  const named = tokens.filter(({ id, name }) => id === text || name === text);
  const usable = named.filter((token) => problem(token) === undefined);
  const [token, second] = usable.length > 0 ? usable : named;
  if (token === undefined) {
    throw new KrmhubError('not-found', `token ${JSON.stringify(text)} not found`, {
      hint: 'List the tokens: krmhub token list. Other actors: anonymous, internal, team:NAME.',
    });
  }
  if (second !== undefined && usable.length > 0) {
    throw new KrmhubError('invalid-request', `several tokens have the name ${JSON.stringify(text)}`, {
      hint: `Use one of the IDs: ${usable.map(({ id }) => id).join(', ')}`,
    });
  }
  const is = problem(token);
  return { actor: tokenActor(token), problem: is && `the token is ${is}` };
}
