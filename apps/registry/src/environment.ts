import type { BlobStore, CatalogStore } from '@krmhub/catalog';
import type { Context, Hono } from 'hono';
import type { CatalogCutter } from './catalog-cutter.js';
import type { Config } from './config.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import type { NewestSnapshots } from './newest-snapshots.js';
import type { SnapshotForms } from './snapshot-forms.js';
import type { Turns } from './turns.js';

/** What the routes stand on. */
export interface RegistryParts {
  store: CatalogStore;
  blobs: BlobStore;
  forms: SnapshotForms;
  newest: NewestSnapshots;
  cutter: CatalogCutter;
  /** One change of a function after the other. */
  turns: Turns;
  clock: () => Date;
  log: Log;
  metrics: Metrics;
  config: Pick<Config, 'publicUrl'>;
}

export interface RequestVariables {
  requestId: string;
  /** The path's template; `unmatched` where no route has it. */
  route: string;
}

export type RegistryEnv = { Variables: RequestVariables };
export type RegistryApp = Hono<RegistryEnv>;
export type RegistryContext = Context<RegistryEnv>;
