import { fillPath } from '@krmhub/api/paths';
import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { RESOLVE_LIMITS } from '../../limits.js';
import { type NamedCatalog, parseCatalog } from '../../references/parse-catalog.js';
import type { FoundFunction } from '../read/catalog-reader.js';
import { IndexedDocument } from '../read/indexed-document.js';
import { readOrigins } from '../read/whole-catalog.js';
import type { MatchedEntry } from '../resolve-entry.js';
import type { SearchContext, SearchedFunction } from '../search-context.js';

type SnapshotEntry = Pick<MatchedEntry, 'state' | 'store' | 'definition' | 'version' | 'origin'>;

/**
 * Reads an API version in an earlier snapshot of a catalog in a registry. A user who trusts the catalog trusts its
 * snapshots; with a pinned key, the snapshot must be signed. Throws `not-found` if the snapshot does not have it.
 */
export async function readSnapshotEntry(
  context: SearchContext,
  catalog: NamedCatalog,
  request: SearchedFunction,
  serial: number,
): Promise<SnapshotEntry> {
  const { url, name } = catalog.registry!;
  const snapshot = parseCatalog(context.io, {
    text: `${url}${fillPath('snapshotCatalogYaml', { name, snapshot: String(serial) })}`,
    folder: context.io.cwd,
  });
  const { openCatalog } = await import('../open/open-catalog.js');
  const grants = () => context.trust.grants(catalog);
  const { reader } = await openCatalog(context, { grants }, snapshot);
  try {
    const name = parseFunction(request);
    const found = await reader.find(name);
    for (const { definition, origins } of found.entries) {
      const version = definition.versions.find((one) => one.name === name.version);
      if (version === undefined) continue;
      const known = origins ?? (await findOrigins(context, catalog, request, { serial, found }));
      const origin = known?.find((one) => one.name === name.version);
      const { state, store } = found;
      return { state: { ...state, serial }, store, definition, version, ...defined({ origin }) };
    }
  } finally {
    await reader.close();
  }
  throw new KrmhubError(
    'not-found',
    `snapshot ${serial} does not have ${request.apiVersion} ${request.kind}`,
    {
      hint: 'Ask the operator of the registry: it lists a release in this snapshot.',
    },
  );
}

/** Where the entry of a snapshot without a pinned key comes from, by its `snapshot.json`. */
async function findOrigins(
  context: SearchContext,
  { registry }: NamedCatalog,
  request: SearchedFunction,
  { serial, found }: { serial: number; found: FoundFunction },
): ReturnType<typeof readOrigins> {
  const { url, name } = registry!;
  const address = {
    type: 'http' as const,
    url: url + fillPath('snapshotJson', { name, snapshot: String(serial) }),
  };
  const { digest, bytes } = await context.fetcher.fetchBytes({
    address,
    maxBytes: RESOLVE_LIMITS.maxCatalogBytes,
  });
  const { store } = found;
  const document = await IndexedDocument.open(
    { digest, name: address.url, file: store.cache.blobPath(digest), read: async () => bytes },
    store,
  );
  try {
    return await readOrigins(parseFunction(request), document);
  } finally {
    await document.close();
  }
}
