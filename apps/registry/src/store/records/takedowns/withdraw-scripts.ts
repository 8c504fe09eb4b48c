/**
 * Starlark scripts in a takedown. A script is what a client would run: the script layer of the artifact that a
 * definition names, also if the artifact has no type of its own, is an index, or names its layer by another digest.
 * Nothing else in such an artifact is taken down with it, because its publisher could name the files of others.
 */
import type { RuntimePin, TakedownResult } from '@krmhub/catalog';
import { EMPTY_DIGEST, type Manifest, type OciDigest, readStoredManifest, scriptLayer } from '@krmhub/oci';
import { type Digest, isDigest } from '@krmhub/schema';
import { inList, text, type Work } from '../../sql/statement.js';
import { forget, removeWithFiles } from './withdraw-artifacts.js';

const selectManifest = text<{ mediaType: string; bytes: Buffer }>(
  'SELECT media_type AS "mediaType", bytes FROM oci_manifest WHERE digest = :digest LIMIT 1',
);
const selectCopies = text<{ id: number; repository: string }>(
  'SELECT id, repository FROM oci_manifest WHERE digest = :digest',
);
const manifestsWith = text<{ digest: OciDigest }>(
  `SELECT DISTINCT holder.digest FROM oci_reference AS named JOIN oci_manifest AS holder ON holder.id = named.manifest
   WHERE named.digest = :digest`,
);
const selectFile = text<{ file: Digest }>('SELECT file FROM oci_blob WHERE digest = :digest LIMIT 1');
const selectDigests = text<{ digest: OciDigest }>('SELECT DISTINCT digest FROM oci_blob WHERE file = :file');
const taggedManifest = text<{ digest: OciDigest }>(
  `SELECT digest FROM oci_tag JOIN oci_manifest ON oci_manifest.id = oci_tag.manifest
   WHERE oci_tag.repository = :repository AND tag = :tag`,
);
const selectTags = text<{ pin: RuntimePin }>(
  inList(
    (digests) =>
      `SELECT oci_tag.repository || ':' || tag AS pin FROM oci_manifest
       JOIN oci_tag ON oci_tag.manifest = oci_manifest.id WHERE digest IN ${digests}`,
    ':digests',
  ),
);
const selectUsers = text<User>(
  inList(
    (pins) =>
      `SELECT DISTINCT group_name AS "group", kind, release.release, release.id FROM release_pin
       JOIN release ON release.id = release_pin.release JOIN function ON function.id = function_id
       WHERE pin IN ${pins} ORDER BY group_name, kind, release.id`,
    ':pins',
  ),
);
/** A README or definition can have the bytes of a script. */
const equalTo = text<User>(
  inList(
    (digests) =>
      `SELECT group_name AS "group", kind, release.release, release.id FROM release
       JOIN function ON function.id = function_id
       WHERE release.digest IN ${digests} OR readme IN ${digests} ORDER BY group_name, kind, release.id`,
    ':digests',
  ),
);

interface User {
  group: string;
  kind: string;
  release: string;
  id: number;
}

/**
 * Removes the Starlark scripts of releases from every repository, unless another release uses them. `pins` has digests
 * of their manifests and files, and their tags; `recorded` has digests that the takedown removed before, which this
 * database may not have yet. Returns each script of this registry, and everything that is not accepted again.
 */
export function* withdrawScripts(
  { pins, recorded }: { pins: readonly RuntimePin[]; recorded: readonly Digest[] },
  touched: Set<string>,
): Work<{ scripts: TakedownResult['scripts']; removed: Digest[] }> {
  const found = new Map<Digest, TakedownResult['scripts'][number]>();
  const removed = new Set<Digest>();
  const stillUsed = new Set<OciDigest>();
  for (const pin of [...recorded, ...pins]) {
    const script = isDigest(pin) ? pin : yield* readTag(pin);
    if (script === undefined || found.has(script)) continue;
    const { artifacts, files } = yield* findScript(script);
    if (files.size === 0) continue;
    // Another release can have the same script in another manifest.
    const holders = yield* findHolders(files);
    const used = new Set<OciDigest>([script, ...artifacts, ...files, ...holders]);
    const keptBy = yield* findUsers([...used]);
    found.set(script, { digest: script, keptBy });
    if (keptBy.length > 0) {
      for (const digest of used) stillUsed.add(digest);
      continue;
    }
    for (const digest of artifacts) {
      for (const { id, repository } of yield* selectCopies.all({ digest })) {
        touched.add(repository);
        yield* removeWithFiles(repository, id);
      }
    }
    for (const digest of used) {
      yield* forget(digest, touched);
      if (isDigest(digest)) removed.add(digest);
    }
  }
  for (const digest of recorded) {
    if (removed.has(digest) || stillUsed.has(digest)) continue;
    if ((yield* findUsers([digest])).length > 0) continue;
    yield* forget(digest, touched);
    removed.add(digest);
  }
  return { scripts: [...found.values()], removed: [...removed] };
}

function* readTag(pin: RuntimePin): Work<Digest | undefined> {
  const colon = pin.lastIndexOf(':');
  const name = { repository: pin.slice(0, colon), tag: pin.slice(colon + 1) };
  const digest = (yield* taggedManifest.first(name))?.digest;
  return digest !== undefined && isDigest(digest) ? digest : undefined;
}

/** Returns the releases of which a runtime names a script by a digest or a tag, and those with the same bytes as a file. */
function* findUsers(used: readonly OciDigest[]): Work<TakedownResult['scripts'][number]['keptBy']> {
  const digests = JSON.stringify(used);
  const tags = (yield* selectTags.all({ digests })).map(({ pin }) => pin);
  const users = new Map<number, TakedownResult['scripts'][number]['keptBy'][number]>();
  const running = yield* selectUsers.all({ pins: JSON.stringify([...used, ...tags]) });
  for (const { id, ...name } of [...running, ...(yield* equalTo.all({ digests }))]) users.set(id, name);
  return [...users.values()];
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
    const layer = scriptFile(digest === named ? manifest : yield* readStored(digest));
    const stored = layer && (yield* selectFile.first({ digest: layer }));
    if (stored === undefined || (manifest === undefined && stored.file !== named)) continue;
    artifacts.add(digest);
    files.add(stored.file);
  }
  if (files.size > 0 && manifest !== undefined) artifacts.add(named);
  return { artifacts, files };
}

function* readStored(digest: OciDigest): Work<Manifest | undefined> {
  const row = yield* selectManifest.first({ digest });
  return row && readStoredManifest(row.bytes, row.mediaType);
}

/** Returns the digest of the script in an artifact; undefined if a client would not run it. */
function scriptFile(manifest: Manifest | undefined): OciDigest | undefined {
  if (manifest?.kind !== 'image') return undefined;
  try {
    const digest = scriptLayer(manifest.image)?.digest;
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
    for (const { digest } of yield* selectDigests.all({ file })) {
      for (const holder of yield* manifestsWith.all({ digest })) holders.add(holder.digest);
    }
  }
  for (const digest of [...holders]) {
    for (const index of yield* manifestsWith.all({ digest })) holders.add(index.digest);
  }
  return holders;
}
