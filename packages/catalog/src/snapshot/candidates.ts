import type { FunctionName } from '@krmhub/schema';
import type { ReleaseSummary, Selection } from '../ports/records.js';
import type { UpstreamEntry, VersionFacts } from '../ports/source-records.js';
import type { Recipe } from '../recipe/recipe.js';
import type { FunctionCandidates } from './select-function.js';

/** The same for kinds that differ by case only: those are one function. */
export function functionKey({ group, kind }: FunctionName): string {
  return `${group}/${kind.toLowerCase()}`;
}

/** A function of this registry, as builds see it. */
export interface RegistryFunction extends FunctionName {
  releases: readonly ReleaseSummary[];
  /** By name of the release; needed where `needsFacts(recipe)`. */
  facts?: ReadonlyMap<string, readonly VersionFacts[]>;
}

/**
 * What all sources have of one function; undefined where none has anything. Its kind is spelled as this registry does, else
 * as the first source of the recipe that has it: a name that does not depend on the order in which things are found.
 */
export function functionCandidates(
  { sources }: Pick<Recipe, 'sources'>,
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
    ...(own?.facts === undefined ? {} : { facts: own.facts }),
    upstream,
  };
}

/** Reports whether a function has no place in a catalog, and no line in its report. */
export function isEmptySelection({ versions, shadowed, refused = [], yanked }: Selection): boolean {
  return versions.length === 0 && shadowed.length === 0 && refused.length === 0 && yanked.length === 0;
}
