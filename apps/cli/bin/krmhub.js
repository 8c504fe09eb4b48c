#!/usr/bin/env node
// Stands in the repository, so that npm can link the command before anything is built.
import { statSync } from 'node:fs';

const built = (file) => statSync(new URL(`../${file}`, import.meta.url), { throwIfNoEntry: false })?.mtimeMs;
const packages = [
  'starlark',
  'yaml',
  'schema',
  'catalog',
  'api',
  'oci',
  'signing',
  'functions',
  'sources',
  'consume',
];
const parts = packages.map((name) => `../../packages/${name}`);

/** Whether nothing was compiled since `npm run build` joined it; an installed program has only what was joined. */
function isBundleFresh() {
  const bundled = built('dist/bundle/krmhub.js');
  if (bundled === undefined) return false;
  return [...parts, '../registry', '.'].every(
    (folder) => (built(`${folder}/dist/.tsbuildinfo`) ?? 0) <= bundled,
  );
}

if (isBundleFresh()) {
  await import('../dist/bundle/krmhub.js');
} else if (built('dist/main.js') !== undefined) {
  await import('../dist/main.js');
} else {
  process.stderr.write('krmhub is not built yet: run `npm run build` in the checkout first.\n');
  process.exitCode = 2;
}
