import type { TokenRecord } from '@krmhub/catalog';
import {
  type Change,
  isOciDigest,
  type ManifestDescriptor,
  MEDIA_TYPES,
  type OciDigest,
  OciError,
} from '@krmhub/oci';
import { canonicalRelease } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isAdministrator, latestToken, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import { CACHE_FOREVER, CACHE_REVALIDATE } from '../http/bytes-response.js';
import type { RegistryContext } from '../http/context.js';
import { matchingTag } from '../http/negotiated-document.js';
import { SERVER_LIMITS } from '../limits.js';
import { isFallbackTag, type RepositoryKind, repositoryKind } from '../store/artifacts/repositories.js';
import { newChange } from './change.js';
import type { OciDeps } from './oci-deps.js';
import { findSnapshotSignature, isSnapshotSignature } from './snapshot-referrers.js';
import { goneOrNotFound } from './taken-down.js';

/** Referrers in memory at a time. Each has up to four mebibytes of annotations. */
const REFERRERS_AT_ONCE = 20;

/** GET and HEAD of a manifest (distribution-spec, "Pulling manifests"): its exact bytes and media type. */
export async function manifestResponse(
  c: RegistryContext,
  { store }: OciDeps,
  { repository, reference }: { repository: string; reference: string },
): Promise<Response> {
  const named = nameIn(repository, reference);
  const head = c.req.method === 'HEAD';
  const found: (ManifestDescriptor & { bytes?: Uint8Array }) | undefined = head
    ? await store.manifestDescriptor(repository, named)
    : await store.manifest(repository, named);
  if (found === undefined) {
    const byDigest = isOciDigest(reference);
    throw await goneOrNotFound({ store }, 'MANIFEST_UNKNOWN', 'manifest not found in this repository', {
      repository,
      ...(byDigest ? { digest: reference } : { tag: reference }),
    });
  }
  const tag = `"${found.digest}"`;
  const headers = new Headers({
    'Content-Type': found.mediaType,
    'Docker-Content-Digest': found.digest,
    ETag: tag,
    'Cache-Control': isOciDigest(reference) ? CACHE_FOREVER : CACHE_REVALIDATE,
    'Content-Disposition': 'inline',
  });
  if (matchingTag(c.req.header('if-none-match'), [tag]) !== undefined) {
    return new Response(null, { status: 304, headers });
  }
  headers.set('Content-Length', String(found.size));
  return new Response(head ? null : (found.bytes as Uint8Array<ArrayBuffer>), { headers });
}

/** Normalizes the tag of a release, as the HTTP API does: `v0.3` is `0.3.0`. */
function nameIn(repository: string, reference: string): string {
  if (isOciDigest(reference) || isFallbackTag(reference) || repositoryKind(repository).of !== 'function') {
    return reference;
  }
  return canonicalRelease(reference) ?? reference;
}

/** DELETE of a tag, or of a manifest with its tags. Releases and snapshots cannot be deleted. */
export async function deleteManifest(
  c: RegistryContext,
  deps: OciDeps,
  named: { repository: string; reference: string },
): Promise<Response> {
  const token = await deps.repositoryAccess.authorize(c, named.repository, 'delete');
  const kind = repositoryKind(named.repository);
  const change = newChange(deps, callerOf(c, token));
  const remove = () => removeManifest(deps, named, { kind, token: latestToken(c, token), change });
  // A manifest that is not a release yet may become one at the same time.
  if (kind.of === 'function') {
    const fn = { group: kind.group, kind: kind.kindFolded };
    await deps.functionLocks.run(fn, recheckToken(c), remove);
  } else await remove();
  return c.body(null, 202, { 'Content-Length': '0' });
}

async function removeManifest(
  { store, access }: OciDeps,
  { repository, reference }: { repository: string; reference: string },
  { kind, token, change }: { kind: RepositoryKind; token: TokenRecord; change: Change },
): Promise<void> {
  const isDigest = isOciDigest(reference);
  if (kind.of !== 'anything') {
    // A referrer of a release may have a tag too.
    const named = isDigest ? await store.listManifestTags(repository, reference) : [reference];
    const isPermanent = named.some((tag) => !isFallbackTag(tag));
    if (isPermanent) {
      const [what, hint] =
        kind.of === 'function'
          ? [
              'release',
              'Remove it from catalogs with `krmhub yank`. An administrator can delete it with `krmhub takedown`.',
            ]
          : ['snapshot', 'To withdraw the snapshots of a release, an administrator runs `krmhub takedown`.'];
      throw new OciError('DENIED', `cannot delete a ${what}: it is immutable`, { hint });
    }
    if (isDigest && kind.of === 'function' && (await isEvidence(store, kind, reference))) {
      throw new OciError('DENIED', 'cannot delete a bundle of a release', {
        hint: 'To stop trusting its signer, revoke the key with `krmhub policy apply`.',
      });
    }
    if (isDigest && (await isSnapshotSignature({ store }, repository, reference))) {
      throw new OciError('DENIED', 'cannot delete the signature of a snapshot');
    }
    if (isDigest && !isAdministrator(access.rules, token)) {
      // Without the signature of another publisher, its release would be published unsigned.
      const pushers = await store.pushers(repository, reference);
      if (pushers.some((by) => by !== change.by)) {
        throw new OciError('DENIED', 'cannot delete a referrer that another token pushed', {
          hint: 'Use that token, or ask an administrator.',
        });
      }
    }
  }
  const deleted = isDigest
    ? await store.deleteManifest(repository, reference, change)
    : await store.deleteTag(repository, reference, change);
  if (!deleted) throw new OciError('MANIFEST_UNKNOWN', 'manifest not found in this repository');
}

/** Reports whether the manifest is a bundle of a release. */
async function isEvidence(
  store: OciDeps['store'],
  { group, kindFolded }: { group: string; kindFolded: string },
  digest: OciDigest,
): Promise<boolean> {
  const fn = await store.function(group, kindFolded);
  return (fn?.releases ?? []).some(({ bundles = [] }) => bundles.some(({ manifest }) => manifest === digest));
}

/** Tags in code unit order (distribution-spec, "Listing Tags"). */
export async function listTags(
  c: RegistryContext,
  { store }: OciDeps,
  { repository }: { repository: string },
): Promise<Response> {
  const { limit, after } = page(c);
  const tags = await store.tags(repository, after, Math.max(limit, 1) + 1);
  if (tags === undefined) throw new OciError('NAME_UNKNOWN', 'repository not found');
  const shown = tags.slice(0, limit);
  return c.json(
    { name: repository, tags: shown },
    200,
    nextPage(c, limit > 0 && tags.length > limit, shown.at(-1)),
  );
}

/** Lists the repositories (`/v2/_catalog` of Docker, not in distribution-spec). */
export async function listRepositories(c: RegistryContext, { store }: OciDeps): Promise<Response> {
  const { limit, after } = page(c);
  const names = await store.repositories(after, Math.max(limit, 1) + 1);
  const shown = names.slice(0, limit);
  return c.json({ repositories: shown }, 200, nextPage(c, limit > 0 && names.length > limit, shown.at(-1)));
}

/**
 * Lists the referrers of a manifest (distribution-spec, "Listing Referrers"): first the signature of the registry, then
 * the others by digest. The manifest itself may be missing.
 */
export async function listReferrers(
  c: RegistryContext,
  { store }: OciDeps,
  { repository, digest }: { repository: string; digest: OciDigest },
): Promise<Response> {
  const { artifactType, last = '' } = c.req.query();
  const { shown, more } = await referrersPage(store, repository, digest, {
    ...defined({ artifactType }),
    after: last,
  });
  const manifests = shown.map(({ digest, mediaType, size, artifactType, annotations }) => ({
    mediaType,
    digest,
    size,
    ...defined({ artifactType, annotations }),
  }));
  const body = JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests });
  return c.body(body, 200, {
    'Content-Type': MEDIA_TYPES.index,
    ...defined({ 'OCI-Filters-Applied': artifactType === undefined ? undefined : 'artifactType' }),
    ...nextPage(c, more, manifests.at(-1)?.digest),
  });
}

/** Loads some at a time: each may have megabytes of annotations. */
async function referrersPage(
  store: OciDeps['store'],
  repository: string,
  subject: OciDigest,
  { artifactType, after }: { artifactType?: string; after: string },
): Promise<{ shown: ManifestDescriptor[]; more: boolean }> {
  const { maxReferrers, maxReferrersBytes } = SERVER_LIMITS;
  // On the first page, so that clients which read only some referrers read it, however many others pushed.
  const own = await findSnapshotSignature({ store }, repository, subject);
  const isWanted = own !== undefined && (artifactType ?? own.artifactType) === own.artifactType;
  const shown: ManifestDescriptor[] = isWanted && after === '' ? [own] : [];
  let bytes = 0;
  for (let last = after === own?.digest ? '' : after; ; ) {
    const found = await store.referrers(repository, subject, {
      ...defined({ artifactType }),
      after: last,
      limit: REFERRERS_AT_ONCE,
    });
    for (const referrer of found) {
      last = referrer.digest;
      if (referrer.digest === own?.digest) continue;
      bytes += Buffer.byteLength(JSON.stringify(referrer));
      const full = shown.length === maxReferrers || (bytes > maxReferrersBytes && shown.length > 0);
      if (full) return { shown, more: true };
      shown.push(referrer);
    }
    if (found.length < REFERRERS_AT_ONCE) return { shown, more: false };
  }
}

function page(c: RegistryContext): { limit: number; after: string } {
  const { n, last } = c.req.query();
  if (n !== undefined && !/^\d{1,9}$/.test(n)) {
    throw new OciError('PAGINATION_NUMBER_INVALID', 'invalid n: expected a number of 0 or more');
  }
  const limit =
    n === undefined ? SERVER_LIMITS.maxPageEntries : Math.min(Number(n), SERVER_LIMITS.maxPageEntries);
  return { limit, after: last ?? '' };
}

function nextPage(c: RegistryContext, more: boolean, last: string | undefined): Record<string, string> {
  if (!more || last === undefined) return {};
  const url = new URL(c.req.url);
  url.searchParams.set('last', last);
  return { Link: `<${url.pathname}${url.search}>; rel="next"` };
}
