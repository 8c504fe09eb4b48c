import type { SourceRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { RegistryParts } from '../server/environment.js';
import { findSource } from '../store/find-record.js';

/**
 * Asks a source of a catalog's recipe at once, and waits for it and for the catalog to be cut. Gives the source as it
 * was found, whether or not the look succeeded; rejects with `not-found`, and with `unavailable` where it takes too long.
 */
export async function syncSource(
  {
    store,
    refresher,
    snapshotBuilder: cutter,
  }: Pick<RegistryParts, 'store' | 'refresher' | 'snapshotBuilder'>,
  name: { name: string; source: string },
): Promise<SourceRecord> {
  const { catalog, source } = await findSource(store, name);
  await withinTime(refresher.refreshNow(catalog, source), { catalog, source });
  // Whoever asks for the source reads the catalog next.
  await cutter.waitFor(await store.lastEvent(), SERVER_LIMITS.refreshedCutMilliseconds);
  return findSource(store, name);
}

/** What takes longer goes on without whoever asked for it. */
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
          hint: 'See GET /api/v1/sources for the result.',
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
