import { workerData } from 'node:worker_threads';
import type { SearchQuery } from '@krmhub/catalog';
import { handleCalls } from '../../../isolation/handle-calls.js';
import { openReadConnection } from '../connection.js';
import { searchRows } from './search.js';

/** Searches the database that another thread writes. */
const { file } = workerData as { file: string };
const connection = openReadConnection(file);
const { search } = searchRows(connection);
handleCalls({ search: (query: SearchQuery) => search(query) });
// What searches need in memory is read before anybody waits for it.
search({ limit: 1 }).catch(() => undefined);
