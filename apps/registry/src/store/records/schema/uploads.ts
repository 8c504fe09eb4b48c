import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Open uploads of blobs, where several processes receive them. */
export const uploads = sqliteTable('oci_upload', {
  id: text('id').primaryKey(),
  repository: text('repository').notNull(),
  /** ID of the token that started it. */
  token: text('token').notNull(),
  /** Bytes that pieces have. */
  size: integer('size').notNull(),
  /** UTC; when its last bytes arrived, or when a request that is writing was last seen. */
  movedAt: text('moved_at').notNull(),
  /** Random ID of the request that is writing to it. */
  owner: text('owner'),
});

export const uploadPieces = sqliteTable(
  'oci_upload_piece',
  {
    upload: text('upload')
      .notNull()
      .references(() => uploads.id, { onDelete: 'cascade' }),
    /** Place of its first byte in the blob. */
    start: integer('start').notNull(),
    /** Name in the store of pieces. */
    name: text('name').notNull(),
  },
  (table) => [primaryKey({ columns: [table.upload, table.start] })],
);
