import type { Digest } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { ProfileStore } from '../../profile-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { profileBlobs, profiles } from '../schema/schema.js';
import { PURGED_CATALOGS } from './catalog-deletion.js';

/** Condition of a snapshot that is neither withdrawn nor of a purged catalog. */
const HAS_PROFILES = `withdrawn IS NULL AND catalog NOT IN (${PURGED_CATALOGS})`;

export function profileRows({ client, db, read, write }: Connection): ProfileStore {
  const stored = prepared(() =>
    db
      .select({ blob: profileBlobs.blob })
      .from(profileBlobs)
      .where(
        and(
          eq(profileBlobs.digest, sql.placeholder('digest')),
          eq(profileBlobs.coding, sql.placeholder('coding')),
        ),
      )
      .prepare(),
  );
  const profileRow = prepared(() =>
    db
      .select({
        revision: profiles.revision,
        digest: profiles.digest,
        report: profiles.report,
      })
      .from(profiles)
      .where(
        and(
          eq(profiles.snapshot, sql.placeholder('snapshot')),
          eq(profiles.profile, sql.placeholder('profile')),
        ),
      )
      .prepare(),
  );
  const blobsOf = prepared(() =>
    client.prepare<[string], Digest>('SELECT blob FROM form WHERE digest = ?').pluck(),
  );
  const deleteOne = prepared(() => client.prepare<[string]>('DELETE FROM form WHERE digest = ?'));
  const isNamed = prepared(() =>
    client.prepare<{ blob: string }, 0 | 1>('SELECT EXISTS (SELECT 1 FROM form WHERE blob = :blob)').pluck(),
  );
  const deleteWithdrawnProfiles = prepared(() =>
    client.prepare(
      `DELETE FROM profile_form WHERE snapshot NOT IN (SELECT digest FROM snapshot WHERE ${HAS_PROFILES})`,
    ),
  );
  const deleteWithdrawn = prepared(() =>
    client.prepare(
      `DELETE FROM form WHERE digest NOT IN (
       SELECT digest FROM profile_form UNION ALL SELECT report FROM profile_form)`,
    ),
  );
  const deleteProfiles = prepared(() =>
    client.prepare<[string], { digest: Digest; report: Digest }>(
      'DELETE FROM profile_form WHERE snapshot = ? RETURNING digest, report',
    ),
  );
  // Profiles of other snapshots can have the same bytes.
  const isUsed = prepared(() =>
    client
      .prepare<{ digest: string }, 0 | 1>(
        'SELECT EXISTS (SELECT 1 FROM profile_form WHERE digest = :digest OR report = :digest)',
      )
      .pluck(),
  );
  const deleteAll = (digests: readonly Digest[]): Digest[] => {
    const blobs = new Set(digests.flatMap((digest) => blobsOf.all(digest)));
    for (const digest of digests) deleteOne.run(digest);
    return [...blobs].filter((blob) => isNamed.get({ blob }) === 0);
  };
  const allBlobs = prepared(() => client.prepare<[], Digest>('SELECT DISTINCT blob FROM form').pluck());
  const deleteUnused = (digests: readonly Digest[]): Digest[] =>
    deleteAll([...new Set(digests)].filter((digest) => isUsed.get({ digest }) === 0));
  return {
    profileBlob: (digest, coding) => read(() => stored.get({ digest, coding })?.blob),
    recordProfileBlobs: (recorded) =>
      write(() => {
        for (const { digest, coding, blob } of recorded) {
          db.insert(profileBlobs)
            .values({ digest, coding, blob })
            .onConflictDoUpdate({ target: [profileBlobs.digest, profileBlobs.coding], set: { blob } })
            .run();
        }
      }),
    storedProfile: (snapshot, profile) =>
      read(() => {
        const row = profileRow.get({ snapshot, profile });
        return row === undefined ? undefined : { ...row, snapshot, profile };
      }),
    recordProfile: (made) =>
      write(() => {
        const { snapshot, profile, revision, digest, report } = made;
        const before = profileRow.get({ snapshot, profile });
        db.insert(profiles)
          .values(made)
          .onConflictDoUpdate({
            target: [profiles.snapshot, profiles.profile],
            set: { revision, digest, report },
          })
          .run();
        return before === undefined ? [] : deleteUnused([before.digest, before.report]);
      }),
    deleteProfiles: (snapshots) =>
      write(() => {
        const removed = snapshots.flatMap((snapshot) => deleteProfiles.all(snapshot));
        return deleteUnused(removed.flatMap(({ digest, report }) => [digest, report]));
      }),
    deleteWithdrawnProfiles: () =>
      write(() => {
        deleteWithdrawnProfiles.run();
        deleteWithdrawn.run();
        return new Set(allBlobs.all());
      }),
  };
}
