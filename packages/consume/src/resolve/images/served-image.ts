import type { ServedImage } from '@krmhub/catalog';
import type { Descriptor, Manifest, OciClient, Reference } from '@krmhub/oci';
import { compareText } from '@krmhub/schema/compare-text';
import { defined } from '@krmhub/schema/defined';
import { type Digest, isDigest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { Cache } from '../../cache/cache.js';
import type { CacheWriter } from '../../cache/cache-writer.js';
import { RESOLVE_LIMITS } from '../../limits.js';
import type { Network } from '../../ports.js';

/** Asks registries for the digests of images, with the credentials of docker. */
export class ImageRegistries {
  readonly #io: Network;
  readonly #cache: Cache;
  readonly #writer: CacheWriter;
  readonly #offline: boolean;
  #client: Promise<OciClient> | undefined;

  constructor(io: Network, cache: Cache, writer: CacheWriter, offline: boolean) {
    this.#io = io;
    this.#cache = cache;
    this.#writer = writer;
    this.#offline = offline;
  }

  /**
   * Returns what a registry serves for a reference with a tag or a digest. A tag is asked for each time; what a digest
   * names never changes, and comes from the cache. Offline, a tag is what it was last. Rejects with KrmhubErrors.
   */
  async find(reference: string): Promise<ServedImage> {
    const known = await this.#known(reference);
    if (known !== undefined && (this.#offline || reference.endsWith(known.digest))) return known;
    if (this.#offline) {
      throw new KrmhubError(
        'unavailable',
        `the digest of ${reference} is not in the cache, and --offline is set`,
        {
          hint: 'Run the command once without --offline.',
        },
      );
    }
    try {
      return await this.#ask(reference);
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      const { code, hint, message } = error;
      throw new KrmhubError(code, `cannot find the digest of the image ${reference}: ${message}`, {
        ...defined({ hint }),
        cause: error,
      });
    }
  }

  async #ask(reference: string): Promise<ServedImage> {
    const { parseReference } = await import('@krmhub/oci');
    this.#client ??= this.#io.fetch.openOci();
    const client = await this.#client;
    const parsed = parseReference(reference);
    const { digest, manifest } = await client.manifest(parsed);
    if (!isDigest(digest)) throw new KrmhubError('unreachable', `${reference} has no sha256 digest`);
    const platforms =
      manifest.kind === 'index'
        ? indexPlatforms(manifest.index.manifests)
        : await imagePlatform(client, parsed, digest, manifest);
    const served: ServedImage = {
      digest,
      ...defined({ platforms: Object.keys(platforms).length === 0 ? undefined : platforms }),
    };
    await this.#writer.write((cache) => cache.writeRecord('images', reference, served));
    return served;
  }

  async #known(reference: string): Promise<ServedImage | undefined> {
    const { digest, platforms } =
      (await this.#cache.readRecord('images', reference, { ofAnyone: this.#offline })) ?? {};
    if (typeof digest !== 'string' || !isDigest(digest)) return undefined;
    if (platforms === undefined) return { digest };
    if (typeof platforms !== 'object' || platforms === null) return undefined;
    const isValid = Object.values(platforms).every((one) => typeof one === 'string' && isDigest(one));
    return isValid ? { digest, platforms: platforms as Record<string, Digest> } : undefined;
  }
}

/** Platforms of an index, for example `linux/arm64/v8`. Attestations have the platform `unknown/unknown`. */
function indexPlatforms(manifests: readonly Descriptor[]): Record<string, Digest> {
  const found: [string, Digest][] = [];
  for (const { digest, platform } of manifests) {
    if (platform === undefined || platform.os === 'unknown' || !isDigest(digest)) continue;
    const name = platformName(platform.os, platform.architecture, platform.variant);
    // The first one is used, as docker does.
    if (name !== undefined && !found.some(([known]) => known === name)) found.push([name, digest]);
  }
  return Object.fromEntries(found.sort(([a], [b]) => compareText(a, b)));
}

/** The platform of a single image, which only its configuration says. */
async function imagePlatform(
  client: OciClient,
  reference: Reference,
  digest: Digest,
  manifest: Extract<Manifest, { kind: 'image' }>,
): Promise<Record<string, Digest>> {
  const { config } = manifest.image;
  if (config.size > RESOLVE_LIMITS.maxImageConfigBytes) return {};
  const bytes = await client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(reference, config)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
  try {
    const { os, architecture, variant } = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
    const name = platformName(os, architecture, variant);
    return name === undefined ? {} : { [name]: digest };
  } catch {
    // The configuration of an artifact that is not an image.
    return {};
  }
}

const PLATFORM_PART = /^[a-z0-9][a-z0-9._-]{0,30}$/;

function platformName(...parts: unknown[]): string | undefined {
  const given = parts.filter((part) => part !== undefined && part !== '');
  const isValid =
    given.length >= 2 && given.every((part) => typeof part === 'string' && PLATFORM_PART.test(part));
  return isValid ? given.join('/') : undefined;
}
