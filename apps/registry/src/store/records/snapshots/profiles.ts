import type { Digest } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { ProfileStore } from '../../profile-store.js';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { profileRenditions, renditions } from '../schema/schema.js';
import { PURGED_CATALOGS } from './catalog-deletion.js';

const digest = sql.placeholder('digest');
const coding = sql.placeholder('coding');
const snapshot = sql.placeholder('snapshot');
const profile = sql.placeholder('profile');

const stored = query((db) =>
  db
    .select({ blob: renditions.blob })
    .from(renditions)
    .where(and(eq(renditions.digest, digest), eq(renditions.coding, coding))),
);
const putBlob = change((db) =>
  db
    .insert(renditions)
    .values({ digest, coding, blob: sql.placeholder('blob') })
    .onConflictDoUpdate({
      target: [renditions.digest, renditions.coding],
      set: { blob: sql`excluded.blob` },
    }),
);
const profileRow = query((db) =>
  db
    .select({
      revision: profileRenditions.revision,
      digest: profileRenditions.digest,
      report: profileRenditions.report,
    })
    .from(profileRenditions)
    .where(and(eq(profileRenditions.snapshot, snapshot), eq(profileRenditions.profile, profile))),
);
const putProfile = change((db) =>
  db
    .insert(profileRenditions)
    .values({
      snapshot,
      profile,
      revision: sql.placeholder('revision'),
      digest,
      report: sql.placeholder('report'),
    })
    .onConflictDoUpdate({
      target: [profileRenditions.snapshot, profileRenditions.profile],
      set: {
        revision: sql`excluded.revision`,
        digest: sql`excluded.digest`,
        report: sql`excluded.report`,
      },
    }),
);
const selectBlobs = text<{ blob: Digest }>('SELECT blob FROM rendition WHERE digest = :digest');
const deleteOne = text('DELETE FROM rendition WHERE digest = :digest');
const naming = text<{ blob: Digest }>('SELECT blob FROM rendition WHERE blob = :blob LIMIT 1');
// Of snapshots that are withdrawn or of a purged catalog.
const deleteWithdrawnProfiles = text(
  `DELETE FROM profile_rendition WHERE snapshot NOT IN (
     SELECT digest FROM snapshot WHERE withdrawn IS NULL AND catalog NOT IN (${PURGED_CATALOGS}))`,
);
const deleteWithdrawn = text(
  `DELETE FROM rendition WHERE digest NOT IN (
     SELECT digest FROM profile_rendition UNION ALL SELECT report FROM profile_rendition)`,
);
const deleteProfiles = text<{ digest: Digest; report: Digest }>(
  'DELETE FROM profile_rendition WHERE snapshot = :snapshot RETURNING digest, report',
);
// Profiles of other snapshots can have the same bytes.
const using = text<{ snapshot: Digest }>(
  'SELECT snapshot FROM profile_rendition WHERE digest = :digest OR report = :digest LIMIT 1',
);
const allBlobs = text<{ blob: Digest }>('SELECT DISTINCT blob FROM rendition');

/** Deletes the codings of unused digests. Returns the blobs that nothing else uses. */
function* deleteUnused(digests: readonly Digest[]): Work<Digest[]> {
  const unused: Digest[] = [];
  for (const digest of new Set(digests)) {
    if ((yield* using.first({ digest })) === undefined) unused.push(digest);
  }
  const blobs = new Set<Digest>();
  for (const digest of unused) for (const { blob } of yield* selectBlobs.all({ digest })) blobs.add(blob);
  for (const digest of unused) yield* deleteOne.run({ digest });
  const deleted: Digest[] = [];
  for (const blob of blobs) if ((yield* naming.first({ blob })) === undefined) deleted.push(blob);
  return deleted;
}

export function profileRows({ read, write }: Sql): ProfileStore {
  return {
    profileBlob: (digest, coding) =>
      read(function* () {
        return (yield* stored.first({ digest, coding }))?.blob;
      }),
    recordProfileBlobs: (recorded) =>
      write(function* () {
        for (const { digest, coding, blob } of recorded) yield* putBlob.run({ digest, coding, blob });
      }),
    storedProfile: (snapshot, profile) =>
      read(function* () {
        const row = yield* profileRow.first({ snapshot, profile });
        return row === undefined ? undefined : { ...row, snapshot, profile };
      }),
    recordProfile: (made) =>
      write(function* () {
        const { snapshot, profile, revision, digest, report } = made;
        const before = yield* profileRow.first({ snapshot, profile });
        yield* putProfile.run({ snapshot, profile, revision, digest, report });
        return before === undefined ? [] : yield* deleteUnused([before.digest, before.report]);
      }),
    deleteProfiles: (snapshots) =>
      write(function* () {
        const removed: Digest[] = [];
        for (const snapshot of snapshots) {
          for (const { digest, report } of yield* deleteProfiles.all({ snapshot }))
            removed.push(digest, report);
        }
        return yield* deleteUnused(removed);
      }),
    deleteWithdrawnProfiles: () =>
      write(function* () {
        yield* deleteWithdrawnProfiles.run();
        yield* deleteWithdrawn.run();
        return new Set((yield* allBlobs.all()).map(({ blob }) => blob));
      }),
  };
}
