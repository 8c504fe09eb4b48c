/**
 * Takedowns. Rows come first: one transaction replaces the release with a tombstone, ends its catalog entries, and
 * withdraws the snapshots with them (names and digests remain; bytes answer 410). It updates the search row and
 * invalidates every build that was planned before. If the newest snapshot is withdrawn, the catalog answers 503 until
 * the next build, which follows at once.
 *
 * Then the bytes: the record next to the database (record.ts), unused blobs, renditions, and, after the builds, the
 * database file, which is rewritten. Until all is done, the tombstone is marked unfinished, and the next start
 * continues.
 *
 * Whoever stores bytes before rows holds `bytesLock` for reading. Deleting bytes holds it for writing and pauses the
 * snapshot builder, so that no blob is deleted between a put and its commit.
 */

import {
  type BlobStore,
  displayedReleaseAfterTakedown,
  type FunctionStore,
  planTakedown,
  RevisionConflict,
  type TakedownResult,
} from '@krmhub/catalog';
import type { ManifestStore } from '@krmhub/oci';
import { KrmhubError, type Takedown } from '@krmhub/schema';
import { deleteUnnamedFiles } from '../artifacts/unnamed-files.js';
import type { CatalogBuilder } from '../catalogs/catalog-builder.js';
import type { NewestSnapshots } from '../catalogs/newest-snapshots.js';
import type { SnapshotRenditions } from '../catalogs/renditions/snapshot-renditions.js';
import type { RwLock } from '../isolation/rw-lock.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import type { TakedownRecord } from './record.js';

export interface TakedownDeps {
  store: FunctionStore & Pick<ManifestStore, 'findUnreferencedFiles'>;
  blobs: BlobStore;
  /** Blobs that were pushed to repositories. */
  artifacts: BlobStore;
  renditions: SnapshotRenditions;
  newestSnapshots: NewestSnapshots;
  bytesLock: RwLock;
  /** Absent where none has started yet. */
  snapshotBuilder?: Pick<CatalogBuilder, 'pause' | 'resume'>;
  takedownRecord: TakedownRecord;
  log: Log;
}

export interface TakenDown {
  /** The releases that went. */
  takedowns: Takedown[];
  reach: TakedownResult;
}

/**
 * Takes a release down: first out of every answer, in one transaction, then its files off the disk. The catalogs are
 * to be cut next, since their newest snapshots may be withdrawn, and `finishTakedowns` comes last, for it takes longest.
 * `dryRun` tells what would go and changes nothing.
 */
export async function takeDown(
  parts: TakedownDeps,
  takedown: Takedown,
  options: { dryRun?: boolean; token?: string } = {},
): Promise<TakenDown> {
  const { log } = parts;
  if (options.dryRun === true) return commit(parts, takedown, options);
  return runExclusive(parts, async () => {
    const committed = await commit(parts, takedown, options);
    log.warn({ takedowns: committed.takedowns, token: options.token }, 'release taken down');
    await attempt(parts, () => deleteFiles(parts));
    return committed;
  });
}

/**
 * Erases what takedowns have left on the disk; true where nothing is left. Where it fails, it is tried again with the
 * next takedown and at the next start.
 */
export function finishTakedowns(parts: TakedownDeps): Promise<boolean> {
  return attempt(parts, () => runExclusive(parts, () => erase(parts)));
}

export interface AppliedTakedowns {
  applied: Takedown[];
  /** Those that the database has already. */
  known: Takedown[];
  /** Those whose name stands for other bytes now; they are left to the operator. */
  differing: Takedown[];
}

/**
 * Applies takedowns that the database does not have, as after a restore of an older backup: releases that came back
 * go again, and names and digests are burnt again where the backup is older than the release.
 */
export async function applyTakedowns(
  parts: TakedownDeps,
  takedowns: readonly Takedown[],
): Promise<AppliedTakedowns> {
  const { store, log } = parts;
  const result: AppliedTakedowns = { applied: [], known: [], differing: [] };
  await runExclusive(parts, async () => {
    for (const takedown of takedowns) {
      const burnt = await store.takedowns(takedown.group, takedown.kind);
      if (burnt.some(({ release }) => release === takedown.release)) {
        result.known.push(takedown);
        continue;
      }
      try {
        await commit(parts, takedown, {});
        result.applied.push(takedown);
      } catch (error) {
        if (!(error instanceof KrmhubError && error.code === 'conflict')) throw error;
        log.error({ err: error, takedown }, 'cannot apply a takedown again');
        result.differing.push(takedown);
      }
    }
    await attempt(parts, () => erase(parts));
  });
  if (result.applied.length > 0) {
    log.warn({ takedowns: result.applied }, 'applied takedowns again: the database is older');
  }
  return result;
}

/** For every start: the database has what the record has, the record what the database has, and the disk neither. */
export async function finishPendingTakedowns(parts: TakedownDeps): Promise<void> {
  const { store, takedownRecord } = parts;
  await applyTakedowns(parts, await takedownRecord.read());
  await takedownRecord.add(await store.allTakedowns());
}

/** While nobody stores bytes that nothing names yet, neither of releases nor of catalogs. */
function runExclusive<T>(
  { bytesLock: gate, snapshotBuilder: cutter }: TakedownDeps,
  work: () => Promise<T>,
): Promise<T> {
  return gate.write(async () => {
    await cutter?.pause();
    try {
      return await work();
    } finally {
      cutter?.resume();
    }
  });
}

async function commit(
  { store, newestSnapshots: newest }: TakedownDeps,
  takedown: Takedown,
  { dryRun = false, token }: { dryRun?: boolean; token?: string },
): Promise<TakenDown> {
  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    const current = await store.function(takedown.group, takedown.kind);
    const name = displayedReleaseAfterTakedown(current, takedown.digest);
    const plan = planTakedown({
      current,
      takedown,
      displayed: name === undefined ? undefined : await store.release(takedown.group, takedown.kind, name),
      ...(token === undefined ? {} : { token }),
    });
    try {
      const reach = await store.commitTakedown(plan, { dryRun });
      if (!dryRun) newest.clear();
      return { takedowns: plan.takedowns, reach };
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new KrmhubError('unavailable', `${takedown.group}/${takedown.kind}: concurrent update`, {
    hint: 'Nothing was taken down. Try again.',
  });
}

/** To be called alone. */
async function erase(parts: TakedownDeps): Promise<void> {
  if (await deleteFiles(parts)) await parts.store.finishTakedowns();
}

/** The record is durable before anything is gone that a restore could bring back. False where nothing was left. */
async function deleteFiles({
  store,
  blobs,
  artifacts,
  renditions: forms,
  takedownRecord,
}: TakedownDeps): Promise<boolean> {
  const left = await store.unfinishedTakedowns();
  if (left === undefined) return false;
  await takedownRecord.add(left.takedowns);
  for (const blob of left.blobs) await blobs.delete(blob);
  await deleteUnnamedFiles({ store, artifacts });
  await forms.deleteWithdrawn();
  return true;
}

/** The takedown is done already for everybody who asks; what fails here is made good later. */
async function attempt({ log }: TakedownDeps, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    log.error({ err: error }, 'bytes of takedowns remain on disk');
    return false;
  }
}
