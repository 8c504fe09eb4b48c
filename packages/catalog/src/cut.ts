import { canonicalJson, compareApiVersions, type FunctionName } from '@krmhub/schema';
import { newestOf } from './newest.js';
import { type Recipe, sourceTakes } from './recipe.js';
import type { FunctionRecord, ReleaseSummary, Selection } from './records.js';

/**
 * Which release serves each API version of a function in the recipe's catalog: source by source, an API
 * version that no earlier source has provided takes the newest release that the source takes, that serves
 * it and that is not yanked. Depends on nothing but its arguments, so cutting only what changed gives the
 * same catalog as cutting all.
 */
export function selectFunction(recipe: Recipe, fn: FunctionRecord): Selection {
  const selection: Selection = { group: fn.group, kind: fn.kind, versions: [], shadowed: [], yanked: [] };
  const { versions, shadowed, yanked } = selection;
  for (const source of recipe.sources) {
    const taken = fn.releases.filter((release) => sourceTakes(source, fn, release));
    for (const name of apiVersions(taken)) {
      const serving = taken.filter((release) => release.versions.includes(name));
      const chosen = newestOf(serving.filter((release) => release.yanked === undefined));
      const earlier = versions.find((version) => version.name === name);
      if (earlier !== undefined) {
        if (chosen === undefined) continue;
        const by = {
          source: earlier.source,
          ...(earlier.release === undefined ? {} : { release: earlier.release }),
        };
        shadowed.push({ version: name, source: source.name, release: chosen.release, by });
        continue;
      }
      const wanted = newestOf(serving)!;
      const known = yanked.some((one) => one.source === source.name && one.release === wanted.release);
      if (wanted.yanked !== undefined && !known) {
        yanked.push({ release: wanted.release, source: source.name });
      }
      if (chosen === undefined) continue;
      versions.push({ name, source: source.name, release: chosen.release, definition: chosen.digest });
    }
  }
  selection.versions.sort((a, b) => compareApiVersions(a.name, b.name));
  return selection;
}

/** Whether two selections say the same, reports included. */
export function sameSelection(a: Selection, b: Selection): boolean {
  const text = ({ group, kind, versions, shadowed, yanked }: Selection) =>
    canonicalJson({ group, kind, versions, shadowed, yanked });
  return text(a) === text(b);
}

/** By group, then kind, in code unit order: the order of a catalog's entries. */
export function compareFunctionNames(a: FunctionName, b: FunctionName): number {
  return compareText(a.group, b.group) || compareText(a.kind, b.kind);
}

/** API versions that any of the releases serves, most preferred first. */
function apiVersions(releases: readonly ReleaseSummary[]): string[] {
  return [...new Set(releases.flatMap(({ versions }) => versions))].sort(compareApiVersions);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
