import type { FunctionRuntime, FunctionVersion } from '@krmhub/schema';
import { canonicalJson } from '@krmhub/schema/digest';
import { mapRuntime } from '../runtimes/runtimes.js';

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
    (field) => field !== 'maintainers' && toText(rest[field]) !== toText(signedRest[field]),
  );
  if (different !== undefined) return different;
  return toText(withoutPlaces(served)) === toText(withoutPlaces(runtime)) ? undefined : 'runtime';
}

/** The runtime with every reference that a digest identifies replaced by that digest. */
function withoutPlaces(runtime: FunctionRuntime): unknown {
  return mapRuntime(runtime, (rules, declared) => rules.withoutPlaces(declared));
}

function toText(value: unknown): string {
  return value === undefined ? '' : canonicalJson(JSON.parse(JSON.stringify(value)));
}
