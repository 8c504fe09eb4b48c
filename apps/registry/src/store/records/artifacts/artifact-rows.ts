import type { NewAuditRow } from '@krmhub/catalog';
import {
  type Change,
  EMPTY_DIGEST,
  type ManifestRecord,
  type NewBlob,
  type OciDigest,
  QuotaExceeded,
  UnknownReferences,
} from '@krmhub/oci';
import { type AuditAction, KrmhubError } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import { inserter } from '../../sql/insert.js';
import { change, query, type StatementCall, text, together, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { manifests, pushers, repositoryBlobs, tags } from '../schema/artifacts.js';

/** Changes of repositories and of the total size of each, as work of a transaction. */

const repository = sql.placeholder('repository');
const digest = sql.placeholder('digest');
const isBlob = and(eq(repositoryBlobs.repository, repository), eq(repositoryBlobs.digest, digest));

export const insertManifestRow = inserter(manifests);
export const account = text<{ bytes: number }>(
  `INSERT INTO oci_repository (name, bytes) VALUES (:repository, :bytes)
   ON CONFLICT (name) DO UPDATE SET bytes = oci_repository.bytes + excluded.bytes RETURNING bytes`,
);
const sizeOfBlob = text<{ size: number }>(
  'SELECT size FROM oci_blob WHERE repository = :repository AND digest = :digest',
);
const selectManifest = query((db) =>
  db
    .select({ id: manifests.id })
    .from(manifests)
    .where(and(eq(manifests.repository, repository), eq(manifests.digest, digest))),
);
const countReferrers = text<{ count: number }>(
  'SELECT count(*) AS count FROM oci_manifest WHERE repository = :repository AND subject = :subject',
);
// A blob of a release becomes an artifact blob when it is pushed.
const putBlobRow = text<never>(
  `INSERT INTO oci_blob (repository, digest, file, place, size, seen_at)
   VALUES (:repository, :digest, :file, :place, :size, :seenAt)
   ON CONFLICT (repository, digest)
   DO UPDATE SET seen_at = excluded.seen_at, place = excluded.place, file = excluded.file`,
);
const putBytes = text<never>(
  `INSERT INTO oci_blob_bytes (repository, digest, bytes) VALUES (:repository, :digest, :bytes)
   ON CONFLICT (repository, digest) DO UPDATE SET bytes = excluded.bytes`,
);
const removeBytes = text<never>(
  'DELETE FROM oci_blob_bytes WHERE repository = :repository AND digest = :digest',
);
// A client that pushes an existing manifest will refer to it next, so garbage collection treats it as new.
export const pushedAgain = change((db) =>
  db
    .update(manifests)
    .set({ pushedAt: sql`${sql.placeholder('at')}`, pushedBy: sql`${sql.placeholder('by')}` })
    .where(eq(manifests.id, sql.placeholder('id'))),
);
export const addReference = text<never>(
  `INSERT INTO oci_reference (manifest, repository, digest) VALUES (:manifest, :repository, :digest)
   ON CONFLICT DO NOTHING`,
);
export const addPusher = change((db) =>
  db
    .insert(pushers)
    .values({ manifest: sql.placeholder('manifest'), pushedBy: sql.placeholder('by') })
    .onConflictDoNothing(),
);
export const putTag = text<never>(
  `INSERT INTO oci_tag (repository, tag, manifest, tagged_at, tagged_by)
   VALUES (:repository, :tag, :manifest, :at, :by)
   ON CONFLICT (repository, tag) DO UPDATE
   SET manifest = excluded.manifest, tagged_at = excluded.tagged_at, tagged_by = excluded.tagged_by`,
);
const takenDown = text<{ id: number }>(
  `SELECT id FROM takedown WHERE digest = :file
   UNION ALL SELECT id FROM takedown WHERE scripts LIKE '%' || :file || '%' LIMIT 1`,
);
const manifestById = query((db) =>
  db
    .select({ name: manifests.repository, size: manifests.size })
    .from(manifests)
    .where(eq(manifests.id, sql.placeholder('id'))),
);
const deleteTags = change((db) => db.delete(tags).where(eq(tags.manifest, sql.placeholder('id'))));
const deleteManifest = change((db) => db.delete(manifests).where(eq(manifests.id, sql.placeholder('id'))));
const deleteBlob = change((db) => db.delete(repositoryBlobs).where(isBlob));

export function* putManifest(
  name: string,
  manifest: ManifestRecord,
  options: Change & {
    tag?: string;
    needed: readonly OciDigest[];
    isServed?: boolean;
    maxReferrers?: number;
  },
): Work<void> {
  const { tag, needed, isServed = false, maxReferrers, ...change } = options;
  const { at, by } = change;
  if (!isServed) for (const file of [manifest.digest, ...manifest.references]) yield* refuseTakenDown(file);
  const unknown: OciDigest[] = [];
  for (const one of needed) {
    // Nearly all artifacts refer to `{}`, which needs no row.
    if (one === EMPTY_DIGEST) continue;
    const place = { repository: name, digest: one };
    const isKnown =
      (yield* sizeOfBlob.first(place)) !== undefined || (yield* selectManifest.first(place)) !== undefined;
    if (!isKnown) unknown.push(one);
  }
  if (unknown.length > 0) throw new UnknownReferences(unknown);
  const stored = yield* selectManifest.first({ repository: name, digest: manifest.digest });
  if (stored !== undefined) yield* pushedAgain.run({ id: stored.id, at, by });
  else yield* refuseMoreReferrers(name, manifest, maxReferrers);
  const id = stored?.id ?? (yield* insertManifest(name, manifest, change));
  if (manifest.subject !== undefined) yield* addPusher.run({ manifest: id, by });
  const { digest } = manifest;
  if (tag === undefined) {
    if (stored === undefined) yield* appendAudit(artifactAct(change, 'artifact.push', `${name}@${digest}`));
    return;
  }
  yield* putTag.run({ repository: name, tag, manifest: id, at, by });
  yield* appendAudit({ ...artifactAct(change, 'artifact.push', `${name}:${tag}`), detail: { digest } });
}

/** Returns the row of the audit log for an act on a repository. */
export function artifactAct(
  { at, by, origin }: Change,
  action: Extract<AuditAction, `artifact.${string}`>,
  name: string,
): NewAuditRow {
  return { at, by, origin, action, object: `repository/${name}`, outcome: 'done' };
}

function* refuseMoreReferrers(
  repository: string,
  { subject }: ManifestRecord,
  most: number | undefined,
): Work<void> {
  if (subject === undefined || most === undefined) return;
  const { count } = (yield* countReferrers.first({ repository, subject }))!;
  if (count < most) return;
  throw new KrmhubError(
    'conflict',
    `${subject} in ${repository} has reached the limit of ${most} referrers`,
    {
      hint: 'Delete unused referrers by digest.',
    },
  );
}

function* insertManifest(name: string, manifest: ManifestRecord, change: Change): Work<number> {
  yield* grow(name, manifest.size, change);
  const id = yield* insertManifestRow(manifestRow(name, manifest, change));
  for (const named of manifest.references) {
    yield* addReference.run({ manifest: id, repository: name, digest: named });
  }
  return id;
}

export function manifestRow(repository: string, manifest: ManifestRecord, { at, by }: Omit<Change, 'quota'>) {
  const { digest, mediaType, artifactType, subject, annotations, size, bytes } = manifest;
  return {
    repository,
    digest,
    mediaType,
    artifactType,
    subject,
    annotations,
    size,
    pushedAt: at,
    pushedBy: by,
    bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  };
}

/** Returns the changes that store a blob. `isKnown` tells whether the repository has it. */
export function putBlob(
  repository: string,
  blob: NewBlob,
  { at, isKnown }: Pick<Change, 'at'> & { isKnown: boolean },
): StatementCall[] {
  const { digest, file, place, size, bytes } = blob;
  const put = putBlobRow.later({ repository, digest, file, place, size, seenAt: at });
  // The blob is not a row any more.
  if (bytes === undefined) return isKnown ? [put, removeBytes.later({ repository, digest })] : [put];
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return [put, putBytes.later({ repository, digest, bytes: buffer })];
}

export function* addBlob(name: string, blob: NewBlob, change: Change): Work<void> {
  const { digest, file, place, size } = blob;
  if (place === 'artifacts' || place === 'rows') yield* refuseTakenDown(file);
  const isKnown = (yield* sizeOfBlob.first({ repository: name, digest })) !== undefined;
  // The repository of a stored blob has a row.
  if (!isKnown) yield* grow(name, size, change);
  yield* together(putBlob(name, blob, { at: change.at, isKnown }));
}

/** Removes a manifest by row id, with its tags. */
export function* removeManifest(id: number): Work<void> {
  const removed = yield* manifestById.first({ id });
  if (removed === undefined) return;
  yield* deleteTags.run({ id });
  yield* deleteManifest.run({ id });
  yield* grow(removed.name, -removed.size, {});
}

/** Removes a manifest by digest. Returns false if it does not exist. */
export function* removeManifestByDigest(repository: string, digest: OciDigest): Work<boolean> {
  const found = yield* selectManifest.first({ repository, digest });
  if (found !== undefined) yield* removeManifest(found.id);
  return found !== undefined;
}

export function* removeBlob(repository: string, digest: OciDigest): Work<void> {
  const stored = yield* sizeOfBlob.first({ repository, digest });
  if (stored === undefined) return;
  yield* deleteBlob.run({ repository, digest });
  yield* grow(repository, -stored.size, {});
}

function* grow(name: string, bytes: number, { quota }: Pick<Change, 'quota'>): Work<void> {
  const { bytes: after } = (yield* account.first({ repository: name, bytes }))!;
  if (quota !== undefined && bytes > 0 && after > quota) throw new QuotaExceeded(after, quota);
}

/** The reason is for those who may read the function, which can be another one than that of the repository. */
export function* refuseTakenDown(file: OciDigest): Work<void> {
  if ((yield* takenDown.first({ file })) === undefined) return;
  throw new KrmhubError('gone', `${file} was taken down`, {
    hint: 'The registry does not accept bytes that were taken down.',
  });
}
