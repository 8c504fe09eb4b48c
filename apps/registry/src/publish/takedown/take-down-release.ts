import type { TakedownResult } from '@krmhub/api/model';
import type { CatalogReader, EventStore } from '@krmhub/catalog';
import { type FunctionName, KrmhubError, type Takedown } from '@krmhub/schema';
import type { AwaitableBuilder, WakeableBuilder } from '../../catalogs/build/catalog-builder.js';
import type { RecheckToken } from '../../http/auth/authorize.js';
import type { Caller } from '../../http/auth/caller.js';
import type { FindStore } from '../../store/find-record.js';
import { findRelease } from '../../store/find-record.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import type { FunctionLocks } from '../function-locks.js';
import type { TakedownDeps } from './takedown.js';
import { finishTakedowns, takeDown, withoutDigests } from './takedown.js';

export interface TakeDownReleaseDeps extends Omit<TakedownDeps, 'store'> {
  store: TakedownDeps['store'] & FindStore & CatalogReader & EventStore;
  functionLocks: FunctionLocks;
  snapshotBuilder: AwaitableBuilder & WakeableBuilder;
  derived: DerivedDocuments;
  clock: () => Date;
}

export interface TakedownRequest extends Caller {
  /** Public reason. */
  reason: string;
  /** Whether clients refuse the images, executables, and scripts of the definition, also in other releases. */
  runtimes?: 'refuse' | 'allow' | undefined;
  /** Only report what would be deleted. */
  dryRun: boolean;
  recheck: RecheckToken;
}

/**
 * Takes a release down, waits for the snapshots without it, and erases its bytes. With `dryRun`, it returns the same
 * result and changes nothing. Rejects with `not-found` for an unknown release; one that was taken down before is
 * `unchanged`, unless its digests are allowed again.
 */
export async function takeDownRelease(
  deps: TakeDownReleaseDeps,
  name: FunctionName & { release: string },
  request: TakedownRequest,
): Promise<TakedownResult> {
  const { dryRun } = request;
  const result = await deps.functionLocks.run(name, request.recheck, async () => {
    const earlier = await findTombstone(deps, name);
    if (earlier !== undefined) return repeat(deps, earlier, request);
    if (request.runtimes === 'allow') {
      const label = `${name.group}/${name.kind}@${name.release}`;
      throw new KrmhubError('conflict', `${label} was not taken down, so the registry refuses nothing of it`);
    }
    try {
      return await apply(deps, name, request);
    } catch (error) {
      // Another process may have taken it down meanwhile.
      const later = await findTombstone(deps, name).catch(() => undefined);
      if (later !== undefined) return repeat(deps, later, request);
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
  { store }: TakeDownReleaseDeps,
  { group, kind, release }: FunctionName & { release: string },
): Promise<Takedown | undefined> {
  return (await store.takedowns(group, kind)).find((one) => one.release === release);
}

type Applied = Omit<TakedownResult, 'dryRun' | 'catalogs' | 'erased'>;

/** Allows what a takedown refuses, if the request asks for it. */
async function repeat(
  { store, takedownRecord, clock, log }: TakeDownReleaseDeps,
  tombstone: Takedown,
  { runtimes, dryRun, by, origin, reason }: TakedownRequest,
): Promise<Applied> {
  // Releases with the same bytes were taken down together, and refuse the same.
  const { group, kind, release, digest } = tombstone;
  const same = (await store.allTakedowns()).filter(
    (one) => one.digest === digest && one.group === group && one.kind === kind,
  );
  const refused = [...new Set(same.flatMap(({ runtimeDigests = [] }) => runtimeDigests))].sort();
  const nothing = { takedowns: [tombstone], blobs: [], scripts: [], withdrawn: [], repositories: [] };
  if (runtimes === 'refuse' && refused.length === 0) {
    const label = `${group}/${kind}@${release}`;
    throw new KrmhubError('conflict', `${label} was taken down, so the registry no longer has its digests`, {
      hint: 'Publish a release that names the digests, and take it down with `--refuse-runtimes`.',
    });
  }
  if (runtimes !== 'allow' || refused.length === 0) return { outcome: 'unchanged', refused, ...nothing };
  if (!dryRun) {
    await store.allowRuntimes(same, { at: clock().toISOString(), by, origin });
    await takedownRecord.allowRuntimes(same);
    log.warn(
      { takedowns: same, by, tokenId: origin.credential, reason },
      'digests of a takedown are allowed again',
    );
  }
  return { outcome: 'allowed', refused: [], ...nothing, takedowns: same.map(withoutDigests) };
}

async function apply(
  deps: TakeDownReleaseDeps,
  name: FunctionName & { release: string },
  { reason, runtimes, dryRun, by, origin }: TakedownRequest,
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
  const { takedowns, reach } = await takeDown(deps, takedown, {
    dryRun,
    refusesRuntimes: runtimes === 'refuse',
    origin,
  });
  if (!dryRun) deps.snapshotBuilder.wake();
  const { event: _, ...effects } = reach;
  return { outcome: 'taken-down', takedowns, ...effects };
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
