import { KrmhubError } from '@krmhub/schema';
import type { Log } from '../log.js';
import type { Metrics } from '../metrics.js';
import type { DatabasePlace } from '../store/database-place.js';
import { forwardLogLine } from '../workers/isolation/forward-log.js';
import { startWorker } from '../workers/isolation/start-worker.js';
import { Thread } from '../workers/isolation/thread.js';
import type { CatalogRefresher } from './catalog-refresher.js';
import type { FetchSettings } from './source-fetcher.js';

export interface RefreshThreadInput {
  database: DatabasePlace;
  copiesFolder: string;
  /** Folder of running fetches. */
  fetchingFolder: string;
  /** File with the trusted root of a sigstore instance; absent for the public one. */
  trustedRoot?: string;
  settings: FetchSettings;
  logLevel: string;
}

export type RefreshNotice =
  | { log: string }
  | { refresh: Parameters<Metrics['refresh']> }
  | { statements: number }
  | { changed: true };

/**
 * Starts a Refresher in a worker thread, so that slow upstream servers do not delay requests. The thread starts with
 * the first call: a registry without upstream sources does not need it.
 */
export function refresherThread(
  options: Omit<RefreshThreadInput, 'logLevel'> & {
    log: Log;
    metrics: Pick<Metrics, 'refresh' | 'countStatements'>;
    onChange(): void;
  },
): CatalogRefresher {
  const { log, metrics, onChange, ...input } = options;
  let stopping: Promise<void> | undefined;
  const onNotice = (notice: RefreshNotice): void => {
    if ('log' in notice) forwardLogLine(log, notice.log);
    else if ('refresh' in notice) metrics.refresh(...notice.refresh);
    else if ('statements' in notice) metrics.countStatements('syncs', notice.statements);
    else onChange();
  };
  const workerData: RefreshThreadInput = { ...input, logLevel: log.level };
  const thread = new Thread({
    name: 'refresh-thread',
    start: () => startWorker('refresh-thread', { workerData }),
    log,
    onNotice: (notice) => onNotice(notice as RefreshNotice),
  });
  const call = async (method: string, given?: unknown): Promise<unknown> => {
    if (stopping !== undefined) throw new KrmhubError('unavailable', 'the registry is shutting down');
    return thread.call(method, given);
  };
  return {
    // A failed thread is restarted, and syncs all sources that are due.
    wake: () => void call('wake').catch(() => undefined),
    async refreshNow(catalog, source) {
      await call('refreshNow', { catalog, source });
    },
    async waitFor(catalog, milliseconds) {
      return (await call('waitFor', { catalog, milliseconds })) as boolean;
    },
    stop() {
      stopping ??= (async () => {
        if (thread.isStarted) await thread.call('stop').catch(() => undefined);
        await thread.close();
      })();
      return stopping;
    },
  };
}
