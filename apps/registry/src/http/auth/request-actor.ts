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

/** Calls of `asActor` that have not ended. */
let running = 0;

/**
 * Runs work for a request of the actor. What still runs after the promise of `work` settled, such as the body of a
 * response, is anonymous.
 */
export function asActor<Result>(actor: Actor, work: () => Promise<Result>): Promise<Result> {
  return actor === currentActor() ? work() : asOther(actor, work);
}

async function asOther<Result>(actor: Actor, work: () => Promise<Result>): Promise<Result> {
  running += 1;
  try {
    return await current.run(actor, work);
  } finally {
    running -= 1;
    // Node.js before 24 tracks every promise of a process that uses this storage, which costs reads up to a fifth.
    if (running === 0) current.disable();
  }
}
