/**
 * Starlark scripts in a takedown. A script is what a client would run: the script layer of the artifact that a
 * definition names, also if the artifact has no type of its own, is an index, or names its layer by another digest.
 * Nothing else in such an artifact is taken down with it, because its publisher could name the files of others.
 */
import type { TakedownResult } from '@krmhub/catalog';
import {
  EMPTY_DIGEST,
  getArtifactType,
  type Manifest,
  mainLayer,
  type OciDigest,
  readManifest,
} from '@krmhub/oci';
import { type Digest, isDigest } from '@krmhub/schema';
import { text, type Work } from '../../sql/statement.js';
import { forget, removeWithFiles } from './withdraw-artifacts.js';

const manifestOf = text<{ mediaType: string; bytes: Buffer }>(
  'SELECT media_type AS "mediaType", bytes FROM oci_manifest WHERE digest = :digest LIMIT 1',
);
const copiesOf = text<{ id: number; repository: string }>(
  'SELECT id, repository FROM oci_manifest WHERE digest = :digest',
);
const manifestsWith = text<{ digest: OciDigest }>(
  `SELECT DISTINCT holder.digest FROM oci_reference AS named JOIN oci_manifest AS holder ON holder.id = named.manifest
   WHERE named.digest = :digest`,
);
const fileOf = text<{ file: Digest }>('SELECT file FROM oci_blob WHERE digest = :digest LIMIT 1');
const digestsOf = text<{ digest: OciDigest }>('SELECT DISTINCT digest FROM oci_blob WHERE file = :file');
const usersOf = text<{ group: string; kind: string; release: string }>(
  `SELECT group_name AS "group", kind, release.release FROM release JOIN function ON function.id = function_id
   WHERE release.digest = :digest OR readme = :digest OR definition LIKE '%' || :digest || '%'
   ORDER BY group_name, kind, release.id`,
);

/**
 * Removes the Starlark scripts of releases from every repository, unless another release uses them. `scripts` has
 * digests of their manifests; a takedown that is repeated also has those of their files. Returns each script of this
 * registry, and everything that is not accepted again.
 */
export function* withdrawScripts(
  scripts: ReadonlySet<Digest>,
  touched: Set<string>,
): Work<{ scripts: TakedownResult['scripts']; removed: Digest[] }> {
  const found: TakedownResult['scripts'] = [];
  const removed = new Set<Digest>();
  for (const script of scripts) {
    const { artifacts, files } = yield* findScript(script);
    if (files.size === 0) continue;
    // Another release can have the same script in another manifest.
    const holders = yield* findHolders(files);
    const used = new Set<OciDigest>([script, ...artifacts, ...files, ...holders]);
    const keptBy: TakedownResult['scripts'][number]['keptBy'] = [];
    for (const digest of used) keptBy.push(...(yield* usersOf.all({ digest })));
    const names = new Map(keptBy.map((one) => [`${one.group}/${one.kind}@${one.release}`, one]));
    found.push({ digest: script, keptBy: [...names.values()] });
    if (names.size > 0) continue;
    for (const digest of artifacts) {
      for (const { id, repository } of yield* copiesOf.all({ digest })) {
        touched.add(repository);
        yield* removeWithFiles(repository, id);
      }
    }
    for (const digest of used) {
      yield* forget(digest, touched);
      if (isDigest(digest)) removed.add(digest);
    }
  }
  return { scripts: found, removed: [...removed] };
}

/** Returns the manifests of a script, and its files; none if a client would not run it. */
function* findScript(named: OciDigest): Work<{ artifacts: Set<OciDigest>; files: Set<Digest> }> {
  const artifacts = new Set<OciDigest>();
  const files = new Set<Digest>();
  const manifest = yield* readStored(named);
  const candidates =
    manifest === undefined
      ? (yield* manifestsWith.all({ digest: named })).map(({ digest }) => digest)
      : manifest.kind === 'index'
        ? manifest.index.manifests.map(({ digest }) => digest)
        : [named];
  for (const digest of new Set(candidates)) {
    const layer = scriptLayer(digest === named ? manifest : yield* readStored(digest));
    const stored = layer && (yield* fileOf.first({ digest: layer }));
    if (stored === undefined || (manifest === undefined && stored.file !== named)) continue;
    artifacts.add(digest);
    files.add(stored.file);
  }
  if (files.size > 0 && manifest !== undefined) artifacts.add(named);
  return { artifacts, files };
}

function* readStored(digest: OciDigest): Work<Manifest | undefined> {
  const row = yield* manifestOf.first({ digest });
  return row && readManifest(row.bytes, row.mediaType);
}

/** Returns the digest of the script in an artifact; undefined if a client would not run it. */
function scriptLayer(manifest: Manifest | undefined): OciDigest | undefined {
  if (manifest?.kind !== 'image' || getArtifactType(manifest) !== 'starlark') return undefined;
  try {
    const { digest } = mainLayer(manifest.image, 'starlark');
    return digest === EMPTY_DIGEST ? undefined : digest;
  } catch {
    // It has several.
    return undefined;
  }
}

/** Returns the manifests that contain files, by whichever digest, and the indexes with these manifests. */
function* findHolders(files: ReadonlySet<Digest>): Work<Set<OciDigest>> {
  const holders = new Set<OciDigest>();
  for (const file of files) {
    for (const { digest } of yield* digestsOf.all({ file })) {
      for (const holder of yield* manifestsWith.all({ digest })) holders.add(holder.digest);
    }
  }
  for (const digest of [...holders]) {
    for (const index of yield* manifestsWith.all({ digest })) holders.add(index.digest);
  }
  return holders;
}
