import { namedThing, parseSearch } from '@krmhub/api/search-syntax';
import { type FunctionReader, type SearchQuery, type SearchStore, searchAccess } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { KnownAccess } from '../../http/auth/request-actor.js';

/**
 * Returns the store with searches that know the signing policies, the owners of groups, and the releases that a digest
 * names: the index of a search has none of them.
 */
export function trustedSearch<Store extends SearchStore & FunctionReader>(
  store: Store,
  { trust, access }: { trust: NonNullable<SearchQuery['trust']>; access: KnownAccess },
): Store {
  return {
    ...store,
    async search(query) {
      const { digest } = namedThing(parseSearch(query.text ?? ''));
      return store.search({
        access: searchAccess(access),
        ...query,
        trust: { revision: trust.revision, policies: trust.policies },
        ...defined({ named: digest === undefined ? undefined : await store.releasesWith(digest) }),
      });
    },
  };
}
