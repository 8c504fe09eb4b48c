import type { Log } from '../../../log.js';
import type { Sql } from '../../sql/sql.js';
import type { Times } from './process-table.js';

export const TIMES: Times = { renew: 2_000, read: 60_000, lost: 10_000, drain: 60_000 };

export interface ManyProcessesOptions {
  url: string;
  /** Runs transactions without a check of the process. */
  sql: Sql;
  /** Whether the blobs are where all processes read them. */
  sharedBlobs: boolean;
  times?: Times;
  log: Log;
}

/** Another process's exclusive work, during which this one stores no bytes. */
export interface Draining {
  number: number;
  end(): void;
}
