import { namedThing, parseSearch } from '@krmhub/api/search-syntax';
import type { FunctionReader, SearchQuery, SearchStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';

/**
 * Returns the store with searches that know the signing policies, and the releases that a digest names: the index of a
 * search has neither.
 */
export function trustedSearch<Store extends SearchStore & Pick<FunctionReader, 'releasesWith'>>(
  store: Store,
  trust: NonNullable<SearchQuery['trust']>,
): Store {
  return {
    ...store,
    async search(query) {
      const { digest } = namedThing(parseSearch(query.text ?? ''));
      return store.search({
        ...query,
        trust: { revision: trust.revision, policies: trust.policies },
        ...defined({ named: digest === undefined ? undefined : await store.releasesWith(digest) }),
      });
    },
  };
}
