import { setImmediate } from 'node:timers/promises';
import {
  type CatalogSyntax,
  RevisionConflict,
  type SegmentChanges,
  type SegmentContent,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import type { Sql } from '../../sql/sql.js';
import { change, text, type Work } from '../../sql/statement.js';
import { snapshots } from '../schema/schema.js';

type SegmentRow = FunctionName & { digest: Digest; yaml: number; json: number };

/** Segments whose lines are read before other work runs: about half a megabyte. */
const LINES_PAGE = 64;

/** An interrupted build leaves contents that no catalog has. */
export const DELETE_UNUSED_SEGMENTS =
  'DELETE FROM segment WHERE digest NOT IN (SELECT segment FROM catalog_segment)';

const newestSerial = text<{ newest: number }>(
  'SELECT coalesce(max(serial), 0) AS newest FROM snapshot WHERE catalog = :catalog',
);
const segmentsOf = (join: string) =>
  `SELECT group_name AS "group", kind, segment AS digest, length(yaml) AS yaml, length(json) AS json
   FROM catalog_segment ${join} segment ON segment.digest = catalog_segment.segment
   WHERE catalog = :catalog ORDER BY group_name, kind`;
const all = text<SegmentRow>({ sqlite: segmentsOf('CROSS JOIN'), postgres: segmentsOf('JOIN') });
const linesAfter = text<FunctionName & { lines: string }>(
  `SELECT group_name AS "group", kind, lines FROM catalog_segment
   WHERE catalog = :catalog AND (group_name, kind) > (:group, :kind)
   ORDER BY group_name, kind LIMIT ${LINES_PAGE}`,
);
const stored = text<{ digest: Digest }>('SELECT digest FROM segment WHERE digest = :digest');
const bytesOf = {
  yaml: text<{ bytes: Buffer }>('SELECT yaml AS bytes FROM segment WHERE digest = :digest'),
  json: text<{ bytes: Buffer }>('SELECT json AS bytes FROM segment WHERE digest = :digest'),
};
const addContent = text(
  'INSERT INTO segment (digest, yaml, json) VALUES (:digest, :yaml, :json) ON CONFLICT (digest) DO NOTHING',
);
const setDocuments = (documents: typeof snapshots.$inferInsert.documents) =>
  change((db) =>
    db
      .update(snapshots)
      .set({ documents })
      .where(
        and(
          eq(snapshots.catalog, sql.placeholder('catalog')),
          eq(snapshots.serial, sql.placeholder('serial')),
        ),
      ),
  );
const deleteAllUnused = text(DELETE_UNUSED_SEGMENTS);
const remove = text<{ segment: Digest }>(
  `DELETE FROM catalog_segment WHERE catalog = :catalog AND group_name = :group AND kind = :kind RETURNING segment`,
);
const add = text(
  `INSERT INTO catalog_segment (catalog, group_name, kind, segment, lines)
   VALUES (:catalog, :group, :kind, :digest, :lines)
   ON CONFLICT (catalog, group_name, kind) DO UPDATE SET segment = excluded.segment, lines = excluded.lines`,
);
const deleteUnused = text(
  `DELETE FROM segment WHERE digest = :digest
     AND NOT EXISTS (SELECT 1 FROM catalog_segment WHERE segment = :digest)`,
);
const removeWith = text<{ segment: Digest }>(
  `DELETE FROM catalog_segment WHERE catalog = :catalog AND (group_name, kind) = (
     SELECT group_name, kind FROM catalog_segment
     WHERE catalog = :catalog AND (group_name, kind) <= (:group, :kind)
     ORDER BY group_name DESC, kind DESC LIMIT 1)
   RETURNING segment`,
);

/** The segments of newest snapshots. */
export function segmentRows({
  read,
  write,
}: Sql): Pick<
  RegistryStore,
  | 'segments'
  | 'segmentLines'
  | 'missingSegments'
  | 'segmentBytes'
  | 'storeSegments'
  | 'addSegments'
  | 'deleteUnusedSegments'
> {
  return {
    segments: (catalog, serial) =>
      read(function* () {
        if (!(yield* isNewest(catalog, serial))) return undefined;
        const rows = yield* all.all({ catalog });
        return rows.map(({ yaml, json, ...row }) => ({ ...row, compressed: { yaml, json } }));
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
    missingSegments: (digests) =>
      read(function* () {
        const missing: Digest[] = [];
        for (const digest of digests) {
          if ((yield* stored.first({ digest })) === undefined) missing.push(digest);
        }
        return missing;
      }),
    segmentBytes: (digests, syntax: CatalogSyntax) =>
      read(function* () {
        const found: (Buffer | undefined)[] = [];
        for (const digest of digests) found.push((yield* bytesOf[syntax].first({ digest }))?.bytes);
        return found;
      }),
    storeSegments: (contents) => write(() => storeContents(contents)),
    addSegments: ({ catalog, serial, segments, documents }) =>
      write(function* () {
        if (!(yield* isNewest(catalog, serial))) return false;
        yield* replaceSegments(catalog, segments);
        yield* setDocuments(documents).run({ catalog, serial });
        return true;
      }),
    deleteUnusedSegments: () =>
      write(function* () {
        yield* deleteAllUnused.run();
      }),
  };
}

function* isNewest(catalog: string, serial: number): Work<boolean> {
  return (yield* newestSerial.first({ catalog }))!.newest === serial;
}

function* storeContents(contents: readonly SegmentContent[]): Work<void> {
  for (const { digest, yaml, json } of contents) yield* addContent.run({ digest, yaml, json });
}

/** Replaces segments of a catalog, and deletes contents that no catalog has any more. */
export function* replaceSegments(catalog: string, { removed, added, contents }: SegmentChanges): Work<void> {
  yield* storeContents(contents);
  const replaced: Digest[] = [];
  for (const { group, kind } of removed) {
    for (const { segment } of yield* remove.all({ catalog, group, kind })) replaced.push(segment);
  }
  for (const { group, kind, digest, lines } of added) {
    // A build of another catalog may have replaced the last use of the same content.
    if ((yield* stored.first({ digest })) === undefined)
      throw new RevisionConflict(`segment ${digest} was deleted`);
    yield* add.run({ catalog, group, kind, digest, lines });
  }
  for (const digest of replaced) yield* deleteUnusedSegment(digest);
}

/** Deletes the content of a segment if no catalog has it. */
export function* deleteUnusedSegment(digest: Digest): Work<void> {
  yield* deleteUnused.run({ digest });
}

/** Deletes the segment with the entry of a function in a catalog; the next build makes it again without the entry. */
export function* removeSegmentWith(catalog: string, { group, kind }: FunctionName): Work<void> {
  for (const { segment } of yield* removeWith.all({ catalog, group, kind })) {
    yield* deleteUnusedSegment(segment);
  }
}
