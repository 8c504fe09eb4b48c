/** Hashes large catalogs, while the thread that builds them reads their segments. */

import { serveRole } from '../../workers/isolation/serve-role.js';
import { CheckpointHasher, type Hashes } from './checkpoint-hasher.js';
import type { HashRole } from './hasher-thread.js';

await serveRole(open, { inBackground: true });

function open(): HashRole {
  const hasher = new CheckpointHasher();
  /** By catalog: one is built at a time. */
  const running = new Map<string, Hashes>();
  const find = (catalog: string): Hashes => {
    const found = running.get(catalog);
    if (found === undefined) throw new Error(`catalog ${catalog} is not being hashed`);
    return found;
  };
  return {
    async begin(catalog) {
      const begun = hasher.begin(catalog);
      running.set(catalog.header.name, begun);
      return begun.from;
    },
    add: async ({ catalog, step }) => find(catalog).add(step),
    async end(catalog) {
      const found = find(catalog);
      running.delete(catalog);
      return found.end();
    },
  };
}
