import { canonicalJson, compareApiVersions, type FunctionName } from '@krmhub/schema';
import { newestOf } from './newest.js';
import { type Recipe, sourceTakes } from './recipe.js';
import type { FunctionRecord, Selection } from './records.js';

/**
 * Which release serves each API version of a function in the recipe's catalog: source by source, an API
 * version that no earlier source has provided takes the newest release that the source takes, that serves
 * it and that is not yanked. Depends on nothing but its arguments, so cutting only what changed gives the
 * same catalog as cutting all.
 */
export function selectFunction(recipe: Recipe, fn: FunctionRecord): Selection {
  const selection: Selection = { group: fn.group, kind: fn.kind, versions: [], shadowed: [], yanked: [] };
  for (const { name: source, ...rest } of recipe.sources) {
    const taken = fn.releases.filter((release) => sourceTakes({ name: source, ...rest }, fn, release));
    for (const version of apiVersions(taken.flatMap(({ versions }) => versions))) {
      const serving = taken.filter(({ versions }) => versions.includes(version));
      const chosen = newestOf(serving.filter(({ yanked }) => yanked === undefined));
      const earlier = selection.versions.find(({ name }) => name === version);
      if (earlier !== undefined) {
        if (chosen === undefined) continue;
        const by = { source: earlier.source, release: earlier.release };
        selection.shadowed.push({ version, source, release: chosen.release, by });
        continue;
      }
      const wanted = newestOf(serving)!;
      if (wanted.yanked !== undefined && !selection.yanked.some((one) => one.source === source && one.release === wanted.release)) {
        selection.yanked.push({ release: wanted.release, source });
      }
      if (chosen === undefined) continue;
      selection.versions.push({ name: version, source, release: chosen.release, definition: chosen.digest });
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

function apiVersions(names: readonly string[]): string[] {
  return [...new Set(names)].sort(compareApiVersions);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
