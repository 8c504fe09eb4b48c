import path from 'node:path';

/** What each file imports, or each room: names by name. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Specifiers of all imports and re-exports of a module, those of types alone included. */
export function importsOf(text: string): string[] {
  const statements =
    /(?:^|[;\n])\s*(?:import|export)\b[^'";]*?from\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;
  return [...text.matchAll(statements)].map((match) => match[1] ?? match[2]!);
}

/** The file that a relative specifier names; undefined where it is not one of the files. */
export function importedFile(
  from: string,
  specifier: string,
  files: ReadonlySet<string>,
): string | undefined {
  const name = path.posix.join(path.posix.dirname(from), specifier).replace(/\.js$/, '');
  return [`${name}.ts`, `${name}.tsx`].find((file) => files.has(file));
}

/** The shortest circle through each name that imports itself over others; every circle once, as `a → b → a`. */
export function findCircles(graph: ImportGraph): string[] {
  const circles = new Map<string, string>();
  for (const start of [...graph.keys()].sort()) {
    const circle = shortestPathBack(graph, start);
    if (circle === undefined) continue;
    const key = [...circle].sort().join(' ');
    if (!circles.has(key)) circles.set(key, [...circle, start].join(' → '));
  }
  return [...circles.values()];
}

/** The names on the shortest way from a name back to it, itself first. */
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

/** Imports that the table does not allow; the key of a table is who imports, the list what it may import. */
export function forbiddenImports(
  imports: Iterable<{ file: string; from: string; to: string }>,
  allowed: Readonly<Record<string, readonly string[]>>,
): string[] {
  return [...imports]
    .filter(({ from, to }) => from !== to && !(allowed[from] ?? []).includes(to))
    .map(({ file, from, to }) => `${file}: ${from} must not import ${to}`);
}

/** A room is a folder directly below `src`; a file beside the rooms has its own name in the table. */
export function roomOf(file: string): string {
  const [, inSource = ''] = /\/src\/(.*)$/.exec(file) ?? [];
  return inSource.includes('/') ? inSource.split('/')[0]! : inSource.replace(/\.tsx?$/, '');
}
