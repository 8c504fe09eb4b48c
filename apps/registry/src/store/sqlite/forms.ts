import type { CatalogStore } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import { forms } from '../schema/sqlite.js';
import type { Connection } from './connection.js';

export type FormRows = Pick<
  CatalogStore,
  'storedForm' | 'rememberForms' | 'forgetForms' | 'keepStandingForms'
>;

export function formRows({ client, db, read, write }: Connection): FormRows {
  const stored = db
    .select({ blob: forms.blob })
    .from(forms)
    .where(and(eq(forms.digest, sql.placeholder('digest')), eq(forms.coding, sql.placeholder('coding'))))
    .prepare();
  const blobsOf = client.prepare<[string], Digest>('SELECT blob FROM form WHERE digest = ?').pluck();
  const forget = client.prepare<[string]>('DELETE FROM form WHERE digest = ?');
  // Anybody can publish the bytes of a catalog as a README: what a release names is never given up.
  const isNamed = client
    .prepare<{ blob: string }, 0 | 1>(
      `SELECT EXISTS (SELECT 1 FROM form WHERE blob = :blob)
        OR EXISTS (SELECT 1 FROM release WHERE digest = :blob)
        OR EXISTS (SELECT 1 FROM release WHERE readme = :blob)`,
    )
    .pluck();
  const forgetFallen = client.prepare(
    `DELETE FROM form WHERE digest NOT IN (
       SELECT form_digest.value FROM snapshot, json_each(snapshot.digests) AS form_digest WHERE withdrawn IS NULL)`,
  );
  const allBlobs = client.prepare<[], Digest>('SELECT DISTINCT blob FROM form').pluck();
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
    forgetForms: (digests) =>
      write(() => {
        const blobs = new Set(digests.flatMap((digest) => blobsOf.all(digest)));
        for (const digest of digests) forget.run(digest);
        return [...blobs].filter((blob) => isNamed.get({ blob }) === 0);
      }),
    keepStandingForms: () =>
      write(() => {
        forgetFallen.run();
        return new Set(allBlobs.all());
      }),
  };
}
