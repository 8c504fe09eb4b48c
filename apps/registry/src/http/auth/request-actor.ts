import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type AccessDocumentReader,
  type AccessRules,
  type Actor,
  ANONYMOUS,
  type DecidedThrough,
  type EventReader,
  type OwnerClaimReader,
  readRights,
} from '@krmhub/catalog';

/** The access rules of a registry, as its process knows them now. */
export interface KnownAccess {
  readonly rules: AccessRules;
}

/** What a decision by the rules reads. */
export type DecidingStore = AccessDocumentReader & OwnerClaimReader & Pick<EventReader, 'lastEvent'>;

/** Rules that another process can have changed, as they are in the store. */
export interface CurrentAccess extends KnownAccess {
  /**
   * Runs work that decides by the rules as they are now, and gives the store what it was decided by. If an Access document
   * was applied meanwhile, it runs again. Otherwise, what a team gets could remain after the team was removed.
   */
  decide<Result>(store: DecidingStore, work: (decided: DecidedThrough) => Promise<Result>): Promise<Result>;
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
