import type { FunctionVersion } from '@krmhub/schema';
// Imports single modules, because separate processes read upstream catalogs and load everything that is imported here.
import { ociDigest, parseImageReference } from '@krmhub/schema/image-reference';
import { readScriptReference } from '@krmhub/schema/script-reference';

/** Returns the references without a valid digest. An invalid digest pins nothing: runtimes may ignore it. */
export function unpinnedReferences({
  runtime: { container, exec, starlark },
}: Pick<FunctionVersion, 'runtime'>): string[] {
  const unpinned: string[] = [];
  if (container !== undefined) {
    const reference = parseImageReference(container.image);
    const inside = reference.ok ? reference.digest?.slice('sha256:'.length) : undefined;
    if (!isDigest(container.sha256) && !isDigest(inside)) unpinned.push(container.image);
  }
  for (const { uri, sha256 } of exec?.platforms ?? []) {
    if (!isDigest(sha256) && !isDigest(ociDigest(uri))) unpinned.push(uri);
  }
  if (starlark !== undefined && !isDigest(readScriptReference(starlark).digest)) unpinned.push(starlark);
  return unpinned;
}

/** Reports whether a digest has 64 hexadecimal digits and is not all zeros. */
function isDigest(sha256: string | undefined): boolean {
  return sha256 !== undefined && /^(?!0{64}$)[a-f0-9]{64}$/.test(sha256);
}
