/** Searches a database that another thread writes. */

import { collectGarbage } from '../../workers/isolation/collect-garbage.js';
import { serveRole } from '../../workers/isolation/serve-role.js';
import { openReadConnection } from '../sqlite/connection.js';
import { searchRows } from './search.js';
import type { SearchRole, SearchThreadInput } from './search-threads.js';

await serveRole(open, { inBackground: false });

function open({ file }: SearchThreadInput): SearchRole {
  const { search, nearFunctions } = searchRows(openReadConnection(file));
  // Fills the columns before the first request.
  const prepare = async () => {
    await search({ limit: 1 });
    collectGarbage();
  };
  prepare().catch(() => undefined);
  return { search: async (query) => JSON.stringify(await search(query)), nearFunctions };
}
