import path from 'node:path';
import type {
  Lock,
  LockedCatalog,
  LockedFunction,
  LockedFunctions,
  LockedImage,
  LockReference,
} from '@krmhub/catalog';
import type { Environment } from '@krmhub/consume/ports';
import { parseCatalog } from '@krmhub/consume/references/parse-catalog';

/**
 * Returns the name of a catalog in a lock file: the same for every spelling of its reference. A file is relative to the
 * folder of the lock file, so that a checkout can be anywhere. Throws `usage` for an invalid reference.
 */
export function lockName(io: Environment, reference: LockReference, folder: string): string {
  const { address, identity } = parseCatalog(io, reference);
  if (address.type !== 'file') return identity.replace(/\?ref=$/, '');
  const relative = path.relative(folder, address.path).split(path.sep).join('/');
  return /^\.\.?\//.test(relative) || path.isAbsolute(relative) ? relative : `./${relative}`;
}

/** The functions and images of a lock file in `folder`. Those in `except` and `exceptImage` count as not locked. */
export function lockedFunctions(
  io: Environment,
  lock: Lock,
  options: {
    folder: string;
    frozen: boolean;
    command: string;
    ignoresRanges?: boolean;
    except?: (fn: LockedFunction) => boolean;
    exceptImage?: (image: LockedImage) => boolean;
  },
): LockedFunctions {
  const {
    folder,
    frozen,
    command,
    ignoresRanges = false,
    except = () => false,
    exceptImage = () => false,
  } = options;
  const functions = lock.functions.filter((one) => !except(one));
  const catalogs = new Map(lock.catalogs.map((one) => [one.reference, one]));
  return {
    frozen,
    command,
    ignoresRanges,
    find: (references, apiVersion, kind) => {
      const names = references.map((one) => lockName(io, one, folder));
      const isSame = (one: LockedFunction) => one.apiVersion === apiVersion && one.kind === kind;
      for (const [index, name] of names.entries()) {
        const found = functions.find((one) => one.catalog === name && isSame(one));
        if (found === undefined) continue;
        return wereSearched(found, names.slice(0, index)) ? found : undefined;
      }
      return undefined;
    },
    catalog: (reference): LockedCatalog | undefined => catalogs.get(lockName(io, reference, folder)),
    searchOrder: (apiVersion, kind) => {
      const [only, ...others] = functions.filter((one) => one.apiVersion === apiVersion && one.kind === kind);
      if (only === undefined || others.length > 0) return [];
      return [...(only.notIn ?? []), only.catalog].map((text) => ({ text, folder }));
    },
    image: (image) => lock.images?.find((one) => one.image === image && !exceptImage(one)),
  };
}

/** A catalog that was not searched may have the function, and would come first. */
function wereSearched({ notIn = [] }: LockedFunction, names: readonly string[]): boolean {
  return names.every((name) => notIn.includes(name));
}
