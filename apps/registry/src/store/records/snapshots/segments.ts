import { setImmediate } from 'node:timers/promises';
import {
  type CatalogSyntax,
  RevisionConflict,
  type SegmentChanges,
  type SegmentContent,
  type SegmentStore,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import {
  change,
  fromList,
  inList,
  type StatementCall,
  text,
  together,
  type Work,
} from '../../sql/statement.js';
import { snapshots } from '../schema/schema.js';

type SegmentRow = FunctionName & { digest: Digest; yaml: number; json: number };

/** Segments whose lines are read before other work runs: about two megabytes. */
const LINES_PAGE = 256;

/** An interrupted build leaves contents that no catalog has. */
export const DELETE_UNUSED_SEGMENTS =
  'DELETE FROM segment WHERE digest NOT IN (SELECT segment FROM catalog_segment)';

const NEWEST_SERIAL = '(SELECT coalesce(max(serial), 0) FROM snapshot WHERE catalog = :catalog)';
const newestSerial = text<{ newest: number }>(`SELECT ${NEWEST_SERIAL} AS newest`);
const selectSegments = (join: string) =>
  `SELECT group_name AS "group", kind, segment AS digest, length(yaml) AS yaml, length(json) AS json
   FROM catalog_segment ${join} segment ON segment.digest = catalog_segment.segment
   WHERE catalog = :catalog AND ${NEWEST_SERIAL} = :serial ORDER BY group_name, kind`;
const all = text<SegmentRow>({ sqlite: selectSegments('CROSS JOIN'), postgres: selectSegments('JOIN') });
const linesAfter = text<FunctionName & { lines: string }>(
  `SELECT group_name AS "group", kind, lines FROM catalog_segment
   WHERE catalog = :catalog AND (group_name, kind) > (:group, :kind)
   ORDER BY group_name, kind LIMIT ${LINES_PAGE}`,
);
const selectStored = text<{ digest: Digest }>(
  inList((digests) => `SELECT digest FROM segment WHERE digest IN ${digests}`, ':digests'),
);
/** Segments that are replaced, by their names, and those of the given digests whose contents are stored. */
const changing = text<{ digest: Digest; isStored: number }>(
  fromList(
    (list, join) => `SELECT segment AS digest, 0 AS "isStored" FROM ${list} ${join} catalog_segment
       ON catalog = :catalog AND group_name = wanted.value ->> 0 AND kind = wanted.value ->> 1
     UNION ALL SELECT digest, 1 FROM ${list} ${join} segment ON digest = wanted.value ->> 0`,
    ':wanted',
  ),
);
const selectBytes = (syntax: CatalogSyntax) =>
  text<{ digest: Digest; bytes: Buffer }>(
    inList(
      (digests) => `SELECT digest, ${syntax} AS bytes FROM segment WHERE digest IN ${digests}`,
      ':digests',
    ),
  );
const selectContents = text<SegmentContent>(
  inList((digests) => `SELECT digest, yaml, json FROM segment WHERE digest IN ${digests}`, ':digests'),
);
const BYTES = { yaml: selectBytes('yaml'), json: selectBytes('json') };
// What is stored may be damaged.
const putContent = text(
  `INSERT INTO segment (digest, yaml, json) VALUES (:digest, :yaml, :json)
   ON CONFLICT (digest) DO UPDATE SET yaml = excluded.yaml, json = excluded.json`,
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
const remove = text<never>(
  'DELETE FROM catalog_segment WHERE catalog = :catalog AND group_name = :group AND kind = :kind',
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
const deleteUnusedListed = text(
  inList(
    (digests) => `DELETE FROM segment WHERE digest IN ${digests}
       AND NOT EXISTS (SELECT 1 FROM catalog_segment WHERE catalog_segment.segment = segment.digest)`,
    ':digests',
  ),
);
const removeWith = text<{ segment: Digest }>(
  `DELETE FROM catalog_segment WHERE catalog = :catalog AND (group_name, kind) = (
     SELECT group_name, kind FROM catalog_segment
     WHERE catalog = :catalog AND (group_name, kind) <= (:group, :kind)
     ORDER BY group_name DESC, kind DESC LIMIT 1)
   RETURNING segment`,
);

/** The segments of newest snapshots. */
export function segmentRows({ read, readOne, write }: Sql): SegmentStore {
  return {
    async segments(catalog, serial) {
      let rows: SegmentRow[] | undefined = await readOne(() => all.all({ catalog, serial }));
      if (rows.length === 0) {
        rows = await read(function* () {
          return (yield* isNewest(catalog, serial)) ? yield* all.all({ catalog, serial }) : undefined;
        });
      }
      return rows?.map(({ yaml, json, ...row }) => ({ ...row, compressed: { yaml, json } }));
    },
    async *segmentLines(catalog) {
      let after = { group: '', kind: '' };
      for (;;) {
        const page = await readOne(() => linesAfter.all({ catalog, ...after }));
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < LINES_PAGE) return;
        after = { group: last.group, kind: last.kind };
        await setImmediate();
      }
    },
    missingSegments: (digests) =>
      readOne(function* () {
        const found = yield* selectStored.all({ digests: JSON.stringify(digests) });
        const stored = new Set(found.map(({ digest }) => digest));
        return digests.filter((digest) => !stored.has(digest));
      }),
    segmentBytes: (digests, syntax: CatalogSyntax) =>
      readOne(function* () {
        const rows = yield* BYTES[syntax].all({ digests: JSON.stringify(digests) });
        const found = new Map(rows.map(({ digest, bytes }) => [digest, bytes]));
        return digests.map((digest) => found.get(digest));
      }),
    segmentContents: (digests) =>
      readOne(function* () {
        const rows = yield* selectContents.all({ digests: JSON.stringify(digests) });
        const found = new Map(rows.map((row) => [row.digest, row]));
        return digests.map((digest) => found.get(digest));
      }),
    storeSegments: (contents) =>
      write(
        function* () {
          yield* together(contents.map(addContent));
        },
        { isPart: true },
      ),
    addSegments: ({ catalog, serial, segments, documents }) =>
      write(function* () {
        if (!(yield* isNewest(catalog, serial))) return false;
        const { changes, after } = yield* segmentChanges(catalog, segments);
        yield* together(changes);
        yield* after();
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

function addContent({ digest, yaml, json }: SegmentContent): StatementCall {
  return putContent.later({ digest, yaml, json });
}

/**
 * Returns the changes that replace segments of a catalog, for `together`, and what deletes contents that no catalog has
 * any more.
 */
export function* segmentChanges(
  catalog: string,
  { removed, added, contents }: SegmentChanges,
): Work<{ changes: StatementCall[]; after: () => Work<void> }> {
  const kept = new Set(added.map(segmentKey));
  const gone = removed.filter((one) => !kept.has(segmentKey(one)));
  const wanted = [
    ...[...gone, ...added].map(({ group, kind }) => [group, kind]),
    ...added.map(({ digest }) => [digest]),
  ];
  const stored = new Set(contents.map(({ digest }) => digest));
  const replaced: Digest[] = [];
  for (const { digest, isStored } of yield* changing.all({ catalog, wanted: JSON.stringify(wanted) })) {
    if (isStored) stored.add(digest);
    else replaced.push(digest);
  }
  // A build of another catalog may have replaced the last use of the same content.
  const deleted = added.find(({ digest }) => !stored.has(digest));
  if (deleted !== undefined) throw new RevisionConflict(`segment ${deleted.digest} was deleted`);
  const changes = [
    ...contents.map(addContent),
    ...gone.map(({ group, kind }) => remove.later({ catalog, group, kind })),
    ...added.map(({ group, kind, digest, lines }) => add.later({ catalog, group, kind, digest, lines })),
  ];
  const now = new Set(added.map(({ digest }) => digest));
  const digests = replaced.filter((digest) => !now.has(digest));
  return {
    changes,
    *after() {
      if (digests.length > 0) yield* deleteUnusedListed.run({ digests: JSON.stringify(digests) });
    },
  };
}

const segmentKey = ({ group, kind }: FunctionName) => `${group}/${kind}`;

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
