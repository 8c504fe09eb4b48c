/**
 * Reads and writes functions, releases, signing policies, and small files of releases.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises';
import type {
  FunctionReader,
  FunctionRecord,
  ReleaseBundle,
  ReleaseRecord,
  TakedownReader,
  WorkflowRun,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, count, eq, getTableColumns, sql } from 'drizzle-orm';
import type { FunctionArtifacts } from '../../artifacts/artifact-store.js';
import type { FileNameReader, FileRowReader, PublishStateReader } from '../../registry-store.js';
import type { SearchIndex } from '../../search/search-index.js';
import type { Sql } from '../../sql/sql.js';
import { fromList, query, text, type Work } from '../../sql/statement.js';
import { releaseNotes } from '../schema/release-notes.js';
import { releaseRuns } from '../schema/release-runs.js';
import { functions, releaseBundles, releases } from '../schema/schema.js';
import { functionTakedowns } from '../takedowns/takedown-rows.js';
import { commitFunction } from './commit-function.js';
import { functionRecords, releaseSummary } from './function-records.js';
import { fileNames, releaseFileReader } from './release-files.js';

export type FunctionRows = Omit<FunctionReader, keyof TakedownReader> &
  FunctionArtifacts &
  PublishStateReader &
  FileRowReader &
  FileNameReader;

/** Functions per read; other work runs between two pages. */
const PAGE = 500;

const nameColumns = {
  id: functions.id,
  group: functions.group,
  kind: functions.kind,
  revision: functions.revision,
};
export type NameRow = Pick<typeof functions.$inferSelect, keyof typeof nameColumns>;

const ofName = and(
  eq(functions.group, sql.placeholder('group')),
  eq(functions.kindFolded, sql.placeholder('kindFolded')),
);
const byName = query((db) => db.select(nameColumns).from(functions).where(ofName));
const selectRelease = query((db) =>
  db
    .select({
      fn: { group: functions.group, kind: functions.kind },
      row: { ...getTableColumns(releases), bundles: releaseBundles.bundles },
      notes: releaseNotes.notes,
      run: releaseRuns.run,
    })
    .from(functions)
    .innerJoin(releases, eq(releases.functionId, functions.id))
    .leftJoin(releaseBundles, eq(releaseBundles.release, releases.id))
    .leftJoin(releaseNotes, eq(releaseNotes.release, releases.id))
    .leftJoin(releaseRuns, eq(releaseRuns.release, releases.id))
    .where(and(ofName, eq(releases.release, sql.placeholder('release')))),
);
const AS_BYTES = {
  sqlite: 'CAST(release.definition AS BLOB)',
  postgres: `convert_to(release.definition, 'UTF8')`,
};
const selectDefinitions = text<{ definition: Uint8Array | null }>(
  fromList(
    (list, _join, dialect) => `SELECT ${AS_BYTES[dialect]} AS definition FROM ${list}
      LEFT JOIN function ON group_name = wanted.value ->> 'group' AND kind_folded = wanted.value ->> 'kindFolded'
      LEFT JOIN release ON function_id = function.id AND release.release = wanted.value ->> 'release'
      ORDER BY wanted.position`,
    ':releases',
  ),
);
const selectNotes = text<{ notes: string | null; run: string | null }>(
  fromList(
    (list) => `SELECT notes, run FROM ${list}
      LEFT JOIN function ON group_name = wanted.value ->> 'group' AND kind_folded = wanted.value ->> 'kindFolded'
      LEFT JOIN release ON function_id = function.id AND release.release = wanted.value ->> 'release'
      LEFT JOIN release_notes ON release_notes.release = release.id
      LEFT JOIN release_run ON release_run.release = release.id
      ORDER BY wanted.position`,
    ':releases',
  ),
);
const MAX_NAMED = 100;
const selectNamed = text<FunctionName & { release: string }>(
  `SELECT group_name AS "group", kind, release.release FROM release JOIN function ON function.id = function_id
   WHERE release.id IN (SELECT id FROM release WHERE digest = :digest UNION SELECT release FROM release_pin WHERE pin = :digest)
   ORDER BY group_name, kind, release.release LIMIT ${MAX_NAMED}`,
);
const selectFiles = query((db) =>
  db
    .select({ digest: releases.digest, mediaType: releases.mediaType, readme: releases.readme })
    .from(releases)
    .innerJoin(functions, eq(functions.id, releases.functionId))
    .where(and(ofName, eq(releases.release, sql.placeholder('release')))),
);
const pageAfter = query((db) =>
  db
    .select(nameColumns)
    .from(functions)
    .where(
      sql`(${functions.group}, ${functions.kind}) > (${sql.placeholder('group')}, ${sql.placeholder('kind')})`,
    )
    .orderBy(functions.group, functions.kind)
    .limit(PAGE),
);
const selectGroups = query((db) =>
  db.selectDistinct({ group: functions.group }).from(functions).orderBy(functions.group),
);
const selectKinds = query((db) =>
  db
    .select({ kind: functions.kind })
    .from(functions)
    .where(eq(functions.group, sql.placeholder('group')))
    .orderBy(functions.kind),
);
const selectPublishState = text<{ what: 'kind' | 'taken'; kind: string; id: number; revision: number }>(
  `SELECT 'kind' AS what, kind, id, revision FROM function WHERE group_name = :group AND (kind_folded = :kindFolded
     OR NOT EXISTS (SELECT 1 FROM function WHERE group_name = :group AND kind_folded = :kindFolded))
   UNION ALL SELECT 'taken', kind, id, 0 FROM takedown WHERE group_name = :group AND kind_folded = :kindFolded
   ORDER BY 2, 1`,
);
const counted = query((db) => db.select({ functions: count() }).from(functions));

export function functionRows(database: Sql, search: SearchIndex): FunctionRows {
  const { read, readOne } = database;
  const records = functionRecords();
  const recordOf = async (row: (FunctionName & { revision: number }) | undefined) => {
    const known = row && records.known(row);
    if (row === undefined || known !== undefined) return known;
    // What changed since then is read with it.
    return readOne(function* () {
      const [record] = yield* records.read([row]);
      return record && records.remember(record);
    });
  };
  return {
    function: async (group, kind) => recordOf(await readOne(() => findFunction(group, kind))),

    async publishState(group, kind) {
      const kindFolded = kind.toLowerCase();
      const rows = await readOne(() => selectPublishState.all({ group, kindFolded }));
      const functions = rows.filter(({ what }) => what === 'kind');
      const row = functions.find((one) => one.kind.toLowerCase() === kindFolded);
      return {
        current: await recordOf(row && { ...row, group }),
        kinds: row === undefined ? functions.map((one) => one.kind) : [],
        takedowns:
          rows.length === functions.length ? [] : await readOne(() => functionTakedowns(group, kind)),
      };
    },

    async functions(names) {
      const found: FunctionRecord[] = [];
      for (let at = 0; at < names.length; at += PAGE) {
        if (at > 0) await setImmediate();
        found.push(...(await readOne(() => records.read(names.slice(at, at + PAGE)))));
      }
      return found;
    },

    async *allFunctions() {
      let after = { group: '', kind: '' };
      for (;;) {
        const page = await read(function* () {
          return yield* records.read(yield* pageAfter.all(after));
        });
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        after = { group: last.group, kind: last.kind };
        await setImmediate();
      }
    },

    groups: () =>
      readOne(function* () {
        return (yield* selectGroups.all()).map(({ group }) => group);
      }),

    kinds: (group) =>
      readOne(function* () {
        return (yield* selectKinds.all({ group })).map(({ kind }) => kind);
      }),

    countFunctions: () =>
      readOne(function* () {
        return (yield* counted.first())!.functions;
      }),

    release: (group, kind, release) =>
      readOne(function* () {
        const found = yield* selectRelease.first({ group, kindFolded: kind.toLowerCase(), release });
        if (found === undefined) return undefined;
        const { fn, row, notes, run } = found;
        return {
          ...releaseRecord(fn, row),
          ...defined({ notes: notes ?? undefined, run: run ?? undefined }),
        };
      }),

    definitionsJson: (names) =>
      readOne(function* () {
        const found = yield* selectDefinitions.all({ releases: foldedNames(names) });
        return found.map(({ definition }) => definition ?? undefined);
      }),

    notesAndRuns: (names) =>
      readOne(function* () {
        const found = yield* selectNotes.all({ releases: foldedNames(names) });
        return found.map(({ notes, run }) =>
          defined({
            notes: notes ?? undefined,
            run: run === null ? undefined : (JSON.parse(run) as WorkflowRun),
          }),
        );
      }),

    releasesWith: (digest) => readOne(() => selectNamed.all({ digest })),

    releaseFiles: (group, kind, release) =>
      readOne(function* () {
        const row = yield* selectFiles.first({ group, kindFolded: kind.toLowerCase(), release });
        if (row === undefined) return undefined;
        const { digest, mediaType, readme } = row;
        return { digest, mediaType, ...defined({ readme: readme ?? undefined }) };
      }),

    fileBytes: releaseFileReader(database),
    namesFile: fileNames(database),

    commitFunction: commitFunction(database, search),
  };
}

function foldedNames(names: readonly (FunctionName & { release: string })[]): string {
  return JSON.stringify(
    names.map(({ group, kind, release }) => ({ group, kindFolded: kind.toLowerCase(), release })),
  );
}

/** Finds a function by group and kind, ignoring the case of the kind. */
export function findFunction(group: string, kind: string): Work<NameRow | undefined> {
  return byName.first({ group, kindFolded: kind.toLowerCase() });
}

type ReleaseRow = typeof releases.$inferSelect & { bundles: ReleaseBundle[] | null };

function releaseRecord({ group, kind }: FunctionName, { definition, ...row }: ReleaseRow): ReleaseRecord {
  const { mediaType } = row;
  return { group, kind, ...releaseSummary(row), mediaType, definition };
}
