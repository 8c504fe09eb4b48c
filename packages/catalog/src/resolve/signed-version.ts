import type { FunctionRuntime, FunctionVersion } from '@krmhub/schema';
import { canonicalJson } from '@krmhub/schema/digest';
import { ociDigest, parseImageReference } from '@krmhub/schema/image-reference';
import { readScriptReference } from '@krmhub/schema/script-reference';

/**
 * Returns in which field an API version of a catalog entry differs from the one in the signed definition; undefined if
 * what it runs is what was signed. Only the place of an image or executable may differ, and only where both name its
 * digest: catalogs rewrite references to their mirrors.
 */
export function unsignedField(entry: FunctionVersion, signed: FunctionVersion): string | undefined {
  const { runtime: served, ...rest } = entry;
  const { runtime, ...signedRest } = signed;
  const fields = [...new Set([...Object.keys(rest), ...Object.keys(signedRest)])] as (keyof typeof rest)[];
  // Maintainers of the function as a whole become those of its API versions where a catalog merges releases.
  const different = fields.find(
    (field) => field !== 'maintainers' && textOf(rest[field]) !== textOf(signedRest[field]),
  );
  if (different !== undefined) return different;
  return textOf(withoutPlaces(served)) === textOf(withoutPlaces(runtime)) ? undefined : 'runtime';
}

/** The runtime with every reference that a digest identifies replaced by that digest. */
function withoutPlaces({ container, exec, starlark }: FunctionRuntime): unknown {
  return {
    container: container && {
      ...container,
      image: imageIdentity(container.image, container.sha256),
      sha256: '',
    },
    exec: exec?.platforms.map((platform) => {
      const digest = platform.sha256 ?? ociDigest(platform.uri);
      return digest === undefined ? platform : { ...platform, uri: '', sha256: digest };
    }),
    starlark: starlark && (readScriptReference(starlark).digest ?? starlark),
  };
}

function imageIdentity(image: string, sha256: string | undefined): string {
  const reference = parseImageReference(image);
  const inside = reference.ok ? reference.digest : undefined;
  return inside ?? (sha256 === undefined ? image : `sha256:${sha256}`);
}

function textOf(value: unknown): string {
  return value === undefined ? '' : canonicalJson(JSON.parse(JSON.stringify(value)));
}
