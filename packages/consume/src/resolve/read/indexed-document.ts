import {
  type FoundHeader,
  HEADER_BYTES,
  type IndexedEntry,
  locateBucket,
  locateBuckets,
  readBucket,
  readIndexHeader,
} from '@krmhub/catalog/resolve/entries/entry-index';
import { MAX_ENTRY_BYTES } from '@krmhub/catalog/resolve/entries/entry-limits';
import type { EntryForm } from '@krmhub/catalog/resolve/entries/split-entries';
import type { FunctionName } from '@krmhub/schema/definition';
import { type Digest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '@krmhub/schema/text';
import type { Cache } from '../../cache/cache.js';
import type { EntryStore } from '../../cache/cache-writer.js';
import { RESOLVE_LIMITS } from '../../limits.js';
import { type ByteSource, fileSource, memorySource } from './byte-source.js';

/** The exact bytes of an entry of a document. */
export interface EntryBytes {
  size: number;
  /** Absent if it is too large to be read. */
  bytes?: Uint8Array;
  digest: Digest;
  form: EntryForm;
}

/** A document whose bytes are known to have this digest. */
export interface WholeDocument {
  digest: Digest;
  /** Reads and verifies all of it. Called only if there is no index. */
  read(): Promise<Uint8Array>;
  /** Where its bytes are on disk; absent if only `read` has them. */
  file?: string;
  /** Its name in messages. */
  name: string;
}

/** The cache, or the file that an index belongs to, is damaged: it was removed, and has to be read again. */
export class DamagedDocument extends Error {
  override readonly name = 'DamagedDocument';
}

/**
 * A catalog or a `snapshot.json` with many entries, of which few are needed. An index beside it in the cache says where
 * each is, so that nothing else is read or parsed. Without a usable index, the document is read once as a whole and
 * indexed.
 */
export class IndexedDocument {
  readonly #index: ByteSource;
  readonly #found: FoundHeader;
  readonly #entries: ByteSource;

  private constructor(index: ByteSource, found: FoundHeader, entries: ByteSource) {
    this.#index = index;
    this.#found = found;
    this.#entries = entries;
  }

  /** Throws `invalid-document` for what is not a catalog, and `too-large`. */
  static async open(document: WholeDocument, store: EntryStore): Promise<IndexedDocument> {
    return (await openIndex(document, store.cache)) ?? (await buildIndex(document, store));
  }

  /** For `openIndex` and `buildIndex`. */
  static of(index: ByteSource, found: FoundHeader, entries: ByteSource): IndexedDocument {
    return new IndexedDocument(index, found, entries);
  }

  /** Returns the entries of a function, in the order of the document. Throws a DamagedDocument. */
  async find(name: FunctionName): Promise<EntryBytes[]> {
    const { number, offset, length } = locateBucket(this.#found, name);
    const rows = await this.#bucket(number, offset, length);
    const same = rows.filter(({ group, kind }) => group === name.group && kind === name.kind);
    return Promise.all(same.map((row) => this.#entry(row)));
  }

  /** Names every entry, in no order. Throws a DamagedDocument. */
  async names(): Promise<IndexedEntry[]> {
    const found: IndexedEntry[] = [];
    for (const { number, offset, length } of locateBuckets(this.#found)) {
      found.push(...(await this.#bucket(number, offset, length)));
    }
    return found;
  }

  async close(): Promise<void> {
    await this.#index.close();
    await this.#entries.close();
  }

  async #bucket(number: number, offset: number, length: number): Promise<IndexedEntry[]> {
    const bytes = await this.#index.read(offset, length);
    const rows = bytes === undefined ? undefined : readBucket(this.#found, number, bytes);
    if (rows === undefined) throw new DamagedDocument('the index is damaged');
    return rows;
  }

  async #entry({ offset, length, digest }: IndexedEntry): Promise<EntryBytes> {
    const { form } = this.#found.header;
    if (length > MAX_ENTRY_BYTES) return { size: length, digest, form };
    const bytes = await this.#entries.read(offset, length);
    if (bytes === undefined || sha256(bytes) !== digest)
      throw new DamagedDocument('the document has changed');
    return { size: length, bytes, digest, form };
  }
}

async function openIndex(document: WholeDocument, cache: Cache): Promise<IndexedDocument | undefined> {
  const file = cache.indexPath(document.digest);
  const index = await fileSource(file);
  if (index === undefined) return undefined;
  const found = await readHeader(index);
  const entries =
    found?.header.document === document.digest &&
    found.header.program === cache.version &&
    (await cache.readRecord('indexes', document.digest))?.header === found.digest
      ? await fileSource(
          found.header.entries === document.digest && document.file !== undefined
            ? document.file
            : cache.blobPath(found.header.entries),
        )
      : undefined;
  if (found !== undefined && entries !== undefined) {
    await cache.touch(file);
    return IndexedDocument.of(index, found, entries);
  }
  await index.close();
  await cache.remove(file);
  return undefined;
}

async function readHeader(index: ByteSource): Promise<FoundHeader | undefined> {
  let found = readIndexHeader((await index.readUpTo(HEADER_BYTES)) ?? new Uint8Array());
  if (found !== undefined && 'more' in found) {
    found = readIndexHeader((await index.readUpTo(found.more)) ?? new Uint8Array());
  }
  return found === undefined || 'more' in found ? undefined : found;
}

async function buildIndex(document: WholeDocument, { cache, writer }: EntryStore): Promise<IndexedDocument> {
  // Not loaded where an index exists.
  const { splitEntries } = await import('@krmhub/catalog/resolve/entries/split-entries');
  const { writeEntryIndex } = await import('@krmhub/catalog/resolve/entries/entry-index');
  const bytes = await document.read();
  const { maxEntries } = RESOLVE_LIMITS;
  const split = splitEntries(bytes, { maxEntries });
  const normal = split === undefined ? await normalized(bytes, document.name) : undefined;
  const source = normal ?? bytes;
  const { form, entries, hasMore } = split ??
    splitEntries(source, { maxEntries }) ?? { form: 'json' as const, entries: [], hasMore: undefined };
  if (hasMore === true) {
    throw new KrmhubError('too-large', `${document.name} has more than ${maxEntries} entries`, {
      hint: 'Use a catalog in a registry: krmhub reads only its required entries.',
    });
  }
  const rows = entries.map((entry) => ({
    ...entry,
    digest: sha256(source.subarray(entry.offset, entry.offset + entry.length)),
  }));
  const digest = normal === undefined ? document.digest : sha256(normal);
  const index = writeEntryIndex(
    { program: cache.version, document: document.digest, entries: digest, form },
    rows,
  );
  const found = readIndexHeader(index);
  if (found === undefined || 'more' in found) throw new TypeError('the new index is damaged');
  await writer.write(async () => {
    if (normal !== undefined) await cache.writeBlob(normal);
    await cache.writeIndex(document.digest, index);
    await cache.writeRecord('indexes', document.digest, { header: found.digest });
  });
  return IndexedDocument.of(memorySource(index), found, memorySource(source));
}

async function normalized(bytes: Uint8Array, name: string): Promise<Uint8Array> {
  if (bytes.byteLength > RESOLVE_LIMITS.maxParsedBytes) {
    throw new KrmhubError(
      'too-large',
      `${name} has ${bytes.byteLength} bytes; the limit is ${RESOLVE_LIMITS.maxParsedBytes} for catalogs that krmhub did not build`,
      { hint: 'Serve it from a krmhub registry, or build it with `krmhub catalog build`.' },
    );
  }
  const { normalizeCatalog } = await import('@krmhub/catalog/resolve/entries/normalize-catalog');
  const read = normalizeCatalog(bytes, name);
  if ('bytes' in read) return read.bytes;
  throw new KrmhubError('invalid-document', `${name} is not a catalog: ${read.problem}`, {
    hint: read.problem.includes('KRMFunctionDefinition')
      ? `Publish the function, and use a catalog of the registry. A definition without local files can also be converted: krmhub convert ${shellWord(name)} --to catalog`
      : `List all problems: krmhub lint ${shellWord(name)}`,
  });
}
