import type { RuntimePin } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { releases, takedowns } from './schema.js';

/** What the runtimes of releases name (`RuntimePin`), so that a takedown finds who else uses it. */
export const releasePins = sqliteTable(
  'release_pin',
  {
    release: integer('release')
      .notNull()
      .references(() => releases.id, { onDelete: 'cascade' }),
    pin: text('pin').$type<RuntimePin>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.release, table.pin] }), index('release_pin_name').on(table.pin)],
);

/** The digests that the runtimes of a release named before it was taken down. */
export const takedownPins = sqliteTable(
  'takedown_pin',
  {
    takedown: integer('takedown')
      .notNull()
      .references(() => takedowns.id),
    pin: text('pin').$type<Digest>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.takedown, table.pin] }), index('takedown_pin_name').on(table.pin)],
);
