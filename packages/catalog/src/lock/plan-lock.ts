import { defined } from '@krmhub/schema/defined';
import { lockKey } from './compare-locks.js';
import { type Lock, type LockedCatalog, type LockedFunction, type LockedImage, sortLock } from './lock.js';

/** A function that a package uses. */
export interface LockUse {
  fn: LockedFunction;
  /** The catalogs that were searched for it, as they are now; absent for what stays as it is locked. */
  read?: readonly LockedCatalog[];
}

/**
 * Plans the lock of a package: exactly the functions that it uses, and the catalogs that were searched for them. A
 * catalog that nothing new was found in stays as it is locked. A function that stays while its catalog moves on says at
 * which snapshot it was found. `images` are those that the package names itself.
 */
export function planLock(
  uses: readonly LockUse[],
  before: Lock = { catalogs: [], functions: [] },
  images: readonly LockedImage[] = [],
): Lock {
  const old = new Map(before.catalogs.map((one) => [one.reference, one]));
  const states = new Map<string, LockedCatalog>();
  for (const state of uses.flatMap(({ read = [] }) => read)) {
    const known = states.get(state.reference);
    if (known === undefined || (state.serial ?? 0) > (known.serial ?? 0)) states.set(state.reference, state);
  }
  const functions = new Map<string, LockedFunction>();
  for (const { fn, read } of uses) {
    const found = (read ?? before.catalogs).find(({ reference }) => reference === fn.catalog);
    const { serial: written, notIn = [], ...rest } = fn;
    const serial = written ?? found?.serial;
    const now = (states.get(fn.catalog) ?? found)?.serial;
    const known = functions.get(lockKey(fn))?.notIn ?? [];
    const without = [...new Set([...known, ...notIn])];
    functions.set(lockKey(fn), {
      ...rest,
      ...defined({
        serial: serial === undefined || serial === now ? undefined : serial,
        notIn: without.length === 0 ? undefined : without,
      }),
    });
  }
  const named = [...functions.values()].flatMap(({ catalog, notIn = [] }) => [catalog, ...notIn]);
  const catalogs = [...new Set(named)].flatMap((name) => states.get(name) ?? old.get(name) ?? []);
  return sortLock({ catalogs, functions: [...functions.values()], images: [...images] });
}
