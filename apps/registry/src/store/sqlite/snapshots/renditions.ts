import type { Digest } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { RenditionStore } from '../../rendition-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { profileRenditions, renditions } from '../schema/schema.js';
import { PURGED_CATALOGS } from './catalog-deletion.js';

/** Condition of a snapshot that is neither withdrawn nor of a purged catalog. */
const HAS_RENDITIONS = `withdrawn IS NULL AND catalog NOT IN (${PURGED_CATALOGS})`;

export function renditionRows({ client, db, read, write }: Connection): RenditionStore {
  const stored = prepared(() =>
    db
      .select({ blob: renditions.blob })
      .from(renditions)
      .where(
        and(
          eq(renditions.digest, sql.placeholder('digest')),
          eq(renditions.coding, sql.placeholder('coding')),
        ),
      )
      .prepare(),
  );
  const profileRow = prepared(() =>
    db
      .select({
        revision: profileRenditions.revision,
        digest: profileRenditions.digest,
        report: profileRenditions.report,
      })
      .from(profileRenditions)
      .where(
        and(
          eq(profileRenditions.snapshot, sql.placeholder('snapshot')),
          eq(profileRenditions.profile, sql.placeholder('profile')),
        ),
      )
      .prepare(),
  );
  const blobsOf = prepared(() =>
    client.prepare<[string], Digest>('SELECT blob FROM form WHERE digest = ?').pluck(),
  );
  const deleteOne = prepared(() => client.prepare<[string]>('DELETE FROM form WHERE digest = ?'));
  // A README may have the bytes of a catalog, so a blob of a release is never deleted here.
  const isNamed = prepared(() =>
    client
      .prepare<{ blob: string }, 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM form WHERE blob = :blob)
        OR EXISTS (SELECT 1 FROM release WHERE digest = :blob)
        OR EXISTS (SELECT 1 FROM release WHERE readme = :blob)`,
      )
      .pluck(),
  );
  const deleteWithdrawnProfiles = prepared(() =>
    client.prepare(
      `DELETE FROM profile_form WHERE snapshot NOT IN (SELECT digest FROM snapshot WHERE ${HAS_RENDITIONS})`,
    ),
  );
  const deleteWithdrawn = prepared(() =>
    client.prepare(
      `DELETE FROM form WHERE digest NOT IN (
       SELECT form_digest.value FROM snapshot, json_each(snapshot.digests) AS form_digest WHERE ${HAS_RENDITIONS}
       UNION ALL SELECT digest FROM profile_form UNION ALL SELECT report FROM profile_form)`,
    ),
  );
  const deleteProfiles = prepared(() =>
    client.prepare<[string], { digest: Digest; report: Digest }>(
      'DELETE FROM profile_form WHERE snapshot = ? RETURNING digest, report',
    ),
  );
  // Profiles and renditions of a catalog without functions can have the same bytes.
  const isRendition = prepared(() =>
    client
      .prepare<{ digest: string }, 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM profile_form WHERE digest = :digest OR report = :digest)
        OR EXISTS (SELECT 1 FROM snapshot, json_each(snapshot.digests) AS one WHERE one.value = :digest)`,
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
    deleteAll([...new Set(digests)].filter((digest) => isRendition.get({ digest }) === 0));
  return {
    renditionBlob: (digest, coding) => read(() => stored.get({ digest, coding })?.blob),
    recordRenditions: (recorded) =>
      write(() => {
        for (const { digest, coding, blob } of recorded) {
          db.insert(renditions)
            .values({ digest, coding, blob })
            .onConflictDoUpdate({ target: [renditions.digest, renditions.coding], set: { blob } })
            .run();
        }
      }),
    deleteRenditions: (digests) => write(() => deleteAll(digests)),
    profileRendition: (snapshot, profile) =>
      read(() => {
        const row = profileRow.get({ snapshot, profile });
        return row === undefined ? undefined : { ...row, snapshot, profile };
      }),
    recordProfileRendition: (form) =>
      write(() => {
        const { snapshot, profile, revision, digest, report } = form;
        const before = profileRow.get({ snapshot, profile });
        db.insert(profileRenditions)
          .values(form)
          .onConflictDoUpdate({
            target: [profileRenditions.snapshot, profileRenditions.profile],
            set: { revision, digest, report },
          })
          .run();
        return before === undefined ? [] : deleteUnused([before.digest, before.report]);
      }),
    deleteProfileRenditions: (snapshots) =>
      write(() => {
        const removed = snapshots.flatMap((snapshot) => deleteProfiles.all(snapshot));
        return deleteUnused(removed.flatMap(({ digest, report }) => [digest, report]));
      }),
    deleteWithdrawnRenditions: () =>
      write(() => {
        deleteWithdrawnProfiles.run();
        deleteWithdrawn.run();
        return new Set(allBlobs.all());
      }),
  };
}
