import { fileURLToPath } from 'node:url';

/** Returns the built file of `plugin.ts`. A bundle replaces this module: there, it is beside the other entries. */
export function builtEntry(entry: 'plugin'): string {
  return fileURLToPath(new URL(`../../${entry}.js`, import.meta.url));
}
