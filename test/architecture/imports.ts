import path from 'node:path';

/** The imports of each file or module. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Returns the specifiers of all imports and re-exports in a file, including type-only ones. */
export function importsOf(text: string): string[] {
  const statements =
    /(?:^|[;\n])\s*(?:import|export)\b[^'";]*?from\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;
  return [...text.matchAll(statements)].map((match) => match[1] ?? match[2]!);
}

/** Returns the file that a relative specifier names, or undefined if it is not one of the files. */
export function importedFile(
  from: string,
  specifier: string,
  files: ReadonlySet<string>,
): string | undefined {
  const name = path.posix.join(path.posix.dirname(from), specifier).replace(/\.js$/, '');
  return [`${name}.ts`, `${name}.tsx`].find((file) => files.has(file));
}

/** Returns the shortest import cycle through each name, each cycle once, as `a → b → a`. */
export function findCycles(graph: ImportGraph): string[] {
  const cycles = new Map<string, string>();
  for (const start of [...graph.keys()].sort()) {
    const cycle = shortestPathBack(graph, start);
    if (cycle === undefined) continue;
    const key = [...cycle].sort().join(' ');
    if (!cycles.has(key)) cycles.set(key, [...cycle, start].join(' → '));
  }
  return [...cycles.values()];
}

/** Returns the names on the shortest path from a name back to itself, starting with that name. */
function shortestPathBack(graph: ImportGraph, start: string): string[] | undefined {
  const before = new Map<string, string>();
  const queue = [start];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    for (const next of graph.get(name) ?? []) {
      if (next === start) {
        const names: string[] = [];
        for (let at = name; at !== start; at = before.get(at)!) names.unshift(at);
        return [start, ...names];
      }
      if (before.has(next)) continue;
      before.set(next, name);
      queue.push(next);
    }
  }
  return undefined;
}

/** Returns the imports that the table does not allow. The table lists, for each name, the names that it may import. */
export function forbiddenImports(
  imports: Iterable<{ file: string; from: string; to: string }>,
  allowed: Readonly<Record<string, readonly string[]>>,
): string[] {
  return [...imports]
    .filter(({ from, to }) => from !== to && !(allowed[from] ?? []).includes(to))
    .map(({ file, from, to }) => `${file}: ${from} must not import ${to}`);
}

/** Returns the module of a file: the folder directly below `src`, or the name of a file directly in `src`. */
export function moduleOf(file: string): string {
  const [, inSource = ''] = /\/src\/(.*)$/.exec(file) ?? [];
  return inSource.includes('/') ? inSource.split('/')[0]! : inSource.replace(/\.tsx?$/, '');
}
