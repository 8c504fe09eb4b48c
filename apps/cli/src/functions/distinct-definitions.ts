import { mergeVersions, renderDefinition } from '@krmhub/catalog';
import { CONVERT_CODES, type Diagnostic, type FunctionDefinition, kebabCase } from '@krmhub/schema';

/** A definition that was read from a file. */
export interface Converted {
  file: string;
  definition: FunctionDefinition;
  /** Canonical. */
  release?: string;
}

export interface Distinct {
  /** One for each file of the output, in the order of the input. */
  distinct: (Converted & { name: string })[];
  /** One for each set of definitions that cannot all be written. */
  clashes: Diagnostic[];
  /** Files of these definitions. */
  clashing: Set<string>;
}

/** Files named in one message. */
const MAX_NAMED = 5;

/**
 * Finds the definitions that can be written: of identical ones the first, of different ones for one place none. Entries
 * of one file that describe the same function are merged as the readers of a catalog do (KEP-2906: the first wins).
 * With `releases`, the releases of a function have different places.
 */
export function distinctDefinitions(all: readonly Converted[], releases: boolean): Distinct {
  const byPlace = new Map<string, (Converted & { name: string })[]>();
  const outputName = outputNames(all, releases);
  for (const one of mergeEntries(all)) {
    const name = outputName(one);
    byPlace.set(name, [...(byPlace.get(name) ?? []), { ...one, name }]);
  }
  const result: Distinct = { distinct: [], clashes: [], clashing: new Set() };
  for (const [name, candidates] of byPlace) {
    const texts = new Set(candidates.map(({ definition }) => renderDefinition(definition)));
    if (texts.size === 1) {
      result.distinct.push(candidates[0]!);
      continue;
    }
    const files = [...new Set(candidates.map(({ file }) => file))];
    for (const file of files) result.clashing.add(file);
    result.clashes.push(clash(releases ? name : functionName(candidates[0]!), files, releases));
  }
  return result;
}

function mergeEntries(all: readonly Converted[]): Converted[] {
  const merged = new Map<string, Converted>();
  for (const one of all) {
    const key = JSON.stringify([one.file, functionName(one), one.release]);
    const first = merged.get(key);
    const definition = first && mergeVersions(first.definition, one.definition);
    // An entry that adds nothing is the same one again, or lint has warned of it.
    if (first === undefined) merged.set(key, one);
    else if (typeof definition === 'object') merged.set(key, { ...first, definition });
  }
  return [...merged.values()];
}

/** Names files after kind and release; kinds that several groups have, after the group too. */
function outputNames(all: readonly Converted[], releases: boolean): (one: Converted) => string {
  if (!releases) return functionName;
  const groups = new Map<string, Set<string>>();
  for (const { definition } of all) {
    const kind = kebabCase(definition.names.kind);
    groups.set(kind, (groups.get(kind) ?? new Set()).add(definition.group));
  }
  return ({ definition: { group, names }, release }) => {
    const kind = kebabCase(names.kind);
    const folder = groups.get(kind)!.size > 1 ? `${group}/` : '';
    return `${folder}${kind}${release === undefined ? '' : `/${release}`}.yaml`;
  };
}

function functionName({ definition: { group, names } }: Converted): string {
  return `${group}/${names.kind}`;
}

function clash(what: string, files: readonly string[], releases: boolean): Diagnostic {
  const { severity, fix } = CONVERT_CODES['convert/clash'];
  const more = files.length - MAX_NAMED;
  const named = files.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return {
    code: 'convert/clash',
    severity,
    message: `${what}: different definitions in ${named}`,
    file: files[0]!,
    path: '',
    hint: releases
      ? fix
      : 'Remove the others. To choose between releases, publish them and use a catalog recipe.',
  };
}
