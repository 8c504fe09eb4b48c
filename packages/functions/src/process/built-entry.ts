import { createRequire } from 'node:module';

/** Returns the built file of an entry of this package. Tests of the sources use it too: Node cannot run TypeScript. */
export function builtEntry(entry: 'starlark-process' | 'starlark-watch' | 'recover-process'): string {
  return createRequire(import.meta.url).resolve(`@krmhub/functions/${entry}`);
}
