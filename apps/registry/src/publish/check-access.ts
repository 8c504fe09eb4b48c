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
  type TokenReader,
  type TokenRecord,
  teamActor,
  tokenActor,
  type UserReader,
  type UserRecord,
  userActor,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';
import { unknownTeam } from '../http/auth/issue-token.js';
import type { KnownAccess } from '../http/auth/request-actor.js';
import { tokenProblem, userProblem, withConfirmedGroups, withCurrentGroups } from '../http/auth/tokens.js';
import type { UserSettings } from '../http/auth/user-session.js';
import { repositoryObject } from '../store/sight.js';

export interface CheckAccessDeps {
  store: TokenReader & SourceReader & UserReader;
  access: KnownAccess;
  clock: () => Date;
  config: UserSettings;
}

/**
 * Decides what an actor may do, with the grant or the rule that says so. Rejects with `not-found` for an unknown token
 * or team, and with `invalid-request` for an object that cannot exist.
 */
export async function checkAccess(deps: CheckAccessDeps, wanted: AccessCheck): Promise<AccessDecision> {
  const { store, access } = deps;
  const { rules } = access;
  const { actor, problem } = await findActor(deps, wanted.actor);
  const object = await findObject(store, wanted.object);
  const decision = can(rules, actor, wanted.action, object);
  const allowed = problem === undefined && decision.allowed;
  const reason =
    problem ?? (decision.allowed ? decision.because : `missing: ${decision.lacks.join(' and ')}`);
  return {
    ...wanted,
    allowed,
    reason,
    ...defined({ token: actor.id, teams: actor.teams && [...actor.teams] }),
  };
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
  { store, access: { rules }, clock, config }: CheckAccessDeps,
  text: string,
): Promise<{ actor: Actor; problem?: string | undefined }> {
  if (text === 'anonymous') return { actor: ANONYMOUS };
  if (text === 'internal') return { actor: INSIDER };
  if (text.startsWith('team:')) {
    const team = text.slice('team:'.length);
    const unknown = unknownTeam(rules, team);
    if (unknown !== undefined) throw new KrmhubError('not-found', unknown.message, { hint: unknown.hint });
    return { actor: teamActor(rules, team) };
  }
  const now = clock();
  const problem = (token: TokenRecord) => tokenProblem(token, now, config);
  if (text.startsWith('user:')) {
    const user = await store.user(text.slice('user:'.length));
    if (user === undefined) {
      throw new KrmhubError('not-found', `user ${JSON.stringify(text.slice('user:'.length))} not found`, {
        hint: 'Use the ID of a user, as the page of users shows it.',
      });
    }
    const actor = userActor(rules, withConfirmedGroups(user, now, config));
    return { actor, problem: describeUserProblem(user, userProblem(user, now, config)) };
  }
  const tokens = await store.tokens();
  const named = tokens.filter(({ id, name }) => id === text || name === text);
  const usable = named.filter((token) => problem(token) === undefined);
  const [token, second] = usable.length > 0 ? usable : named;
  if (token === undefined) {
    throw new KrmhubError('not-found', `token ${JSON.stringify(text)} not found`, {
      hint: `${nearActor(rules, tokens, text)}List the tokens: krmhub token list. Other actors: anonymous, internal, team:NAME, user:ID.`,
    });
  }
  if (second !== undefined && usable.length > 0) {
    throw new KrmhubError('invalid-request', `several tokens have the name ${JSON.stringify(text)}`, {
      hint: `Use one of the IDs: ${usable.map(({ id }) => id).join(', ')}`,
    });
  }
  const is = problem(token);
  const actor = tokenActor(rules, withCurrentGroups(token, now, config));
  return { actor, problem: is && `the token is ${is}` };
}

/** Names the most similar actor: teams are often written without their prefix. */
function nearActor(rules: AccessRules, tokens: readonly TokenRecord[], text: string): string {
  const teams = rules.document.teams.map(({ name }) => name);
  const near = suggest(text, [...teams, 'anonymous', 'internal', ...tokens.map(({ name }) => name)]);
  if (near === undefined) return '';
  return `Did you mean ${teams.includes(near) ? 'team:' : ''}${near}? `;
}

function describeUserProblem(
  { confirmedAt }: UserRecord,
  problem: ReturnType<typeof userProblem>,
): string | undefined {
  switch (problem) {
    case undefined:
      return undefined;
    case 'suspended':
      return 'the user is suspended';
    case 'no provider':
      return 'the registry no longer has the identity provider of the user';
    case 'unconfirmed':
      return `the user was last confirmed at ${confirmedAt}: the groups count again after a sign-in`;
  }
}
