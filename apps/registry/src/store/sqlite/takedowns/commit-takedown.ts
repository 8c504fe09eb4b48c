import {
  type FunctionStore,
  type FunctionTakedown,
  type NewEvent,
  RevisionConflict,
  type TakedownResult,
} from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { and, eq } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { eventAppender } from '../events/events.js';
import { functionFinder, type NameRow } from '../functions/functions.js';
import { releaseFileWriter } from '../functions/release-files.js';
import { prepared } from '../prepared.js';
import { catalogs, functions, releases, takedowns } from '../schema/schema.js';
import { searchRowRemover, searchRowWriter } from '../search/rows.js';
import { upstreamRows } from '../search/upstream-rows.js';
import { lastRevision } from './takedown-rows.js';
import { artifactWithdrawer } from './withdraw-artifacts.js';
import { entryWithdrawer } from './withdraw-entries.js';

/** Rolls a dry run back. */
class DryRunRollback extends Error {
  readonly reach: TakedownResult;
  constructor(reach: TakedownResult) {
    super();
    this.reach = reach;
  }
}

export function commitTakedown(connection: Connection): FunctionStore['commitTakedown'] {
  const apply = applier(connection);
  return async (takedown, { dryRun } = { dryRun: false }) => {
    try {
      return await connection.write(() => {
        const reach = apply(takedown);
        if (dryRun) throw new DryRunRollback(reach);
        return reach;
      });
    } catch (error) {
      if (error instanceof DryRunRollback) return error.reach;
      throw error;
    }
  };
}

function applier(connection: Connection): (change: FunctionTakedown) => TakedownResult {
  const { db } = connection;
  const find = functionFinder(connection);
  const revisionOf = lastRevision(connection);
  const appendEvent = eventAppender(connection);
  const withdrawEntries = entryWithdrawer(connection);
  const namedBy = nameFinder(connection);
  const updateFunctionRow = functionRowWriter(connection);
  const withdrawArtifacts = artifactWithdrawer(connection);
  const upstream = upstreamRows(connection);
  const files = releaseFileWriter(connection);

  return (change) => {
    const { group, kind } = change;
    const current = find(group, kind);
    if ((current?.revision ?? 0) !== change.expectedRevision) {
      throw new RevisionConflict(
        `${group}/${kind} is at revision ${current?.revision ?? 0}, not ${change.expectedRevision}`,
      );
    }
    const revision = Math.max(current?.revision ?? 0, revisionOf(group, kind)) + 1;
    const digests = new Set<Digest>();
    const events: NewEvent[] = [];
    for (const takedown of change.takedowns) {
      const { at, by, reason, release, digest } = takedown;
      const readme = current && removeRelease(connection, current.id, release, digest);
      addTombstone(connection, {
        ...takedown,
        kindFolded: kind.toLowerCase(),
        readme: readme ?? null,
        revision,
        token: change.token ?? null,
        finished: false,
      });
      digests.add(digest);
      if (readme) digests.add(readme);
      events.push({ type: 'release.taken-down', at, by, group, kind, release, digest, reason });
    }
    for (const digest of digests) files.removeUnnamed(digest);
    if (current !== undefined) updateFunctionRow(current.id, change, revision);
    const withdrawn = withdrawEntries(change);
    // Without a release, an upstream catalog can provide the name again.
    upstream.refresh(group, kind);
    for (const snapshot of withdrawn) {
      const { at, by, reason } = change.takedowns[0]!;
      events.push({ type: 'catalog.withdrawn', at, by, reason, ...snapshot });
    }
    const blobs = [...digests].map((digest) => ({ digest, keptBy: namedBy(digest) }));
    const repositories = withdrawArtifacts(change, withdrawn, blobs);
    const event = Math.max(...events.map((one) => appendEvent(one).sequence));
    // Builds that were planned before may contain it, so they must be planned again.
    db.update(catalogs).set({ appliedEvent: event }).run();
    return {
      event,
      withdrawn,
      blobs,
      repositories,
    };
  };
}

/** Deletes a release. Returns the digest of its README, null without one, undefined if there is no such release. */
function removeRelease(
  { db }: Connection,
  functionId: number,
  release: string,
  digest: Digest,
): Digest | null | undefined {
  const [removed] = db
    .delete(releases)
    .where(
      and(eq(releases.functionId, functionId), eq(releases.release, release), eq(releases.digest, digest)),
    )
    .returning({ readme: releases.readme })
    .all();
  if (removed !== undefined) return removed.readme;
  const other = db
    .select({ id: releases.id })
    .from(releases)
    .where(and(eq(releases.functionId, functionId), eq(releases.release, release)))
    .get();
  if (other === undefined) return undefined;
  throw new KrmhubError('conflict', `release ${release} does not have the digest ${digest}`);
}

function addTombstone({ db }: Connection, row: Omit<typeof takedowns.$inferInsert, 'id'>): void {
  try {
    db.insert(takedowns).values(row).run();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error;
    throw new KrmhubError('conflict', `${row.group}/${row.kind}@${row.release} is already taken down`);
  }
}

/** Updates the function's row and search rows from its remaining releases, or deletes them. */
function functionRowWriter(connection: Connection) {
  const { db } = connection;
  const writeSearchRows = searchRowWriter(connection);
  const removeSearchRows = searchRowRemover(connection);
  return (id: NameRow['id'], { search }: FunctionTakedown, revision: number): void => {
    if (search === undefined) {
      removeSearchRows(id);
      db.delete(functions).where(eq(functions.id, id)).run();
      return;
    }
    const { group: _group, kind: _kind, ...shown } = search;
    db.update(functions)
      .set({ ...shown, revision })
      .where(eq(functions.id, id))
      .run();
    writeSearchRows(id, search, false);
  };
}

/** Finds the releases whose definition or README is a blob. */
function nameFinder({ client }: Connection) {
  const find = prepared(() =>
    client.prepare<{ digest: string }, { group: string; kind: string; release: string }>(
      `SELECT group_name AS "group", kind, release.release FROM release JOIN function ON function.id = function_id
     WHERE digest = :digest OR readme = :digest ORDER BY group_name, kind, release.id`,
    ),
  );
  return (digest: Digest) => find.all({ digest });
}
