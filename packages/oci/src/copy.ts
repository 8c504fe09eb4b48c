import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { type OciClient, referrersTag, type StoredManifest } from './client.js';
import type { OciDigest } from './digest.js';
import { type Descriptor, isManifestType } from './manifest.js';
import { formatReference, type Reference } from './reference.js';
import { runInParallel } from './run-in-parallel.js';

export interface CopyOptions {
  from: Reference;
  to: Reference;
  /** Whether to copy referrers too: signatures, attestations, bills of materials. */
  referrers: boolean;
  onProgress?(progress: CopyProgress): void;
}

export interface CopyProgress {
  manifests: number;
  blobs: number;
  /** Bytes of blobs: already sent, and known so far in total. */
  sentBytes: number;
  knownBytes: number;
}

export interface CopyResult extends CopyProgress {
  digest: OciDigest;
  /** Number of the manifests that are referrers. */
  referrers: number;
}

const BLOBS_AT_ONCE = 4;
/** Suffixes of the tags that cosign uses for signatures, attestations and bills of materials instead of referrers. */
const COSIGN_SUFFIXES = ['sig', 'att', 'sbom'];
/** Manifests of one artifact, including child manifests and referrers. */
const MAX_MANIFESTS = 1_000;
const MAX_DEPTH = 10;

/**
 * Copies an artifact without changing digests. The tag is pushed last: once it exists, all blobs, manifests and
 * referrers exist.
 */
export async function copyArtifact(client: OciClient, options: CopyOptions): Promise<CopyResult> {
  const { from, to } = options;
  if (to.digest !== undefined && to.tag !== undefined) {
    throw new KrmhubError('usage', `${formatReference(to)} has a tag and a digest`, {
      hint: 'Use only the tag of the copy.',
    });
  }
  const copy = new Copy(client, options);
  const root = await client.manifest(from);
  if (to.digest !== undefined && to.digest !== root.digest) {
    throw new KrmhubError(
      'usage',
      `${formatReference(from)} has the digest ${root.digest}, not ${to.digest}`,
    );
  }
  await copy.copyManifest(root, 0);
  if (to.tag !== undefined) await client.putManifest(to, root.bytes, root.mediaType);
  return { ...copy.progress, digest: root.digest, referrers: copy.referrers };
}

class Copy {
  readonly progress: CopyProgress = { manifests: 0, blobs: 0, sentBytes: 0, knownBytes: 0 };
  referrers = 0;
  readonly #client: OciClient;
  readonly #options: CopyOptions;
  readonly #done = new Set<OciDigest>();

  constructor(client: OciClient, options: CopyOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Copies the referenced content, then the manifest, then its referrers. */
  async copyManifest(stored: StoredManifest, depth: number): Promise<void> {
    if (this.#done.has(stored.digest)) return;
    this.#done.add(stored.digest);
    if (depth > MAX_DEPTH || this.#done.size > MAX_MANIFESTS) {
      throw new KrmhubError(
        'too-large',
        'the artifact has too many manifests, or they are nested too deeply',
        {
          hint: `Copy at most ${MAX_MANIFESTS} manifests, nested ${MAX_DEPTH} levels deep.`,
        },
      );
    }
    const { from, to, referrers } = this.#options;
    const { manifest } = stored;
    if (manifest.kind === 'image') await this.#copyBlobs([manifest.image.config, ...manifest.image.layers]);
    else {
      for (const child of manifest.index.manifests) {
        if (!isManifestType(child.mediaType)) await this.#copyBlobs([child]);
        else await this.copyManifest(await this.#read(child.digest), depth + 1);
      }
    }
    const place = { registry: to.registry, repository: to.repository, digest: stored.digest };
    const { indexed } = await this.#client.putManifest(place, stored.bytes, stored.mediaType);
    this.progress.manifests += 1;
    this.#reportProgress();
    const { subject } = manifest.kind === 'image' ? manifest.image : manifest.index;
    if (subject !== undefined && !indexed) {
      await this.#client.addToReferrersTag(place, subject.digest, referrerDescriptor(stored));
    }
    if (!referrers) return;
    for (const referrer of await this.#client.referrers(from, stored.digest)) {
      if (!isManifestType(referrer.mediaType) || this.#done.has(referrer.digest)) continue;
      this.referrers += 1;
      await this.copyManifest(await this.#read(referrer.digest), depth + 1);
    }
    await this.#copyCosignTags(stored.digest, depth);
  }

  /** Copies cosign signatures and attestations under tags that contain the digest. */
  async #copyCosignTags(digest: OciDigest, depth: number): Promise<void> {
    const { from, to } = this.#options;
    for (const suffix of COSIGN_SUFFIXES) {
      const tag = `${referrersTag(digest)}.${suffix}`;
      const { registry, repository } = from;
      if ((await this.#client.resolveDigest({ registry, repository, tag })) === undefined) continue;
      const attached = await this.#client.manifest({ registry, repository, tag });
      this.referrers += 1;
      await this.copyManifest(attached, depth + 1);
      const place = { registry: to.registry, repository: to.repository, tag };
      await this.#client.putManifest(place, attached.bytes, attached.mediaType);
    }
  }

  #read(digest: OciDigest): Promise<StoredManifest> {
    const { registry, repository } = this.#options.from;
    return this.#client.manifest({ registry, repository, digest });
  }

  async #copyBlobs(descriptors: readonly Descriptor[]): Promise<void> {
    const { from, to } = this.#options;
    // A manifest can reference a blob twice. Non-distributable layers stay where they are.
    const wanted = new Map(
      descriptors
        .filter(
          ({ digest, mediaType }) => !this.#done.has(digest) && !/nondistributable|foreign/.test(mediaType),
        )
        .map((descriptor) => [descriptor.digest, descriptor]),
    );
    for (const { size } of wanted.values()) this.progress.knownBytes += size;
    await runInParallel(wanted.values(), BLOBS_AT_ONCE, async ({ digest, size }) => {
      const { progress } = this;
      const client = this.#client;
      const report = () => this.#reportProgress();
      let sent = 0;
      const content = {
        size,
        async *open() {
          progress.sentBytes -= sent;
          sent = 0;
          for await (const piece of await client.blob(from, { digest, size })) {
            yield piece;
            sent += piece.byteLength;
            progress.sentBytes += piece.byteLength;
            report();
          }
        },
      };
      const mountFrom = from.registry === to.registry ? from.repository : undefined;
      const outcome = await client.pushBlob(to, digest, content, mountFrom);
      this.#done.add(digest);
      progress.blobs += 1;
      if (outcome !== 'sent') progress.knownBytes -= size;
      report();
    });
  }

  #reportProgress(): void {
    this.#options.onProgress?.({ ...this.progress });
  }
}

/** Returns the descriptor for a list of referrers (distribution-spec, "Listing Referrers"). */
export function referrerDescriptor({ bytes, mediaType, digest, manifest }: StoredManifest): Descriptor {
  const { artifactType, annotations } = manifest.kind === 'image' ? manifest.image : manifest.index;
  const type = artifactType ?? (manifest.kind === 'image' ? manifest.image.config.mediaType : undefined);
  return {
    mediaType,
    digest,
    size: bytes.byteLength,
    ...defined({ artifactType: type, annotations }),
  };
}
