import { constants, platform, setPriority } from 'node:os';
import { handleCalls } from '../../workers/isolation/handle-calls.js';
import { CheckpointHasher, type HashedCatalog, type HashedStep, type Hashes } from './checkpoint-hasher.js';

/** Hashes large catalogs, while the thread that builds them reads their segments. */

// Responses come before catalogs. Only on Linux this is the priority of the thread, not of the process.
if (platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

const hasher = new CheckpointHasher();
/** By catalog: one is built at a time. */
const running = new Map<string, Hashes>();
handleCalls({
  begin: async (catalog: HashedCatalog) => {
    const begun = hasher.begin(catalog);
    running.set(catalog.header.name, begun);
    return begun.from;
  },
  add: async ({ catalog, step }: { catalog: string; step: HashedStep }) => find(catalog).add(step),
  end: async (catalog: string) => {
    const found = find(catalog);
    running.delete(catalog);
    return found.end();
  },
});

function find(catalog: string): Hashes {
  const found = running.get(catalog);
  if (found === undefined) throw new Error(`catalog ${catalog} is not being hashed`);
  return found;
}
