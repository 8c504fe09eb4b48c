import { tooLarge } from '@krmhub/catalog/resolve/entries/entry-limits';
import { unnamedPosition } from '@krmhub/catalog/resolve/entries/unnamed-entry';
import type { NearFunction } from '@krmhub/catalog/resolve/near-functions';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition, FunctionName } from '@krmhub/schema/definition';
import { isDigest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { EntryStore } from '../../cache/cache-writer.js';
import type {
  CatalogReader,
  EntryOrigin,
  FoundFunction,
  OnInvalidEntry,
  ReadState,
} from './catalog-reader.js';
import { entryError } from './entry-error.js';
import { DamagedDocument, type EntryBytes, type IndexedDocument } from './indexed-document.js';
import { remembered } from './remembered.js';

export interface OpenCatalog {
  document: IndexedDocument;
  /** `snapshot.json`, which says where each entry comes from. */
  snapshot?: IndexedDocument;
  state: ReadState;
  store: EntryStore;
}

/** A catalog that was read as a whole, and indexed. */
export class WholeCatalog implements CatalogReader {
  readonly #name: string;
  readonly #open: () => Promise<OpenCatalog>;
  #opened: Promise<OpenCatalog>;

  /**
   * `open` is called again after it, or a part that it opened, threw a DamagedDocument. It must then read everything
   * again.
   */
  private constructor(name: string, open: () => Promise<OpenCatalog>, opened: OpenCatalog) {
    this.#name = name;
    this.#open = open;
    this.#opened = Promise.resolve(opened);
  }

  static async open(name: string, open: () => Promise<OpenCatalog>): Promise<WholeCatalog> {
    return new WholeCatalog(name, open, await open());
  }

  async find(name: FunctionName): Promise<FoundFunction> {
    return this.#read(async ({ document, snapshot, state, store }) => {
      const found = await document.find(name);
      const origins = found.length === 0 ? undefined : await readOrigins(name, snapshot);
      const entries = await Promise.all(
        found.map(async (entry) => {
          const definition = await this.#definition(name, entry, store);
          return { definition, ...defined({ origins }) };
        }),
      );
      return { entries, state, store };
    });
  }

  async near(name: FunctionName): Promise<NearFunction[]> {
    return this.#read(async ({ document }) => {
      const { nearFunctions } = await import('@krmhub/catalog/resolve/near-functions');
      const named = (await document.names()).filter((one) => unnamedPosition(one) === undefined);
      const names = nearFunctions(name, named);
      return Promise.all(
        names.map(async ({ group, kind }) => {
          const entries = await document.find({ group, kind });
          const read = await Promise.all(entries.map((entry) => readEntry(this.#name, entry)));
          const versions = read.flatMap((one) => ('definition' in one ? one.definition.versions : []));
          return { group, kind, versions: versions.map((version) => version.name) };
        }),
      );
    });
  }

  async *list(onInvalid: OnInvalidEntry): AsyncIterable<FunctionDefinition> {
    const names = await this.#read(({ document }) => document.names());
    for (const { group, kind } of [...names].sort((a, b) => a.offset - b.offset)) {
      const entries = await this.#read(({ document }) => document.find({ group, kind }));
      for (const entry of entries) {
        const read = await readEntry(this.#name, entry);
        if ('problem' in read) onInvalid(entryError({ group, kind }, read.problem));
        else yield read.definition;
      }
    }
  }

  async close(): Promise<void> {
    const { document, snapshot } = await this.#opened;
    await document.close();
    await snapshot?.close();
  }

  async #definition(
    name: FunctionName,
    { bytes, form, size, digest }: EntryBytes,
    store: EntryStore,
  ): Promise<FunctionDefinition> {
    if (bytes === undefined) throw entryError(name, tooLarge(size));
    const definition = await remembered(store, `${form} ${digest}`, async () => {
      const { readEntryBytes } = await import('@krmhub/catalog/resolve/entries/read-entry');
      const entry = readEntryBytes(bytes, form, this.#name);
      if ('problem' in entry) throw entryError(name, entry.problem);
      return entry.definition;
    });
    const { group, names } = definition;
    if (group === name.group && names.kind === name.kind) return definition;
    throw entryError(name, 'it contains another function');
  }

  async #read<Result>(work: (opened: OpenCatalog) => Promise<Result>): Promise<Result> {
    try {
      return await work(await this.#opened);
    } catch (error) {
      if (!(error instanceof DamagedDocument)) throw error;
    }
    await this.close();
    this.#opened = this.#open();
    try {
      return await work(await this.#opened);
    } catch (error) {
      if (!(error instanceof DamagedDocument)) throw error;
      throw new KrmhubError('unavailable', `cannot read ${this.#name}: ${error.message} while it was read`, {
        hint: 'Run the command again when the catalog no longer changes.',
        cause: error,
      });
    }
  }
}

/** An entry, or why it cannot be used. */
async function readEntry(
  name: string,
  { bytes, form, size }: EntryBytes,
): Promise<{ definition: FunctionDefinition } | { problem: string }> {
  if (bytes === undefined) return { problem: tooLarge(size) };
  const { readEntryBytes } = await import('@krmhub/catalog/resolve/entries/read-entry');
  return readEntryBytes(bytes, form, name);
}

/**
 * Reads the line of a function in `snapshot.json`. Its digest is signed, so a wrong one is an error of the registry.
 */
export async function readOrigins(
  name: FunctionName,
  snapshot: IndexedDocument | undefined,
): Promise<EntryOrigin[] | undefined> {
  const [line] = (await snapshot?.find(name)) ?? [];
  if (line?.bytes === undefined) return undefined;
  const { versions } = JSON.parse(new TextDecoder().decode(line.bytes)) as { versions?: unknown };
  if (!Array.isArray(versions)) throw entryError(name, 'its line in snapshot.json has no versions');
  return versions.map((version: unknown) => {
    const { name: apiVersion, release, definition } = (version ?? {}) as Record<string, unknown>;
    if (typeof apiVersion !== 'string' || typeof definition !== 'string' || !isDigest(definition)) {
      throw entryError(name, 'its line in snapshot.json is not valid');
    }
    return {
      name: apiVersion,
      definition,
      ...defined({ release: typeof release === 'string' ? release : undefined }),
    };
  });
}
