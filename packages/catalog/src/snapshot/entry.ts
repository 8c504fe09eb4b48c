import type { Digest, EntryVersion, FunctionDefinition, FunctionVersion } from '@krmhub/schema';
import { newestByRelease } from '../plan/displayed-release.js';
import type { Selection } from '../ports/records.js';
import type { Recipe, RewriteRule } from '../recipe/recipe.js';
import { rewriteVersion } from '../recipe/rewrite.js';

/**
 * Builds the catalog entry of a non-empty selection. Function fields come from the newest release, or for upstream
 * entries from the first source of the recipe. `definitions` must contain every selected definition by digest;
 * otherwise it throws a RangeError.
 */
export function entryDefinition(
  { group, kind, versions }: Selection,
  definitions: ReadonlyMap<Digest, FunctionDefinition>,
  { sources }: Recipe,
): FunctionDefinition {
  const rules = new Map(sources.map(({ name, rewrite = [] }) => [name, rewrite]));
  const chosen = versions.map((selected) => {
    const definition = definitions.get(selected.definition);
    const version = definition?.versions.find(({ name }) => name === selected.name);
    if (definition === undefined || version === undefined) {
      throw new RangeError(`${group}/${kind}: the definition of API version ${selected.name} is needed`);
    }
    return { selected, definition, version };
  });
  const order = sources.map(({ name }) => name);
  const leading = chosen.find(({ selected }) => selected === leadingVersion(versions, order))?.definition;
  if (leading === undefined) throw new RangeError(`${group}/${kind} is not selected`);
  return {
    ...leading,
    names: { ...leading.names, kind },
    versions: chosen.map(({ selected, definition, version }) =>
      withMaintainers(rewriteSelected(version, selected, rules), definition, leading),
    ),
  };
}

/** Returns the version whose definition provides the function fields. */
function leadingVersion(
  versions: readonly EntryVersion[],
  order: readonly string[],
): EntryVersion | undefined {
  const released = versions.filter(
    (one): one is EntryVersion & { release: string } => one.release !== undefined,
  );
  if (released.length === versions.length) return newestByRelease(released);
  const first = order.find((name) => versions.some(({ source }) => source === name));
  return (
    newestByRelease(released.filter(({ source }) => source === first)) ??
    versions.find(({ source }) => source === first)
  );
}

function rewriteSelected(
  version: FunctionVersion,
  selected: EntryVersion,
  rules: ReadonlyMap<string, readonly RewriteRule[]>,
): FunctionVersion {
  return selected.rewritten === true ? rewriteVersion(rules.get(selected.source) ?? [], version) : version;
}

/** Maintainers of an API version override those of the function (KEP-2906), so other definitions keep theirs. */
function withMaintainers(
  version: FunctionVersion,
  definition: FunctionDefinition,
  leading: FunctionDefinition,
): FunctionVersion {
  const own = version.maintainers ?? definition.maintainers;
  if (own === undefined || isSameList(own, leading.maintainers)) {
    const { maintainers: _, ...rest } = version;
    return rest;
  }
  return { ...version, maintainers: own };
}

function isSameList(a: readonly string[], b: readonly string[] | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((item, index) => item === b[index]);
}
