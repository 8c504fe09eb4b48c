import { setImmediate } from 'node:timers/promises';
import {
  type CatalogSyntax,
  RevisionConflict,
  type SegmentChanges,
  type SegmentContent,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { and, eq } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { snapshots } from '../schema/schema.js';

type Stored = NonNullable<Awaited<ReturnType<RegistryStore['segments']>>>[number];
type SegmentRow = FunctionName & { digest: Digest; yaml: number; json: number };

/** Segments whose lines are read before other work runs: about half a megabyte. */
const LINES_PAGE = 64;

/** An interrupted build leaves contents that no catalog has. */
export const DELETE_UNUSED_SEGMENTS =
  'DELETE FROM segment WHERE digest NOT IN (SELECT segment FROM catalog_segment)';

/** The segments of newest snapshots. */
export function segmentRows(
  connection: Connection,
): Pick<
  RegistryStore,
  | 'segments'
  | 'segmentLines'
  | 'missingSegments'
  | 'segmentBytes'
  | 'storeSegments'
  | 'addSegments'
  | 'deleteUnusedSegments'
> {
  const { client, db, read, write } = connection;
  const newestSerial = prepared(() =>
    client
      .prepare<[string], number>('SELECT coalesce(max(serial), 0) FROM snapshot WHERE catalog = ?')
      .pluck(),
  );
  const all = prepared(() =>
    client.prepare<[string], SegmentRow>(
      `SELECT group_name AS "group", kind, segment AS digest, length(yaml) AS yaml, length(json) AS json
     FROM catalog_segment CROSS JOIN segment ON segment.digest = catalog_segment.segment
     WHERE catalog = ? ORDER BY group_name, kind`,
    ),
  );
  const linesAfter = prepared(() =>
    client.prepare<FunctionName & { catalog: string }, FunctionName & { lines: string }>(
      `SELECT group_name AS "group", kind, lines FROM catalog_segment
     WHERE catalog = :catalog AND (group_name, kind) > (:group, :kind)
     ORDER BY group_name, kind LIMIT ${LINES_PAGE}`,
    ),
  );
  const isStored = prepared(() =>
    client.prepare<[string], 1>('SELECT 1 FROM segment WHERE digest = ?').pluck(),
  );
  const bytes = {
    yaml: prepared(() =>
      client.prepare<[string], Buffer>('SELECT yaml FROM segment WHERE digest = ?').pluck(),
    ),
    json: prepared(() =>
      client.prepare<[string], Buffer>('SELECT json FROM segment WHERE digest = ?').pluck(),
    ),
  };
  const deleteAllUnused = prepared(() => client.prepare(DELETE_UNUSED_SEGMENTS));
  const writeContents = contentWriter(connection);
  const writeSegments = segmentWriter(connection);
  return {
    segments: (catalog, serial) =>
      read(() => {
        if (newestSerial.get(catalog) !== serial) return undefined;
        return all
          .all(catalog)
          .map(({ yaml, json, ...row }): Stored => ({ ...row, compressed: { yaml, json } }));
      }),
    async *segmentLines(catalog) {
      let after = { group: '', kind: '' };
      for (;;) {
        const page = await read(() => linesAfter.all({ catalog, ...after }));
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < LINES_PAGE) return;
        after = { group: last.group, kind: last.kind };
        await setImmediate();
      }
    },
    missingSegments: (digests) => read(() => digests.filter((digest) => isStored.get(digest) === undefined)),
    segmentBytes: (digests, syntax: CatalogSyntax) =>
      read(() => digests.map((digest) => bytes[syntax].get(digest))),
    storeSegments: (contents) => write(() => writeContents(contents)),
    addSegments: ({ catalog, serial, segments, documents }) =>
      write(() => {
        if (newestSerial.get(catalog) !== serial) return false;
        writeSegments(catalog, segments);
        db.update(snapshots)
          .set({ documents })
          .where(and(eq(snapshots.catalog, catalog), eq(snapshots.serial, serial)))
          .run();
        return true;
      }),
    deleteUnusedSegments: () => write(() => void deleteAllUnused.run()),
  };
}

function contentWriter({ client }: Connection): (contents: readonly SegmentContent[]) => void {
  const add = prepared(() =>
    client.prepare<[string, Uint8Array, Uint8Array]>(
      'INSERT OR IGNORE INTO segment (digest, yaml, json) VALUES (?, ?, ?)',
    ),
  );
  return (contents) => {
    for (const { digest, yaml, json } of contents) add.run(digest, yaml, json);
  };
}

/** Replaces segments of a catalog, and deletes contents that no catalog has any more. Call it in a transaction. */
export function segmentWriter(connection: Connection): (catalog: string, changes: SegmentChanges) => void {
  const { client } = connection;
  const writeContents = contentWriter(connection);
  const remove = prepared(() =>
    client
      .prepare<[string, string, string], Digest>(
        'DELETE FROM catalog_segment WHERE catalog = ? AND group_name = ? AND kind = ? RETURNING segment',
      )
      .pluck(),
  );
  const add = prepared(() =>
    client.prepare<[string, string, string, string, string]>(
      'INSERT OR REPLACE INTO catalog_segment (catalog, group_name, kind, segment, lines) VALUES (?, ?, ?, ?, ?)',
    ),
  );
  const isStored = prepared(() =>
    client.prepare<[string], 1>('SELECT 1 FROM segment WHERE digest = ?').pluck(),
  );
  const deleteUnused = unusedSegmentDeleter(connection);
  return (catalog, { removed, added, contents }) => {
    writeContents(contents);
    const replaced = removed.flatMap(({ group, kind }) => remove.all(catalog, group, kind));
    for (const { group, kind, digest, lines } of added) {
      // A build of another catalog may have replaced the last use of the same content.
      if (isStored.get(digest) === undefined) throw new RevisionConflict(`segment ${digest} was deleted`);
      add.run(catalog, group, kind, digest, lines);
    }
    for (const digest of replaced) deleteUnused(digest);
  };
}

/** Deletes the content of a segment if no catalog has it. Call it in a transaction. */
export function unusedSegmentDeleter({ client }: Connection): (digest: Digest) => void {
  const remove = prepared(() =>
    client.prepare<{ digest: string }>(
      `DELETE FROM segment WHERE digest = :digest
       AND NOT EXISTS (SELECT 1 FROM catalog_segment WHERE segment = :digest)`,
    ),
  );
  return (digest) => void remove.run({ digest });
}

/**
 * Deletes the segments with the entry of a function in a catalog; the next build makes them again without it. Call it
 * in a transaction.
 */
export function segmentRemover(connection: Connection): (catalog: string, name: FunctionName) => void {
  const { client } = connection;
  const remove = prepared(() =>
    client
      .prepare<FunctionName & { catalog: string }, Digest>(
        `DELETE FROM catalog_segment WHERE rowid = (
         SELECT rowid FROM catalog_segment
         WHERE catalog = :catalog AND (group_name, kind) <= (:group, :kind)
         ORDER BY group_name DESC, kind DESC LIMIT 1)
       RETURNING segment`,
      )
      .pluck(),
  );
  const deleteUnused = unusedSegmentDeleter(connection);
  return (catalog, { group, kind }) => {
    for (const digest of remove.all({ catalog, group, kind })) deleteUnused(digest);
  };
}
