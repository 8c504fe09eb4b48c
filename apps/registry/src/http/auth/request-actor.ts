import { AsyncLocalStorage } from 'node:async_hooks';
import { type AccessRules, type Actor, ANONYMOUS, readRights } from '@krmhub/catalog';

/** The access rules of a registry, as its process knows them now. */
export interface KnownAccess {
  readonly rules: AccessRules;
}

/** A request without an entry is anonymous: code that loses the entry sees less, never more. */
const current = new AsyncLocalStorage<Actor>();

/** Returns who made the current request. */
export function currentActor(): Actor {
  return current.getStore() ?? ANONYMOUS;
}

/** Returns a key of everything that depends on what the current request may read; the same if everybody sees all. */
export function sightKey({ rules }: KnownAccess): string {
  return rules.hidesAnything ? `${rules.revision} ${readRights(currentActor())}` : '';
}

/**
 * Runs work for a request of the actor. Node.js 20 tracks every promise of a process that uses this storage, which costs
 * a read up to a fifth, so a process that only anonymous clients ask does not use it.
 */
export function asActor<Result>(actor: Actor, work: () => Result): Result {
  return actor === currentActor() ? work() : current.run(actor, work);
}
