import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ReleaseSummary, Selection } from '../ports/records.js';
import type { UpstreamEntry, VersionFacts } from '../ports/source-records.js';
import type { Recipe } from '../recipe/recipe.js';
import type { FunctionCandidates } from './select-function.js';

/** Returns a key that is equal for kinds that differ only in case, because they are one function. */
export function functionKey({ group, kind }: FunctionName): string {
  return `${group}/${kind.toLowerCase()}`;
}

/** A function of this registry for builds. */
export interface RegistryFunction extends FunctionName {
  releases: readonly ReleaseSummary[];
  /** Facts by release. Required if `needsFacts(recipe)`. */
  facts?: ReadonlyMap<string, readonly VersionFacts[]>;
}

/**
 * Returns the releases and entries of all sources for one function; undefined if there are none. Its kind has the
 * spelling of this registry, otherwise of the first source in the recipe, so that the name is deterministic.
 */
export function functionCandidates(
  { sources }: Recipe,
  own: RegistryFunction | undefined,
  upstream: ReadonlyMap<string, readonly UpstreamEntry[]>,
): FunctionCandidates | undefined {
  const named = sources.flatMap(({ name, catalog }) =>
    catalog === undefined ? [] : (upstream.get(name)?.slice(0, 1) ?? []),
  );
  const name = own ?? named[0];
  if (name === undefined) return undefined;
  return {
    group: name.group,
    kind: name.kind,
    releases: own?.releases ?? [],
    ...defined({ facts: own?.facts }),
    upstream,
  };
}

/** Returns the selection of a function that is neither in the catalog nor in its report. */
export function emptySelection({ group, kind }: FunctionName): Selection {
  return { group, kind, versions: [], shadowed: [], yanked: [] };
}

/** Reports whether a function is neither in the catalog nor in its report. */
export function isEmptySelection({ versions, shadowed, refused = [], yanked }: Selection): boolean {
  return versions.length === 0 && shadowed.length === 0 && refused.length === 0 && yanked.length === 0;
}
