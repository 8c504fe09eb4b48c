import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import {
  Connection,
  type ConnectionOptions,
  type Content,
  type RegistryResponse,
  readLimited,
  toContent,
} from './connection.js';
import { TemporaryFailure, unreachableError } from './connection-errors.js';
import { computeDigest, digestMismatch, type OciDigest, verifyContent } from './digest.js';
import {
  type Descriptor,
  type ImageIndex,
  MAX_MANIFEST_BYTES,
  type Manifest,
  MEDIA_TYPES,
  readManifest,
} from './manifest.js';
import { followPages, listNames, MAX_NAME_PAGE_BYTES, NAME_LISTS, type NameList } from './name-list.js';
import { formatReference, manifestReference, type Reference, type RepositoryReference } from './reference.js';
import { PUBLISHED_HEADER } from './server/route.js';

/** The exact bytes of a manifest, and the parsed manifest. */
export interface StoredManifest {
  bytes: Uint8Array;
  mediaType: string;
  digest: OciDigest;
  manifest: Manifest;
}

export interface ClientOptions extends ConnectionOptions {
  /** Called before a retry. */
  onRetry?(error: Error, milliseconds: number): void;
}

const ACCEPTED = [
  MEDIA_TYPES.image,
  MEDIA_TYPES.index,
  MEDIA_TYPES.dockerImage,
  MEDIA_TYPES.dockerIndex,
].join(', ');
/** Each may have megabytes of annotations. */
const MAX_REFERRERS_PAGES = 100;
const MAX_ATTEMPTS = 4;
const FIRST_RETRY_MILLISECONDS = 500;
const MAX_RETRY_MILLISECONDS = 30_000;

/**
 * A client for any OCI registry (distribution-spec 1.1). It verifies the digest of everything that it reads, and
 * retries after temporary failures. Rejects with KrmhubErrors only.
 */
export class OciClient {
  readonly #options: ClientOptions;
  readonly #connections = new Map<string, Connection>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Rejects with `not-found` if it does not exist. */
  async manifest(reference: Reference): Promise<StoredManifest> {
    const { bytes, mediaType, digest } = await this.#storedManifest(reference);
    return { bytes, mediaType, digest, manifest: readManifest(bytes, mediaType) };
  }

  /** Returns the digest of any manifest; undefined if it does not exist. */
  async resolveDigest(reference: Reference): Promise<OciDigest | undefined> {
    try {
      return (await this.#storedManifest(reference)).digest;
    } catch (error) {
      if (error instanceof KrmhubError && error.code === 'not-found') return undefined;
      throw error;
    }
  }

  #storedManifest(reference: Reference): Promise<Omit<StoredManifest, 'manifest'>> {
    return this.withRetries(async () => {
      const { registry, repository } = reference;
      const response = await this.#connectionTo(registry).send(
        repository,
        `manifests/${manifestReference(reference)}`,
        {
          method: 'GET',
          headers: { Accept: ACCEPTED },
          actions: 'pull',
          expected: [200],
        },
      );
      const bytes = await this.#body(response.url, readLimited(response.body, MAX_MANIFEST_BYTES));
      if (bytes === undefined) {
        throw new KrmhubError(
          'too-large',
          `the manifest of ${formatReference(reference)} is larger than ${MAX_MANIFEST_BYTES} bytes`,
        );
      }
      const digest = computeDigest(bytes, reference.digest);
      if (reference.digest !== undefined && digest !== reference.digest) {
        throw digestMismatch(reference.digest, `it has the digest ${digest}`);
      }
      const mediaType = (response.headers['content-type'] ?? '').split(';')[0]!.trim();
      return { bytes, mediaType, digest };
    });
  }

  /**
   * `indexed`: whether the registry adds the manifest to the referrers of its subject. `published`: the release that a
   * krmhub registry published from the manifest.
   */
  putManifest(
    reference: Reference,
    bytes: Uint8Array,
    mediaType: string,
  ): Promise<{ indexed: boolean; published?: string }> {
    return this.withRetries(async () => {
      const { registry, repository } = reference;
      const response = await this.#connectionTo(registry).send(
        repository,
        `manifests/${manifestReference(reference)}`,
        {
          method: 'PUT',
          headers: { 'Content-Type': mediaType },
          body: toContent(bytes),
          actions: 'pull,push',
          expected: [200, 201, 202],
        },
      );
      response.body.resume();
      const published = response.headers[PUBLISHED_HEADER.toLowerCase()];
      return {
        indexed: response.headers['oci-subject'] !== undefined,
        ...defined({ published: typeof published === 'string' ? printable(published) : undefined }),
      };
    });
  }

  /** Streams a blob. The stream fails at its end if the digest does not match: do not use the bytes before. */
  async blob(
    { registry, repository }: RepositoryReference,
    { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
  ): Promise<AsyncIterable<Uint8Array>> {
    const response = await this.#connectionTo(registry).send(repository, `blobs/${digest}`, {
      method: 'GET',
      actions: 'pull',
      expected: [200],
    });
    return verifyContent(withReachabilityErrors(response.url, response.body), { digest, size });
  }

  /** Pushes a blob, unless it exists, or the registry can mount it from its repository `mountFrom`. */
  pushBlob(
    { registry, repository }: RepositoryReference,
    digest: OciDigest,
    content: Content,
    mountFrom?: string,
  ): Promise<'exists' | 'mounted' | 'sent'> {
    return this.withRetries(async () => {
      const connection = this.#connectionTo(registry);
      // With push access, so that no body is sent to a registry that rejects it.
      const existing = await connection.send(repository, `blobs/${digest}`, {
        method: 'HEAD',
        actions: 'pull,push',
        // A registry rejects a blob that was taken down, with the reason, when it is pushed.
        expected: [200, 404, 410],
      });
      existing.body.resume();
      if (existing.status === 200) return 'exists';
      const mount = mountFrom === undefined ? '' : `?mount=${digest}&from=${encodeURIComponent(mountFrom)}`;
      const started = await connection.send(repository, `blobs/uploads/${mount}`, {
        method: 'POST',
        actions: 'pull,push',
        ...defined({ alsoPull: mountFrom }),
        expected: [201, 202],
      });
      started.body.resume();
      if (started.status === 201) return 'mounted';
      const location = connection.resolveLocation(started);
      location.searchParams.set('digest', digest);
      const sent = await connection.send(repository, location, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/octet-stream' },
        body: content,
        actions: 'pull,push',
        expected: [201, 204],
      });
      sent.body.resume();
      return 'sent';
    });
  }

  /** Lists the referrers of a manifest, with the referrers API or else the referrers tag schema. */
  async referrers({ registry, repository }: RepositoryReference, digest: OciDigest): Promise<Descriptor[]> {
    const listed = await this.withRetries(async () => {
      const found: Descriptor[] = [];
      const connection = this.#connectionTo(registry);
      const readPage = async (target: string | URL) => {
        const response = await connection.send(repository, target, {
          method: 'GET',
          headers: { Accept: MEDIA_TYPES.index },
          actions: 'pull',
          // Registries without the referrers API respond with 404, some with 405 or 400.
          expected: [200, 400, 404, 405],
        });
        const type = (response.headers['content-type'] ?? '').split(';')[0]!.trim();
        if (response.status !== 200 || type !== MEDIA_TYPES.index) {
          response.body.destroy();
          return undefined;
        }
        const bytes = await this.#body(response.url, readLimited(response.body, MAX_MANIFEST_BYTES));
        if (bytes === undefined) throw new KrmhubError('too-large', `${digest} has too many referrers`);
        const manifest = readManifest(bytes, type);
        if (manifest.kind === 'index') found.push(...manifest.index.manifests);
        return { next: nextPage(response, registry) };
      };
      for await (const page of followPages(
        `list of referrers of ${digest}`,
        `referrers/${digest}`,
        readPage,
        MAX_REFERRERS_PAGES,
      )) {
        if (page === undefined) return undefined;
      }
      return found;
    });
    if (listed !== undefined) return listed;
    const fallback = await this.#readReferrersTag({ registry, repository }, digest);
    return fallback?.manifests ?? [];
  }

  /** Adds a referrer to the referrers tag. Call it if `putManifest` returns `indexed: false`. */
  async addToReferrersTag(
    place: RepositoryReference,
    subject: OciDigest,
    referrer: Descriptor,
  ): Promise<void> {
    const index = await this.#readReferrersTag(place, subject);
    const manifests = index?.manifests ?? [];
    if (manifests.some(({ digest }) => digest === referrer.digest)) return;
    const bytes = new TextEncoder().encode(
      JSON.stringify({
        ...(index ?? { schemaVersion: 2, mediaType: MEDIA_TYPES.index }),
        manifests: [...manifests, referrer],
      }),
    );
    const { registry, repository } = place;
    await this.putManifest({ registry, repository, tag: referrersTag(subject) }, bytes, MEDIA_TYPES.index);
  }

  async #readReferrersTag(
    { registry, repository }: RepositoryReference,
    digest: OciDigest,
  ): Promise<ImageIndex | undefined> {
    try {
      const { manifest } = await this.manifest({ registry, repository, tag: referrersTag(digest) });
      return manifest.kind === 'index' ? manifest.index : undefined;
    } catch (error) {
      if (error instanceof KrmhubError && error.code === 'not-found') return undefined;
      throw error;
    }
  }

  /** Lists the tags of a repository. Rejects with `not-found` if the repository does not exist. */
  async tags({ registry, repository }: RepositoryReference): Promise<string[]> {
    return (await this.#names('tags', registry, repository))!;
  }

  /** Lists the repositories of a registry. Resolves to undefined if the registry does not offer such a list. */
  repositories(registry: string): Promise<string[] | undefined> {
    return this.#names('repositories', registry, '');
  }

  #names(list: NameList, registry: string, repository: string): Promise<string[] | undefined> {
    return listNames(list, repository === '' ? registry : `${registry}/${repository}`, (target) =>
      this.withRetries(async () => {
        const response = await this.#connectionTo(registry).send(repository, target, {
          method: 'GET',
          headers: { Accept: 'application/json' },
          ...NAME_LISTS[list].exchange,
        });
        if (response.status !== 200) {
          response.body.destroy();
          return undefined;
        }
        const bytes = await this.#body(response.url, readLimited(response.body, MAX_NAME_PAGE_BYTES));
        return { bytes, next: nextPage(response, registry) };
      }),
    );
  }

  #connectionTo(registry: string): Connection {
    const known = this.#connections.get(registry) ?? new Connection(registry, this.#options);
    this.#connections.set(registry, known);
    return known;
  }

  async #body<Result>(url: URL, reading: Promise<Result>): Promise<Result> {
    try {
      return await reading;
    } catch (error) {
      throw unreachableError(url, error);
    }
  }

  /** Retries an idempotent operation after temporary failures of the registry. */
  async withRetries<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof TemporaryFailure) || attempt >= MAX_ATTEMPTS) throw error;
        const wait = error.retryAfterMilliseconds ?? FIRST_RETRY_MILLISECONDS * 2 ** (attempt - 1);
        if (wait > MAX_RETRY_MILLISECONDS) throw error;
        this.#options.onRetry?.(error, wait);
        await sleep(wait, undefined, { signal: this.#options.signal });
      }
    }
  }
}

/**
 * Returns the URL of the next page, from the Link header. Throws `unreachable` for a page that the registry does not
 * serve itself: another host would answer in its name.
 */
function nextPage({ headers, url, isOwn }: RegistryResponse, registry: string): URL | undefined {
  const next = /<([^>]+)>\s*;\s*rel="?next"?/.exec(String(headers.link ?? ''))?.[1];
  if (next === undefined) return undefined;
  const page = parseUrl(next, url);
  if (page !== undefined && isOwn && page.origin === url.origin) return page;
  const where =
    page === undefined ? `at the invalid URL ${printable(next)}` : `on another host, ${page.host}`;
  throw new KrmhubError('unreachable', `unexpected response from ${registry}: the next page is ${where}`);
}

/** Returns the tag that lists the referrers of a digest (distribution-spec, "Referrers Tag Schema"). */
export function referrersTag(digest: OciDigest): string {
  return digest.replace(':', '-').slice(0, 'sha256-'.length + 64);
}

async function* withReachabilityErrors(url: URL, body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw unreachableError(url, error);
  }
}
