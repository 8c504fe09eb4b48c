import { readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Takes the place of `apps/registry/src/workers/isolation/built-entry.ts` in tests: threads and processes start from the
 * bundle, as those of users do, in a third of the time. If something was compiled after it, from what was compiled.
 */
const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
const bundle = path.join(root, 'apps/cli/dist/bundle');

export function builtEntry(entry: string): string {
  return isFresh
    ? path.join(bundle, `${entry}.js`)
    : createRequire(path.join(root, 'apps/registry/package.json')).resolve(`@krmhub/registry/${entry}`);
}

const isFresh = isBundleFresh();

function isBundleFresh(): boolean {
  const bundled = modified(path.join(bundle, 'krmhub.js'));
  return (
    bundled !== undefined &&
    ['packages', 'apps']
      .flatMap((folder) => readdirSync(path.join(root, folder)).map((name) => path.join(root, folder, name)))
      .every((folder) => (modified(path.join(folder, 'dist/.tsbuildinfo')) ?? 0) <= bundled)
  );
}

function modified(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}
