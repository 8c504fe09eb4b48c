import {
  describeSigner,
  type ServedEntry,
  type SourceReader,
  type UpstreamCandidates,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';

/** Where a catalog of this registry has an upstream function from. */
export interface UpstreamOriginView {
  catalog: string;
  source: string;
  /** URL of the upstream catalog. Absent if the recipe no longer has the source. */
  url?: string;
  /** Who signed the upstream catalog, trusted or not. */
  signers: string[];
  /** The signer that the recipe requires. */
  trusted?: string;
  /** When this registry first saw the entry with these bytes. */
  firstSeen?: string;
}

export type ReadOriginsStore = SourceReader;

/** Maximum number of catalogs whose sources are shown. */
const MAX_ORIGINS = 5;

/** Returns the origins of a function that only upstream catalogs have, in the order of its entries. */
export async function readOrigins(
  store: ReadOriginsStore,
  entries: readonly ServedEntry[],
): Promise<UpstreamOriginView[]> {
  const origins: UpstreamOriginView[] = [];
  for (const { catalog, group, kind, versions } of entries.slice(0, MAX_ORIGINS)) {
    const [found] = await store.upstreamCandidates(catalog, [{ group, kind }]);
    for (const source of new Set(versions.map((version) => version.source))) {
      const record = await store.source(catalog, source);
      const version = versions.find((one) => one.source === source);
      const firstSeen = seenAt(found, source, version?.definition);
      origins.push({
        catalog,
        source,
        signers: (record?.copy?.signatures ?? []).map(({ signer }) => describeSigner(signer)),
        ...defined({ url: record?.url, trusted: version?.signedBy, firstSeen }),
      });
    }
  }
  return origins;
}

/** The entry that the catalog has may be an earlier one of the source, which has not reached its minimum age. */
function seenAt(
  found: UpstreamCandidates | undefined,
  source: string,
  definition: string | undefined,
): string | undefined {
  const entries = found?.candidates.get(source) ?? [];
  return (entries.find((entry) => entry.definition === definition) ?? entries[0])?.firstSeen;
}
