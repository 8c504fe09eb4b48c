import { createRequire } from 'node:module';

/** The threads and processes of this package, as its `package.json` exports them. */
export type ThreadEntry = 'search-thread' | 'cut-thread' | 'erase-thread' | 'refresh-thread';
export type ProcessEntry = 'plan-process' | 'read-process';

/** Returns the built file of an entry: Node runs no TypeScript, so this holds when a test runs the sources. */
export function builtEntry(entry: ThreadEntry | ProcessEntry): string {
  return createRequire(import.meta.url).resolve(`@krmhub/registry/${entry}`);
}
