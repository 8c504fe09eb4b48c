import { type AccessObject, type AccessRules, type Actor, can } from '@krmhub/catalog';
import { repositoryKind } from './artifacts/repositories.js';

/** Whether the actor of the current request may read something. */
export interface Sight {
  rules: AccessRules;
  actor: Actor;
  function(name: { group: string; kind: string }): boolean;
  catalog(name: string): boolean;
  repository(name: string): boolean;
  /** What concerns the registry as a whole. */
  registry(): boolean;
  /** Whether nothing is hidden from the actor. */
  everything(): boolean;
}

/** Returns what an actor may read. */
export function sightOf(rules: AccessRules, actor: Actor): Sight {
  const sees = (object: AccessObject): boolean =>
    can(rules, actor, object === 'registry' ? 'admin' : 'read', object).allowed;
  return {
    rules,
    actor,
    function: ({ group, kind }) => sees({ group, kind }),
    catalog: (catalog) => sees({ catalog }),
    repository: (name) => sees(repositoryObject(name)),
    registry: () => sees('registry'),
    everything: () => !rules.hidesAnything || sees('registry'),
  };
}

/** Returns what decides who may use a repository: a function with its scripts, a catalog, or its own name. */
export function repositoryObject(name: string): Exclude<AccessObject, 'registry'> {
  const kind = repositoryKind(name);
  switch (kind.of) {
    case 'function':
      return { group: kind.group, kind: kind.kindFolded };
    case 'catalog':
      return { catalog: kind.catalog };
    case 'anything':
      return kind.follows ?? { repository: name };
    case 'nothing':
      return { repository: name };
  }
}
