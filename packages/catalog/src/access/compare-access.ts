import { matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { GRANTED_ACTIONS, ROLES } from './access-document.js';
import type { AccessRules } from './access-rules.js';
import {
  type AccessObject,
  type ActingToken,
  type Actor,
  ANONYMOUS,
  can,
  INSIDER,
  readRights,
  type TokenLimits,
  tokenActor,
} from './can.js';
import { accessObjectText } from './object-text.js';
import { type Action, USER_TOKEN_SCOPES } from './scopes.js';
import type { UserIdentity } from './team-members.js';

/** Actions whose decision depends on an Access document. */
export const COMPARED_ACTIONS = [...GRANTED_ACTIONS, ...ROLES] as const satisfies readonly Action[];
export type ComparedAction = (typeof COMPARED_ACTIONS)[number];

/** Whose rights are compared. */
export interface ComparedActor {
  is: 'anonymous' | 'internal' | 'team' | 'token' | 'user';
  /** Name of the team, token, or user. */
  name?: string;
  /** ID of the token or user. */
  id?: string;
}

/** What actors can do that they could not do, or the other way around. */
export interface AccessChange {
  change: 'gains' | 'loses';
  actions: ComparedAction[];
  /** The first actors and objects. An object is a text as `accessObjectText` returns it, or a pattern for new names. */
  actors: ComparedActor[];
  actorCount: number;
  objects: string[];
  objectCount: number;
  /** The team that owns these groups now and did not before. */
  newOwner?: string;
}

/** What exists in a registry. */
export interface KnownNames {
  groups: readonly string[];
  catalogs: readonly string[];
  /** Repositories that follow neither a function nor a catalog. */
  repositories: readonly string[];
}

/** Limits on the report of a comparison. */
export const COMPARISON_LIMITS = {
  maxChanges: 200,
  maxActors: 20,
  maxObjects: 20,
  maxExposed: 50,
  maxEnded: 50,
  maxBehind: 50,
} as const;

/** What belongs to a team that a document removes, or to an earlier team with the name of a new one. It ends. */
export interface TeamEnd {
  is: 'token' | 'trusted-publisher' | 'claim';
  /** Of the token or the trusted publisher. */
  id?: string;
  /** Name of the token, what the workflow publishes, or the claimed group. */
  name: string;
  team: string;
}

/** An object with its text, which has the pattern where the object represents every other name. */
export interface ComparedObject {
  text: string;
  object: AccessObject;
}

/** Whose rights a comparison compares, besides anonymous clients and the teams. */
export interface KnownActors {
  tokens: readonly ActingToken[];
  /** Compared if a document puts them into other teams. */
  users: readonly (UserIdentity & { id: string; name: string })[];
}

/**
 * Returns what changes from one document to another for anonymous clients, every team, and the given tokens and users, on
 * what exists and what the documents name. Returns at most `maxChanges` of `count` changes.
 */
export function compareAccess(
  before: AccessRules,
  after: AccessRules,
  { names, ...actors }: KnownActors & { names: KnownNames },
): { changes: AccessChange[]; count: number } {
  const objects = comparedObjects([before, after], actors.tokens, names);
  const changes = new Map<string, Whole>();
  const isSame = sameRules(before, after);
  const changed = objects.filter(({ object }) => !isSame(object));
  const known = new Map<string, Whole[]>();
  const [decideBefore, decideAfter] = [decider(before), decider(after)];
  for (const { actor, shown } of comparedActors([before, after], actors)) {
    const [was, is] = [actor(before), actor(after)];
    const rights = `${actorKey(was)} ${actorKey(is)}`;
    const compared = actorKey(was) === actorKey(is) ? changed : objects;
    const newOwner = (object: AccessObject) => findNewOwner(before, after, object);
    const found = known.get(rights) ?? differences(decideBefore(was), decideAfter(is), compared, newOwner);
    known.set(rights, found);
    for (const one of found) {
      const key = JSON.stringify([one.change, one.actions, one.newOwner, one.objects]);
      const same = changes.get(key);
      if (same === undefined) changes.set(key, { ...one, actors: [shown] });
      else same.actors.push(shown);
    }
  }
  // Losses are first.
  const sorted = [...changes.values()].sort((a, b) =>
    a.change < b.change ? 1 : a.change > b.change ? -1 : 0,
  );
  const { maxChanges } = COMPARISON_LIMITS;
  return { changes: sorted.slice(0, maxChanges).map(bounded), count: sorted.length };
}

type Whole = Omit<AccessChange, 'actorCount' | 'objectCount'>;

function bounded({ actors, objects, ...change }: Whole): AccessChange {
  const { maxActors, maxObjects } = COMPARISON_LIMITS;
  return {
    ...change,
    actors: actors.slice(0, maxActors),
    actorCount: actors.length,
    objects: objects.slice(0, maxObjects),
    objectCount: objects.length,
  };
}

/** Returns the changes for one actor, with all objects of which the same changes in one. */
function differences(
  before: Decide,
  after: Decide,
  objects: readonly ComparedObject[],
  findOwner: (object: AccessObject) => string | undefined,
): Whole[] {
  const found = new Map<string, Whole>();
  for (const { text, object } of objects) {
    const compared = actionsOn(object);
    const [had, has] = [before({ text, object }), after({ text, object })];
    for (const change of ['loses', 'gains'] as const) {
      const [from, to] = change === 'gains' ? [had, has] : [has, had];
      const actions = compared.filter((_, at) => !from[at] && to[at]);
      if (actions.length === 0) continue;
      const newOwner = findOwner(object);
      const key = `${change} ${actions} ${newOwner}`;
      const same = found.get(key);
      if (same === undefined)
        found.set(key, { change, actions, actors: [], objects: [text], ...defined({ newOwner }) });
      else same.objects.push(text);
    }
  }
  return [...found.values()];
}

/** Whether an actor may do each of the actions on an object. */
type Decide = (compared: ComparedObject) => readonly boolean[];

/** Kinds of actors whose decisions are remembered. */
const MAX_REMEMBERED = 16;

/**
 * Returns what decides by some rules. Nearly all teams have nothing to do with an object, so what they may do there is
 * decided once for all of them.
 */
function decider(rules: AccessRules): (actor: Actor) => Decide {
  const concerned = new Map<string, ReadonlySet<string>>();
  const remembered = new Map<string, Map<string, readonly boolean[]>>();
  return ({ teams, ...others }) => {
    const kind = actorKey({ ...others, ...defined({ teams: teams && [] }) });
    const known = remembered.get(kind) ?? new Map<string, readonly boolean[]>();
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(kind, known);
    return ({ text, object }) => {
      const those = concerned.get(text) ?? rules.teamsWithRights(object);
      concerned.set(text, those);
      const own = teams?.filter((team) => those.has(team));
      const found = own === undefined || own.length === 0 ? known.get(text) : undefined;
      if (found !== undefined) return found;
      const actor = { ...others, ...defined({ teams: own }) };
      const decided = actionsOn(object).map((action) => can(rules, actor, action, object).allowed);
      if (own === undefined || own.length === 0) known.set(text, decided);
      return decided;
    };
  };
}

/** Returns the same text for actors that may do the same. */
function actorKey(actor: Actor): string {
  return `${readRights(actor)} ${actor.isUser} ${actor.isWorkflow}`;
}

/** Only groups are owned; a function of a group differs only in who reads it. */
export function actionsOn(object: ComparedObject['object']): readonly ComparedAction[] {
  if (object === 'registry') return ROLES;
  return 'group' in object && object.kind === undefined ? GRANTED_ACTIONS : ['read'];
}

function findNewOwner(before: AccessRules, after: AccessRules, object: ComparedObject['object']) {
  if (object === 'registry' || !('group' in object)) return undefined;
  const owner = after.ownerOf(object.group)?.team;
  return owner === before.ownerOf(object.group)?.team ? undefined : owner;
}

/**
 * Returns a function that reports whether the rules for an object are the same, so that no decision on it changes. Most
 * changes of a document concern few names.
 */
function sameRules(before: AccessRules, after: AccessRules): (object: ComparedObject['object']) => boolean {
  const [old, now] = [before, after].map(({ document }) =>
    document.grants.map((grant) => JSON.stringify(grant)),
  );
  const changedGrants = [
    ...before.document.grants.filter((_, at) => !now!.includes(old![at]!)),
    ...after.document.grants.filter((_, at) => !old!.includes(now![at]!)),
  ].map((grant) => Object.entries(grant.in)[0]!);
  const facts = (rules: AccessRules, object: ComparedObject['object']): unknown[] => {
    // Only grants decide, through the scopes of an actor.
    if (object === 'registry') return [];
    if ('catalog' in object) return [rules.catalogVisibility(object.catalog)];
    if ('repository' in object) return [rules.repositoryVisibility(object.repository)];
    const { group, kind } = object;
    const owner = rules.ownerOf(group)?.team;
    const isKnown = owner !== undefined && rules.team(owner) !== undefined;
    return [
      ...[rules.visibilityOf(group, kind), rules.hasPrivate(group)],
      ...[owner, isKnown, rules.isOpenGroup(group)],
    ];
  };
  return (object) => {
    const names: Record<string, unknown> = object === 'registry' ? {} : object;
    if (changedGrants.some(([of, glob]) => typeof names[of] === 'string' && matchesGlob(glob, names[of])))
      return false;
    return JSON.stringify(facts(before, object)) === JSON.stringify(facts(after, object));
  };
}

/** Returns whose rights a comparison compares, with who they are by other rules. */
export function comparedActors(
  rules: readonly AccessRules[],
  { tokens, users }: KnownActors,
): { actor: (rules: AccessRules) => Actor; shown: ComparedActor }[] {
  const teams = new Set(rules.flatMap(({ document }) => document.teams.map(({ name }) => name)));
  const teamsOf = (user: UserIdentity) => rules.map((one) => one.teamsOf(user).join(' '));
  const moved = users.filter((user) => new Set(teamsOf(user)).size > 1);
  return [
    { actor: () => ANONYMOUS, shown: { is: 'anonymous' } },
    { actor: () => INSIDER, shown: { is: 'internal' } },
    ...[...teams].sort().map((name) => ({
      actor: (by: AccessRules) => teamActor(by, name),
      shown: { is: 'team' as const, name },
    })),
    ...tokens.map((token) => ({
      actor: (by: AccessRules) => tokenActor(by, token),
      shown: { is: 'token' as const, name: token.name, ...defined({ id: token.id }) },
    })),
    ...moved.map((user) => ({
      actor: (by: AccessRules) => userActor(by, user),
      shown: { is: 'user' as const, name: user.name, id: user.id },
    })),
  ];
}

/** Returns the widest actor of a team: a user who is in this team only. */
export function teamActor(rules: AccessRules, team: string): Actor {
  return { ...EVERYTHING, name: `team ${team}`, scopes: rules.scopesOf([team]), teams: [team], isUser: true };
}

/** Returns a user without a token that limits the rights of the user. */
export function userActor(rules: AccessRules, user: UserIdentity & { id: string; name: string }): Actor {
  return tokenActor(rules, { ...EVERYTHING, name: user.name, scopes: USER_TOKEN_SCOPES, user });
}

const EVERYTHING = { groups: ['*'], repositories: ['*'], isInside: true };

/** No name contains it, so it matches only a `*`. */
const ANY_OTHER = '~';

/**
 * Returns what a comparison is on: the names that exist or that a document has, and for each pattern of a document or a
 * token a name that only such patterns match.
 */
export function comparedObjects(
  rules: readonly AccessRules[],
  tokens: readonly TokenLimits[],
  names: KnownNames,
): ComparedObject[] {
  const documents = rules.map(({ document }) => document);
  const grants = documents.flatMap((document) => document.grants.map((grant) => grant.in));
  const patterns = {
    groups: [
      ...documents.flatMap(({ groups, openGroups }) => [
        ...groups.map(({ pattern }) => pattern),
        ...openGroups,
      ]),
      ...grants.flatMap((object) => ('group' in object ? object.group : [])),
      ...tokens.flatMap(({ groups }) => groups),
    ],
    catalogs: [
      ...documents.flatMap(({ catalogs }) => catalogs.map(({ pattern }) => pattern)),
      ...grants.flatMap((object) => ('catalog' in object ? object.catalog : [])),
    ],
    repositories: [
      ...documents.flatMap(({ repositories }) => repositories.map(({ pattern }) => pattern)),
      ...grants.flatMap((object) => ('repository' in object ? object.repository : [])),
    ],
  };
  const all = (of: keyof KnownNames) => [...names[of], ...new Set(patterns[of])];
  const existing = new Set(names.groups);
  const narrowed = documents.flatMap(({ groups }) => groups.filter(({ functions }) => functions.length > 0));
  const found = new Map<string, ComparedObject>();
  const add = (object: ComparedObject['object']) => {
    const text = accessObjectText(object);
    if (found.has(text)) return;
    if (object === 'registry') return void found.set(text, { text, object });
    const sampled = Object.fromEntries(
      Object.entries(object).map(([field, name]) => [
        field,
        typeof name === 'string' ? name.replaceAll('*', ANY_OTHER) : name,
      ]),
    );
    found.set(text, { text, object: sampled as ComparedObject['object'] });
  };
  add('registry');
  for (const group of all('groups')) {
    const isNew = !existing.has(group);
    add({ group, isNew });
    for (const { pattern, functions } of narrowed) {
      if (!matchesGlob(pattern, group)) continue;
      for (const { kind } of functions) add({ group, kind, isNew });
    }
  }
  for (const catalog of all('catalogs')) add({ catalog });
  for (const repository of all('repositories')) add({ repository });
  return [...found.values()];
}
