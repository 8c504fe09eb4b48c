import type { CatalogFunction } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import type { NearFunction } from '@krmhub/catalog/resolve/near-functions';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition, FunctionName } from '@krmhub/schema/definition';
import { isDigest } from '@krmhub/schema/digest';
import { formatReplacement } from '@krmhub/schema/documents/replacement';
import { KrmhubError } from '@krmhub/schema/error';
import { SourceFailure } from '@krmhub/sources/failure';
import type { EntryStore } from '../../cache/cache-writer.js';
import type { DocumentFetcher } from '../../cache/fetch-document.js';
import { RESOLVE_LIMITS } from '../../limits.js';
import type { RegistryCatalog } from '../../references/parse-catalog.js';
import type {
  CatalogReader,
  EntryOrigin,
  FoundFunction,
  OnInvalidEntry,
  ReadState,
} from './catalog-reader.js';
import { entryError } from './entry-error.js';
import { remembered } from './remembered.js';

/**
 * The newest snapshot of a catalog in a registry, of which only the needed entries are fetched, each with one small
 * request. A server without such requests is read as a whole.
 *
 * Order of the requests: the API of a krmhub registry, which also says the release and the snapshot; then the entry as
 * a file, which any web server can have; then the whole catalog.
 */
export class SparseCatalog implements CatalogReader {
  readonly #registry: RegistryCatalog;
  readonly #fetcher: DocumentFetcher;
  readonly #openWhole: () => Promise<CatalogReader>;
  #whole: Promise<CatalogReader> | undefined;
  /** Whether the server responds to no request for an entry. */
  #isWholeOnly = false;
  #detail: Promise<{ json: unknown; store: EntryStore }> | undefined;

  constructor(registry: RegistryCatalog, fetcher: DocumentFetcher, openWhole: () => Promise<CatalogReader>) {
    this.#registry = registry;
    this.#fetcher = fetcher;
    this.#openWhole = openWhole;
  }

  async find(name: FunctionName): Promise<FoundFunction> {
    // A list of the whole catalog does not say the snapshot and the releases, which entries do.
    if (this.#isWholeOnly) return (await this.#readWhole()).find(name);
    const found = (await this.#findByApi(name)) ?? (await this.#findFile(name));
    if (found !== undefined) return found;
    this.#isWholeOnly = true;
    return (await this.#readWhole()).find(name);
  }

  async near(name: FunctionName): Promise<NearFunction[]> {
    if (this.#whole !== undefined) return (await this.#whole).near(name);
    const { url, name: catalog } = this.#registry;
    const query = new URLSearchParams({ q: name.kind, catalog, limit: '20' });
    // Suggestions only: a registry that has none does not matter.
    const items = await this.#json(`${url}${fillPath('functions', {})}?${query}`)
      .then(({ json }) => readNear(json))
      .catch(() => []);
    const { nearFunctions } = await import('@krmhub/catalog/resolve/near-functions');
    return nearFunctions(name, items);
  }

  async *list(onInvalid: OnInvalidEntry): AsyncIterable<FunctionDefinition> {
    yield* (await this.#readWhole()).list(onInvalid);
  }

  async close(): Promise<void> {
    await (await this.#whole)?.close();
  }

  #readWhole(): Promise<CatalogReader> {
    this.#whole ??= this.#openWhole();
    return this.#whole;
  }

  /** Undefined if the server is not a krmhub registry. */
  async #findByApi({ group, kind }: FunctionName): Promise<FoundFunction | undefined> {
    const { url, name } = this.#registry;
    const address = { type: 'http' as const, url: url + fillPath('catalogFunction', { name, group, kind }) };
    try {
      const { bytes, digest, store } = await this.#fetcher.fetchBytes({
        address,
        maxBytes: RESOLVE_LIMITS.maxEntryBytes,
      });
      const read = await remembered(store, `function ${digest} ${name} ${group}/${kind}`, () =>
        readFunction(bytes, { catalog: name, group, kind }),
      );
      return { ...read, store };
    } catch (error) {
      if (isNoEntry(error)) return this.#nothing();
      if (isOtherServer(error) || error instanceof OtherDocument) return undefined;
      throw error;
    }
  }

  /** Undefined for a server that has no files for entries. */
  async #findFile({ group, kind }: FunctionName): Promise<FoundFunction | undefined> {
    const { url, name } = this.#registry;
    const address = { type: 'http' as const, url: url + fillPath('catalogEntry', { name, group, kind }) };
    try {
      const { bytes, store } = await this.#fetcher.fetchBytes({
        address,
        maxBytes: RESOLVE_LIMITS.maxEntryBytes,
      });
      const { readCatalog } = await import('@krmhub/schema/read-catalog');
      const read = readCatalog(bytes, address.url, { defaults: {}, maxEntries: 10 });
      if ('problem' in read) throw entryError({ group, kind }, read.problem);
      const entries = read.entries.map((entry) => {
        if ('problem' in entry) throw entryError({ group, kind }, entry.problem);
        return { definition: entry.definition };
      });
      return { entries, state: { name }, store };
    } catch (error) {
      if (isNoEntry(error)) return this.#nothing();
      if (isOtherServer(error)) return undefined;
      throw error;
    }
  }

  /** The registry has no such entry. It says the same of a catalog that does not exist, which is an error. */
  async #nothing(): Promise<FoundFunction> {
    const { url, name } = this.#registry;
    this.#detail ??= this.#json(url + fillPath('catalog', { name }));
    const { json, store } = await this.#detail;
    return { entries: [], state: { name, ...readNewest(json) }, store };
  }

  /** `json` is undefined for a response that is not JSON. */
  async #json(url: string): Promise<{ json: unknown; store: EntryStore }> {
    const address = { type: 'http' as const, url };
    const { maxEntryBytes: maxBytes } = RESOLVE_LIMITS;
    const { bytes, store } = await this.#fetcher.fetchBytes({ address, maxBytes });
    return { json: parseJson(bytes), store };
  }
}

/** The server has something else at the path of an entry. */
class OtherDocument extends Error {
  override readonly name = 'OtherDocument';
}

/** Undefined for what is not JSON. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Reports whether a krmhub registry says that it has no such object. */
function isNoEntry(error: unknown): boolean {
  return error instanceof SourceFailure && error.responseCode === 'not-found';
}

/** Reports whether the server has other paths than a registry. Object stores respond with 403 for a missing file. */
function isOtherServer(error: unknown): boolean {
  if (!(error instanceof SourceFailure) || error.responseCode !== undefined) return false;
  return ['not-found', 'unauthorized', 'bad-answer'].includes(error.problem);
}

/** Checks what a registry says of an entry. Throws `invalid-document`, and OtherDocument. */
async function readFunction(
  bytes: Uint8Array,
  expected: FunctionName & { catalog: string },
): Promise<Omit<FoundFunction, 'store'>> {
  const { SCHEMAS } = await import('@krmhub/api/generated/response-schemas');
  const { findMismatch } = await import('@krmhub/api/response-schema');
  const json = parseJson(bytes);
  if (json === undefined || findMismatch(json, SCHEMAS.CatalogFunction) !== undefined)
    throw new OtherDocument();
  const { catalog, serial, digest, definition, versions } = json as CatalogFunction;
  if (catalog !== expected.catalog) {
    throw new KrmhubError('unreachable', `the registry responded with an entry of the catalog ${catalog}`);
  }
  const { readEntryBytes } = await import('@krmhub/catalog/resolve/entries/read-entry');
  const entry = readEntryBytes(Buffer.from(JSON.stringify(definition)), 'json', catalog);
  if ('problem' in entry) throw entryError(expected, entry.problem);
  const state: ReadState = { name: catalog, serial, digest };
  return { entries: [{ definition: entry.definition, origins: versions.map(readOrigin) }], state };
}

function readOrigin({
  name,
  release,
  definition,
  yanked,
  deprecated,
}: CatalogFunction['versions'][number]): EntryOrigin {
  return {
    name,
    definition,
    ...defined({
      release,
      yanked: yanked?.reason,
      deprecated: deprecated?.reason,
      replacement:
        deprecated?.replacement === undefined ? undefined : formatReplacement(deprecated.replacement),
    }),
  };
}

/** The newest snapshot in the description of a catalog. */
function readNewest(json: unknown): Pick<ReadState, 'serial' | 'digest'> {
  const { newest } = (json ?? {}) as { newest?: { serial?: unknown; digest?: unknown } };
  const { serial, digest } = newest ?? {};
  const isSnapshot = typeof serial === 'number' && typeof digest === 'string' && isDigest(digest);
  return isSnapshot ? { serial, digest } : {};
}

function readNear(json: unknown): NearFunction[] {
  const { items } = (json ?? {}) as { items?: unknown };
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) => {
    const { group, kind, versions } = (item ?? {}) as Partial<NearFunction>;
    const isName = typeof group === 'string' && typeof kind === 'string' && Array.isArray(versions);
    return isName ? [{ group, kind, versions: versions.map(String) }] : [];
  });
}
