/** The snapshot builder in a thread of its own, so that builds do not delay requests. */

import type { SnapshotRecord } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { BuildMetrics, Metrics, StatementMetrics } from '../../metrics.js';
import type { DatabasePlace } from '../../store/database-place.js';
import { inThread } from '../../workers/isolation/in-thread.js';
import { BuildProgress } from './build-progress.js';
import type { BuilderStatus, CatalogBuilder } from './catalog-builder.js';
import type { SnapshotBuilder } from './snapshot-builder.js';

export interface SnapshotThreadInput {
  database: DatabasePlace;
  /** Folder of the signing keys. The thread reads them itself, so that secrets stay there. */
  keyFolder: string;
  snapshotValidDays: number;
  /** Whether it starts paused. */
  paused: boolean;
}

/** What the thread reports. */
export interface SnapshotReports {
  build(measured: Parameters<Metrics['build']>): void;
  catalogFunctions(counted: Parameters<Metrics['catalogFunctions']>): void;
  retainedCatalogs(names: readonly string[]): void;
  snapshot(snapshot: SnapshotRecord): void;
  built(catalog: { name: string; event: number }): void;
  passedOver(pass: { event: number; behind: readonly string[] }): void;
  pass(pass: { reached: number; status: BuilderStatus }): void;
}

/** Starts a SnapshotBuilder in a worker thread, so that builds do not delay requests. */
export function startSnapshotBuilderThread(options: {
  database: DatabasePlace;
  keyFolder: string;
  snapshotValidDays: number;
  log: Log;
  metrics: BuildMetrics & StatementMetrics;
  onSnapshot(snapshot: SnapshotRecord): void;
}): CatalogBuilder {
  const { log, metrics, onSnapshot, ...input } = options;
  const progress = new BuildProgress();
  let status: BuilderStatus = { caughtUp: false, failing: [] };
  let stopping: Promise<void> | undefined;
  // A thread that is restarted during a pause must not build.
  let paused = false;
  const thread = inThread<SnapshotBuilder, SnapshotReports>('snapshot-thread', {
    input: (): SnapshotThreadInput => ({ ...input, paused }),
    log,
    countStatements: (statements) => metrics.countStatements('builds', statements),
    on: {
      build: (measured) => metrics.build(...measured),
      catalogFunctions: (counted) => metrics.catalogFunctions(...counted),
      retainedCatalogs: (names) => metrics.retainCatalogs(names),
      snapshot: onSnapshot,
      built({ name, event }) {
        const mark = progress.of(name);
        mark.event = Math.max(mark.event, event);
      },
      passedOver: ({ event, behind }) => progress.passOver(event, behind),
      pass(pass) {
        status = pass.status;
        progress.all.event = Math.max(progress.all.event, pass.reached);
      },
    },
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
    async waitFor({ event, milliseconds = SERVER_LIMITS.waitMilliseconds, catalogs, inTurn = false }) {
      if (progress.includes(event, catalogs)) return true;
      if (stopping !== undefined) return false;
      if (inTurn) wake();
      else void thread.call('wakeUrgently', catalogs).catch(() => undefined);
      return progress.waitFor(event, milliseconds, catalogs);
    },
    buildNow: (built) => thread.call('buildNow', built),
    status: () => status,
    async pause() {
      await thread.call('pause');
      paused = true;
    },
    resume() {
      paused = false;
      void thread.call('resume').catch(() => undefined);
    },
    stop() {
      stopping ??= thread.stop().then(() => progress.stopWaiting());
      return stopping;
    },
  };
}
