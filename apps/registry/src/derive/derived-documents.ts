import { createHash, randomUUID } from 'node:crypto';
import { type Digest, sha256 } from '@krmhub/schema';
import { BytesCache } from '../http/bytes-cache.js';
import { bytesResponse, uncompressed } from '../http/bytes-response.js';
import { codedBody } from '../http/coded-body.js';
import type { Coding } from '../http/content-coding.js';
import type { RegistryContext } from '../http/context.js';
import type { ServedDocument } from '../http/negotiated-document.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Derivation, Derive } from './derivation.js';

type Served = Omit<ServedDocument, 'digest'>;

/** Derives documents once, and responds with them. The least recently used ones are evicted first. */
export class DerivedDocuments {
  readonly #derive: Derive;
  readonly #cache: BytesCache;
  readonly #digests = new WeakMap<Uint8Array, Digest>();
  readonly #inProgress = new Map<string, Promise<Uint8Array>>();
  /** Another version of the program may derive other bytes, so ETags do not outlive the process. */
  readonly #process = randomUUID();

  constructor(derive: Derive, maxBytes: number = SERVER_LIMITS.maxPageCacheBytes) {
    this.#derive = derive;
    this.#cache = new BytesCache(maxBytes);
  }

  /** Responds with a derived document. If the client has it, nothing is derived. */
  respond<Input>(
    c: RegistryContext,
    derivation: Derivation<Input>,
    input: Input,
    document: Served,
  ): Promise<Response> {
    const key = this.#key(derivation, input);
    return bytesResponse(c, {
      ...document,
      digest: `derived:${key}`,
      find: (coding) => this.#find(key, derivation, input, coding),
    });
  }

  /** Responds with a derived document whose ETag is the digest of its bytes, which clients verify. */
  async respondWithDigest<Input>(
    c: RegistryContext,
    derivation: Derivation<Input>,
    input: Input,
    document: Served,
  ): Promise<Response> {
    const bytes = await this.#bytes(this.#key(derivation, input), derivation, input);
    const digest = this.#digests.get(bytes) ?? sha256(bytes);
    this.#digests.set(bytes, digest);
    return bytesResponse(c, { ...document, digest, find: async () => uncompressed(bytes) });
  }

  /** Drops all documents: a takedown removes bytes. */
  clear(): void {
    this.#cache.clear();
  }

  #key<Input>({ name }: Derivation<Input>, input: Input): string {
    return createHash('sha256')
      .update(JSON.stringify([this.#process, name, input]))
      .digest('hex');
  }

  async #find<Input>(
    key: string,
    derivation: Derivation<Input>,
    input: Input,
    coding: Coding,
  ): Promise<{ coding: Coding; body: Uint8Array }> {
    if (coding === 'identity') return { coding, body: await this.#bytes(key, derivation, input) };
    const coded = await this.#once(`${key} ${coding}`, async () => {
      const bytes = await this.#bytes(key, derivation, input);
      return (await codedBody(bytes, coding)).body;
    });
    return { coding, body: coded };
  }

  #bytes<Input>(key: string, derivation: Derivation<Input>, input: Input): Promise<Uint8Array> {
    return this.#once(key, () => this.#derive(derivation, input));
  }

  /** Concurrent callers share the work. */
  async #once(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#cache.get(key) ?? this.#inProgress.get(key);
    if (known !== undefined) return known;
    const making = make();
    this.#inProgress.set(key, making);
    try {
      const bytes = await making;
      this.#cache.set(key, bytes);
      return bytes;
    } finally {
      this.#inProgress.delete(key);
    }
  }
}
