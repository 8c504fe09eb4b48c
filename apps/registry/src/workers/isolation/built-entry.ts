import { createRequire } from 'node:module';

/** Threads and processes of this package, exported by its `package.json`. */
export type ThreadEntry =
  | 'search-thread'
  | 'snapshot-thread'
  | 'hash-thread'
  | 'erase-thread'
  | 'checkpoint-thread'
  | 'refresh-thread'
  | 'derive-thread';
export type ProcessEntry = 'plan-process' | 'read-process';

/** Returns the built file of an entry. Tests of the sources use it too, because Node cannot run TypeScript. */
export function builtEntry(entry: ThreadEntry | ProcessEntry): string {
  return createRequire(import.meta.url).resolve(`@krmhub/registry/${entry}`);
}
