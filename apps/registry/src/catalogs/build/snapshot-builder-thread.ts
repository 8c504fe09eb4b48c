import type { SnapshotRecord } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import type { DatabasePlace } from '../../store/database-place.js';
import { forwardLogLine } from '../../workers/isolation/forward-log.js';
import { startWorker } from '../../workers/isolation/start-worker.js';
import { Thread } from '../../workers/isolation/thread.js';
import { BuildProgress } from './build-progress.js';
import type { BuilderStatus, CatalogBuilder } from './catalog-builder.js';

export interface SnapshotThreadInput {
  database: DatabasePlace;
  /** Folder of the signing keys. The thread reads them itself, so that secrets stay there. */
  keyFolder: string;
  snapshotValidDays: number;
  logLevel: string;
  /** Whether it starts paused. */
  paused: boolean;
}

export type SnapshotThreadNotice =
  | { log: string }
  | { build: Parameters<Metrics['build']> }
  | { catalogFunctions: Parameters<Metrics['catalogFunctions']> }
  | { retainedCatalogs: readonly string[] }
  | { statements: number }
  | { snapshot: SnapshotRecord }
  | { built: string; event: number }
  | { reached: number; status: BuilderStatus };

/** Starts a SnapshotBuilder in a worker thread, so that builds do not delay requests. */
export function startSnapshotBuilderThread(options: {
  database: DatabasePlace;
  keyFolder: string;
  snapshotValidDays: number;
  log: Log;
  metrics: Pick<Metrics, 'build' | 'catalogFunctions' | 'retainCatalogs' | 'countStatements'>;
  onSnapshot(snapshot: SnapshotRecord): void;
}): CatalogBuilder {
  const { database, keyFolder, snapshotValidDays, log, metrics, onSnapshot } = options;
  const progress = new BuildProgress();
  let status: BuilderStatus = { caughtUp: false, failing: [] };
  let stopping: Promise<void> | undefined;

  const onNotice = (notice: SnapshotThreadNotice): void => {
    if ('log' in notice) forwardLogLine(log, notice.log);
    else if ('build' in notice) metrics.build(...notice.build);
    else if ('catalogFunctions' in notice) metrics.catalogFunctions(...notice.catalogFunctions);
    else if ('retainedCatalogs' in notice) metrics.retainCatalogs(notice.retainedCatalogs);
    else if ('statements' in notice) metrics.countStatements('builds', notice.statements);
    else if ('snapshot' in notice) onSnapshot(notice.snapshot);
    else if ('built' in notice) {
      const mark = progress.of(notice.built);
      mark.event = Math.max(mark.event, notice.event);
    } else {
      status = notice.status;
      progress.all.event = Math.max(progress.all.event, notice.reached);
    }
  };
  const input = { database, keyFolder, snapshotValidDays, logLevel: log.level };
  // A thread that is restarted during a pause must not build.
  let paused = false;
  const thread = new Thread({
    name: 'snapshot-thread',
    start: () =>
      startWorker('snapshot-thread', { workerData: { ...input, paused } satisfies SnapshotThreadInput }),
    log,
    onNotice: (notice) => onNotice(notice as SnapshotThreadNotice),
  });
  thread.start();
  let waking: Promise<unknown> | undefined;
  let wakesAgain = false;
  /** One call for all publishes until the thread has answered it. */
  const wake = (): void => {
    wakesAgain = waking !== undefined;
    if (wakesAgain) return;
    // A failed thread is restarted, and builds everything that is due.
    waking = thread
      .call('wake')
      .catch(() => undefined)
      .then(() => {
        waking = undefined;
        if (wakesAgain) wake();
      });
  };

  return {
    wake,
    async waitFor(event, milliseconds = SERVER_LIMITS.waitMilliseconds, catalogs) {
      if (progress.includes(event, catalogs)) return true;
      if (stopping !== undefined) return false;
      void thread.call('hurry').catch(() => undefined);
      return progress.waitFor(event, milliseconds, catalogs);
    },
    async buildNow(name) {
      await thread.call('buildNow', name);
    },
    status: () => status,
    async pause() {
      await thread.call('pause');
      paused = true;
    },
    resume: () => {
      paused = false;
      void thread.call('resume').catch(() => undefined);
    },
    stop() {
      stopping ??= (async () => {
        await thread.call('stop').catch(() => undefined);
        await thread.close();
        progress.stopWaiting();
      })();
      return stopping;
    },
  };
}
