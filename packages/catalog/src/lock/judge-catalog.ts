import type { Digest } from '@krmhub/schema';
import type { LockedCatalog, LockedFunction } from './lock.js';

/** Why something that was read now cannot be used beside a lock file. */
export interface LockRefusal {
  message: string;
  hint: string;
}

/**
 * Decides whether a catalog that was read now may be used where another state of it is locked. Refuses an older
 * snapshot, another snapshot with the same serial, and a catalog that no longer has a serial. A catalog without
 * snapshots may change. Where a digest is unknown, because only one entry was read, `judgeLockedEntry` compares that.
 */
export function judgeLockedCatalog(
  locked: LockedCatalog,
  read: Pick<LockedCatalog, 'name' | 'serial' | 'digest'>,
): LockRefusal | undefined {
  const { reference } = locked;
  if (locked.name !== undefined && read.name !== undefined && locked.name !== read.name) {
    return refusal(`catalog ${reference}: it is now the catalog ${read.name}, but ${locked.name} is locked`);
  }
  if (locked.serial === undefined) return undefined;
  if (read.serial === undefined) {
    return refusal(
      `catalog ${reference}: it no longer has a serial, but snapshot ${locked.serial} is locked`,
    );
  }
  if (read.serial < locked.serial) {
    return refusal(
      `catalog ${reference}: it serves snapshot ${read.serial}, which is older than the locked snapshot ${locked.serial}`,
    );
  }
  if (read.serial > locked.serial || locked.digest === undefined || read.digest === undefined)
    return undefined;
  if (read.digest === locked.digest) return undefined;
  return refusal(
    `catalog ${reference}: snapshot ${read.serial} differs from the locked snapshot: got ${read.digest}, expected ${locked.digest}`,
  );
}

/**
 * Refuses another definition in the very snapshot that is locked. In a later snapshot it is an update, which waits for
 * `lock --upgrade`.
 */
export function judgeLockedEntry(
  locked: LockedFunction,
  catalog: LockedCatalog,
  read: { serial?: number; definition: Digest },
): LockRefusal | undefined {
  const serial = locked.serial ?? catalog.serial;
  if (serial === undefined || read.serial !== serial) return undefined;
  if (read.definition === locked.definition) return undefined;
  return refusal(
    `catalog ${catalog.reference}: ${locked.apiVersion} ${locked.kind} in snapshot ${read.serial} differs from the locked definition: got ${read.definition}, expected ${locked.definition}`,
  );
}

function refusal(message: string): LockRefusal {
  return {
    message,
    hint: 'Ask the operator of the catalog. To accept the change, remove the catalog and its functions from the lock file, and lock the package again.',
  };
}
