import {
  type FunctionChange,
  functionKey,
  type ReleaseRecord,
  RevisionConflict,
  runtimePins,
  tombstoneConflict,
} from '@krmhub/catalog';
import { type Digest, type EventType, KrmhubError } from '@krmhub/schema';
import { eq } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import type { SearchIndex } from '../../search/search-index.js';
import { inserter } from '../../sql/insert.js';
import { newNumber } from '../../sql/new-number.js';
import type { WriteSql } from '../../sql/sql.js';
import { change, lastly, type StatementCall, text, type Work } from '../../sql/statement.js';
import { artifactChanges } from '../artifacts/artifact-changes.js';
import { eventChanges } from '../events/append-event.js';
import { releaseNotes } from '../schema/release-notes.js';
import { releaseRuns } from '../schema/release-runs.js';
import { releaseWords } from '../schema/release-words.js';
import { functions, releases } from '../schema/schema.js';
import { functionTakedowns } from '../takedowns/takedown-rows.js';
import { addFile, fileRow } from './release-files.js';

/** What a change of a function depends on. */
interface State {
  /** Null without the function. */
  id: number | null;
  kind: string | null;
  revision: number | null;
  /** ID and digest of the release; null without it. */
  releaseId: number | null;
  digest: Digest | null;
  /** Revision of the function after its last takedown; null without one. */
  takenDownAt: number | null;
  /** Revision of the signing policies; null without any. */
  policies: number | null;
}

// One statement: each is a round trip to PostgreSQL. Of what it reads, writes of other functions change nothing.
const selectState = text<State>(
  `SELECT function.id, function.kind, function.revision,
     stored.id AS "releaseId", stored.digest,
     (SELECT max(revision) FROM takedown WHERE group_name = :group AND kind_folded = :kindFolded) AS "takenDownAt",
     (SELECT revision FROM policy) AS policies
   FROM (SELECT 1 AS one) AS one LEFT JOIN function ON group_name = :group AND kind_folded = :kindFolded
     LEFT JOIN release AS stored ON stored.function_id = function.id AND stored.release = :release`,
);
const insertFunction = inserter(functions);
const insertRelease = inserter(releases);
const insertNotes = inserter(releaseNotes);
const insertRun = inserter(releaseRuns);
const insertWords = inserter(releaseWords);
/** What an event changes of a release: nothing else, because its actor may know less of it than is stored. */
const LIFECYCLE: Partial<Record<EventType, 'yanked' | 'deprecated'>> = {
  'release.yanked': 'yanked',
  'release.unyanked': 'yanked',
  'release.deprecated': 'deprecated',
  'release.undeprecated': 'deprecated',
};
const setLifecycle = {
  yanked: text<never>('UPDATE release SET yanked = :mark WHERE id = :id'),
  deprecated: text<never>('UPDATE release SET deprecated = :mark WHERE id = :id'),
};
const putBundles = text<never>(
  `INSERT INTO release_bundles (release, bundles) VALUES (:release, :bundles)
   ON CONFLICT (release) DO UPDATE SET bundles = excluded.bundles`,
);
const insertPins = text<never>({
  sqlite: 'INSERT INTO release_pin (release, pin) SELECT :release, value FROM json_each(:pins)',
  postgres:
    'INSERT INTO release_pin (release, pin) SELECT :release::bigint, json_array_elements_text(:pins::json)',
});

/** Stores a function and its release, with everything that belongs to them. */
export function commitFunction({ write }: WriteSql, search: SearchIndex): RegistryStore['commitFunction'] {
  return async (change, artifacts = [], files = []) => {
    // A README can have the bytes of the definition.
    const rows = new Map(files.map(fileRow).map((row) => [row.digest, row]));
    const { group, kind, release, event, origin } = change;
    const work = function* () {
      const state = (yield* selectState.first({
        group,
        kindFolded: kind.toLowerCase(),
        release: release.release,
      }))!;
      yield* refuseConflict(change, state);
      const fn = yield* functionChange(change, state, search);
      const changes = [
        fn.change,
        ...releaseChanges(fn.id, change, state),
        ...[...rows.values()].map(addFile),
        ...(yield* artifactChanges(artifacts.map((one) => ({ ...one, at: event.at, by: event.by })))),
      ];
      const sequence = (yield* lastly([...changes, ...eventChanges(event, origin)])) as { id: number };
      yield* search.put(fn.id, change.search, fn.isNew);
      return { ...event, sequence: sequence.id };
    };
    // Also the name of its repository, which has no capitals.
    return write(work, { of: functionKey({ group, kind }).toLowerCase() });
  };
}

function* refuseConflict(
  { group, kind, release, action, expectedRevision, expectedPolicies }: FunctionChange,
  state: State,
): Work<void> {
  const revision = state.revision ?? 0;
  if (revision !== expectedRevision) {
    throw new RevisionConflict(`${group}/${kind} is at revision ${revision}, not ${expectedRevision}`);
  }
  if (expectedPolicies !== undefined && expectedPolicies !== (state.policies ?? 0)) {
    throw new RevisionConflict('the signing policies have changed');
  }
  if (state.kind !== null && state.kind !== kind) {
    throw refused(release, `differs only in case from the existing kind ${state.kind}`);
  }
  if (action !== 'insert') return;
  if (state.takenDownAt !== null) {
    const conflict = tombstoneConflict(yield* functionTakedowns(group, kind), release);
    if (conflict) throw conflict;
  }
  if (state.releaseId !== null) throw refused(release, 'already exists');
}

/** Returns the change of the function row. `isNew`: search has no document of the name. */
function* functionChange(
  { search: { group, kind, ...shown } }: FunctionChange,
  { id, revision, takenDownAt }: State,
  search: SearchIndex,
): Work<{ id: number; isNew: boolean; change: StatementCall }> {
  if (id !== null) {
    const columns = { ...shown, revision: revision! + 1 };
    const update = change((db) => db.update(functions).set(columns).where(eq(functions.id, id)));
    return { id, isNew: false, change: update.later() };
  }
  // A release in this registry takes the name over from upstream catalogs.
  yield* search.takeOver(group, kind);
  const row = {
    ...shown,
    id: yield* search.newId(),
    group,
    kind,
    kindFolded: kind.toLowerCase(),
    revision: (takenDownAt ?? 0) + 1,
  };
  return { id: row.id, isNew: true, change: insertFunction.later(row) };
}

function releaseChanges(
  functionId: number,
  { action, release, words, event }: FunctionChange,
  { releaseId, digest }: State,
): StatementCall[] {
  const { group: _group, kind: _kind, bundles: _bundles, notes, run, ...columns } = release;
  if (action === 'insert') {
    const id = newNumber('release');
    const pins = runtimePins(release.definition);
    return [
      insertRelease.later({ ...columns, id, functionId }),
      ...(pins.length === 0 ? [] : [insertPins.later({ release: id, pins: JSON.stringify(pins) })]),
      ...bundlesChange(id, release),
      ...(notes === undefined ? [] : [insertNotes.later({ release: id, notes })]),
      ...(run === undefined ? [] : [insertRun.later({ release: id, run })]),
      ...(words === undefined ? [] : [insertWords.later({ release: id, ...words })]),
    ];
  }
  // Only the lifecycle and the bundles change: the bytes of a release never do.
  if (releaseId === null || digest !== release.digest)
    throw refused(release, 'is not stored with these bytes');
  const mark = LIFECYCLE[event.type];
  return [
    ...(mark === undefined ? [] : [setLifecycle[mark].later({ id: releaseId, mark: json(release[mark]) })]),
    ...bundlesChange(releaseId, release),
  ];
}

function bundlesChange(id: number, { bundles = [] }: ReleaseRecord): StatementCall[] {
  return bundles.length === 0 ? [] : [putBundles.later({ release: id, bundles: json(bundles) })];
}

const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));

function refused({ group, kind, release }: ReleaseRecord, why: string): KrmhubError {
  return new KrmhubError('conflict', `release ${group}/${kind}@${release} ${why}`);
}
