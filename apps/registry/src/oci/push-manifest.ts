import { BUNDLE_LIMITS } from '@krmhub/catalog';
import {
  computeDigest,
  isOciDigest,
  isTag,
  MAX_MANIFEST_BYTES,
  type Manifest,
  OciError,
  PUBLISHED_HEADER,
  readManifest,
  referencedDescriptors,
  requiredDigests,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { latestToken, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryContext } from '../http/context.js';
import { readBody } from '../http/request-body.js';
import { SERVER_LIMITS } from '../limits.js';
import { isFallbackTag, repositoryKind } from '../store/artifacts/repositories.js';
import { canPushOnlyScripts } from './access.js';
import { newChange, withinQuota } from './change.js';
import type { OciDeps } from './oci-deps.js';
import { type PublishedArtifact, publishArtifact } from './publish-artifact.js';
import { attachPushed } from './pushed-bundle.js';
import { type PushedManifest, refuseUnknown } from './pushed-manifest.js';
import { refuseOtherThanScript } from './pushed-script.js';
import { checkSnapshotReferrer } from './snapshot-referrers.js';

/** PUT of a manifest (distribution-spec, "Pushing Manifests"). A tag of a function publishes a release. */
export async function putManifest(
  c: RegistryContext,
  deps: OciDeps,
  { repository, reference }: { repository: string; reference: string },
): Promise<Response> {
  const kind = repositoryKind(repository);
  if (kind.of === 'nothing') throw new OciError('DENIED', `cannot push to this repository: ${kind.why}`);
  const token = await deps.repositoryAccess.authorize(c, repository, 'push');
  const caller = callerOf(c, token);
  const bytes = await readBody(c, MAX_MANIFEST_BYTES, SERVER_LIMITS.manifestMilliseconds);
  const recheck = recheckToken(c);
  const contentType = c.req.header('content-type');
  const pushed = await deps.turns.run(() => checkedManifest(bytes, contentType, reference));
  const { record } = pushed;
  const byDigest = isOciDigest(reference);
  const tags = byDigest ? requestedTags(c) : [reference];
  if (kind.of === 'catalog') {
    refuseSnapshots(pushed, tags);
    await checkSnapshotReferrer(deps, repository, pushed);
  }
  if (canPushOnlyScripts(deps.access.rules, latestToken(c, token), repository))
    refuseOtherThanScript(pushed, tags);
  let published: PublishedArtifact | undefined;
  if (kind.of === 'function' && tags.some((tag) => !isFallbackTag(tag))) {
    if (byDigest || tags.length !== 1) {
      throw new OciError('DENIED', 'a release has exactly one tag');
    }
    published = await publishArtifact(
      deps,
      { repository, group: kind.group, kindFolded: kind.kindFolded },
      pushed,
      { tag: reference, caller, token: () => latestToken(c, token), recheck },
    );
  } else if (
    !(
      kind.of === 'function' &&
      (await attachPushed(deps, { repository, ...kind }, pushed, { tags, caller, recheck }))
    )
  ) {
    const change = newChange(deps, caller);
    await refuseUnknown(() =>
      withinQuota(repository, async () => {
        for (const tag of tags.length === 0 ? [undefined] : tags) {
          const maxReferrers = kind.of === 'catalog' ? BUNDLE_LIMITS.maxReferrersPerSnapshot : undefined;
          const options = { ...change, needed: pushed.needed, ...defined({ tag, maxReferrers }) };
          await deps.store.putManifest(repository, record, options);
        }
      }),
    );
  }
  return c.body(null, 201, {
    Location: `/v2/${repository}/manifests/${record.digest}`,
    'Docker-Content-Digest': record.digest,
    'Content-Length': '0',
    ...defined({
      'OCI-Subject': record.subject,
      [PUBLISHED_HEADER]: published?.release,
      // distribution-spec, "Warnings".
      Warning: published?.warning === undefined ? undefined : `299 - "${published.warning}"`,
      'OCI-Tag': byDigest && tags.length > 0 ? tags.join(', ') : undefined,
    }),
  });
}

function checkedManifest(
  bytes: Uint8Array,
  contentType: string | undefined,
  reference: string,
): PushedManifest {
  const mediaType = contentType?.split(';')[0]?.trim();
  if (mediaType === undefined || mediaType === '') {
    throw new OciError('MANIFEST_INVALID', 'the manifest has no media type', {
      hint: 'Set Content-Type to the media type of the manifest.',
    });
  }
  const digest = computeDigest(bytes, isOciDigest(reference) ? reference : 'sha256');
  if (isOciDigest(reference) && digest !== reference) {
    throw new OciError('DIGEST_INVALID', `the manifest has digest ${digest}, expected ${reference}`);
  }
  if (!isOciDigest(reference) && !isTag(reference)) {
    throw new OciError('MANIFEST_INVALID', `"${reference.slice(0, 130)}" is not a valid tag`, {
      hint: 'Use at most 128 letters, digits, dots, dashes, and underscores.',
    });
  }
  const manifest = parsedManifest(bytes, mediaType);
  const { subject, annotations } = manifest.kind === 'image' ? manifest.image : manifest.index;
  const artifactType = descriptorType(manifest);
  return {
    manifest,
    needed: requiredDigests(manifest),
    record: {
      digest,
      mediaType,
      size: bytes.byteLength,
      bytes,
      references: [...new Set(referencedDescriptors(manifest).map((one) => one.digest))],
      ...defined({ artifactType, subject: subject?.digest, annotations }),
    },
  };
}

function parsedManifest(bytes: Uint8Array, mediaType: string): Manifest {
  try {
    return readManifest(bytes, mediaType);
  } catch (error) {
    if (!(error instanceof KrmhubError && error.code === 'invalid-document')) throw error;
    throw new OciError('MANIFEST_INVALID', error.message, { cause: error });
  }
}

/**
 * Returns the artifact type for a descriptor of the manifest: its own, or the media type of the configuration
 * (image-spec, "Descriptors").
 */
function descriptorType(manifest: Manifest): string | undefined {
  if (manifest.kind === 'index') return manifest.index.artifactType;
  return manifest.image.artifactType ?? manifest.image.config.mediaType;
}

/** Returns the `?tag=` parameters, which come with a digest. */
function requestedTags(c: RegistryContext): string[] {
  const tags = [...new Set(c.req.queries('tag') ?? [])];
  const wrong = tags.find((tag) => !isTag(tag));
  if (wrong !== undefined || tags.length > SERVER_LIMITS.maxTagsAtOnce) {
    throw new OciError(
      'MANIFEST_INVALID',
      wrong === undefined
        ? `too many tags: the limit is ${SERVER_LIMITS.maxTagsAtOnce}`
        : `"${wrong.slice(0, 130)}" is not a valid tag`,
    );
  }
  return tags;
}

/** Only the registry builds snapshots. Clients may only push referrers of them. */
function refuseSnapshots({ record }: PushedManifest, tags: readonly string[]): void {
  const onlySpeaks = (record.subject !== undefined || tags.length > 0) && tags.every(isFallbackTag);
  if (onlySpeaks) return;
  throw new OciError('DENIED', 'cannot push catalogs: the registry builds them', {
    hint: 'Push only referrers of the catalog here, such as signatures. Push other artifacts to another repository.',
  });
}
