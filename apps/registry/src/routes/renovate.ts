import type { RenovateReleases } from '@krmhub/api/renovate-routes';
import { ROUTES } from '@krmhub/api/routes';
import {
  type FunctionRecord,
  imageRepository,
  isSound,
  judgeSignatures,
  type ReleaseSummary,
  type SearchReader,
  signedParts,
} from '@krmhub/catalog';
import {
  type Digest,
  type FunctionDefinition,
  type FunctionName,
  isDigest,
  isPrerelease,
  KrmhubError,
  parseImageReference,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { KnownAccess } from '../http/auth/request-actor.js';
import { CACHE_REVALIDATE, CACHE_SHORT, textResponse } from '../http/bytes-response.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import type { SignatureJudge } from '../http/presentation.js';
import { type PublicAddress, requestedUrl } from '../http/public-address.js';
import { type FindStore, findFunction } from '../store/find-record.js';
import type { Derivation } from '../workers/derive/derivation.js';
import type { DerivedDocuments } from '../workers/derive/derived-documents.js';
import { renovatePreset } from './renovate-preset.js';

/** Functions of one image, the best matches. Most images have one. */
const MAX_FUNCTIONS = 20;
/** Definitions in memory at the same time. */
const BATCH = 20;

interface RenovateDeps extends SignatureJudge {
  store: FindStore & SearchReader;
  access: KnownAccess;
  derived: DerivedDocuments;
  config: PublicAddress;
  /** Paths of pages. */
  pages: {
    functionPath(name: FunctionName): string;
    releasePath(name: FunctionName & { release: string }): string;
  };
}

/**
 * Serves what Renovate reads: the releases of a function or an image, and the preset. Renovate proposes a version, so a
 * release that was taken down is absent, a yanked one is never proposed, and a deprecated one only to users of another
 * deprecated one.
 */
export function renovateRoutes(
  app: RegistryApp,
  { store, access, derived, config, trust, pages }: RenovateDeps,
): void {
  const listed = (fn: FunctionRecord): ListedFunction => ({
    group: fn.group,
    kind: fn.kind,
    ...defined({ owner: access.rules.ownerOf(fn.group)?.team }),
    page: pages.functionPath(fn),
    releases: fn.releases.map((release) => ({
      ...listedRelease(release, sourceOf(fn, release)),
      page: pages.releasePath({ ...fn, release: release.release }),
    })),
  });
  const sourceOf = (fn: FunctionName, release: ReleaseSummary) => {
    const verdict = judgeSignatures(
      trust.policies,
      { ...fn, release: release.release },
      signedParts(release),
    );
    return isSound(verdict) && verdict.signer?.type === 'identity'
      ? verdict.signer.source?.sourceRepositoryURI
      : undefined;
  };
  const document = { mediaType: 'application/json', cacheControl: CACHE_REVALIDATE };

  serveRoute(app, ROUTES.renovate, async (c, { params }) => {
    const functions = [listed(await findFunction(store, params))];
    return derived.respond(c, RENOVATE_RELEASES, { functions }, document);
  });

  serveRoute(app, ROUTES.renovateImage, async (c, { query }) => {
    const image = imageRepository(query.image)!;
    const { items } = await store.search({ text: image, limit: MAX_FUNCTIONS });
    const functions = (await store.functions(items)).map(listed);
    return derived.respond(c, RENOVATE_RELEASES, { functions, image }, document);
  });

  serveRoute(app, ROUTES.renovatePreset, (c) => {
    const url = config.publicUrl ?? requestedUrl(c.req);
    if (url === undefined) throw new KrmhubError('invalid-request', 'the Host header is not a host name');
    // The host of a request is only for its client.
    const cacheControl = config.publicUrl === undefined ? 'no-store' : CACHE_SHORT;
    const text = `${JSON.stringify(renovatePreset(url), undefined, 2)}\n`;
    return textResponse(c, text, { mediaType: 'application/json', cacheControl });
  });
}

interface ListedRelease extends Pick<ReleaseSummary, 'release' | 'digest' | 'publishedAt'> {
  isYanked: boolean;
  isDeprecated: boolean;
  source?: string;
}

interface ListedFunction extends FunctionName {
  /** The team that owns the group. */
  owner?: string;
  page: string;
  releases: (ListedRelease & { page: string })[];
}

function listedRelease(
  { release, digest, publishedAt, yanked, deprecated }: ReleaseSummary,
  source: string | undefined,
): ListedRelease {
  return {
    release,
    digest,
    publishedAt,
    isYanked: yanked !== undefined,
    isDeprecated: deprecated !== undefined,
    ...defined({ source: source?.startsWith('https://') ? source : undefined }),
  };
}

/** The releases of functions as Renovate reads them: by name, or with an image by its tags. */
export const RENOVATE_RELEASES: Derivation<{ functions: ListedFunction[]; image?: string }> = {
  name: 'renovate-releases',
  async derive({ store, config }, { functions, image }) {
    const all = functions.flatMap(({ group, kind, owner, releases }) =>
      releases.map((one) => ({ group, kind, ...defined({ owner }), ...one })),
    );
    const naming: Naming[] = [];
    for (let at = 0; at < all.length; at += BATCH) {
      const batch = all.slice(at, at + BATCH);
      const found = await store.definitionsJson(batch);
      for (const [index, json] of found.entries()) {
        const one = batch[index]!;
        // It was taken down just now.
        if (json === undefined) continue;
        const definition = JSON.parse(new TextDecoder().decode(json)) as FunctionDefinition;
        const named = versionsOf(one.release, definition, image);
        if (named.length > 0) naming.push({ of: one, named });
      }
    }
    const from = publisherOf(naming);
    const versions = new Map<string, RenovateReleases['releases'][number]>();
    for (const { of, named } of naming.filter((one) => from === publisher(one))) {
      for (const { version, digest } of named) {
        // The newest release with a tag decides about it.
        if (!versions.has(version)) versions.set(version, presented(config, of, version, digest));
      }
    }
    const releases = [...versions.values()];
    const [fn, ...others] = functions.filter((one) => from === publisher({ of: one }));
    const known = fn !== undefined && others.length === 0 && config.publicUrl !== undefined;
    const result: RenovateReleases = {
      releases,
      ...defined({
        sourceUrl: releases.find(({ sourceUrl }) => sourceUrl !== undefined)?.sourceUrl,
        homepage: known ? config.publicUrl + fn.page : undefined,
      }),
    };
    return new TextEncoder().encode(JSON.stringify(result));
  },
};

/** A release of a function, and what it names. */
interface Naming {
  of: FunctionName & Pick<ListedFunction, 'owner'> & ListedFunction['releases'][number];
  named: ReturnType<typeof versionsOf>;
}

/** Returns the owner of the group of a function, or else the group. */
function publisher({ of: { owner, group } }: { of: Pick<ListedFunction, 'owner' | 'group'> }): string {
  return owner === undefined ? `group ${group}` : `team ${owner}`;
}

/**
 * Returns from whom an image is: everybody who publishes anything can name it, with a higher tag and another digest. An
 * owner is before groups without one; then who named it first.
 */
function publisherOf(naming: readonly Naming[]): string | undefined {
  const key = ({ of: { owner, publishedAt } }: Naming) => `${owner === undefined ? 1 : 0} ${publishedAt}`;
  const [first] = [...naming].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return first && publisher(first);
}

function presented(
  { publicUrl }: PublicAddress,
  { release, isYanked, isDeprecated, publishedAt, source, page }: ListedFunction['releases'][number],
  version: string,
  digest: Digest | undefined,
): RenovateReleases['releases'][number] {
  return {
    version,
    releaseTimestamp: publishedAt,
    ...defined({ digest }),
    isDeprecated: isDeprecated || isYanked,
    isStable: !isYanked && !isPrerelease(release),
    ...defined({
      changelogUrl: publicUrl === undefined ? undefined : publicUrl + page,
      sourceUrl: source,
    }),
  };
}

/** Returns what a release is called, and the digest of its image: by an image, one for each of its tags. */
function versionsOf(
  release: string,
  definition: FunctionDefinition,
  image: string | undefined,
): { version: string; digest: Digest | undefined }[] {
  const images = definition.versions.flatMap(({ runtime: { container } }) => {
    if (container === undefined) return [];
    const reference = parseImageReference(container.image);
    if (!reference.ok || (image !== undefined && imageRepository(container.image) !== image)) return [];
    const { sha256 } = container;
    const digest = reference.digest ?? `sha256:${sha256}`;
    return [{ tag: reference.tag ?? release, digest: isDigest(digest) ? digest : undefined }];
  });
  const names = image === undefined ? [release] : [...new Set(images.map(({ tag }) => tag))];
  return names.map((version) => {
    const digests = new Set(
      images.filter(({ tag }) => image === undefined || tag === version).map(({ digest }) => digest),
    );
    const [digest] = digests;
    return { version, digest: digests.size === 1 ? digest : undefined };
  });
}
