/**
 * A role is an object of methods for one job, such as building snapshots. Each method takes at most one input, so that
 * callers need not know where the role runs: in this thread, in another one (in-thread.ts), or in the process that leads
 * (processes/on-leader.ts). For callers elsewhere, each returns a promise.
 */

export type Methods<Role> = { [Name in keyof Role]: (input: never) => unknown };

/** What a method is called with; nothing fits if it has a second parameter, even an optional one, which would get lost. */
export type Input<Method extends (input: never) => unknown> =
  Parameters<Method> extends [unknown?] ? Parameters<Method> : [never, never];

/** A role of which only the names of the methods are known, when they are called. */
export type AnyRole = Record<string, (input?: unknown) => Promise<unknown>>;

/** What a role reports to the code that started it, by name. */
export type Reports<Notices> = { [Name in keyof Notices]: (notice: never) => void };
