import { setImmediate } from 'node:timers/promises';
import type { FunctionChange, FunctionRecord, ReleaseBundle, ReleaseRecord } from '@krmhub/catalog';
import { RevisionConflict, tombstoneConflict } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { and, count, eq, getTableColumns, sql } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import { artifactWriter } from '../artifacts/artifact-rows.js';
import type { Connection } from '../connection.js';
import { eventAppender } from '../events/events.js';
import { rowInserter } from '../insert-row.js';
import { prepared } from '../prepared.js';
import { functions, releaseBundles, releases } from '../schema/schema.js';
import { searchRowWriter } from '../search/rows.js';
import { upstreamRows } from '../search/upstream-rows.js';
import { functionTakedowns, lastRevision } from '../takedowns/takedown-rows.js';
import { functionRecords, releaseSummary } from './function-records.js';
import { policyRevision } from './policies.js';
import { fileRow, releaseFileReader, releaseFileWriter } from './release-files.js';

export type FunctionRows = Pick<
  RegistryStore,
  | 'function'
  | 'functions'
  | 'allFunctions'
  | 'countFunctions'
  | 'release'
  | 'definitionJson'
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

export function functionRows(connection: Connection): FunctionRows {
  const { db, read, write } = connection;
  const find = functionFinder(connection);
  const records = functionRecords(connection);
  const releaseOf = prepared(() =>
    db
      .select({ ...getTableColumns(releases), bundles: releaseBundles.bundles })
      .from(releases)
      .leftJoin(releaseBundles, eq(releaseBundles.release, releases.id))
      .where(
        and(
          eq(releases.functionId, sql.placeholder('functionId')),
          eq(releases.release, sql.placeholder('release')),
        ),
      )
      .prepare(),
  );
  const definitionOf = prepared(() =>
    connection.client
      .prepare<[string, string, string], Uint8Array>(
        `SELECT CAST(release.definition AS BLOB) FROM release JOIN function ON function.id = function_id
       WHERE group_name = ? AND kind_folded = ? AND release.release = ?`,
      )
      .pluck(),
  );
  const filesOf = prepared(() =>
    db
      .select({ digest: releases.digest, mediaType: releases.mediaType, readme: releases.readme })
      .from(releases)
      .innerJoin(functions, eq(functions.id, releases.functionId))
      .where(
        and(
          eq(functions.group, sql.placeholder('group')),
          eq(functions.kindFolded, sql.placeholder('kindFolded')),
          eq(releases.release, sql.placeholder('release')),
        ),
      )
      .prepare(),
  );
  const pageAfter = prepared(() =>
    db
      .select(nameColumns)
      .from(functions)
      .where(
        sql`(${functions.group}, ${functions.kind}) > (${sql.placeholder('group')}, ${sql.placeholder('kind')})`,
      )
      .orderBy(functions.group, functions.kind)
      .limit(PAGE)
      .prepare(),
  );

  const counted = prepared(() => db.select({ functions: count() }).from(functions).prepare());

  return {
    function: (group, kind) =>
      read(() => {
        const row = find(group, kind);
        return row === undefined ? undefined : records.cached(row);
      }),

    async functions(names) {
      const found: FunctionRecord[] = [];
      for (let at = 0; at < names.length; at += PAGE) {
        if (at > 0) await setImmediate();
        const page = await read(() =>
          names.slice(at, at + PAGE).flatMap(({ group, kind }) => {
            const row = find(group, kind);
            return row === undefined ? [] : [records.read(row)];
          }),
        );
        found.push(...page);
      }
      return found;
    },

    async *allFunctions() {
      let after = { group: '', kind: '' };
      for (;;) {
        const page = await read(() => pageAfter.all(after).map(records.read));
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        after = { group: last.group, kind: last.kind };
        await setImmediate();
      }
    },

    countFunctions: () => read(() => counted.get()!.functions),

    release: (group, kind, release) =>
      read(() => {
        const fn = find(group, kind);
        const row = fn && releaseOf.get({ functionId: fn.id, release });
        return fn && row && releaseRecord(fn, row);
      }),

    definitionJson: (group, kind, release) =>
      read(() => definitionOf.get(group, kind.toLowerCase(), release)),

    releaseFiles: (group, kind, release) =>
      read(() => {
        const row = filesOf.get({ group, kindFolded: kind.toLowerCase(), release });
        if (row === undefined) return undefined;
        const { digest, mediaType, readme } = row;
        return { digest, mediaType, ...(readme !== null && { readme }) };
      }),

    fileBytes: releaseFileReader(connection),

    commitFunction: functionCommitter(connection, find, write),
  };
}

/** Finds a function by group and kind, ignoring the case of the kind. */
export function functionFinder({ db }: Connection): (group: string, kind: string) => NameRow | undefined {
  const byName = prepared(() =>
    db
      .select(nameColumns)
      .from(functions)
      .where(
        and(
          eq(functions.group, sql.placeholder('group')),
          eq(functions.kindFolded, sql.placeholder('kindFolded')),
        ),
      )
      .prepare(),
  );
  return (group, kind) => byName.get({ group, kindFolded: kind.toLowerCase() });
}

function functionCommitter(
  connection: Connection,
  find: (group: string, kind: string) => NameRow | undefined,
  write: Connection['write'],
): FunctionRows['commitFunction'] {
  const { db } = connection;
  const appendEvent = eventAppender(connection);
  const searchRows = searchRowWriter(connection);
  const takedownsOf = functionTakedowns(connection);
  const revisionOf = lastRevision(connection);
  const policiesAt = policyRevision(connection);
  const artifacts = artifactWriter(connection);
  const upstream = upstreamRows(connection);
  const releaseFiles = releaseFileWriter(connection);
  const insertFunction = rowInserter(connection, functions);
  const insertRelease = rowInserter(connection, releases);

  const upsertFunction = (
    change: FunctionChange,
    current: NameRow | undefined,
  ): { id: number; hasText: boolean } => {
    const { group, kind, ...shown } = change.search;
    if (current !== undefined) {
      const columns = { ...shown, revision: current.revision + 1 };
      db.update(functions).set(columns).where(eq(functions.id, current.id)).run();
      return { id: current.id, hasText: true };
    }
    const revision = revisionOf(group, kind) + 1;
    // A release in this registry takes the name over from upstream catalogs.
    const takenOver = upstream.release(group, kind);
    const id = takenOver ?? upstream.newId();
    insertFunction({ ...shown, id, group, kind, kindFolded: kind.toLowerCase(), revision });
    return { id, hasText: takenOver !== undefined };
  };

  const storeBundles = (id: number, { bundles = [] }: ReleaseRecord): void => {
    if (bundles.length === 0) return;
    db.insert(releaseBundles)
      .values({ release: id, bundles })
      .onConflictDoUpdate({ target: releaseBundles.release, set: { bundles } })
      .run();
  };

  const storeRelease = (functionId: number, { action, release }: FunctionChange): void => {
    const { group: _group, kind: _kind, bundles: _bundles, ...columns } = release;
    if (action === 'insert') {
      storeBundles(insertRelease({ ...columns, functionId }), release);
      return;
    }
    // Only the lifecycle and the bundles change: the bytes of a release never do.
    const [changed] = db
      .update(releases)
      .set({ yanked: release.yanked ?? null, deprecated: release.deprecated ?? null })
      .where(
        and(
          eq(releases.functionId, functionId),
          eq(releases.release, release.release),
          eq(releases.digest, release.digest),
        ),
      )
      .returning({ id: releases.id })
      .all();
    if (changed === undefined) throw refused(release, 'is not stored with these bytes');
    storeBundles(changed.id, release);
  };

  return async (change, given = [], files = []) => {
    const rows = files.map(fileRow);
    return write(() => {
      const current = find(change.group, change.kind);
      const revision = current?.revision ?? 0;
      if (revision !== change.expectedRevision) {
        throw new RevisionConflict(
          `${change.group}/${change.kind} is at revision ${revision}, not ${change.expectedRevision}`,
        );
      }
      const { expectedPolicies } = change;
      if (expectedPolicies !== undefined && expectedPolicies !== policiesAt()) {
        throw new RevisionConflict('the signing policies have changed');
      }
      if (current !== undefined && current.kind !== change.kind) {
        throw refused(change.release, `differs only in case from the existing kind ${current.kind}`);
      }
      const conflict =
        change.action === 'insert' &&
        tombstoneConflict(takedownsOf(change.group, change.kind), change.release);
      if (conflict) throw conflict;
      const { id, hasText } = upsertFunction(change, current);
      try {
        storeRelease(id, change);
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error;
        throw refused(change.release, 'already exists');
      }
      for (const row of rows) releaseFiles.add(row);
      for (const artifact of given) artifacts.putArtifact(artifact, change.event);
      searchRows(id, change.search, !hasText);
      return appendEvent(change.event);
    });
  };
}

function refused({ group, kind, release }: ReleaseRecord, why: string): KrmhubError {
  return new KrmhubError('conflict', `release ${group}/${kind}@${release} ${why}`);
}

type ReleaseRow = typeof releases.$inferSelect & { bundles: ReleaseBundle[] | null };

function releaseRecord({ group, kind }: NameRow, { definition, ...row }: ReleaseRow): ReleaseRecord {
  const { mediaType } = row;
  return { group, kind, ...releaseSummary(row), mediaType, definition };
}
