// Node spends about half a millisecond on each module, and a bundle that is split for many commands has hundreds of
// them. This puts what a command usually loads into a few files: the chunks that the same commands load become one.
import path from 'node:path';
import { rollup } from 'rollup';

/**
 * The modules that each of these loads in a usual run, besides their static imports. A missing one makes that run
 * slower; `test/loaded-files.test.ts` counts the files of each.
 *
 * What a later list has in common with an earlier one is in the files of the earlier one, so that those of the first,
 * which run most often, stay few.
 */
const STARTS = [
  {
    program: ['apps/cli/dist/main.js'],
    plugin: [
      'apps/cli/dist/plugin.js',
      'apps/cli/dist/kustomize/plugins/plugin-takedown.js',
      'apps/cli/dist/run/prepare-entry.js',
      'packages/consume/dist/trust/default-catalogs.js',
      'apps/cli/dist/lock/config-check.js',
      'packages/schema/dist/config-fields/check-config.js',
      'packages/yaml/dist/read/read-machine-yaml.js',
    ],
    resolve: [
      'apps/cli/dist/commands/resolve.js',
      'apps/cli/dist/resolve/resolve-function.js',
      'apps/cli/dist/lock/open-lock.js',
      'packages/consume/dist/resolve/open/open-file.js',
      'packages/consume/dist/trust/default-catalogs.js',
    ],
    build: [
      'apps/cli/dist/commands/build.js',
      'apps/cli/dist/kustomize/run/build-kustomization.js',
      'apps/cli/dist/run/prepare-entry.js',
      'packages/consume/dist/trust/default-catalogs.js',
    ],
    packages: [
      'apps/cli/dist/commands/fn.js',
      'apps/cli/dist/fn/print-error.js',
      'apps/cli/dist/fn/render-package.js',
      'packages/functions/dist/plan/edit-status.js',
      'packages/consume/dist/trust/default-catalogs.js',
    ],
  },
  {
    fetch: [
      'packages/consume/dist/resolve/open/open-remote.js',
      'packages/consume/dist/resolve/read/sparse-catalog.js',
      'apps/cli/dist/registry/source-fetcher.js',
      'packages/sources/dist/http/http-source.js',
    ],
    search: ['apps/cli/dist/commands/search.js', 'apps/cli/dist/functions/search-functions.js'],
    scripts: [
      'apps/cli/dist/fn/run-package.js',
      'apps/cli/dist/run/inline-script.js',
      'packages/functions/dist/starlark/starlark-session.js',
    ],
  },
  {
    // Not the command: the help of all commands loads it too, where SQLite may be missing.
    serve: ['apps/cli/dist/operate/serve-registry.js'],
    snapshots: ['apps/registry/dist/catalogs/build/snapshot-thread.js'],
    searches: ['apps/registry/dist/store/search/search-thread.js'],
    documents: ['apps/registry/dist/server/derive-thread.js'],
    sources: ['apps/registry/dist/upstreams/refresh-thread.js'],
    plans: ['apps/registry/dist/publish/plan-process.js'],
  },
];

/** The starts that run in the program; the others are programs, threads, and processes of their own. */
const COMMANDS = ['resolve', 'build', 'packages'];

/** The module that fails where SQLite is not installed. */
const SQLITE = 'apps/registry/dist/store/sqlite/driver.js';

/**
 * Merges chunks of a bundle, given by name with their text, in place. `outputs` are those of esbuild's metafile. A
 * chunk that others import keeps its file, which names what the merged one has.
 */
export async function mergeChunks(texts, outputs) {
  const chunks = new Map(
    Object.entries(outputs).map(([file, output]) => [path.posix.basename(file), output]),
  );
  const groups = groupsOf(chunks);
  const bundle = await rollup({
    input: [...groups.keys()].filter((name) => isNeededOutside(name, chunks, groups)),
    treeshake: false,
    onwarn: ({ message }) => {
      throw new Error(`cannot merge chunks: ${message}`);
    },
    plugins: [
      {
        name: 'chunks',
        resolveId: (name) => {
          const chunk = path.posix.basename(name);
          return groups.has(chunk) ? chunk : { id: name, external: 'absolute' };
        },
        load: (name) => texts.get(name),
      },
    ],
  });
  const { output } = await bundle.generate({
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    // A program runs when it is loaded, so that nothing else may be in its file.
    manualChunks: (name) => (isProgram(chunks, name) ? undefined : groups.get(name)),
    onlyExplicitManualChunks: true,
    hoistTransitiveImports: false,
    minifyInternalExports: false,
  });
  await bundle.close();
  for (const name of groups.keys()) texts.delete(name);
  for (const { fileName, code } of output) texts.set(fileName, code);
}

/**
 * Returns the merged chunk, by its name, of each chunk that one of the starts loads. Chunks that need SQLite are not
 * merged with others, which commands load that work without it.
 */
function groupsOf(chunks) {
  const groups = new Map();
  const sqlite = new Set(chunksOf(chunks, SQLITE));
  const needsSqlite = (name) => [...staticImports(chunks, [name])].some((one) => sqlite.has(one));
  for (const list of STARTS) {
    const starts = new Map();
    for (const [start, modules] of Object.entries(list)) {
      for (const name of staticImports(
        chunks,
        modules.flatMap((module) => chunksOf(chunks, module)),
      )) {
        if (!groups.has(name)) starts.set(name, [...(starts.get(name) ?? []), start]);
      }
    }
    for (const [name, all] of starts) {
      // A command runs in the program, so what both load is in the files of the program.
      const names = all.includes('program') ? all.filter((start) => !COMMANDS.includes(start)) : all;
      groups.set(name, `shared-${names.join('-')}${needsSqlite(name) ? '-sqlite' : ''}`);
    }
  }
  return groups;
}

/** The chunk that has a module, and the one that a dynamic import of it names. */
function chunksOf(chunks, module) {
  const found = [...chunks].filter(([, { inputs, entryPoint }]) => module in inputs || entryPoint === module);
  if (found.length === 0) throw new Error(`scripts/merge-chunks.mjs: ${module} is not in the bundle`);
  return found.map(([name]) => name);
}

function staticImports(chunks, names) {
  const found = new Set();
  const add = (name) => {
    if (found.has(name)) return;
    found.add(name);
    for (const imported of importsOf(chunks, name, ['import-statement'])) add(imported);
  };
  for (const name of names) add(name);
  return found;
}

/** Reports whether a chunk is started by its name, which then has no hash. */
function isProgram(chunks, name) {
  return chunks.get(name).entryPoint !== undefined && !/-[A-Z0-9]{8}\.js$/.test(name);
}

/** Reports whether a chunk is started by its name, or imported by one that is not merged. */
function isNeededOutside(name, chunks, groups) {
  if (isProgram(chunks, name)) return true;
  return [...chunks.keys()].some(
    (other) =>
      !groups.has(other) && importsOf(chunks, other, ['import-statement', 'dynamic-import']).includes(name),
  );
}

function importsOf(chunks, name, kinds) {
  return chunks
    .get(name)
    .imports.filter(({ kind }) => kinds.includes(kind))
    .map(({ path: to }) => path.posix.basename(to))
    .filter((to) => chunks.has(to));
}
