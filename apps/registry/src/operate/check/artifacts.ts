import { createHash } from 'node:crypto';
import {
  computeDigest,
  EMPTY_DIGEST,
  type Manifest,
  type OciDigest,
  readManifest,
  requiredDigests,
  type StoredBlob,
} from '@krmhub/oci';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { text } from '../../store/sql/statement.js';
import { type Check, type CheckInput, damage, FROM_BACKUP, information } from './finding.js';

/** Rows per read. */
const PAGE = 500;

interface BlobRow extends StoredBlob {
  repository: string;
}

/** Checks that the file of every repository blob exists and matches. */
export const checkArtifactBlobs: Check = async function* (input) {
  const page = input.client.prepare<[string, string, number], BlobRow>(
    `SELECT repository, digest, file, place, size FROM oci_blob
     WHERE (repository, digest) > (?, ?) ORDER BY repository, digest LIMIT ?`,
  );
  // Many repositories share a file.
  const files = new Map<Digest, string | undefined>();
  let checked = 0;
  for (
    let rows = page.all('', '', PAGE);
    rows.length > 0;
    rows = page.all(rows.at(-1)!.repository, rows.at(-1)!.digest, PAGE)
  ) {
    for (const row of rows) {
      const problem = await problemOfBlob(input, row, files);
      if (problem !== undefined && (await isThereNow(input, row))) {
        yield damage(`${row.repository}@${row.digest}`, problem, FROM_BACKUP);
      }
    }
    checked += rows.length;
    await input.progress(`${checked} artifact blobs checked`);
  }
};

const selectBlob = text(
  'SELECT 1 AS found FROM oci_blob WHERE repository = :repository AND digest = :digest',
);

/** Reports whether the row still exists. It may have been deleted meanwhile. */
async function isThereNow({ now }: CheckInput, { repository, digest }: BlobRow): Promise<boolean> {
  return (await now(() => selectBlob.first({ repository, digest }))) !== undefined;
}

async function problemOfBlob(
  { client, artifacts }: CheckInput,
  row: BlobRow,
  files: Map<Digest, string | undefined>,
): Promise<string | undefined> {
  const { repository, digest, file, place, size } = row;
  if (place === 'releases') {
    const named = client.prepare<[string, string]>(
      'SELECT 1 FROM release WHERE digest = ? UNION ALL SELECT 1 FROM release WHERE readme = ? LIMIT 1',
    );
    return named.get(file, file) === undefined ? 'no release contains this file' : undefined;
  }
  if (place === 'forms') {
    const snapshot = client.prepare<[string, string]>(
      'SELECT 1 FROM snapshot WHERE catalog = ? AND digest = ? AND withdrawn IS NULL LIMIT 1',
    );
    const catalog = repository.slice('catalogs/'.length);
    return snapshot.get(catalog, file) === undefined
      ? 'no snapshot of the catalog has this digest'
      : undefined;
  }
  if (place === 'signatures') {
    const bundle = client
      .prepare<[string, string], string>(
        'SELECT bundle FROM snapshot_signature WHERE catalog = ? AND digest = ? LIMIT 1',
      )
      .pluck()
      .get(repository.slice('catalogs/'.length), file);
    return bundle === undefined || sha256(bundle) !== file
      ? 'no snapshot of the catalog has this signature'
      : undefined;
  }
  if (place === 'rows') {
    const bytes = client
      .prepare<[string, string], Buffer>(
        'SELECT bytes FROM oci_blob_bytes WHERE repository = ? AND digest = ?',
      )
      .pluck()
      .get(repository, digest);
    return problemOfRow(bytes, row);
  }
  if (digest === file && files.has(file)) return files.get(file);
  const problem = await problemOfFile(artifacts, file, { digest, size });
  if (digest === file) files.set(file, problem);
  return problem;
}

function problemOfRow(bytes: Uint8Array | undefined, { digest, file, size }: StoredBlob): string | undefined {
  if (bytes === undefined) return 'its bytes are missing';
  if (bytes.byteLength !== size) return `has ${bytes.byteLength} bytes, expected ${size}`;
  if (sha256(bytes) !== file) return `does not match its digest ${file}`;
  const actual = computeDigest(bytes, digest);
  return actual === digest ? undefined : `has the digest ${actual}`;
}

async function problemOfFile(
  artifacts: CheckInput['artifacts'],
  file: Digest,
  expected: { digest: OciDigest; size: number },
): Promise<string | undefined> {
  try {
    const stored = await artifacts.read(file);
    if (stored === undefined) return `its bytes ${file} are missing`;
    if (stored.size !== expected.size) return `has ${stored.size} bytes, expected ${expected.size}`;
    const other = expected.digest.startsWith('sha512:') ? createHash('sha512') : undefined;
    for await (const piece of stored.pieces) other?.update(piece);
    const actual = other === undefined ? expected.digest : `sha512:${other.digest('hex')}`;
    return actual === expected.digest ? undefined : `has the digest ${actual}`;
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    return error.code === 'internal'
      ? `does not match its digest ${file}`
      : `cannot be read: ${error.message}`;
  }
}

interface ManifestRow {
  id: number;
  repository: string;
  digest: OciDigest;
  mediaType: string;
  size: number;
  bytes: Buffer;
}

/** Checks that the bytes of every manifest match, and that its repository has the content it refers to. */
export const checkManifests: Check = async function* (input) {
  const { client } = input;
  const page = client.prepare<[number, number], ManifestRow>(
    `SELECT id, repository, digest, media_type AS mediaType, size, bytes FROM oci_manifest
     WHERE id > ? ORDER BY id LIMIT ?`,
  );
  const isThere = client
    .prepare<[string, string, string, string], 0 | 1>(
      `SELECT EXISTS (SELECT 1 FROM oci_blob WHERE repository = ? AND digest = ?)
         OR EXISTS (SELECT 1 FROM oci_manifest WHERE repository = ? AND digest = ?)`,
    )
    .pluck();
  for (let rows = page.all(0, PAGE); rows.length > 0; rows = page.all(rows.at(-1)!.id, PAGE)) {
    for (const row of rows) {
      const { repository, digest } = row;
      const subject = `${repository}@${digest}`;
      const manifest = readRow(row);
      if (typeof manifest === 'string') {
        yield damage(subject, manifest, FROM_BACKUP);
        continue;
      }
      const missing = requiredDigests(manifest).filter(
        (one) => one !== EMPTY_DIGEST && isThere.get(repository, one, repository, one) === 0,
      );
      for (const one of missing) {
        const message = `refers to ${one}, which is missing in its repository`;
        // Manifests are deleted one by one, and an index may be deleted last.
        yield manifest.kind === 'index'
          ? information(subject, message)
          : damage(subject, message, FROM_BACKUP);
      }
    }
  }
  yield* withoutArtifact(input);
  yield* wrongSums(input);
};

function readRow({ digest, mediaType, size, bytes }: ManifestRow): Manifest | string {
  const actual = computeDigest(bytes, digest);
  if (actual !== digest) return `the manifest has the digest ${actual}`;
  if (bytes.byteLength !== size) return `the manifest has ${bytes.byteLength} bytes, expected ${size}`;
  try {
    return readManifest(bytes, mediaType);
  } catch (error) {
    return (error as Error).message;
  }
}

/** Reports releases without an artifact, as in the database of an older program before the next start. */
async function* withoutArtifact({ client }: CheckInput) {
  const count = client
    .prepare<[], number>(
      `SELECT count(*) FROM release JOIN function ON function.id = function_id
       WHERE NOT EXISTS (SELECT 1 FROM oci_tag WHERE repository = 'functions/' || group_name || '/' || kind_folded
                         AND tag = release.release)`,
    )
    .pluck()
    .get();
  if (count !== undefined && count > 0) {
    yield information('artifacts', `${count} releases have no artifact yet; the next start creates them`);
  }
}

/** Checks the total sizes that quotas use. */
async function* wrongSums({ client }: CheckInput) {
  const wrong = client
    .prepare<[], { name: string; bytes: number; sum: number }>(
      `SELECT name, bytes,
         coalesce((SELECT sum(size) FROM oci_blob WHERE repository = name), 0)
         + coalesce((SELECT sum(size) FROM oci_manifest WHERE repository = name), 0) AS sum
       FROM oci_repository WHERE bytes <> sum`,
    )
    .all();
  for (const { name, bytes, sum } of wrong) {
    yield damage(name, `is recorded with ${bytes} bytes but has ${sum}`, FROM_BACKUP);
  }
}
