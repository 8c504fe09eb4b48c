import { setImmediate } from 'node:timers/promises';
import type { FunctionChange, FunctionRecord, ReleaseBundle, ReleaseRecord } from '@krmhub/catalog';
import { RevisionConflict, tombstoneConflict } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { and, count, eq, getTableColumns, sql } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import { isDuplicate } from '../../sql/duplicate.js';
import { inserter } from '../../sql/insert.js';
import type { Sql } from '../../sql/sql.js';
import { change, fromList, query, text, type Work } from '../../sql/statement.js';
import { putArtifact } from '../artifacts/artifact-rows.js';
import { appendEvent } from '../events/append-event.js';
import { functions, releaseBundles, releases } from '../schema/schema.js';
import type { SearchIndex } from '../search/search-index.js';
import { functionTakedowns, lastRevision } from '../takedowns/takedown-rows.js';
import { functionRecords, releaseSummary } from './function-records.js';
import { policyRevision } from './policies.js';
import { addFile, fileRow, releaseFileReader } from './release-files.js';

export type FunctionRows = Pick<
  RegistryStore,
  | 'function'
  | 'functions'
  | 'allFunctions'
  | 'countFunctions'
  | 'release'
  | 'definitionsJson'
  | 'releaseFiles'
  | 'fileBytes'
  | 'commitFunction'
>;

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
const releaseOf = query((db) =>
  db
    .select({ ...getTableColumns(releases), bundles: releaseBundles.bundles })
    .from(releases)
    .leftJoin(releaseBundles, eq(releaseBundles.release, releases.id))
    .where(
      and(
        eq(releases.functionId, sql.placeholder('functionId')),
        eq(releases.release, sql.placeholder('release')),
      ),
    ),
);
const AS_BYTES = {
  sqlite: 'CAST(release.definition AS BLOB)',
  postgres: `convert_to(release.definition, 'UTF8')`,
};
const definitionsOf = text<{ definition: Uint8Array | null }>(
  fromList(
    (list, dialect) => `SELECT ${AS_BYTES[dialect]} AS definition FROM ${list}
      LEFT JOIN function ON group_name = wanted.value ->> 'group' AND kind_folded = wanted.value ->> 'kindFolded'
      LEFT JOIN release ON function_id = function.id AND release.release = wanted.value ->> 'release'
      ORDER BY wanted.position`,
    ':releases',
  ),
);
const filesOf = query((db) =>
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
const counted = query((db) => db.select({ functions: count() }).from(functions));
const insertFunction = inserter(functions);
const insertRelease = inserter(releases);

export function functionRows(database: Sql, search: SearchIndex): FunctionRows {
  const { read, write } = database;
  const records = functionRecords();
  return {
    function: (group, kind) =>
      read(function* () {
        const row = yield* findFunction(group, kind);
        return row === undefined ? undefined : yield* records.cached(row);
      }),

    async functions(names) {
      const found: FunctionRecord[] = [];
      for (let at = 0; at < names.length; at += PAGE) {
        if (at > 0) await setImmediate();
        await read(function* () {
          const rows: NameRow[] = [];
          for (const { group, kind } of names.slice(at, at + PAGE)) {
            const row = yield* findFunction(group, kind);
            if (row !== undefined) rows.push(row);
          }
          found.push(...(yield* records.read(rows)));
        });
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

    countFunctions: () =>
      read(function* () {
        return (yield* counted.first())!.functions;
      }),

    release: (group, kind, release) =>
      read(function* () {
        const fn = yield* findFunction(group, kind);
        const row = fn && (yield* releaseOf.first({ functionId: fn.id, release }));
        return fn && row && releaseRecord(fn, row);
      }),

    definitionsJson: (names) =>
      read(function* () {
        const wanted = names.map(({ group, kind, release }) => ({
          group,
          kindFolded: kind.toLowerCase(),
          release,
        }));
        const found = yield* definitionsOf.all({ releases: JSON.stringify(wanted) });
        return found.map(({ definition }) => definition ?? undefined);
      }),

    releaseFiles: (group, kind, release) =>
      read(function* () {
        const row = yield* filesOf.first({ group, kindFolded: kind.toLowerCase(), release });
        if (row === undefined) return undefined;
        const { digest, mediaType, readme } = row;
        return { digest, mediaType, ...(readme !== null && { readme }) };
      }),

    fileBytes: releaseFileReader(database),

    commitFunction: async (change, given = [], files = []) => {
      const rows = files.map(fileRow);
      return write(function* () {
        const { id, isNew } = yield* storeFunction(change, search);
        for (const row of rows) yield* addFile(row);
        for (const artifact of given) yield* putArtifact(artifact, change.event);
        yield* search.put(id, change.search, isNew);
        return yield* appendEvent(change.event);
      });
    },
  };
}

/** Finds a function by group and kind, ignoring the case of the kind. */
export function findFunction(group: string, kind: string): Work<NameRow | undefined> {
  return byName.first({ group, kindFolded: kind.toLowerCase() });
}

/** Stores the function and its release. `isNew`: search has no document of the name. */
function* storeFunction(change: FunctionChange, search: SearchIndex): Work<{ id: number; isNew: boolean }> {
  const current = yield* findFunction(change.group, change.kind);
  const revision = current?.revision ?? 0;
  if (revision !== change.expectedRevision) {
    throw new RevisionConflict(
      `${change.group}/${change.kind} is at revision ${revision}, not ${change.expectedRevision}`,
    );
  }
  const { expectedPolicies } = change;
  if (expectedPolicies !== undefined && expectedPolicies !== (yield* policyRevision())) {
    throw new RevisionConflict('the signing policies have changed');
  }
  if (current !== undefined && current.kind !== change.kind) {
    throw refused(change.release, `differs only in case from the existing kind ${current.kind}`);
  }
  if (change.action === 'insert') {
    const conflict = tombstoneConflict(yield* functionTakedowns(change.group, change.kind), change.release);
    if (conflict) throw conflict;
  }
  const row = yield* upsertFunction(change, current, search);
  try {
    yield* storeRelease(row.id, change);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw refused(change.release, 'already exists');
  }
  return row;
}

function* upsertFunction(
  { search: { group, kind, ...shown } }: FunctionChange,
  current: NameRow | undefined,
  search: SearchIndex,
): Work<{ id: number; isNew: boolean }> {
  if (current !== undefined) {
    const columns = { ...shown, revision: current.revision + 1 };
    yield* change((db) => db.update(functions).set(columns).where(eq(functions.id, current.id))).run();
    return { id: current.id, isNew: false };
  }
  const revision = (yield* lastRevision(group, kind)) + 1;
  // A release in this registry takes the name over from upstream catalogs.
  const takenOver = yield* search.takeOver(group, kind);
  const id = takenOver ?? (yield* search.newId());
  yield* insertFunction({ ...shown, id, group, kind, kindFolded: kind.toLowerCase(), revision });
  return { id, isNew: takenOver === undefined };
}

function* storeRelease(functionId: number, { action, release }: FunctionChange): Work<void> {
  const { group: _group, kind: _kind, bundles: _bundles, ...columns } = release;
  if (action === 'insert') {
    yield* storeBundles(yield* insertRelease({ ...columns, functionId }), release);
    return;
  }
  // Only the lifecycle and the bundles change: the bytes of a release never do.
  const changed = yield* query((db) =>
    db
      .update(releases)
      .set({ yanked: release.yanked ?? null, deprecated: release.deprecated ?? null })
      .where(
        and(
          eq(releases.functionId, functionId),
          eq(releases.release, release.release),
          eq(releases.digest, release.digest),
        ),
      )
      .returning({ id: releases.id }),
  ).first();
  if (changed === undefined) throw refused(release, 'is not stored with these bytes');
  yield* storeBundles(changed.id, release);
}

function* storeBundles(id: number, { bundles = [] }: ReleaseRecord): Work<void> {
  if (bundles.length === 0) return;
  yield* change((db) =>
    db
      .insert(releaseBundles)
      .values({ release: id, bundles })
      .onConflictDoUpdate({ target: releaseBundles.release, set: { bundles } }),
  ).run();
}

function refused({ group, kind, release }: ReleaseRecord, why: string): KrmhubError {
  return new KrmhubError('conflict', `release ${group}/${kind}@${release} ${why}`);
}

type ReleaseRow = typeof releases.$inferSelect & { bundles: ReleaseBundle[] | null };

function releaseRecord({ group, kind }: NameRow, { definition, ...row }: ReleaseRow): ReleaseRecord {
  const { mediaType } = row;
  return { group, kind, ...releaseSummary(row), mediaType, definition };
}
