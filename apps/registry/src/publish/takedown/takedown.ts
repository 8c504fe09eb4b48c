/**
 * Takedowns: delete every byte of a release, also after a restore of an older backup.
 *
 * Rows come first: one transaction replaces the release with a tombstone, ends its catalog entries, and withdraws the
 * snapshots with them (names and digests remain; bytes answer 410). It updates the search row and invalidates every
 * build that was planned before. If the newest snapshot is withdrawn, the catalog answers 503 until the next build,
 * which follows immediately.
 *
 * Then the bytes: the record next to the database (record.ts), unused blobs, profiles, copies of the search index, and, after the builds, the
 * database file, which is rewritten. Until all is done, the tombstone is marked unfinished, and the next start
 * continues.
 *
 * Callers that store bytes before rows hold `bytesLock` for reading. Deleting bytes holds it for writing and pauses the
 * snapshot builder, so that no blob is deleted between a put and its commit.
 *
 * @module
 */

import {
  type BlobStore,
  displayedReleaseAfterTakedown,
  type FunctionStore,
  planTakedown,
  type TakedownResult,
} from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { KrmhubError, type RequestOrigin, type Takedown } from '@krmhub/schema';
import type { ProfileDocuments } from '../../catalogs/profiles/profile-documents.js';
import type { CatalogDocuments } from '../../catalogs/segments/catalog-documents.js';
import type { NewestSnapshots } from '../../catalogs/serve/newest-snapshots.js';
import type { Log } from '../../log.js';
import { deleteUnnamedFiles } from '../../store/artifacts/unnamed-files.js';
import { retryOnConflict } from '../../store/retry-on-conflict.js';
import type { IndexDeleter } from '../../store/search/follow/index-copies.js';
import type { BytesLock } from '../../workers/processes/processes.js';
import { lacksSigners, type TakedownRecord } from './record.js';

export interface TakedownDeps {
  bytesLock: BytesLock;
  store: FunctionStore & ManifestReader;
  blobs: BlobStore;
  /** Blobs that were pushed to repositories. */
  artifacts: BlobStore;
  documents: CatalogDocuments;
  profileDocuments: ProfileDocuments;
  newestSnapshots: NewestSnapshots;
  takedownRecord: TakedownRecord;
  /** Absent without any. */
  indexCopies?: IndexDeleter | undefined;
  log: Log;
}

export interface TakedownOptions {
  dryRun?: boolean;
  /** Whether the registry refuses what the runtimes of the release name by digest. */
  refusesRuntimes?: boolean;
  /** From where it was requested. */
  origin?: RequestOrigin;
}

export interface TakenDown {
  /** The releases that were taken down. */
  takedowns: Takedown[];
  reach: TakedownResult;
}

/**
 * Takes a release down: first its rows, in one transaction, then its files. Build the catalogs next, because their
 * newest snapshots may be withdrawn, and call `finishTakedowns` last, because it takes longest. `dryRun` returns the
 * result without changes.
 */
export async function takeDown(
  deps: TakedownDeps,
  takedown: Takedown,
  options: TakedownOptions = {},
): Promise<TakenDown> {
  const { log } = deps;
  if (options.dryRun === true) return commit(deps, takedown, options);
  return deps.bytesLock.exclusively(async () => {
    const committed = await commit(deps, takedown, options);
    // Not `token`, which the log redacts.
    log.warn({ takedowns: committed.takedowns, tokenId: options.origin?.credential }, 'release taken down');
    await attempt(deps, () => deleteFiles(deps));
    return committed;
  });
}

/**
 * Erases the remaining bytes of takedowns from the disk. Returns true if none are left. After a failure, the next
 * takedown and the next start try again.
 */
export function finishTakedowns(deps: TakedownDeps): Promise<boolean> {
  return attempt(deps, () => deps.bytesLock.exclusively(() => erase(deps)));
}

export interface AppliedTakedowns {
  applied: Takedown[];
  /** Takedowns that the database already has. */
  known: Takedown[];
  /** Takedowns whose release now has other bytes. The operator must decide. */
  differing: Takedown[];
}

/**
 * Applies takedowns that the database lacks, for example after a restore of an older backup. Releases that came back
 * are removed again. If the backup is older than the release, its name and digest are tombstoned.
 */
export async function applyTakedowns(
  deps: TakedownDeps,
  takedowns: readonly Takedown[],
): Promise<AppliedTakedowns> {
  const { store, log } = deps;
  const result: AppliedTakedowns = { applied: [], known: [], differing: [] };
  await deps.bytesLock.exclusively(async () => {
    for (const takedown of takedowns) {
      const tombstones = await store.takedowns(takedown.group, takedown.kind);
      const tombstone = tombstones.find(({ release }) => release === takedown.release);
      if (tombstone !== undefined) {
        // Not refused digests: the database knows which ones an administrator has allowed again.
        if (lacksSigners(tombstone, takedown)) await store.completeTakedown(takedown);
        result.known.push(takedown);
        continue;
      }
      try {
        await commit(deps, takedown, {});
        result.applied.push(takedown);
      } catch (error) {
        if (!(error instanceof KrmhubError && error.code === 'conflict')) throw error;
        log.error({ err: error, takedown }, 'cannot apply a takedown again');
        result.differing.push(takedown);
      }
    }
    await attempt(deps, () => erase(deps));
  });
  if (result.applied.length > 0) {
    log.warn(
      { takedowns: result.applied },
      'applied takedowns again: the database is older than takedowns.jsonl',
    );
  }
  return result;
}

/** Returns a takedown as responses have it. */
export function withoutDigests({ scripts: _, runtimeDigests: __, ...takedown }: Takedown): Takedown {
  return takedown;
}

/** Runs at every start: completes the database and the record from each other, and erases the files. */
export async function finishPendingTakedowns(deps: TakedownDeps): Promise<void> {
  const { store, takedownRecord } = deps;
  await applyTakedowns(deps, await takedownRecord.read());
  await takedownRecord.add(await store.allTakedowns());
}

function commit(
  { store, newestSnapshots: newest }: TakedownDeps,
  takedown: Takedown,
  { dryRun = false, refusesRuntimes, origin }: TakedownOptions,
): Promise<TakenDown> {
  const commitOnce = async () => {
    const current = await store.function(takedown.group, takedown.kind);
    const name = displayedReleaseAfterTakedown(current, takedown.digest);
    const release = await store.release(takedown.group, takedown.kind, takedown.release);
    const plan = planTakedown({
      current,
      takedown,
      definition: release?.digest === takedown.digest ? release.definition : undefined,
      displayed: name === undefined ? undefined : await store.release(takedown.group, takedown.kind, name),
      refusesRuntimes,
    });
    const reach = await store.commitTakedown({ ...plan, origin }, { dryRun });
    if (!dryRun) newest.clear();
    return { takedowns: plan.takedowns.map(withoutDigests), reach };
  };
  return retryOnConflict(commitOnce, {
    exhausted() {
      throw new KrmhubError('unavailable', `${takedown.group}/${takedown.kind}: concurrent update`, {
        hint: 'Nothing was taken down. Try again.',
      });
    },
  });
}

/** Requires the write lock. */
async function erase(deps: TakedownDeps): Promise<void> {
  if (await deleteFiles(deps)) await deps.store.finishTakedowns();
}

/**
 * Deletes files after the record is durable, so that a restore cannot bring them back. Returns false if none were
 * left.
 */
async function deleteFiles({
  store,
  blobs,
  artifacts,
  documents,
  profileDocuments,
  takedownRecord,
  indexCopies,
}: TakedownDeps): Promise<boolean> {
  const left = await store.unfinishedTakedowns();
  if (left === undefined) return false;
  await takedownRecord.add(left.takedowns);
  for (const blob of left.blobs) await blobs.delete(blob);
  await indexCopies?.deleteAll();
  await deleteUnnamedFiles({ store, artifacts, bytesLock: 'held' });
  documents.clear();
  await profileDocuments.deleteUnused();
  return true;
}

/** Reports success. The rows are gone already; a failure here is retried later. */
async function attempt({ log }: TakedownDeps, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    log.error({ err: error }, 'bytes of takedowns remain on the disk');
    return false;
  }
}
