import { setImmediate } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import type { SearchQuery } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { collectGarbage } from '../../workers/isolation/collect-garbage.js';
import { handleCalls } from '../../workers/isolation/handle-calls.js';
import { openReadConnection } from '../sqlite/connection.js';
import { searchRows } from './search.js';

/** Searches a database that another thread writes. */
const { file } = workerData as { file: string };
const connection = openReadConnection(file);
const { search, nearFunctions, readAhead } = searchRows(connection);
handleCalls({
  // As text: copying the many objects of a page takes several times as long as writing and parsing it.
  search: async (query: SearchQuery) => JSON.stringify(await search(query)),
  nearFunctions: (name: FunctionName) => nearFunctions(name),
});
// Fills the columns before the first request, and the others between requests.
prepare().catch(() => undefined);

async function prepare(): Promise<void> {
  await search({ limit: 1 });
  while (!(await readAhead())) await setImmediate();
  collectGarbage();
}
