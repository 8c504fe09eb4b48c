import { createHash } from 'node:crypto';
import { type Digest, sha256 } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';
import { BytesCache } from '../../http/bytes-cache.js';
import { bytesResponse, uncompressed } from '../../http/bytes-response.js';
import { rateLimitKey } from '../../http/client-address.js';
import { codedBody } from '../../http/coded-body.js';
import type { Coding } from '../../http/content-coding.js';
import type { RegistryContext } from '../../http/context.js';
import type { ServedDocument } from '../../http/negotiated-document.js';
import { SERVER_LIMITS } from '../../limits.js';
import { FairQueue } from '../locks/fair-queue.js';
import { shareWork } from '../locks/shared-work.js';
import type { Derivation, Derive } from './derivation.js';

type Served = Omit<ServedDocument, 'digest'>;

/** ETags of documents that are remembered, with about 200 bytes each. */
const MAX_DIGESTS = 10_000;

/**
 * Derives documents once, and responds with them. The least recently used ones are evicted first. Clients take turns:
 * one that asks for many documents delays no other, not even where it asked for the same one before.
 */
export class DerivedDocuments {
  readonly #derive: Derive;
  readonly #cache: BytesCache;
  /** Of documents that may be evicted, by key: a client that has one gets a 304, and nothing is derived again. */
  readonly #digests = new LRUCache<string, Digest>({ max: MAX_DIGESTS });
  readonly #frozen = new WeakMap<readonly unknown[], string>();
  readonly #queue = new FairQueue({
    atOnce: SERVER_LIMITS.derivationsAtOnce,
    maxWaiting: SERVER_LIMITS.maxDerivationsWaiting,
  });
  /** By key and client. */
  readonly #waiting = new Map<string, Promise<Uint8Array>>();
  readonly #inProgress = new Map<string, Promise<Uint8Array>>();
  /** Number of times that the cache was cleared: what was derived before must not get into it again. */
  #generation = 0;

  constructor(derive: Derive, maxBytes: number = SERVER_LIMITS.maxPageCacheBytes) {
    this.#derive = derive;
    this.#cache = new BytesCache(maxBytes);
  }

  /** Responds with a derived document. If the client has it, and it was derived before, nothing is derived. */
  async respond<Input>(
    c: RegistryContext,
    derivation: Derivation<Input>,
    input: Input,
    document: Served,
  ): Promise<Response> {
    const key = this.#key(derivation, input);
    const client = clientKey(c);
    const derive = () => this.#derive(derivation, input);
    const generation = this.#generation;
    const known = this.#digests.get(key);
    const bytes = known === undefined ? await this.#bytes(key, client, derive) : undefined;
    return bytesResponse(c, {
      ...document,
      digest: known ?? this.#digestOf(key, bytes!, generation),
      // After a takedown, nothing from before is cached.
      find: async (coding) =>
        bytes !== undefined && generation !== this.#generation
          ? uncompressed(bytes)
          : this.#find(key, coding, client, derive),
    });
  }

  /** Responds with a derived document whose ETag is the digest of its bytes, which clients verify. */
  async respondWithDigest<Input>(
    c: RegistryContext,
    derivation: Derivation<Input>,
    input: Input,
    document: Served,
  ): Promise<Response> {
    const key = this.#key(derivation, input);
    const generation = this.#generation;
    const bytes = await this.#bytes(key, clientKey(c), () => this.#derive(derivation, input));
    return bytesResponse(c, {
      ...document,
      digest: this.#digestOf(key, bytes, generation),
      find: async () => uncompressed(bytes),
    });
  }

  /** Returns a small derived value that the input of another document needs. */
  bytes<Input>(c: RegistryContext, derivation: Derivation<Input>, input: Input): Promise<Uint8Array> {
    return this.#bytes(this.#key(derivation, input), clientKey(c), () => this.#derive(derivation, input));
  }

  /** Drops all documents: a takedown removes bytes. */
  clear(): void {
    this.#generation += 1;
    this.#cache.clear();
    this.#digests.clear();
  }

  #key<Input>({ name }: Derivation<Input>, input: Input): string {
    return sha256Text(
      JSON.stringify([name, input], (_, value) =>
        Array.isArray(value) && Object.isFrozen(value) ? this.#frozenDigest(value) : value,
      ),
    );
  }

  /** The ETag is of the bytes: processes, and versions of the program, that derive the same have the same. */
  #digestOf(key: string, bytes: Uint8Array, generation: number): Digest {
    const digest = this.#digests.get(key) ?? sha256(bytes);
    if (generation === this.#generation) this.#digests.set(key, digest);
    return digest;
  }

  /** A list that never changes, such as the releases of a function, can be long and is part of many inputs. */
  #frozenDigest(list: readonly unknown[]): string {
    let digest = this.#frozen.get(list);
    if (digest === undefined) {
      digest = sha256Text(JSON.stringify(list));
      this.#frozen.set(list, digest);
    }
    return digest;
  }

  async #find(
    key: string,
    coding: Coding,
    client: string,
    derive: () => Promise<Uint8Array>,
  ): Promise<{ coding: Coding; body: Uint8Array }> {
    const name = coding === 'identity' ? key : `${key} ${coding}`;
    const known = this.#cache.get(name);
    if (known !== undefined) return { coding, body: known };
    const bytes = await this.#bytes(key, client, derive);
    if (coding === 'identity') return { coding, body: bytes };
    return { coding, body: await this.#once(name, async () => (await codedBody(bytes, coding)).body) };
  }

  async #bytes(key: string, client: string, derive: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    // Another client may have to wait long for its turn, so only requests of the same one share it.
    return shareWork(this.#waiting, `${key} ${client}`, () =>
      this.#queue.run(client, () => this.#once(key, derive)),
    );
  }

  /** Concurrent callers share the work. */
  async #once(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const generation = this.#generation;
    const bytes = await shareWork(this.#inProgress, key, make);
    if (generation === this.#generation) this.#cache.set(key, bytes);
    return bytes;
  }
}

function sha256Text(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function clientKey(c: RegistryContext): string {
  return rateLimitKey(c.get('client'));
}
