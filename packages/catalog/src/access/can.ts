import { matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type GrantedAction, ROLES, type Visibility } from './access-document.js';
import type { AccessRules, GrantTarget } from './access-rules.js';
import type { Action } from './scopes.js';
import type { UserIdentity } from './team-members.js';
import type { WorkflowRun } from './trusted-publishers/check-claims.js';

/** What a token permits. The rights of its team or its user bound it further. */
export interface TokenLimits {
  scopes: readonly string[];
  /** Globs. */
  groups: readonly string[];
  /** Globs. */
  repositories: readonly string[];
}

/** What decides what an actor may read: the same for all that may read the same. */
export interface ReadRights extends TokenLimits {
  /** The teams whose rights bound its own. Absent: a token of no team. Empty: a user who is in none. */
  teams?: readonly string[];
  /** Whether it sees what is internal. */
  isInside: boolean;
}

/** Who makes a request. */
export interface Actor extends ReadRights {
  /** For messages and logs. */
  name: string;
  /** ID of its token. Absent for an anonymous client. */
  id?: string;
  /** Whether it is the run of a workflow: it publishes, and owns nothing. */
  isWorkflow?: boolean;
  /** Whether it is a person: it has what its teams give it, and nothing by the scopes alone. */
  isUser?: boolean;
}

/** A client without a token. */
export const ANONYMOUS: Actor = {
  name: 'anonymous',
  scopes: [],
  groups: [],
  repositories: [],
  isInside: false,
};
/** A client without a token in a network that the operator named. */
export const INSIDER: Actor = { ...ANONYMOUS, isInside: true };

/** What of a token decides about its rights. */
export interface ActingToken extends TokenLimits {
  id?: string;
  name: string;
  team?: string;
  run?: WorkflowRun;
  user?: UserIdentity;
}

/** Returns the actor of a token. What a user may do is decided now, not when the token was made. */
export function tokenActor(rules: AccessRules, token: ActingToken): Actor {
  const { id, name, scopes, groups, repositories, team, run, user } = token;
  // The token of a directory reads nothing.
  const isInside = scopes.some((scope) => scope !== 'scim');
  const actor = { ...defined({ id }), name, scopes, groups, repositories, isInside };
  if (user !== undefined) {
    const teams = rules.teamsOf(user);
    const rights: readonly string[] = rules.scopesOf(teams);
    return { ...actor, scopes: scopes.filter((scope) => rights.includes(scope)), teams, isUser: true };
  }
  const teams = team === undefined ? undefined : [team];
  return { ...actor, ...defined({ teams, isWorkflow: run && true }) };
}

/** What an action is on. */
export type AccessObject =
  /** A group, or a function with a kind. `isNew`: it never had a function. */
  | { group: string; kind?: string; isNew?: boolean }
  | { catalog: string }
  /** A repository that follows neither a function nor a catalog. */
  | { repository: string }
  | 'registry';

export type Decision =
  | { allowed: true; because: string }
  /** `lacks` are the missing rights, for a sentence such as "the token does not have …". */
  | { allowed: false; lacks: string[] };

/** Returns what a token lacks in a group that takes releases from workflows only. */
export function lackingPublisher(group: string): string {
  return `a trusted publisher, from which alone the group "${group}" takes releases`;
}

/** Returns the rights as one text. */
export function readRights({ scopes, groups, repositories, teams, isInside }: ReadRights): string {
  return JSON.stringify([scopes, groups, repositories, teams, isInside]);
}

const SCOPES_TO_READ = ['read', 'publish', 'yank', 'admin'];

/** Whether a token with these scopes may read what its team may read. */
export function readsForTeam(scopes: readonly string[]): boolean {
  return SCOPES_TO_READ.some((scope) => scopes.includes(scope)) || scopes.includes('push');
}

/** Decides whether an actor may do something. Takes a few microseconds. */
export function can(rules: AccessRules, actor: Actor, action: Action, object: AccessObject): Decision {
  // No rule gives the right of a user directory, which also ends rights.
  if (rules.isUnreadable && action !== 'scim' && !isAdministrator(actor))
    return deny(
      'the right to administer the registry, whose Access document is of a newer version of krmhub',
    );
  if (object === 'registry') return onRegistry(actor, action);
  if (action === 'read') return read(rules, actor, object);
  if ('group' in object) return changeGroup(rules, actor, action, object);
  return push(rules, actor, object);
}

/** Whether the actor has every right in the whole registry. */
function isAdministrator({ scopes, groups }: Actor): boolean {
  return scopes.includes('admin') && groups.includes('*');
}

function onRegistry(actor: Actor, action: Action): Decision {
  const lacks: string[] = [];
  const isAuditor = action === 'audit' && actor.scopes.includes('admin');
  // The other scopes of a user say nothing without a team.
  const isRole = !actor.isUser || (ROLES as readonly string[]).includes(action) || isAdministrator(actor);
  if (!isAuditor && !(isRole && actor.scopes.includes(action))) lacks.push(`the scope "${action}"`);
  // An operation on the whole registry affects every group.
  if (!actor.groups.includes('*')) lacks.push('every group ("*")');
  if (lacks.length > 0) return { allowed: false, lacks };
  return allow(
    actor.isUser ? `a team of the user has the role "${action}"` : `the token has the scope "${action}"`,
  );
}

interface GroupObject {
  group: string;
  kind?: string | undefined;
  isNew?: boolean;
}

/** A refusal in a group that the actor may not read is the one in a group that does not exist, unless that is none. */
function changeGroup(rules: AccessRules, actor: Actor, action: Action, object: GroupObject): Decision {
  const decision = decideOnGroup(rules, actor, action, object, true);
  if (decision.allowed || read(rules, actor, { group: object.group }).allowed) return decision;
  const absent = decideOnGroup(rules, actor, action, object, false);
  return absent.allowed ? decision : absent;
}

/**
 * Whether an actor may not read a function nor its group, and could do something with it if neither existed: then it gets
 * the answer for what does not exist, and not a refusal.
 */
export function isAsAbsent(
  rules: AccessRules,
  actor: Actor,
  action: Action,
  { group, kind }: { group: string; kind: string },
): boolean {
  if (rules.isUnreadable) return false;
  const reads = [{ group }, { group, kind }].some((object) => read(rules, actor, object).allowed);
  return !reads && decideOnGroup(rules, actor, action, { group }, false).allowed;
}

/** `isKnown`: otherwise as if there was no such group. */
function decideOnGroup(
  rules: AccessRules,
  actor: Actor,
  action: Action,
  { group, kind, isNew = false }: GroupObject,
  isKnown: boolean,
): Decision {
  if (action === 'own' && actor.isWorkflow) return deny('the right to own: a workflow only publishes');
  if (action === 'own' && isAdministrator(actor)) return allow('it administers the registry');
  const lacks: string[] = [];
  const scope = action === 'own' ? 'publish' : action;
  if (!actor.scopes.includes(scope)) lacks.push(`the scope "${scope}"`);
  if (!covers(actor.groups, { group, kind })) lacks.push(`the group "${group}"`);
  if (isKnown && action === 'publish' && !actor.isWorkflow && rules.isTrustedOnly(group)) {
    lacks.push(lackingPublisher(group));
  }
  if (lacks.length > 0) return { allowed: false, lacks };
  if (isAdministrator(actor)) return allow('it administers the registry');
  const owner = isKnown ? rules.ownerOf(group) : undefined;
  const granted = teamRight(rules, actor, [action as GrantedAction], { group, kind });
  if (granted !== undefined) return allow(granted);
  const lacksGrant = deny(`a grant${toTeams(actor)} for the group "${group}"`);
  if (owner !== undefined) {
    // Who owns a group that the actor may not read is not told, also if it could begin one with this name.
    if (!read(rules, actor, { group }).allowed) return lacksGrant;
    return deny(`a grant from the team "${owner.team}", which owns the group "${group}"`);
  }
  if (action === 'own') {
    return actor.teams === undefined ? deny(`the group "${group}", which has no owner`) : lacksGrant;
  }
  // Everything in the group must be readable: who does not see a release could replace or delete it.
  const hasHidden = isKnown && rules.hasPrivate(group) && !readsPrivate(rules, actor, { group });
  if (rules.isOpenGroup(group) && !hasHidden) return allow(`the group "${group}" is open`);
  if (actor.teams !== undefined) return lacksGrant;
  if ((isNew || !isKnown) && !names(actor, { group, kind })) {
    return deny(`the right to begin the group "${group}", in which nothing was published yet`);
  }
  return allow(`the token has the scope "${scope}" for the group "${group}"`);
}

function push(
  rules: AccessRules,
  actor: Actor,
  object: { catalog: string } | { repository: string },
): Decision {
  if (!actor.scopes.includes('push')) return deny('the scope "push"');
  const { what, visibility } = seen(rules, object);
  const { teams } = actor;
  const name = repositoryOf(object);
  // A referrer of a catalog requires a token that names the catalog. `*` only covers other repositories.
  const isNamed = (glob: string) =>
    !('catalog' in object) || glob.startsWith('catalogs/') || actor.scopes.includes('admin');
  if (!matchesAny(actor.repositories.filter(isNamed), name)) {
    return deny(`the repository "${name}"${'catalog' in object ? ', which `*` alone does not match' : ''}`);
  }
  const isBound =
    teams !== undefined && (visibility === 'private' || actor.isUser) && !isAdministrator(actor);
  if (isBound && teams.every((team) => rules.grantOf(team, ['publish'], object) === undefined)) {
    return deny(`a grant${toTeams(actor)} to publish in ${what}`);
  }
  return allow(`the token has the scope "push" for the repository "${name}"`);
}

function read(rules: AccessRules, actor: Actor, object: Exclude<AccessObject, 'registry'>): Decision {
  const { what, visibility } = seen(rules, object);
  if (visibility === 'public') return allow(`${what} is public`);
  if (visibility === 'internal' && actor.isInside) return allow(`${what} is internal`);
  if (isAdministrator(actor)) return allow('it administers the registry');
  const because = readsPrivate(rules, actor, object);
  if (because !== undefined) return allow(because);
  return deny(`the right to read ${what}, which is ${visibility}`);
}

/** Returns what lets an actor who does not administer the registry read something private; undefined if nothing does. */
function readsPrivate(
  rules: AccessRules,
  actor: Actor,
  object: Exclude<AccessObject, 'registry'>,
): string | undefined {
  const granted = teamRight(rules, actor, ['read', 'publish', 'yank'], object);
  if (granted !== undefined || actor.teams !== undefined || !reads(actor, object)) return granted;
  const names = 'group' in object ? actor.groups : actor.repositories;
  return `the token has no team, and is for ${names.join(', ')}`;
}

function seen(
  rules: AccessRules,
  object: Exclude<AccessObject, 'registry'>,
): { what: string; visibility: Visibility } {
  if ('catalog' in object) {
    return { what: `the catalog "${object.catalog}"`, visibility: rules.catalogVisibility(object.catalog) };
  }
  if ('repository' in object) {
    const visibility = rules.repositoryVisibility(object.repository);
    return { what: `the repository "${object.repository}"`, visibility };
  }
  const { group, kind } = object;
  const visibility = rules.visibilityOf(group, kind);
  return { what: kind === undefined ? `the group "${group}"` : `${group}/${kind}`, visibility };
}

/** Whether a token without a team may read something that is not public: its scopes are grants. */
function reads({ scopes, groups, repositories }: Actor, object: Exclude<AccessObject, 'registry'>): boolean {
  if ('group' in object) {
    return SCOPES_TO_READ.some((scope) => scopes.includes(scope)) && covers(groups, object);
  }
  if (!scopes.includes('read') && !scopes.includes('push')) return false;
  return matchesAny('catalog' in object ? naming(repositories) : repositories, repositoryOf(object));
}

/** Returns the globs that name catalogs: `*` alone does not. */
const naming = (repositories: readonly string[]) =>
  repositories.filter((glob) => glob.startsWith('catalogs/'));

/** Returns the name of the repository that `repositories` of a token limits. */
function repositoryOf(object: { catalog: string } | { repository: string }): string {
  return 'catalog' in object ? `catalogs/${object.catalog}` : object.repository;
}

/** Returns what gives a team of an actor a right: it owns the group, or has a grant. */
function teamRight(
  rules: AccessRules,
  { teams = [], groups, repositories, scopes }: Actor,
  actions: readonly GrantedAction[],
  object: GrantTarget & { kind?: string | undefined },
): string | undefined {
  if (!readsForTeam(scopes)) return undefined;
  // A catalog has functions of other groups than those that the token is for, so such a token must name it.
  const named = 'catalog' in object && !groups.includes('*') ? naming(repositories) : repositories;
  const isCovered = 'group' in object ? covers(groups, object) : matchesAny(named, repositoryOf(object));
  if (!isCovered) return undefined;
  for (const team of teams) {
    if (rules.team(team) === undefined) continue;
    if ('group' in object && rules.ownerOf(object.group)?.team === team)
      return `the team "${team}" owns the group "${object.group}"`;
    const pattern = rules.grantOf(team, actions, object);
    if (pattern !== undefined) return `the team "${team}" has a grant on "${pattern}"`;
  }
  return undefined;
}

/** For example ` to its team "a"`. */
function toTeams({ teams, isUser }: Actor): string {
  if (teams === undefined) return '';
  const names = teams.map((team) => `"${team}"`).join(', ');
  if (teams.length === 0) return ' to a team of the user, who is in none';
  return isUser ? ` to a team of the user (${names})` : ` to its team ${names}`;
}

/** Whether a token is for a group, or for a function of it. */
function covers(
  groups: TokenLimits['groups'],
  { group, kind }: { group: string; kind?: string | undefined },
): boolean {
  return matchesAny(groups, group) || (kind !== undefined && isNamed(groups, `${group}/${kind}`));
}

/** Whether a token is for this very group, or for this function of it. */
function names({ groups }: Actor, { group, kind }: { group: string; kind?: string | undefined }): boolean {
  return groups.includes(group) || (kind !== undefined && isNamed(groups, `${group}/${kind}`));
}

/** Kinds of a group differ by more than case. */
function isNamed(groups: readonly string[], name: string): boolean {
  return groups.some((one) => one.includes('/') && one.toLowerCase() === name.toLowerCase());
}

function matchesAny(globs: readonly string[], text: string): boolean {
  return globs.some((glob) => matchesGlob(glob, text));
}

function allow(because: string): Decision {
  return { allowed: true, because };
}

function deny(...lacks: string[]): Decision {
  return { allowed: false, lacks };
}
