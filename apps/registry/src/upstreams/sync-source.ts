import type {
  Act,
  ActRecorder,
  CatalogReader,
  EventStore,
  SourceReader,
  SourceRecord,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { AwaitableBuilder } from '../catalogs/build/catalog-builder.js';
import { SERVER_LIMITS } from '../limits.js';
import { findSource } from '../store/find-record.js';
import type { CatalogRefresher } from './catalog-refresher.js';

export interface SyncSourceDeps {
  store: CatalogReader & SourceReader & EventStore & ActRecorder;
  refresher: CatalogRefresher;
  snapshotBuilder: AwaitableBuilder;
  clock: () => Date;
}

/**
 * Syncs a source of a catalog now, and waits for the sync and the build. Returns the source, whether or not the sync
 * succeeded. Rejects with `not-found`, and with `unavailable` if it takes too long.
 */
export async function syncSource(
  { store, refresher, snapshotBuilder, clock }: SyncSourceDeps,
  name: { name: string; source: string },
  caller: Omit<Act, 'at'>,
): Promise<SourceRecord> {
  const { catalog, source } = await findSource(store, name);
  const act = { ...caller, at: clock().toISOString(), action: 'source.sync' as const };
  await store.recordAct({ ...act, object: `source/${catalog}/${source}`, outcome: 'done' });
  await withinTime(refresher.refreshNow({ catalog, source }), { catalog, source });
  // Callers usually read the catalog next.
  await snapshotBuilder.waitFor({
    event: await store.lastEvent(),
    milliseconds: SERVER_LIMITS.refreshedBuildMilliseconds,
  });
  return findSource(store, name);
}

/** Rejects with `unavailable` after a timeout; the work continues in the background. */
async function withinTime(
  work: Promise<void>,
  { catalog, source }: { catalog: string; source: string },
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new KrmhubError(
        'unavailable',
        `source ${source} of catalog ${catalog} is still syncing`,
        {
          hint: `See the result later: krmhub source list ${catalog}`,
        },
      );
      reject(error);
    }, SERVER_LIMITS.refreshWaitMilliseconds);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}
