import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { RegistryClient } from './client.js';
import type { SearchRequest } from './client-requests.js';
import type { SearchResult, SnapshotList, UserPage } from './model.js';

/** A page of a list. */
interface Page {
  /** Where the next page begins; absent on the last page. */
  next?: string | number | undefined;
}

/**
 * Reads a list page by page. Rejects with `unreachable` if a page refers to itself or to one before it, because the list
 * would never end. `what` names the list in messages.
 */
async function* readPages<P extends Page>(
  what: string,
  readPage: (next: P['next']) => Promise<P>,
): AsyncGenerator<P, void, undefined> {
  const seen = new Set<P['next']>();
  for (let next: P['next'] = undefined; ; ) {
    const page = await readPage(next);
    yield page;
    next = page.next;
    if (next === undefined) return;
    if (seen.has(next)) {
      throw new KrmhubError(
        'unreachable',
        `cannot read ${what}: page ${seen.size + 1} refers to an earlier page`,
        {
          hint: 'The registry returns pages that never end. Report it to the operator of the registry.',
        },
      );
    }
    seen.add(next);
  }
}

/** Returns all pages of a search. */
export function searchPages(
  client: RegistryClient,
  request: Omit<SearchRequest, 'cursor'>,
): AsyncGenerator<SearchResult, void, undefined> {
  return readPages(`the search results of ${client.url}`, (cursor) =>
    client.search({ ...request, ...defined({ cursor }) }),
  );
}

/** Returns all pages of the snapshots of a catalog, newest first. `limit` is the size of a page. */
export function snapshotPages(
  client: RegistryClient,
  name: string,
  limit?: number,
): AsyncGenerator<SnapshotList, void, undefined> {
  return readPages(`the snapshots of ${name} of ${client.url}`, (before) =>
    client.snapshots(name, defined({ limit, before })),
  );
}

/** Returns all pages of the users, or of those with a text in the name or the e-mail address. */
export function userPages(client: RegistryClient, q?: string): AsyncGenerator<UserPage, void, undefined> {
  return readPages(`the users of ${client.url}`, (after) =>
    client.users({ q, ...defined({ after: after === undefined ? undefined : String(after) }) }),
  );
}
