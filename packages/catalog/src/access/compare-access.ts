import { matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { AccessRules } from './access-rules.js';
import { type AccessObject, type Action, type Actor, ANONYMOUS, can, INSIDER } from './can.js';
import { accessObjectText } from './object-text.js';

/** Actions whose decision depends on an Access document. */
export const COMPARED_ACTIONS = ['read', 'publish', 'yank', 'own'] as const satisfies readonly Action[];
export type ComparedAction = (typeof COMPARED_ACTIONS)[number];

/** Whose rights are compared. */
export interface ComparedActor {
  is: 'anonymous' | 'internal' | 'team' | 'token';
  /** Name of the team or token. */
  name?: string;
  /** ID of the token. */
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
export const COMPARISON_LIMITS = { maxChanges: 200, maxActors: 20, maxObjects: 20, maxExposed: 50 } as const;

/** An object with its text, which has the pattern where the object represents every other name. */
export interface ComparedObject {
  text: string;
  object: Exclude<AccessObject, 'registry'>;
}

/**
 * Returns what changes from one document to another for anonymous clients, every team, and the given tokens, on what
 * exists and what the documents name. Returns at most `maxChanges` of `count` changes.
 */
export function compareAccess(
  before: AccessRules,
  after: AccessRules,
  { tokens, names }: { tokens: readonly Actor[]; names: KnownNames },
): { changes: AccessChange[]; count: number } {
  const objects = comparedObjects([before, after], tokens, names);
  const changes = new Map<string, Whole>();
  const isSame = sameRules(before, after);
  const changed = objects.filter(({ object }) => !isSame(object));
  const known = new Map<string, Whole[]>();
  for (const { actor, shown } of comparedActors([before, after], tokens)) {
    const { scopes, groups, repositories, team, isInside } = actor;
    const rights = JSON.stringify([scopes, groups, repositories, team, isInside]);
    const found = known.get(rights) ?? differences(before, after, actor, changed);
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
  before: AccessRules,
  after: AccessRules,
  actor: Actor,
  objects: readonly ComparedObject[],
): Whole[] {
  const found = new Map<string, Whole>();
  for (const { text, object } of objects) {
    const compared = actionsOn(object);
    const may = (rules: AccessRules) => compared.map((action) => can(rules, actor, action, object).allowed);
    const [had, has] = [may(before), may(after)];
    for (const change of ['loses', 'gains'] as const) {
      const [from, to] = change === 'gains' ? [had, has] : [has, had];
      const actions = compared.filter((_, at) => !from[at] && to[at]);
      if (actions.length === 0) continue;
      const newOwner = findNewOwner(before, after, object);
      const key = `${change} ${actions} ${newOwner}`;
      const same = found.get(key);
      if (same === undefined)
        found.set(key, { change, actions, actors: [], objects: [text], ...defined({ newOwner }) });
      else same.objects.push(text);
    }
  }
  return [...found.values()];
}

/** Only groups are owned; a function of a group differs only in who reads it. */
export function actionsOn(object: ComparedObject['object']): readonly ComparedAction[] {
  return 'group' in object && object.kind === undefined ? COMPARED_ACTIONS : ['read'];
}

function findNewOwner(before: AccessRules, after: AccessRules, object: ComparedObject['object']) {
  if (!('group' in object)) return undefined;
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
    if ('catalog' in object) return [rules.catalogVisibility(object.catalog)];
    if ('repository' in object) return [rules.repositoryVisibility(object.repository)];
    const { group, kind } = object;
    const owner = rules.ownerOf(group)?.team;
    const isKnown = owner !== undefined && rules.team(owner) !== undefined;
    return [rules.visibilityOf(group, kind), owner, isKnown, rules.isOpenGroup(group)];
  };
  return (object) => {
    const names: Record<string, unknown> = object;
    if (changedGrants.some(([of, glob]) => typeof names[of] === 'string' && matchesGlob(glob, names[of])))
      return false;
    return JSON.stringify(facts(before, object)) === JSON.stringify(facts(after, object));
  };
}

/** Returns whose rights a comparison compares. */
export function comparedActors(
  rules: readonly AccessRules[],
  tokens: readonly Actor[],
): { actor: Actor; shown: ComparedActor }[] {
  const teams = new Set(rules.flatMap(({ document }) => document.teams.map(({ name }) => name)));
  return [
    { actor: ANONYMOUS, shown: { is: 'anonymous' } },
    { actor: INSIDER, shown: { is: 'internal' } },
    ...[...teams].sort().map((name) => ({ actor: teamActor(name), shown: { is: 'team' as const, name } })),
    ...tokens.map((actor) => ({
      actor,
      shown: { is: 'token' as const, name: actor.name, ...defined({ id: actor.id }) },
    })),
  ];
}

/** Returns the widest token of a team: what each of its tokens can do at most. */
export function teamActor(team: string): Actor {
  const scopes = ['read', 'publish', 'yank'];
  return { name: `team ${team}`, scopes, groups: ['*'], repositories: ['*'], team, isInside: true };
}

/** No name contains it, so it matches only a `*`. */
const ANY_OTHER = '~';

/**
 * Returns what a comparison is on: the names that exist or that a document has, and for each pattern of a document or a
 * token a name that only such patterns match.
 */
export function comparedObjects(
  rules: readonly AccessRules[],
  tokens: readonly Actor[],
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
    const sampled = Object.fromEntries(
      Object.entries(object).map(([field, name]) => [
        field,
        typeof name === 'string' ? name.replaceAll('*', ANY_OTHER) : name,
      ]),
    );
    found.set(text, { text, object: sampled as ComparedObject['object'] });
  };
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
