import { PUBLISH_LIMITS } from '@krmhub/catalog';
import {
  type ArtifactType,
  type Descriptor,
  getArtifactType,
  mainLayer,
  type OciDigest,
  OciError,
  TITLE,
} from '@krmhub/oci';
import { canonicalRelease, type Diagnostic, DOCUMENT_LIMITS, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Caller } from '../http/auth/caller.js';
import { publishOrAttach } from '../publish/publish-or-attach.js';
import type { PublishOptions } from '../publish/publish-release.js';
import type { Submission } from '../publish/submission.js';
import { readBlobBytes } from '../store/artifacts/stored-blob.js';
import { newChange, withinQuota } from './change.js';
import type { OciDeps } from './oci-deps.js';
import { referrerBundles } from './pushed-bundle.js';
import { type PushedManifest, refuseUnknown } from './pushed-manifest.js';

/**
 * Annotation with which a publisher allows breaking changes, as `allowBreaking=true` does in the HTTP API.
 */
export const ALLOW_BREAKING = 'dev.krmhub.allow-breaking';

export interface PublishedArtifact {
  /** GROUP/KIND@RELEASE. */
  release: string;
  /** What the client should know, though the release is published. */
  warning?: string;
}

interface FunctionRepository {
  repository: string;
  group: string;
  kindFolded: string;
}

/**
 * Publishes a release by putting a tag of a function, with the same plan as the HTTP API. A refused release
 * stores nothing: MANIFEST_INVALID has the diagnostics, and DENIED means that the release exists with another
 * definition. Another manifest with the same definition is stored by its digest, and the tag does not move. Bundles
 * that the token pushed as referrers of the manifest must be evidence, as those in a request of the HTTP API.
 */
export async function publishArtifact(
  deps: OciDeps,
  { repository, group, kindFolded }: FunctionRepository,
  pushed: PushedManifest,
  { tag, caller, ...options }: { tag: string; caller: Caller } & Pick<PublishOptions, 'token' | 'recheck'>,
): Promise<PublishedArtifact> {
  const artifact = await readArtifact(deps, repository, pushed, tag);
  const change = newChange(deps, caller);
  const putOptions = { ...change, needed: pushed.needed };
  const name = { group, kind: kindFolded, release: canonicalRelease(tag) ?? tag };
  try {
    return await deps.functionLocks.run(name, options.recheck, async () => {
      const { record: manifest, needed } = pushed;
      // Under the lock, so that no one can delete the bundles before they are evidence.
      const { own, others } = await referrerBundles(deps, repository, manifest.digest, caller.by);
      const isStanding = (await deps.store.manifestDescriptor(repository, name.release)) !== undefined;
      const isTagged = (await deps.store.listManifestTags(repository, manifest.digest)).includes(
        name.release,
      );
      const submission = {
        ...artifact,
        // Bundles of another manifest than the one of the release stay referrers of that manifest.
        bundles: isStanding && !isTagged ? [] : own,
        others,
      };
      const published = await refuseUnknown(() =>
        publishOrAttach(deps, name, submission, {
          ...caller,
          ...options,
          dryRun: false,
          allowBreaking: manifest.annotations?.[ALLOW_BREAKING] === 'true',
          kindFolded: true,
          artifact: { repository, tags: [name.release], manifest, needed, blobs: [] },
        }),
      );
      if (published.outcome !== 'created') {
        await refuseUnknown(() =>
          withinQuota(repository, () => deps.store.putManifest(repository, pushed.record, putOptions)),
        );
      }
      const { group, kind, release, signature } = published.release;
      const isIgnored =
        published.outcome === 'created' && signature.state === 'unsigned' && others.length > 0;
      return {
        release: `${group}/${kind}@${release}`,
        ...defined({ warning: isIgnored ? IGNORED_BUNDLES : undefined }),
      };
    });
  } catch (error) {
    throw asRefusal(error);
  }
}

/** Otherwise, another publisher could sign the first release before the owner. */
const IGNORED_BUNDLES =
  'the release is not signed, because other tokens pushed its bundles. Push the bundles again';

/** Reads the definition and the README of an artifact from blobs that were pushed before. */
async function readArtifact(
  deps: OciDeps,
  repository: string,
  { manifest }: PushedManifest,
  tag: string,
): Promise<Submission> {
  const type: ArtifactType | undefined = getArtifactType(manifest);
  if (manifest.kind !== 'image' || type !== 'definition') {
    const existing = await deps.store.manifestDescriptor(repository, canonicalRelease(tag) ?? tag);
    if (existing !== undefined) {
      throw new OciError('DENIED', `release ${tag} already exists with ${existing.digest}`);
    }
    throw new OciError('MANIFEST_INVALID', 'not a function definition', {
      hint: 'Push the definition with `krmhub push`. Push other artifacts, such as scripts, to another repository.',
    });
  }
  let layer: Descriptor;
  try {
    layer = mainLayer(manifest.image, type);
  } catch (error) {
    throw asRefusal(error);
  }
  const titled = manifest.image.layers.find(({ annotations }) => /[/\\]/.test(annotations?.[TITLE] ?? ''));
  if (titled !== undefined) {
    throw new OciError(
      'MANIFEST_INVALID',
      `the title ${JSON.stringify(titled.annotations?.[TITLE]?.slice(0, 100))} is a path, expected a file name`,
      { hint: 'Change to the folder of the file, and push it by name.' },
    );
  }
  const readmes = manifest.image.layers.filter(({ mediaType }) => /^text\/markdown\b/.test(mediaType));
  if (readmes.length > 1) {
    throw new OciError('MANIFEST_INVALID', `expected at most one README, found ${readmes.length}`);
  }
  const readme = readmes[0];
  return {
    bytes: await layerBytes(deps, repository, layer, DOCUMENT_LIMITS.maxDefinitionBytes),
    mediaType: layer.annotations?.[TITLE]?.endsWith('.json') ? 'application/json' : 'application/yaml',
    ...defined({
      readme:
        readme !== undefined
          ? await layerBytes(deps, repository, readme, PUBLISH_LIMITS.maxReadmeBytes)
          : undefined,
    }),
  };
}

async function layerBytes(
  deps: OciDeps,
  repository: string,
  { digest, mediaType }: { digest: OciDigest; mediaType: string },
  maxBytes: number,
): Promise<Uint8Array> {
  const blob = await deps.store.blob(repository, digest);
  const unknown = () =>
    new OciError(
      'MANIFEST_BLOB_UNKNOWN',
      `the manifest refers to ${digest}, which is missing in this repository`,
      {
        detail: [{ digest }],
        hint: 'Push the blobs first.',
      },
    );
  if (blob === undefined) throw unknown();
  if (blob.size > maxBytes) {
    throw new OciError(
      'MANIFEST_INVALID',
      `layer ${mediaType.slice(0, 100)} has ${blob.size} bytes; the limit is ${maxBytes}`,
    );
  }
  const bytes = await readBlobBytes(deps, repository, blob);
  if (bytes === undefined) throw unknown();
  return bytes;
}

/** Returns the hint for a diagnostic. A client that pushes has no option of the krmhub CLI. */
function pushHint({ code, hint }: Diagnostic): string | undefined {
  if (code === 'publish/name-mismatch') {
    return 'Push it to functions/GROUP/KIND, with the kind in lower case.';
  }
  if (code !== 'publish/breaking') return hint;
  return `Add a new API version with the change, or set the manifest annotation ${ALLOW_BREAKING}=true. To list all changes, run \`krmhub diff\`.`;
}

function asRefusal(error: unknown): unknown {
  if (!(error instanceof KrmhubError)) return error;
  const { code, message, hint, diagnostics, takedowns } = error;
  if (code === 'invalid-document') {
    const first = diagnostics.find(({ severity }) => severity === 'error');
    // Many clients show only the message.
    const position = first?.range === undefined ? '' : `line ${first.range.start.line}: `;
    const text = first === undefined ? message : `${message}: ${position}${first.message}`;
    const nextStep = first === undefined ? hint : pushHint(first);
    return new OciError('MANIFEST_INVALID', text, {
      detail: { diagnostics },
      ...defined({ hint: nextStep }),
      cause: error,
    });
  }
  if (code === 'conflict') {
    const isGone = takedowns.length > 0;
    return new OciError('DENIED', message, {
      ...defined({ detail: isGone ? { takedowns } : undefined, hint }),
      cause: error,
    });
  }
  return error;
}
