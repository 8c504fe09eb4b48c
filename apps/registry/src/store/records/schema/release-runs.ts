import type { WorkflowRun } from '@krmhub/catalog';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { releases } from './schema.js';

/** Runs of workflows that published releases. Not in their rows, as notes. */
export const releaseRuns = sqliteTable('release_run', {
  release: integer('release')
    .primaryKey()
    .references(() => releases.id, { onDelete: 'cascade' }),
  /** JSON. */
  run: text('run', { mode: 'json' }).$type<WorkflowRun>().notNull(),
});
