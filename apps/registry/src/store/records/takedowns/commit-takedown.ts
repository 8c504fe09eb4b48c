import {
  type FunctionStore,
  type FunctionTakedown,
  type NewEvent,
  RevisionConflict,
  type TakedownResult,
} from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { SearchIndex } from '../../search/search-index.js';
import { isDuplicate } from '../../sql/duplicate.js';
import { inserter } from '../../sql/insert.js';
import type { WriteSql } from '../../sql/sql.js';
import { change as changes, query, text, type Work } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';
import { findFunction, type NameRow } from '../functions/functions.js';
import { removeUnnamedFile } from '../functions/release-files.js';
import { catalogs, functions, releases, takedowns } from '../schema/schema.js';
import { insertTakedownPins, lastRevision } from './takedown-rows.js';
import { withdrawArtifacts } from './withdraw-artifacts.js';
import { withdrawEntries } from './withdraw-entries.js';
import { withdrawScripts } from './withdraw-scripts.js';

/** Rolls a dry run back. */
class DryRunRollback extends Error {
  readonly reach: TakedownResult;
  constructor(reach: TakedownResult) {
    super();
    this.reach = reach;
  }
}

export function commitTakedown({ write }: WriteSql, search: SearchIndex): FunctionStore['commitTakedown'] {
  return async (takedown, { dryRun } = { dryRun: false }) => {
    try {
      return await write(function* () {
        const result = yield* apply(takedown, search);
        if (dryRun) throw new DryRunRollback(result);
        return result;
      });
    } catch (error) {
      if (error instanceof DryRunRollback) return error.reach;
      throw error;
    }
  };
}

const insertTombstone = inserter(takedowns);
const ofRelease = and(
  eq(releases.functionId, sql.placeholder('functionId')),
  eq(releases.release, sql.placeholder('release')),
);
const deleteRelease = query((db) =>
  db
    .delete(releases)
    .where(and(ofRelease, eq(releases.digest, sql.placeholder('digest'))))
    .returning({ readme: releases.readme }),
);
const releaseId = query((db) => db.select({ id: releases.id }).from(releases).where(ofRelease));
const deleteFunction = changes((db) => db.delete(functions).where(eq(functions.id, sql.placeholder('id'))));
const planAgain = changes((db) =>
  db.update(catalogs).set({ appliedEvent: sql`${sql.placeholder('event')}` }),
);
/** The releases whose definition or README is a blob. */
const naming = text<{ group: string; kind: string; release: string }>(
  `SELECT group_name AS "group", kind, release.release FROM release JOIN function ON function.id = function_id
   WHERE digest = :digest OR readme = :digest ORDER BY group_name, kind, release.id`,
);

function* apply(change: FunctionTakedown, search: SearchIndex): Work<TakedownResult> {
  const { group, kind } = change;
  const current = yield* findFunction(group, kind);
  if ((current?.revision ?? 0) !== change.expectedRevision) {
    throw new RevisionConflict(
      `${group}/${kind} is at revision ${current?.revision ?? 0}, not ${change.expectedRevision}`,
    );
  }
  const revision = Math.max(current?.revision ?? 0, yield* lastRevision(group, kind)) + 1;
  const digests = new Set<Digest>();
  const events: NewEvent[] = [];
  const readmes = new Map<string, Digest>();
  for (const { at, by, reason, release, digest } of change.takedowns) {
    const readme = current && (yield* removeRelease(current.id, release, digest));
    digests.add(digest);
    if (readme) {
      digests.add(readme);
      readmes.set(release, readme);
    }
    events.push({ type: 'release.taken-down', at, by, group, kind, release, digest, reason });
  }
  const touched = new Set<string>();
  const recorded = [...new Set(change.takedowns.flatMap((takedown) => takedown.scripts ?? []))];
  const { scripts, removed } = yield* withdrawScripts({ pins: change.scripts ?? [], recorded }, touched);
  const refused = new Set(removed);
  for (const { runtimeDigests = [], ...takedown } of change.takedowns) {
    const id = yield* addTombstone({
      ...takedown,
      kindFolded: kind.toLowerCase(),
      readme: readmes.get(takedown.release) ?? null,
      revision,
      token: change.origin?.credential ?? null,
      finished: false,
      scripts: removed.length === 0 ? null : removed,
    });
    for (const digest of runtimeDigests) refused.add(digest);
    yield* insertTakedownPins(id, [...refused]);
  }
  for (const digest of digests) yield* removeUnnamedFile(digest);
  if (current !== undefined) yield* updateFunction(current.id, change, revision, search);
  const withdrawn = yield* withdrawEntries(change);
  yield* search.takenDown(group, kind);
  for (const snapshot of withdrawn) {
    const { at, by, reason } = change.takedowns[0]!;
    events.push({ type: 'catalog.withdrawn', at, by, reason, ...snapshot });
  }
  const blobs: TakedownResult['blobs'] = [];
  for (const digest of digests) blobs.push({ digest, keptBy: yield* naming.all({ digest }) });
  const repositories = yield* withdrawArtifacts(change, withdrawn, blobs, touched);
  let event = 0;
  for (const one of events) event = Math.max(event, (yield* appendEvent(one, change.origin)).sequence);
  // Builds that were planned before may contain it, so they must be planned again.
  yield* planAgain.run({ event });
  return { event, withdrawn, blobs, scripts, refused: [...refused].sort(), repositories };
}

/** Deletes a release. Returns the digest of its README, null without one, undefined if there is no such release. */
function* removeRelease(
  functionId: number,
  release: string,
  digest: Digest,
): Work<Digest | null | undefined> {
  const removed = yield* deleteRelease.first({ functionId, release, digest });
  if (removed !== undefined) return removed.readme;
  if ((yield* releaseId.first({ functionId, release })) === undefined) return undefined;
  throw new KrmhubError('conflict', `release ${release} does not have the digest ${digest}`);
}

function* addTombstone(row: Omit<typeof takedowns.$inferInsert, 'id'>): Work<number> {
  try {
    return yield* insertTombstone(row);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new KrmhubError('conflict', `${row.group}/${row.kind}@${row.release} is already taken down`);
  }
}

/** Updates the function's row and search rows from its remaining releases, or deletes them. */
function* updateFunction(
  id: NameRow['id'],
  { search: document }: FunctionTakedown,
  revision: number,
  search: SearchIndex,
): Work<void> {
  if (document === undefined) {
    yield* search.remove(id);
    yield* deleteFunction.run({ id });
    return;
  }
  const { group: _group, kind: _kind, ...shown } = document;
  yield* changes((db) =>
    db
      .update(functions)
      .set({ ...shown, revision })
      .where(eq(functions.id, id)),
  ).run();
  yield* search.put(id, document, false);
}
