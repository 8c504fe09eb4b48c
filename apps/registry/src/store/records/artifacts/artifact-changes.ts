import { type Change, EMPTY_DIGEST, type OciDigest, UnknownReferences } from '@krmhub/oci';
import type { Artifact } from '../../artifacts/artifact-store.js';
import { newNumber } from '../../sql/new-number.js';
import { inList, type StatementCall, text, type Work } from '../../sql/statement.js';
import {
  account,
  addPusher,
  addReference,
  insertManifestRow,
  manifestRow,
  pushedAgain,
  putBlob,
  putTag,
  refuseTakenDown,
} from './artifact-rows.js';

/** What a repository has of some digests, and which of these were taken down. */
const known = text<{ what: 'blob' | 'manifest' | 'taken'; digest: OciDigest; id: number }>(
  inList(
    (digests) => `SELECT 'blob' AS what, digest, 0 AS id FROM oci_blob
       WHERE repository = :repository AND digest IN ${digests}
     UNION ALL SELECT 'manifest', digest, id FROM oci_manifest
       WHERE repository = :repository AND digest IN ${digests}
     UNION ALL SELECT 'taken', digest, 0 FROM takedown WHERE digest IN ${digests}`,
    ':digests',
  ),
);

export interface AddedArtifact extends Artifact, Omit<Change, 'quota'> {
  /** An artifact of a release or snapshot that is served: its content is not checked for takedowns. */
  isServed?: boolean;
}

/** Returns the changes that store artifacts of one repository, for `together`. There is no quota. */
export function* artifactChanges(artifacts: readonly AddedArtifact[]): Work<StatementCall[]> {
  const [first] = artifacts;
  if (first === undefined) return [];
  const { repository } = first;
  if (artifacts.some((one) => one.repository !== repository))
    throw new Error('artifacts of two repositories');
  const has = yield* readKnown(repository, artifacts);
  const changes: StatementCall[] = [];
  let added = 0;
  let manifests = 0;
  // Two artifacts can have one blob, whose row is changed once.
  const blobs = new Map(
    artifacts.flatMap(({ at, blobs }) => blobs.map((blob) => [blob.digest, { blob, at }] as const)),
  );
  for (const { blob, at } of blobs.values()) {
    const { digest, file, place, size } = blob;
    if ((place === 'artifacts' || place === 'rows') && has.taken.has(file)) yield* refuseTakenDown(file);
    const isKnown = has.blobs.has(digest);
    if (!isKnown) added += size;
    has.blobs.add(digest);
    changes.push(...putBlob(repository, blob, { at, isKnown }));
  }
  for (const { manifest, tags, needed = [], isServed = false, at, by } of artifacts) {
    const { digest, references, subject } = manifest;
    const taken = isServed ? undefined : references.find((one) => has.taken.has(one));
    if (taken !== undefined) yield* refuseTakenDown(taken);
    // Nearly all artifacts refer to `{}`, which needs no row.
    const isKnown = (one: OciDigest) => one === EMPTY_DIGEST || has.blobs.has(one) || has.manifests.has(one);
    const unknown = needed.filter((one) => !isKnown(one));
    if (unknown.length > 0) throw new UnknownReferences(unknown);
    const stored = has.manifests.get(digest);
    const id = stored ?? newNumber('oci_manifest', manifests);
    if (stored === undefined) {
      manifests += 1;
      added += manifest.size;
      has.manifests.set(digest, id);
      changes.push(insertManifestRow.later({ id, ...manifestRow(repository, manifest, { at, by }) }));
      for (const one of new Set(references))
        changes.push(addReference.later({ manifest: id, repository, digest: one }));
    } else changes.push(pushedAgain.later({ id, at, by }));
    if (subject !== undefined) changes.push(addPusher.later({ manifest: id, by }));
    for (const tag of tags) changes.push(putTag.later({ repository, tag, manifest: id, at, by }));
  }
  // The repository of a stored blob has a row.
  return added === 0 ? changes : [account.later({ repository, bytes: added }), ...changes];
}

function* readKnown(repository: string, artifacts: readonly Artifact[]) {
  const digests = artifacts.flatMap(({ manifest, blobs, needed = [] }) => [
    manifest.digest,
    ...manifest.references,
    ...blobs.flatMap(({ digest, file }) => [digest, file]),
    ...needed,
  ]);
  const has = {
    blobs: new Set<string>(),
    manifests: new Map<string, number>(),
    taken: new Set<string>(),
  };
  const rows = yield* known.all({ repository, digests: JSON.stringify([...new Set(digests)]) });
  for (const { what, digest, id } of rows) {
    if (what === 'blob') has.blobs.add(digest);
    else if (what === 'manifest') has.manifests.set(digest, id);
    else has.taken.add(digest);
  }
  return has;
}
