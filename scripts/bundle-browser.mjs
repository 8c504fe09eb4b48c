// Makes what pages load in `apps/registry/assets/dist`: the styles and scripts of all pages without their comments and
// spaces, and for "Try it" a script of the page, its workers, and the schemas of Kubernetes. Each is one file, because a
// page names files by their digest.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { build } from 'esbuild';

/** What a worker has of the libraries that Node.js loads on first use. */
const RE2 = "import * as re2 from 're2js'; export const loadRe2 = () => re2;";
const NO_CEL = 'export const loadCel = undefined, loadVersionOrder = undefined;';
const CEL = `import * as cel from '@bufbuild/cel'; import * as extensions from '@bufbuild/cel/ext';
import compareVersions from 'semver/functions/compare.js';
export const loadCel = () => ({ ...cel, ...extensions });
export const loadVersionOrder = () => compareVersions;`;

const BUNDLES = {
  'try.js': { entry: 'page/main', libraries: '' },
  'try-run.js': { entry: 'run/worker', libraries: RE2 },
  'try-config.js': { entry: 'config/worker', libraries: `${RE2}${NO_CEL}` },
  // For schemas with rules: CEL is larger than all else.
  'try-config-rules.js': { entry: 'config/worker', libraries: `${RE2}${CEL}` },
};

export const ASSETS = 'apps/registry/assets';

export async function bundleBrowser(root) {
  const browser = path.join(root, 'apps/browser/dist');
  const outdir = path.join(root, ASSETS, 'dist');
  const platform = (name) => path.join(browser, `platform/${name}.js`);
  const files = new Map();
  for (const [name, { entry, libraries }] of Object.entries(BUNDLES)) {
    const { outputFiles } = await build({
      entryPoints: [path.join(browser, `${entry}.js`)],
      bundle: true,
      write: false,
      format: name === 'try.js' ? 'esm' : 'iife',
      platform: 'browser',
      target: 'es2022',
      minify: true,
      legalComments: 'none',
      logLevel: 'warning',
      alias: { 'node:path': platform('path'), 'node:os': platform('os') },
      inject: name === 'try.js' ? [] : [platform('buffer')],
      plugins: [lazyLibraries(libraries, root), noSideEffects],
    });
    files.set(name, outputFiles[0].contents);
  }
  const assets = path.join(root, ASSETS);
  for (const name of readdirSync(assets).filter((file) => /\.(?:css|js)$/.test(file))) {
    const { outputFiles } = await build({
      entryPoints: [path.join(assets, name)],
      write: false,
      target: 'esnext',
      minify: true,
      legalComments: 'none',
      logLevel: 'warning',
    });
    files.set(name, outputFiles[0].contents);
  }
  const { KUBERNETES_SCHEMAS } = await import(
    path.join(root, 'packages/functions/dist/starlark/kubernetes-schemas.js')
  );
  files.set('try-schemas.json', brotliDecompressSync(Buffer.from(KUBERNETES_SCHEMAS, 'base64')));
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(path.join(outdir, name), bytes);
}

const lazyLibraries = (contents, resolveDir) => ({
  name: 'lazy-libraries',
  setup: ({ onLoad }) => onLoad({ filter: /[/\\]lazy-libraries\.js$/ }, () => ({ contents, resolveDir })),
});

/** The packages have no side effects on import. */
const RESOLVED = Symbol('resolved');
const noSideEffects = {
  name: 'no-side-effects',
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: /^(?:@krmhub\/|\.)/ }, async ({ path: name, pluginData, ...from }) => {
      if (pluginData === RESOLVED) return undefined;
      const found = await resolve(name, { ...from, pluginData: RESOLVED });
      return /[/\\]packages[/\\]/.test(found.path) ? { path: found.path, sideEffects: false } : undefined;
    }),
};
