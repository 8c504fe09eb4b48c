import { workerData } from 'node:worker_threads';
import type { SearchQuery } from '@krmhub/catalog';
import { openReadConnection } from '../store/sqlite/connection.js';
import { searchRows } from '../store/sqlite/search/search.js';
import { handleCalls } from './handle-calls.js';

/** Searches the database that another thread writes. */
const { file } = workerData as { file: string };
const connection = openReadConnection(file);
const { search } = searchRows(connection);
handleCalls({ search: (query: SearchQuery) => search(query) });
// What searches need in memory is read before anybody waits for it.
search({ limit: 1 }).catch(() => undefined);
