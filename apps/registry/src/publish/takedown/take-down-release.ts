import type { TakedownResult } from '@krmhub/api/model';
import type { CatalogReader, EventStore } from '@krmhub/catalog';
import type { FunctionName, Takedown } from '@krmhub/schema';
import type { AwaitableBuilder, WakeableBuilder } from '../../catalogs/build/catalog-builder.js';
import type { FindStore } from '../../store/find-record.js';
import { findRelease } from '../../store/find-record.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import type { KeyedMutex } from '../../workers/locks/keyed-mutex.js';
import { functionLockKey } from '../publish-release.js';
import type { TakedownDeps } from './takedown.js';
import { finishTakedowns, takeDown } from './takedown.js';

export interface TakeDownReleaseDeps extends Omit<TakedownDeps, 'store'> {
  store: TakedownDeps['store'] & FindStore & CatalogReader & EventStore;
  functionLocks: KeyedMutex;
  snapshotBuilder: AwaitableBuilder & WakeableBuilder;
  derived: Pick<DerivedDocuments, 'clear'>;
  clock: () => Date;
}

export interface TakedownRequest {
  /** Public reason. */
  reason: string;
  /** Only report what would be deleted. */
  dryRun: boolean;
  /** Name and ID of the token. */
  by: string;
  token: string;
}

/**
 * Takes a release down, waits for the snapshots without it, and erases its bytes. With `dryRun`, it returns the same
 * result and changes nothing. Rejects with `not-found` for an unknown release; one that was taken down before is
 * `unchanged`.
 */
export async function takeDownRelease(
  deps: TakeDownReleaseDeps,
  name: FunctionName & { release: string },
  request: TakedownRequest,
): Promise<TakedownResult> {
  const { dryRun } = request;
  const result = await deps.functionLocks.run(functionLockKey(name), async () => {
    const earlier = await findTombstone(deps, name);
    if (earlier !== undefined) return unchanged(earlier);
    try {
      return await apply(deps, name, request);
    } catch (error) {
      // Another process may have taken it down meanwhile.
      const later = await findTombstone(deps, name).catch(() => undefined);
      if (later !== undefined) return unchanged(later);
      throw error;
    }
  });
  const response: TakedownResult = { ...result, dryRun, catalogs: [], erased: false };
  if (dryRun) return response;
  // Builds that were planned earlier are refused now, so nothing they left survives the deletion.
  await deps.snapshotBuilder.waitFor({ event: await deps.store.lastEvent() });
  response.catalogs = await newestSnapshots(deps, new Set(result.withdrawn.map(({ catalog }) => catalog)));
  deps.derived.clear();
  response.erased = await finishTakedowns(deps);
  return response;
}

async function findTombstone(
  { store }: Pick<TakeDownReleaseDeps, 'store'>,
  { group, kind, release }: FunctionName & { release: string },
): Promise<Takedown | undefined> {
  return (await store.takedowns(group, kind)).find((one) => one.release === release);
}

type Applied = Omit<TakedownResult, 'dryRun' | 'catalogs' | 'erased'>;

function unchanged(takedown: Takedown): Applied {
  const nothing = { blobs: [], scripts: [], withdrawn: [], repositories: [] };
  return { outcome: 'unchanged', takedowns: [takedown], ...nothing };
}

async function apply(
  deps: TakeDownReleaseDeps,
  name: FunctionName & { release: string },
  { reason, dryRun, by, token }: TakedownRequest,
): Promise<Applied> {
  const { release } = await findRelease(deps.store, name);
  const takedown = {
    group: release.group,
    kind: release.kind,
    release: release.release,
    digest: release.digest,
    at: deps.clock().toISOString(),
    by,
    reason,
  };
  const { takedowns, reach } = await takeDown(deps, takedown, { dryRun, token });
  if (!dryRun) deps.snapshotBuilder.wake();
  const { blobs, scripts, withdrawn, repositories } = reach;
  return { outcome: 'taken-down', takedowns, blobs, scripts, withdrawn, repositories };
}

async function newestSnapshots(
  { store }: { store: CatalogReader },
  names: ReadonlySet<string>,
): Promise<TakedownResult['catalogs']> {
  const found: TakedownResult['catalogs'] = [];
  for (const name of names) {
    const newest = (await store.catalog(name))?.newest;
    if (newest === undefined || newest.withdrawn !== undefined) continue;
    found.push({ catalog: name, serial: newest.serial, digest: newest.digests['catalog.yaml'] });
  }
  return found;
}
