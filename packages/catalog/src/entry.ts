import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema';
import { newestOf } from './newest.js';
import type { ReleaseRecord, Selection } from './records.js';

/**
 * The catalog entry of a selection that is not empty. API versions come from the releases selected;
 * what is said of the function as a whole comes from the newest of these releases.
 * `releases` holds at least every release that the selection names; a missing one is a RangeError.
 */
export function entryDefinition(
  selection: Selection,
  releases: readonly ReleaseRecord[],
): FunctionDefinition {
  const byName = new Map(releases.map((release) => [release.release, release]));
  const chosen = selection.versions.map((version) => {
    const release = byName.get(version.release ?? '');
    const found = release?.definition.versions.find(({ name }) => name === version.name);
    if (release === undefined || found === undefined) {
      throw new RangeError(
        `${selection.group}/${selection.kind}: release ${version.release} with API version ${version.name} is needed`,
      );
    }
    return { release, version: found };
  });
  const leading = newestOf(chosen.map(({ release }) => release));
  if (leading === undefined) throw new RangeError(`${selection.group}/${selection.kind} is not selected`);
  return {
    ...leading.definition,
    versions: chosen.map(({ release, version }) => withMaintainers(version, release, leading)),
  };
}

/** Maintainers of an API version override the function's (KEP-2906), so another release's keep their own. */
function withMaintainers(
  version: FunctionVersion,
  release: ReleaseRecord,
  leading: ReleaseRecord,
): FunctionVersion {
  const own = version.maintainers ?? release.definition.maintainers;
  if (own === undefined || sameList(own, leading.definition.maintainers)) {
    const { maintainers: _, ...rest } = version;
    return rest;
  }
  return { ...version, maintainers: own };
}

function sameList(a: readonly string[], b: readonly string[] | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((item, index) => item === b[index]);
}
