import { fileURLToPath } from 'node:url';

const FILES = { plugin: 'plugin.js', 'lint-thread': 'functions/lint/thread.js' };

/** Returns the built file of an entry. A bundle replaces this module: there, it is beside the other entries. */
export function builtEntry(entry: keyof typeof FILES): string {
  return fileURLToPath(new URL(`../${FILES[entry]}`, import.meta.url));
}
