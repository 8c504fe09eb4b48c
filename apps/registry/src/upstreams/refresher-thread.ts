/** The refresher in a thread of its own, so that slow upstream servers do not delay requests. */

import { KrmhubError } from '@krmhub/schema';
import type { Log } from '../log.js';
import type { Metrics, StatementMetrics, SyncMetrics } from '../metrics.js';
import type { DatabasePlace } from '../store/database-place.js';
import { inThread } from '../workers/isolation/in-thread.js';
import type { CatalogRefresher } from './catalog-refresher.js';
import type { Refresher } from './refresher.js';
import type { FetchSettings } from './source-fetcher.js';

export interface RefreshThreadInput {
  database: DatabasePlace;
  copiesFolder: string;
  /** Folder of running fetches. */
  fetchingFolder: string;
  /** File with the trusted root of a sigstore instance; absent for the public one. */
  trustedRoot?: string;
  settings: FetchSettings;
}

/** What the thread reports. */
export interface RefreshReports {
  refresh(measured: Parameters<Metrics['refresh']>): void;
  changed(): void;
}

/**
 * Starts a Refresher in a worker thread, so that slow upstream servers do not delay requests. The thread starts with
 * the first call: a registry without upstream sources does not need it.
 */
export function refresherThread(
  options: RefreshThreadInput & {
    log: Log;
    metrics: SyncMetrics & StatementMetrics;
    onChange(): void;
  },
): CatalogRefresher {
  const { log, metrics, onChange, ...input } = options;
  let stopping: Promise<void> | undefined;
  const thread = inThread<Refresher, RefreshReports>('refresh-thread', {
    input: (): RefreshThreadInput => input,
    log,
    countStatements: (statements) => metrics.countStatements('syncs', statements),
    on: { refresh: (measured) => metrics.refresh(...measured), changed: onChange },
  });
  const running = () => {
    if (stopping !== undefined) throw new KrmhubError('unavailable', 'the registry is shutting down');
    return thread;
  };
  return {
    // A failed thread is restarted, and syncs all sources that are due.
    wake: () => void (async () => running().call('wake'))().catch(() => undefined),
    refreshNow: async (source) => running().call('refreshNow', source),
    waitFor: async (catalog) => running().call('waitFor', catalog),
    stop() {
      stopping ??= thread.stop();
      return stopping;
    },
  };
}
