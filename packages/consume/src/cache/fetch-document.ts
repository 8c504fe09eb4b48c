import type { SourceAddress } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { type Digest, isDigest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { SourceFetcher } from '@krmhub/sources';
import { RESOLVE_LIMITS } from '../limits.js';
import type { Cache } from './cache.js';
import type { EntryStore } from './cache-writer.js';

/** A remote document, fetched now or unchanged since it was cached. None of it is verified but its digest. */
export interface RemoteDocument {
  digest: Digest;
  /** Absent if the document is unchanged: then the cache has it (`readWhole`). */
  bytes?: Uint8Array;
  /** Digest of the OCI manifest. */
  manifest?: Digest;
  bundles: Uint8Array[];
  /** Where it is cached, and where what is read of it belongs: a private document is not for other actors. */
  store: EntryStore;
}

type Known = Omit<RemoteDocument, 'bytes'> & { validators: Record<string, string> };

export interface DocumentRequest {
  address: SourceAddress;
  maxBytes: number;
  /** Whether signatures beside it are needed. */
  bundles?: boolean;
}

/**
 * Fetches documents with conditional requests, and stores them in the cache. What a server gave only for credentials is
 * cached for the actor who has them, and removed as soon as the server refuses to give it to this actor again.
 */
export class DocumentFetcher {
  readonly #shared: EntryStore;
  readonly #offline: boolean;
  readonly #openFetcher: () => Promise<SourceFetcher>;
  readonly #namedBy: string | undefined;
  #fetcher: Promise<SourceFetcher> | undefined;
  /** Fetches that run, and those that wait for one to end. */
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    shared: EntryStore,
    offline: boolean,
    openFetcher: () => Promise<SourceFetcher>,
    namedBy?: string,
  ) {
    this.#shared = shared;
    this.#offline = offline;
    this.#openFetcher = openFetcher;
    this.#namedBy = namedBy;
  }

  get isOffline(): boolean {
    return this.#offline;
  }

  /** Returns a fetcher of what a document names: a public document does not lead to a private address. */
  namedBy(url: string): DocumentFetcher {
    return new DocumentFetcher(this.#shared, this.#offline, () => this.#open(), url);
  }

  /** Returns the caches that may have what an address names, for who asks now. */
  async caches(address: SourceAddress): Promise<Cache[]> {
    const { cache } = this.#shared;
    if (!(await cache.hasParts())) return [cache];
    const { readableCaches } = await import('./actor-cache.js');
    return readableCaches(cache, address, () => this.#open());
  }

  /** Rejects with a SourceFailure, or with `unavailable` if the document is not in the cache and may not be fetched. */
  async fetch(request: DocumentRequest): Promise<RemoteDocument> {
    const { address, maxBytes, bundles = false } = request;
    const name = recordName(address);
    const known = await this.#known(address, bundles);
    if (this.#offline) {
      if (known !== undefined) return known;
      throw new KrmhubError('unavailable', `${name} is not in the cache, and --offline is set`, {
        hint: 'Run the command once without --offline.',
      });
    }
    const fetched = await this.#limited(async () =>
      (await this.#open()).fetch({
        address,
        maxBytes,
        bundles,
        ...defined({ namedBy: this.#namedBy, validators: known?.validators }),
      }),
    ).catch(async (error: unknown) => {
      const { forgetGiven } = await import('./actor-cache.js');
      // Also by a record that is used without the network only.
      const has = async (part: Cache) =>
        (await part.readRecord('catalogs', name, { ofAnyone: true })) !== undefined;
      await forgetGiven(error, () => this.caches(address), has);
      throw error;
    });
    if (fetched.bytes === undefined && known === undefined) {
      throw new TypeError('a response without a document for a request without validators');
    }
    const digest = fetched.bytes === undefined ? known!.digest : sha256(fetched.bytes);
    const manifest = fetched.manifest ?? known?.manifest;
    const document: RemoteDocument = {
      digest,
      ...defined({
        bytes: fetched.bytes,
        manifest: manifest !== undefined && isDigest(manifest) ? manifest : undefined,
      }),
      bundles: fetched.bundles,
      store: fetched.bytes === undefined ? known!.store : await this.#storeOf(address, fetched.actor),
    };
    // It was private, and no longer is.
    if (known?.store.cache.isPart === true && !document.store.cache.isPart)
      await known.store.cache.removeRecord('catalogs', name);
    await storeDocument(name, document, { validators: fetched.validators, known, bundles });
    return document;
  }

  /** Returns the bytes of a small document. */
  async fetchBytes(request: DocumentRequest): Promise<RemoteDocument & { bytes: Uint8Array }> {
    const first = await this.fetch(request);
    const bytes = first.bytes ?? (await first.store.cache.readBlob(first.digest, request.maxBytes));
    if (bytes !== undefined) return { ...first, bytes };
    // Another process, or a damaged disk, removed it after its size was compared.
    const again = await this.fetch(request);
    if (again.bytes !== undefined) return { ...again, bytes: again.bytes };
    throw new KrmhubError('unavailable', `cannot read ${recordName(request.address)} from the cache`, {
      hint: this.#offline
        ? 'Run the command once without --offline.'
        : 'The cache has changed. Run the command again.',
    });
  }

  /** A package may use hundreds of functions, each of which is a request. */
  async #limited<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= RESOLVE_LIMITS.maxParallelFetches) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  #open(): Promise<SourceFetcher> {
    this.#fetcher ??= this.#openFetcher();
    return this.#fetcher;
  }

  async #storeOf(address: SourceAddress, actor: string | undefined): Promise<EntryStore> {
    if (actor === undefined) return this.#shared;
    return this.#storeIn((await import('./actor-cache.js')).cacheFor(this.#shared.cache, address, actor));
  }

  #storeIn(cache: Cache): EntryStore {
    return cache.isPart ? { cache, writer: this.#shared.writer.for(cache) } : this.#shared;
  }

  async #known(address: SourceAddress, bundles: boolean): Promise<Known | undefined> {
    for (const cache of await this.caches(address)) {
      const ofAnyone = this.#offline;
      const known = await readKnown(cache, recordName(address), { bundles, ofAnyone });
      if (known !== undefined) return { ...known, store: this.#storeIn(cache) };
    }
    return undefined;
  }
}

async function readKnown(
  cache: Cache,
  name: string,
  { bundles, ofAnyone }: { bundles: boolean; ofAnyone: boolean },
): Promise<Omit<Known, 'store'> | undefined> {
  const record = await cache.readRecord('catalogs', name, { ofAnyone });
  const { digest, size, validators, manifest, bundles: signed } = record ?? {};
  if (typeof digest !== 'string' || !isDigest(digest) || typeof size !== 'number') return undefined;
  if (!isTexts(validators) || (await cache.sizeOfBlob(digest)) !== size) return undefined;
  const read: Uint8Array[] = [];
  if (bundles) {
    if (!Array.isArray(signed)) return undefined;
    for (const one of signed) {
      const bytes = isDigest(String(one)) ? await cache.readBlob(one as Digest, MAX_BUNDLE_BYTES) : undefined;
      if (bytes === undefined) return undefined;
      read.push(bytes);
    }
  }
  return {
    digest,
    validators,
    bundles: read,
    ...defined({ manifest: typeof manifest === 'string' && isDigest(manifest) ? manifest : undefined }),
  };
}

async function storeDocument(
  name: string,
  { digest, bytes, manifest, bundles: found, store: { writer } }: RemoteDocument,
  {
    validators,
    known,
    bundles,
  }: {
    validators: Record<string, string>;
    known: { validators: Record<string, string> } | undefined;
    bundles: boolean;
  },
): Promise<void> {
  if (bytes === undefined && !bundles && sameTexts(validators, known?.validators)) return;
  await writer.write(async (cache) => {
    if (bytes !== undefined) await cache.writeBlob(bytes);
    const signed: Digest[] = [];
    for (const bundle of found) signed.push(await cache.writeBlob(bundle));
    const size = bytes?.byteLength ?? (await cache.sizeOfBlob(digest));
    if (size === undefined) return;
    await cache.writeRecord('catalogs', name, {
      digest,
      size,
      validators,
      ...defined({ manifest, bundles: bundles ? signed : undefined }),
    });
  });
}

/** Of the bundles that a fetcher returns. */
const MAX_BUNDLE_BYTES = 1_048_576;

/** The name of what is known of an address. */
export function recordName(address: SourceAddress): string {
  switch (address.type) {
    case 'http':
      return address.url;
    case 'git':
      return `git::${address.repository}//${address.path}${address.ref === undefined ? '' : `?ref=${address.ref}`}`;
    case 'oci':
      return `oci://${address.reference}`;
    case 'file':
      return address.path;
  }
}

function isTexts(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'string')
  );
}

function sameTexts(a: Record<string, string>, b: Record<string, string> | undefined): boolean {
  return b !== undefined && Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);
}
