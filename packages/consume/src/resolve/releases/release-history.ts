import type { CatalogReleases } from '@krmhub/api/model';
import type { HistoryRelease } from '@krmhub/catalog/resolve/plan-release';
import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { defined } from '@krmhub/schema/defined';
import { isDigest } from '@krmhub/schema/digest';
import { formatReplacement } from '@krmhub/schema/documents/replacement';
import { KrmhubError } from '@krmhub/schema/error';
import { canonicalRelease } from '@krmhub/schema/release';
import type { Network } from '../../ports.js';
import type { RegistryCatalog } from '../../references/parse-catalog.js';
import type { EntryOrigin } from '../read/catalog-reader.js';
import type { SearchedFunction } from '../search-context.js';

/** For one response: a registry reads the history of a catalog for it. */
const TIMEOUT_MILLISECONDS = 60_000;

/** A release in the history of a catalog, with what its registry says of it now. */
export interface ListedRelease extends HistoryRelease, Pick<EntryOrigin, 'deprecated' | 'replacement'> {}

/** What a registry says of the releases of a function in a catalog. None of it is signed. */
export interface ReleaseHistory {
  releases: ListedRelease[];
  takenDown: string[];
}

/** Asks the registry of a catalog which of its snapshots have which releases of a function. */
export async function readReleaseHistory(
  { fetch }: Network,
  { url, name }: RegistryCatalog,
  request: SearchedFunction,
): Promise<ReleaseHistory> {
  const { group, kind, version } = parseFunction(request);
  const client = await fetch.connect(url, { timeoutMilliseconds: TIMEOUT_MILLISECONDS });
  let found: CatalogReleases;
  try {
    found = await client.catalogReleases(name, [{ group, kind }]);
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    throw new KrmhubError(error.code, `its registry does not list its releases: ${error.message}`, {
      ...defined({ hint: error.hint }),
      cause: error,
    });
  }
  // What is of another function would run in place of this one.
  const own = found.functions.filter((one) => one.group === group && one.kind === kind);
  return {
    releases: own.flatMap(({ releases }) => releases.flatMap((one) => readListed(one, version))),
    takenDown: own.flatMap(({ takedowns = [] }) => takedowns.map(({ release }) => release)),
  };
}

function readListed(
  { release, digest, publishedAt, yanked, deprecated, served }: Listed,
  version: string,
): ListedRelease[] {
  if (canonicalRelease(release) !== release || !isDigest(digest)) return [];
  return served
    .filter((one) => one.version === version)
    .map(({ serial }) => ({
      release,
      definition: digest,
      publishedAt,
      ...defined({
        serial: isSerial(serial) ? serial : undefined,
        yanked: yanked?.reason,
        deprecated: deprecated?.reason,
        replacement:
          deprecated?.replacement === undefined ? undefined : formatReplacement(deprecated.replacement),
      }),
    }));
}

type Listed = CatalogReleases['functions'][number]['releases'][number];

function isSerial(serial: number | undefined): boolean {
  return serial !== undefined && Number.isSafeInteger(serial) && serial > 0;
}
