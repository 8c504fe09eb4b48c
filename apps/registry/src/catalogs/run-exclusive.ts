import type { RwLock } from '../isolation/rw-lock.js';
import type { CatalogBuilder } from './catalog-builder.js';

export interface ExclusiveDeps {
  /** Held for reading by callers that store bytes before rows. */
  bytesLock: RwLock;
  /** Absent before the builder starts. */
  snapshotBuilder?: Pick<CatalogBuilder, 'pause' | 'resume'>;
}

/** Runs `work` while no caller stores bytes of releases or catalogs, and no snapshot is built. */
export function runExclusive<Result>(
  { bytesLock, snapshotBuilder }: ExclusiveDeps,
  work: () => Promise<Result>,
): Promise<Result> {
  return bytesLock.write(async () => {
    await snapshotBuilder?.pause();
    try {
      return await work();
    } finally {
      snapshotBuilder?.resume();
    }
  });
}
