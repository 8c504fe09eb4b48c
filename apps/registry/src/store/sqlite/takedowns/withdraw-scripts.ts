import type { TakedownResult } from '@krmhub/catalog';
import { ARTIFACT_MEDIA_TYPES, EMPTY_DIGEST, type OciDigest } from '@krmhub/oci';
import { type Digest, isDigest } from '@krmhub/schema';
import { text, type Work } from '../../sql/statement.js';
import { forget } from './withdraw-artifacts.js';

const { artifact: type } = ARTIFACT_MEDIA_TYPES.starlark;

/** What the manifests of a script refer to, and the script itself if it is one of them. */
const filesOf = text<{ digest: OciDigest }>(
  `SELECT DISTINCT named.digest FROM oci_manifest AS script JOIN oci_reference AS named ON named.manifest = script.id
   WHERE script.digest = :digest AND script.artifact_type = :type`,
);
const scriptsWith = text<{ digest: OciDigest }>(
  `SELECT DISTINCT script.digest FROM oci_reference AS named JOIN oci_manifest AS script ON script.id = named.manifest
   WHERE named.digest = :digest AND script.artifact_type = :type`,
);
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
    const files = (yield* filesOf.all({ digest: script, type })).map(({ digest }) => digest);
    const manifests = new Set<OciDigest>(files.length === 0 ? [] : [script]);
    // Another release can have the same script in another manifest.
    for (const file of [script, ...files]) {
      if (file === EMPTY_DIGEST) continue;
      for (const { digest } of yield* scriptsWith.all({ digest: file, type })) manifests.add(digest);
    }
    if (manifests.size === 0) continue;
    const keptBy: TakedownResult['scripts'][number]['keptBy'] = [];
    const used = new Set<OciDigest>([script, ...files, ...manifests]);
    used.delete(EMPTY_DIGEST);
    for (const digest of used) keptBy.push(...(yield* usersOf.all({ digest })));
    const names = new Map(keptBy.map((one) => [`${one.group}/${one.kind}@${one.release}`, one]));
    found.push({ digest: script, keptBy: [...names.values()] });
    if (names.size > 0) continue;
    for (const digest of used) {
      yield* forget(digest, touched);
      if (isDigest(digest)) removed.add(digest);
    }
  }
  return { scripts: found, removed: [...removed] };
}
