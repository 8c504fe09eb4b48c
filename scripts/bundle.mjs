// Bundles the built program and its imports into a few files. Node spends most of its start time on finding
// and reading modules, of which a registry has some 900. `apps/cli/bin/krmhub.js` runs the bundle while it
// is newer than everything it was made from, so that `tsc -b` alone is enough to try a change.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { ASSETS, bundleBrowser } from './bundle-browser.mjs';
import { mergeChunks } from './merge-chunks.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const outdir = path.join(root, 'apps/cli/dist/bundle');

const workspaces = [
  'packages/starlark',
  'packages/yaml',
  'packages/schema',
  'packages/catalog',
  'packages/api',
  'packages/oci',
  'packages/signing',
];
workspaces.push('packages/functions', 'packages/sources', 'packages/consume');
workspaces.push('apps/browser', 'apps/registry', 'apps/cli');
const scripts = ['bundle', 'bundle-browser', 'merge-chunks'].map((name) => `scripts/${name}.mjs`);
const assets = readdirSync(path.join(root, ASSETS))
  .filter((name) => name !== 'dist')
  .map((name) => `${ASSETS}/${name}`);
const changed = [...scripts, ...assets, ...workspaces.map((name) => `${name}/dist/.tsbuildinfo`)];
const bundled = modified('apps/cli/dist/bundle/krmhub.js');
if (bundled !== undefined && changed.every((file) => (modified(file) ?? 0) <= bundled)) process.exit(0);

/** Files that run in separate threads and processes, by the names that the program starts them with. */
const entries = ['apps/registry', 'packages/functions'].flatMap((folder) => {
  const { exports } = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'));
  return Object.entries(exports)
    .filter(([, file]) => typeof file === 'string')
    .map(([name, file]) => [name.slice('./'.length), path.join(root, folder, file)]);
});

const OUTPUT = {
  platform: 'node',
  target: 'node20.17',
  // Comments are half of some libraries. Names stay, and lines are short enough for a stack trace.
  minifyWhitespace: true,
  lineLimit: 120,
  legalComments: 'none',
  logLevel: 'warning',
};

/** What the program loads with `createRequire` on first use, each bundled into a file of its own. */
const LIBRARIES = [
  're2js',
  'semver/functions/compare.js',
  'spdx-correct',
  'spdx-license-ids',
  'tldts',
  '@sigstore/tuf/seeds.json',
];
/** Two parts of one library share a file, because each contains most of the other. */
const PARTS = { '@bufbuild/cel': '@bufbuild/cel', '@bufbuild/cel/ext': '@bufbuild/cel' };
const libraryFile = (name) =>
  path.join(outdir, `libraries/${name.replace(/^@/, '').replace(/[^\w]+/g, '-')}.cjs`);

const PURE = /[/\\]packages[/\\][^/\\]+[/\\]dist[/\\]/;
const RESOLVED = Symbol('resolved');

/** Files that a module reads stay next to the module. */
const ownModules = {
  name: 'own-modules',
  setup({ onLoad, onResolve, resolve }) {
    // The pure packages have no side effects on import, so the bundle leaves out their unused code.
    onResolve({ filter: /^(?:@krmhub\/|\.)/ }, async ({ path: name, pluginData, ...from }) => {
      if (pluginData === RESOLVED) return undefined;
      const found = await resolve(name, { ...from, pluginData: RESOLVED });
      return PURE.test(found.path) ? { path: found.path, sideEffects: false } : undefined;
    });
    // Only the English messages of its validation.
    onLoad({ filter: /[/\\]zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
    onLoad({ filter: /[/\\](?:apps|packages)[/\\][^/\\]+[/\\]dist[/\\].*\.js$/ }, async ({ path: file }) => {
      if (file.endsWith('built-entry.js')) return { contents: BUILT_ENTRY };
      const place = path.relative(outdir, file).split(path.sep).join('/');
      let contents = await readFile(file, 'utf8');
      if (contents.includes('createRequire(')) {
        for (const name of [...LIBRARIES, ...Object.keys(PARTS)]) {
          const library = path
            .relative(path.dirname(file), libraryFile(PARTS[name] ?? name))
            .split(path.sep)
            .join('/');
          contents = contents.replaceAll(`('${name}')`, `(${JSON.stringify(library)})`);
        }
      }
      return {
        contents: contents.replaceAll(
          'import.meta.url',
          `new URL(${JSON.stringify(place)}, import.meta.url).href`,
        ),
      };
    });
  },
};

/** Drizzle imports a driver for those who give it none; krmhub loads its own, which may not be installed. */
const noDriver = {
  name: 'no-driver',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: 'better-sqlite3', namespace: 'no-driver' }));
    onLoad({ filter: /.*/, namespace: 'no-driver' }, () => ({ contents: 'export default undefined;' }));
  },
};

/** Threads and processes of a bundle are entries of the same bundle. */
const BUILT_ENTRY = `import { fileURLToPath } from 'node:url';
export const builtEntry = (entry) => fileURLToPath(new URL('./' + entry + '.js', import.meta.url));`;

/** Processes that start for one function: in a file of its own, such a process loads nothing that it does not need. */
const ALONE = ['starlark-process'];
const CODE = {
  absWorkingDir: root,
  outdir,
  write: false,
  bundle: true,
  format: 'esm',
  ...OUTPUT,
  plugins: [ownModules, noDriver],
};
const entryPoint = ([out, file]) => ({ in: file, out });
const { outputFiles, metafile } = await build({
  entryPoints: [
    { in: path.join(root, 'apps/cli/dist/main.js'), out: 'krmhub' },
    // What plugins of kustomize start.
    { in: path.join(root, 'apps/cli/dist/plugin.js'), out: 'plugin' },
    { in: path.join(root, 'apps/cli/dist/functions/lint/thread.js'), out: 'lint-thread' },
    ...entries.filter(([out]) => !ALONE.includes(out)).map(entryPoint),
  ],
  metafile: true,
  splitting: true,
  ...CODE,
});
const textsOf = (files) => files.map(({ path: file, text }) => [path.basename(file), withRequire(text)]);
const chunks = new Map(textsOf(outputFiles));
await mergeChunks(chunks, metafile.outputs);
const alone = await build({
  entryPoints: entries.filter(([out]) => ALONE.includes(out)).map(entryPoint),
  ...CODE,
});
for (const [name, text] of textsOf(alone.outputFiles)) chunks.set(name, text);
rmSync(outdir, { recursive: true, force: true });
mkdirSync(outdir, { recursive: true });
for (const name of new Set([...LIBRARIES, ...Object.values(PARTS)])) {
  const parts = Object.keys(PARTS).filter((part) => PARTS[part] === name);
  const loaded = (parts.length === 0 ? [name] : parts).map((part) => `require(${JSON.stringify(part)})`);
  const contents = loaded.length === 1 ? loaded[0] : `Object.assign({}, ${loaded.join(', ')})`;
  await build({
    stdin: { contents: `module.exports = ${contents};`, resolveDir: root },
    outfile: libraryFile(name),
    bundle: true,
    format: 'cjs',
    ...OUTPUT,
  });
}
await bundleBrowser(root);
// The program last: what it was made from is compared with its time.
const program = chunks.get('krmhub.js');
chunks.delete('krmhub.js');
for (const [name, text] of chunks) writeFileSync(path.join(outdir, name), text);
writeFileSync(path.join(outdir, 'krmhub.js'), program);

/** CommonJS libraries call `require` for Node modules, in the one chunk that defines what they call. */
function withRequire(text) {
  if (!/\btypeof require\b/.test(text)) return text;
  return `import { createRequire as createBundleRequire } from 'node:module';\nconst require = createBundleRequire(import.meta.url);\n${text}`;
}

function modified(file) {
  return statSync(path.resolve(root, file), { throwIfNoEntry: false })?.mtimeMs;
}
