import {
  type CatalogEntryRow,
  catalogReaderRules,
  RevisionConflict,
  type SnapshotBuild,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { RegistryStore } from '../../registry-store.js';
import type { SearchIndex } from '../../search/search-index.js';
import type { WriteSql } from '../../sql/sql.js';
import { change, type StatementCall, text, together, type Work } from '../../sql/statement.js';
import { LARGE_WRITE } from '../../sql/write-queue.js';
import { readRules } from '../../stored-access.js';
import { type AddedArtifact, artifactChanges } from '../artifacts/artifact-changes.js';
import { eventChanges } from '../events/append-event.js';
import { claimRows } from '../functions/owner-claims.js';
import { accessDocument } from '../functions/policies.js';
import { type catalogFunctions, snapshots } from '../schema/schema.js';
import { addEntry } from './entry-row.js';
import { segmentChanges } from './segments.js';
import { addSignature, signatureArtifacts } from './signatures.js';

const selectState = text<{
  deleted: string | null;
  throughEvent: number;
  appliedEvent: number;
  serial: number | null;
  digest: string | null;
  /** Access documents that were applied after the build began. */
  newRules: number;
}>(
  `SELECT deleted, through_event AS "throughEvent", applied_event AS "appliedEvent", newest.serial, newest.digest,
     (SELECT count(*) FROM event WHERE sequence > :through AND type = 'access.applied') AS "newRules"
   FROM catalog LEFT JOIN snapshot AS newest ON newest.catalog = name
     AND newest.serial = (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name)
   WHERE name = :catalog`,
);
const builtThrough = text('UPDATE catalog SET through_event = :throughEvent WHERE name = :catalog');
const builtAndSearched = text(
  'UPDATE catalog SET through_event = :throughEvent, searched_serial = :serial WHERE name = :catalog',
);

// A row that waits for the next snapshot already stays, and is replaced.
const closeEarlier = text(
  `UPDATE catalog_function SET to_serial = :next
   WHERE catalog = :catalog AND group_name = :group AND kind = :kind AND to_serial IS NULL AND from_serial < :next`,
);
const put = text(
  `INSERT INTO catalog_function (catalog, group_name, kind, from_serial, entry, selection)
   VALUES (:catalog, :group, :kind, :next, :entry, :selection)
   ON CONFLICT (catalog, group_name, kind, from_serial)
   DO UPDATE SET to_serial = NULL, entry = excluded.entry, selection = excluded.selection`,
);

/** Changes of one step: all of those of a large build take much memory. */
const CHANGES_AT_ONCE = 2_000;

export function commitSnapshot({ write }: WriteSql, search: SearchIndex): RegistryStore['commitSnapshot'] {
  return (build, artifact, signatureArtifact) => {
    const work = function* (): Work<void> {
      const { catalog, throughEvent, snapshot, segments, event, signature } = build;
      const next = yield* nextSerial(build);
      let changes = build.entries.map(addEntry);
      for (const changed of build.changed) {
        changes.push(...entryRowChanges(catalog, next, changed));
        if (changes.length < CHANGES_AT_ONCE) continue;
        yield* together(changes);
        changes = [];
      }
      let deleteUnused = function* (): Work<void> {};
      if (snapshot !== undefined) {
        const row = { ...snapshot, catalog, digest: snapshot.digests['catalog.yaml'] };
        changes.push(change((db) => db.insert(snapshots).values(row)).later());
        if (segments !== undefined) {
          const replaced = yield* segmentChanges(catalog, segments);
          changes.push(...replaced.changes);
          deleteUnused = replaced.after;
        }
      }
      const artifacts: AddedArtifact[] = [];
      if (event !== undefined) {
        if (artifact !== undefined) artifacts.push({ ...artifact, at: event.at, by: event.by });
        changes.push(...eventChanges(event));
      }
      if (signature !== undefined) {
        artifacts.push(...signatureArtifacts(signature, signatureArtifact));
        changes.push(addSignature(signature, signatureArtifact));
      }
      changes.push(...(yield* artifactChanges(artifacts)));
      changes.push(
        snapshot !== undefined && search.follows
          ? builtAndSearched.later({ catalog, throughEvent, serial: snapshot.serial })
          : builtThrough.later({ catalog, throughEvent }),
      );
      yield* together(changes);
      yield* deleteUnused();
      if (snapshot !== undefined) yield* search.snapshotCommitted(snapshot);
    };
    return write(work, { isLarge: build.changed.length >= LARGE_WRITE });
  };
}

/** Returns the serial of the changes. Throws if the catalog changed after the build was planned. */
function* nextSerial(build: SnapshotBuild): Work<number> {
  const { catalog } = build;
  const current = yield* selectState.first({ catalog, through: build.throughEvent });
  if (current === undefined || current.deleted !== null)
    throw new KrmhubError('not-found', `catalog ${catalog} not found`);
  if (current.throughEvent !== build.expectedThroughEvent) {
    throw new RevisionConflict(
      `catalog ${catalog} is built through event ${current.throughEvent}, expected ${build.expectedThroughEvent}`,
    );
  }
  // Two consecutive recipes both leave the catalog at event 0, and a takedown does not change it.
  if (build.throughEvent < current.appliedEvent) {
    throw new RevisionConflict(
      `catalog ${catalog} must be built through event ${current.appliedEvent}, not ${build.throughEvent}`,
    );
  }
  // Snapshots stay, so none may contain what was hidden before.
  if (Number(current.newRules) > 0 && !(yield* hasSameRules(build)))
    throw new RevisionConflict(`catalog ${catalog} was compared by an earlier Access document`);
  const next = (current.serial ?? 0) + 1;
  const { snapshot } = build;
  if (snapshot && (snapshot.serial !== next || snapshot.previous !== current.digest)) {
    throw new RevisionConflict(
      `snapshot ${snapshot.serial} does not follow the newest one of catalog ${catalog}`,
    );
  }
  return next;
}

/** Whether the rules of now decide about the catalog as those by which it was compared. */
function* hasSameRules({ catalog, readerRules }: SnapshotBuild): Work<boolean> {
  if (readerRules === undefined) return false;
  const rules = readRules(yield* accessDocument(), yield* claimRows());
  return catalogReaderRules(rules, catalog) === readerRules;
}

/** Returns the changes that store the entry row of a function from the next serial on, for `together`. */
export function entryRowChanges(
  catalog: string,
  next: number,
  { group, kind, entry, ...selection }: CatalogEntryRow,
): StatementCall[] {
  const name = { catalog, group, kind, next };
  const stored = JSON.stringify(selection satisfies typeof catalogFunctions.$inferInsert.selection);
  const stays = put.later({ ...name, entry: entry ?? null, selection: stored });
  // Before the first snapshot, there are no earlier rows.
  return next === 1 ? [stays] : [closeEarlier.later(name), stays];
}
