/**
 * Pushes, pulls, and copies OCI artifacts, lists repositories, and attaches files.
 *
 * A digest depends only on the input, so a push has a fixed creation time. A pull verifies a required signature before
 * it writes the first file, and the digest of each file.
 *
 * @module
 */

import {
  ARTIFACT_MEDIA_TYPES,
  type ArtifactType,
  artifactManifest,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  formatReference,
  MEDIA_TYPES,
  type Platform,
  parseReference,
  platformIndex,
  REVISION,
  type Reference,
  SOURCE,
  toContent,
  VERSION,
} from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { canonicalRelease } from '@krmhub/schema/release';
import { plural } from '@krmhub/schema/text';
import type { DocumentFile } from '../documents/document-files.js';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { STDIN_NAME } from '../io/read-stdin.js';
import { connectOci } from '../registry/connect-oci.js';
import { signInToRepository } from '../registry/workflow-token.js';
import type { ScriptArtifact } from '../scripts/script-artifact.js';
import { creationTime } from '../upload/creation-time.js';
import { type BuiltManifest, builtManifest, printPushed, uploadArtifact } from '../upload/upload-artifact.js';
import { documentLayer, fileLayer, type SourceLayer } from './artifact-source.js';

export interface PushOptions {
  exec?: { platform?: Platform; file: string }[];
  /** Folder or file of manifests, or `-` for stdin, to push in the layout of Flux. */
  flux?: string;
  /** Annotations that image tools and Flux show. */
  source?: string;
  revision?: string;
  annotation?: Record<string, string>;
  plainHttp?: string[];
  output: OutputFormat;
}

/** Pushes a file or executables, or manifests for Flux. */
export async function pushArtifact(io: Io, args: readonly string[], options: PushOptions): Promise<void> {
  const { files, reference } = readArguments(args, options);
  if (options.flux !== undefined) {
    const { pushFluxArtifact } = await import('./push-flux-artifact.js');
    return pushFluxArtifact(io, options.flux, reference, {
      ...options,
      annotations: givenAnnotations(options),
    });
  }
  const scripts: ScriptArtifact[] = [];
  const { type, layers } = await readLayers(io, files, options, async (source) => {
    if (source.name === STDIN_NAME) return source;
    const { fillScripts, scriptRepository } = await import('../scripts/script-artifact.js');
    const filled = await fillScripts(io, source.name, source.bytes, () => scriptRepository(reference));
    scripts.push(...filled.scripts);
    return { ...source, bytes: filled.bytes };
  });
  await signInToRepository(io, reference, undefined);
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  if (scripts.length > 0) {
    const { pushScripts } = await import('../scripts/script-artifact.js');
    await pushScripts(io, client, scripts, progress);
  }
  const manifests = buildManifests(io, type, layers, {
    ...releaseAnnotation(type, reference),
    ...givenAnnotations(options),
  });
  const root = manifests.at(-1)!;
  const blobs = [
    { digest: EMPTY_DIGEST, content: toContent(EMPTY_CONFIG), isCounted: false },
    ...layers.map(({ file, content }) => ({ digest: file.digest, content, isCounted: true })),
  ];
  const result = await uploadArtifact(client, reference, { blobs, manifests }, progress);
  const pushed = {
    reference: formatReference(reference),
    digest: root.digest,
    type,
    mediaType: root.mediaType,
    artifactType: ARTIFACT_MEDIA_TYPES[type].artifact,
    ...result,
    files: layers.map(({ file: { title, mediaType, digest, size }, platform }) => ({
      title,
      mediaType,
      digest,
      size,
      ...defined({
        platform: platform === undefined ? undefined : `${platform.os}/${platform.architecture}`,
      }),
    })),
  };
  const what = layers.length === 1 ? type : `${type}, ${plural(layers.length, 'platform')}`;
  await printPushed(io, options.output, pushed, what);
}

function readArguments(
  args: readonly string[],
  { exec = [], flux }: PushOptions,
): { files: readonly string[]; reference: Reference } {
  const files = args.slice(0, -1);
  const reference = parseReference(args.at(-1)!);
  if (reference.digest !== undefined || reference.tag === undefined) {
    throw new KrmhubError('usage', `cannot push to ${formatReference(reference)}: it has a digest`, {
      hint: `Use a tag, for example: ${reference.registry}/${reference.repository}:v1`,
    });
  }
  const given = files.length + (exec.length > 0 ? 1 : 0) + (flux === undefined ? 0 : 1);
  if (given === 1) return { files, reference };
  throw new KrmhubError(
    'usage',
    given === 0
      ? 'cannot push: FILE is missing'
      : 'cannot push: an artifact has one file, one executable per platform, or the manifests in --flux',
    {
      hint: `Run: krmhub push FILE ${formatReference(reference)}. For executables, use --exec PLATFORM=FILE.`,
    },
  );
}

async function readLayers(
  io: Io,
  [file]: readonly string[],
  { exec = [] }: PushOptions,
  prepare: (source: DocumentFile) => Promise<DocumentFile>,
): Promise<{ type: ArtifactType; layers: SourceLayer[] }> {
  if (file !== undefined) {
    const { type, layer } = await documentLayer(io, file, prepare);
    return { type, layers: [layer] };
  }
  const names = exec.map(({ platform }) => (platform ? `${platform.os}/${platform.architecture}` : ''));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined || (names.includes('') && names.length > 1)) {
    throw new KrmhubError(
      'usage',
      twice
        ? `cannot push: two executables for ${twice}`
        : 'cannot push: each of several executables requires a platform',
      {
        hint: 'Use one --exec per platform, for example: --exec linux/amd64=FILE --exec linux/arm64=FILE',
      },
    );
  }
  const layers: SourceLayer[] = [];
  for (const { file: name, platform } of exec) {
    layers.push({ ...(await fileLayer(io, 'exec', name)), ...defined({ platform }) });
  }
  return { type: 'exec', layers };
}

/**
 * Returns the annotation with the release, for a definition that is pushed to a function repository: a signature of the
 * manifest then covers it. In other repositories, the same file has the same digest under every tag.
 */
function releaseAnnotation(type: ArtifactType, { repository, tag }: Reference): Record<string, string> {
  const isRelease =
    type === 'definition' && tag !== undefined && /^functions\/[^/]+\/[^/]+$/.test(repository);
  const release = isRelease ? canonicalRelease(tag) : undefined;
  return release === undefined ? {} : { [VERSION]: release };
}

function givenAnnotations({ source, revision, annotation }: PushOptions): Record<string, string> {
  return {
    ...defined({ [SOURCE]: source, [REVISION]: revision }),
    ...annotation,
  };
}

/** Builds the manifests; the tag names the last one. */
function buildManifests(
  io: Io,
  type: ArtifactType,
  layers: readonly SourceLayer[],
  annotations: Record<string, string> = {},
): BuiltManifest[] {
  const created = creationTime(io);
  const images = layers.map(({ file, platform }) => ({
    platform,
    bytes: artifactManifest({ type, files: [file], created, annotations }),
  }));
  const manifests = images.map(({ bytes }) => builtManifest(bytes, MEDIA_TYPES.image));
  const perPlatform = images.flatMap(({ platform, bytes }) =>
    platform === undefined ? [] : [{ platform, bytes }],
  );
  if (perPlatform.length > 0) {
    manifests.push(
      builtManifest(platformIndex({ type, manifests: perPlatform, created, annotations }), MEDIA_TYPES.index),
    );
  }
  return manifests;
}
