import type { Digest } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { RenditionStore } from '../../rendition-store.js';
import type { Connection } from '../connection.js';
import { forms, profileForms } from '../schema/schema.js';

export function renditionRows({ client, db, read, write }: Connection): RenditionStore {
  const stored = db
    .select({ blob: forms.blob })
    .from(forms)
    .where(and(eq(forms.digest, sql.placeholder('digest')), eq(forms.coding, sql.placeholder('coding'))))
    .prepare();
  const profileRow = db
    .select({ revision: profileForms.revision, digest: profileForms.digest, report: profileForms.report })
    .from(profileForms)
    .where(
      and(
        eq(profileForms.snapshot, sql.placeholder('snapshot')),
        eq(profileForms.profile, sql.placeholder('profile')),
      ),
    )
    .prepare();
  const blobsOf = client.prepare<[string], Digest>('SELECT blob FROM form WHERE digest = ?').pluck();
  const forget = client.prepare<[string]>('DELETE FROM form WHERE digest = ?');
  // A README may have the bytes of a catalog, so a blob of a release is never deleted here.
  const isNamed = client
    .prepare<{ blob: string }, 0 | 1>(
      `SELECT EXISTS (SELECT 1 FROM form WHERE blob = :blob)
        OR EXISTS (SELECT 1 FROM release WHERE digest = :blob)
        OR EXISTS (SELECT 1 FROM release WHERE readme = :blob)`,
    )
    .pluck();
  const forgetFallenProfiles = client.prepare(
    'DELETE FROM profile_form WHERE snapshot NOT IN (SELECT digest FROM snapshot WHERE withdrawn IS NULL)',
  );
  const forgetFallen = client.prepare(
    `DELETE FROM form WHERE digest NOT IN (
       SELECT form_digest.value FROM snapshot, json_each(snapshot.digests) AS form_digest WHERE withdrawn IS NULL
       UNION ALL SELECT digest FROM profile_form UNION ALL SELECT report FROM profile_form)`,
  );
  const forgetProfiles = client.prepare<[string], { digest: Digest; report: Digest }>(
    'DELETE FROM profile_form WHERE snapshot = ? RETURNING digest, report',
  );
  // Profiles and renditions of a catalog without functions can have the same bytes.
  const isForm = client
    .prepare<{ digest: string }, 0 | 1>(
      `SELECT EXISTS (SELECT 1 FROM profile_form WHERE digest = :digest OR report = :digest)
        OR EXISTS (SELECT 1 FROM snapshot, json_each(snapshot.digests) AS one WHERE one.value = :digest)`,
    )
    .pluck();
  const forgetAll = (digests: readonly Digest[]): Digest[] => {
    const blobs = new Set(digests.flatMap((digest) => blobsOf.all(digest)));
    for (const digest of digests) forget.run(digest);
    return [...blobs].filter((blob) => isNamed.get({ blob }) === 0);
  };
  const allBlobs = client.prepare<[], Digest>('SELECT DISTINCT blob FROM form').pluck();
  const forgetUnused = (digests: readonly Digest[]): Digest[] =>
    forgetAll([...new Set(digests)].filter((digest) => isForm.get({ digest }) === 0));
  return {
    storedForm: (digest, coding) => read(() => stored.get({ digest, coding })?.blob),
    rememberForms: (remembered) =>
      write(() => {
        for (const { digest, coding, blob } of remembered) {
          db.insert(forms)
            .values({ digest, coding, blob })
            .onConflictDoUpdate({ target: [forms.digest, forms.coding], set: { blob } })
            .run();
        }
      }),
    forgetForms: (digests) => write(() => forgetAll(digests)),
    profileForm: (snapshot, profile) =>
      read(() => {
        const row = profileRow.get({ snapshot, profile });
        return row === undefined ? undefined : { ...row, snapshot, profile };
      }),
    rememberProfileForm: (form) =>
      write(() => {
        const { snapshot, profile, revision, digest, report } = form;
        const before = profileRow.get({ snapshot, profile });
        db.insert(profileForms)
          .values(form)
          .onConflictDoUpdate({
            target: [profileForms.snapshot, profileForms.profile],
            set: { revision, digest, report },
          })
          .run();
        return before === undefined ? [] : forgetUnused([before.digest, before.report]);
      }),
    forgetProfileForms: (snapshots) =>
      write(() => {
        const fallen = snapshots.flatMap((snapshot) => forgetProfiles.all(snapshot));
        return forgetUnused(fallen.flatMap(({ digest, report }) => [digest, report]));
      }),
    keepStandingForms: () =>
      write(() => {
        forgetFallenProfiles.run();
        forgetFallen.run();
        return new Set(allBlobs.all());
      }),
  };
}
