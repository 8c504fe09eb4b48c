import { statfs } from 'node:fs/promises';
import type { Readiness } from '@krmhub/api/model';
import { Gauge, type Registry } from 'prom-client';
import { SERVER_LIMITS } from '../limits.js';
import { bounded } from '../workers/locks/bounded.js';
import type { Processes } from '../workers/processes/processes.js';

export interface MeasuredProcess {
  version: string;
  readiness: () => Promise<Readiness>;
  processes: Pick<Processes, 'leads' | 'joined'>;
  /** Absent if search is part of the database. */
  searchLag?: (() => Promise<number>) | undefined;
  dataFolder: string;
}

/**
 * Adds what a process knows of itself, which matters most while its servers are away: what cannot be known then has no
 * sample.
 */
export function addProcessMetrics(register: Registry, measured: MeasuredProcess): void {
  const { version, processes, dataFolder } = measured;
  const gauge = (name: string, help: string, measure: () => Promise<number> | number) => {
    const known = bounded(async () => measure(), SERVER_LIMITS.readinessCheckMilliseconds);
    new Gauge({
      name,
      help,
      registers: [register],
      async collect() {
        this.remove();
        const value = await known().catch(() => undefined);
        if (value !== undefined) this.set(value);
      },
    });
  };
  new Gauge({
    name: 'krmhub_build_info',
    help: 'Always 1, with the versions of krmhub and Node.js.',
    labelNames: ['version', 'node'],
    registers: [register],
  }).set({ version, node: process.versions.node }, 1);
  new Gauge({
    name: 'krmhub_ready',
    help: 'Whether a check of `/readyz` succeeds: 1 or 0.',
    labelNames: ['check'],
    registers: [register],
    async collect() {
      const { checks } = await measured.readiness();
      this.reset();
      for (const { name, status } of checks) this.set({ check: name }, status === 'ok' ? 1 : 0);
    },
  });
  gauge('krmhub_leader', 'Whether this process leads: builds snapshots and syncs sources. 1 or 0.', () =>
    processes.leads ? 1 : 0,
  );
  gauge('krmhub_processes', 'Processes of the registry, as this process last read them.', () =>
    processes.joined(),
  );
  gauge('krmhub_data_free_bytes', 'Free space of the disk of the data folder.', async () => {
    const { bavail, bsize } = await statfs(dataFolder);
    return bavail * bsize;
  });
  if (measured.searchLag === undefined) return;
  gauge(
    'krmhub_search_lag_events',
    'Events that the search index of this process does not include yet. Only with PostgreSQL.',
    measured.searchLag,
  );
}
