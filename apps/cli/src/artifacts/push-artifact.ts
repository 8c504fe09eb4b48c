import {
  ARTIFACT_MEDIA_TYPES,
  type ArtifactType,
  artifactManifest,
  computeDigest,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  formatReference,
  MEDIA_TYPES,
  type OciClient,
  type OciDigest,
  type Platform,
  parseReference,
  platformIndex,
  type Reference,
  runInParallel,
  toContent,
  VERSION,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { canonicalRelease } from '@krmhub/schema/release';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { escapeControls, plural } from '../io/text.js';
import { connectOci } from '../registry/connect-oci.js';
import { documentLayer, fileLayer, type SourceLayer } from './artifact-source.js';

export interface PushOptions {
  exec?: { platform?: Platform; file: string }[];
  annotation?: Record<string, string>;
  plainHttp?: string[];
  output: OutputFormat;
}

/** The result of a push, as JSON output has it. */
interface Pushed {
  reference: string;
  digest: OciDigest;
  type: ArtifactType;
  mediaType: string;
  artifactType: string;
  outcome: 'pushed' | 'unchanged' | 'moved' | 'kept';
  /** The previous digest of the tag, if the tag moved. */
  before?: OciDigest;
  /** The digest that the tag keeps, if the registry does not move it: a release of a function. */
  stays?: OciDigest;
  /** The release that a krmhub registry published from it, as GROUP/KIND@RELEASE. */
  published?: string;
  files: { title: string; mediaType: string; digest: OciDigest; size: number; platform?: string }[];
}

const BLOBS_AT_ONCE = 4;

/** Pushes blobs, then manifests, then the tag, so that the tag never names an incomplete artifact. */
export async function pushArtifact(io: Io, args: readonly string[], options: PushOptions): Promise<void> {
  const { files, reference } = readArguments(args, options);
  const { type, layers } = await readLayers(io, files, options);
  const progress = new Progress(io);
  const client = connectOci(io, progress, options.plainHttp);
  const manifests = buildManifests(io, type, layers, {
    ...releaseAnnotation(type, reference),
    ...options.annotation,
  });
  const root = manifests.at(-1)!;
  const before = await currentDigest(client, reference);
  let after: OciDigest | undefined = root.digest;
  let published: string | undefined;
  if (before !== root.digest) {
    try {
      await pushBlobs(client, reference, layers, progress);
      for (const { bytes, mediaType, digest } of manifests) {
        await client.putManifest(
          { registry: reference.registry, repository: reference.repository, digest },
          bytes,
          mediaType,
        );
      }
      ({ published } = await client.putManifest(reference, root.bytes, root.mediaType));
      if (before !== undefined) after = await currentDigest(client, reference);
    } finally {
      await progress.clear();
    }
  }
  const stays = before !== undefined && before !== root.digest && after === before;
  await printPushed(io, options.output, {
    reference: formatReference(reference),
    digest: root.digest,
    type,
    mediaType: root.mediaType,
    artifactType: ARTIFACT_MEDIA_TYPES[type].artifact,
    outcome:
      before === root.digest ? 'unchanged' : before === undefined ? 'pushed' : stays ? 'kept' : 'moved',
    ...(before === undefined || before === root.digest ? {} : stays ? { stays: before } : { before }),
    ...(published === undefined ? {} : { published }),
    files: layers.map(({ file: { title, mediaType, digest, size }, platform }) => ({
      title,
      mediaType,
      digest,
      size,
      ...(platform === undefined ? {} : { platform: `${platform.os}/${platform.architecture}` }),
    })),
  });
}

function readArguments(
  args: readonly string[],
  { exec = [] }: PushOptions,
): { files: readonly string[]; reference: Reference } {
  const files = args.slice(0, -1);
  const reference = parseReference(args.at(-1)!);
  if (reference.digest !== undefined || reference.tag === undefined) {
    throw new KrmhubError('usage', `cannot push to ${formatReference(reference)}: it has a digest`, {
      hint: 'Use a tag, for example: HOST/REPOSITORY:v1',
    });
  }
  if (files.length + (exec.length > 0 ? 1 : 0) === 1) return { files, reference };
  throw new KrmhubError(
    'usage',
    files.length === 0 && exec.length === 0
      ? 'cannot push: no file given'
      : 'cannot push: an artifact has one file, or one executable per platform',
    { hint: 'Run: krmhub push FILE HOST/REPOSITORY:TAG. For executables, use --exec PLATFORM=FILE.' },
  );
}

async function readLayers(
  io: Io,
  [file]: readonly string[],
  { exec = [] }: PushOptions,
): Promise<{ type: ArtifactType; layers: SourceLayer[] }> {
  if (file !== undefined) {
    const { type, layer } = await documentLayer(io, file);
    return { type, layers: [layer] };
  }
  const names = exec.map(({ platform }) => (platform ? `${platform.os}/${platform.architecture}` : ''));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined || (names.includes('') && names.length > 1)) {
    throw new KrmhubError(
      'usage',
      twice
        ? `cannot push: two executables for ${twice}`
        : 'cannot push: several executables require a platform each',
      {
        hint: 'Use one --exec per platform, for example: --exec linux/amd64=FILE --exec linux/arm64=FILE',
      },
    );
  }
  const layers: SourceLayer[] = [];
  for (const { file: name, platform } of exec) {
    layers.push({ ...(await fileLayer(io, 'exec', name)), ...(platform === undefined ? {} : { platform }) });
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

interface BuiltManifest {
  bytes: Uint8Array;
  mediaType: string;
  digest: OciDigest;
}

/** Builds the manifests; the tag names the last one. */
function buildManifests(
  io: Io,
  type: ArtifactType,
  layers: readonly SourceLayer[],
  annotations: Record<string, string> = {},
): BuiltManifest[] {
  const created = createdAt(io);
  const built = (bytes: Uint8Array, mediaType: string) => ({
    bytes,
    mediaType,
    digest: computeDigest(bytes),
  });
  const images = layers.map(({ file, platform }) => ({
    platform,
    bytes: artifactManifest({ type, files: [file], created, annotations }),
  }));
  const manifests = images.map(({ bytes }) => built(bytes, MEDIA_TYPES.image));
  const perPlatform = images.flatMap(({ platform, bytes }) =>
    platform === undefined ? [] : [{ platform, bytes }],
  );
  if (perPlatform.length > 0) {
    manifests.push(
      built(platformIndex({ type, manifests: perPlatform, created, annotations }), MEDIA_TYPES.index),
    );
  }
  return manifests;
}

/**
 * Returns 1970 or SOURCE_DATE_EPOCH (reproducible-builds.org), never the current time, so that the same input gets the same
 * digest.
 */
function createdAt(io: Io): string {
  const epoch = io.env.SOURCE_DATE_EPOCH ?? '';
  if (epoch !== '' && !/^\d{1,11}$/.test(epoch)) {
    throw new KrmhubError(
      'usage',
      `SOURCE_DATE_EPOCH is not a number of seconds: "${escapeControls(epoch)}"`,
      {
        hint: 'Unset it, or set a Unix time, for example: SOURCE_DATE_EPOCH=1893456000',
      },
    );
  }
  return new Date(Number(epoch) * 1_000).toISOString().replace('.000Z', 'Z');
}

/** Returns the current digest of the tag; undefined if the client must not read it, for example with a push-only token. */
async function currentDigest(client: OciClient, reference: Reference): Promise<OciDigest | undefined> {
  try {
    return await client.resolveDigest(reference);
  } catch (error) {
    if (error instanceof KrmhubError && (error.code === 'unauthorized' || error.code === 'forbidden'))
      return undefined;
    throw error;
  }
}

async function pushBlobs(
  client: OciClient,
  reference: Reference,
  layers: readonly SourceLayer[],
  progress: Progress,
): Promise<void> {
  const total = layers.reduce((sum, { file }) => sum + file.size, 0);
  let sent = 0;
  const blobs = [
    { digest: EMPTY_DIGEST, content: toContent(EMPTY_CONFIG), counted: false },
    ...layers.map(({ file, content }) => ({ digest: file.digest, content, counted: true })),
  ];
  const unique = new Map(blobs.map((blob) => [blob.digest, blob]));
  await runInParallel(unique.values(), BLOBS_AT_ONCE, async ({ digest, content, counted }) => {
    let own = 0;
    const open = async function* () {
      sent -= own;
      own = 0;
      for await (const piece of content.open()) {
        yield piece;
        if (!counted) continue;
        own += piece.byteLength;
        sent += piece.byteLength;
        await progress.tick(() => `pushing ${sizeText(sent)} of ${sizeText(total)}`);
      }
    };
    await client.pushBlob(reference, digest, { size: content.size, open });
  });
}

async function printPushed(io: Io, format: OutputFormat, pushed: Pushed): Promise<void> {
  await printData(io, format, pushed, async () => {
    const { reference, digest, type, outcome, before, stays, published, files } = pushed;
    const size = sizeText(files.reduce((sum, file) => sum + file.size, 0));
    const what = files.length === 1 ? type : `${type}, ${plural(files.length, 'platform')}`;
    const verb = outcome === 'unchanged' ? 'unchanged:' : 'pushed';
    await printLine(io, escapeControls(`${verb} ${reference} (${what}, ${size})`));
    if (before !== undefined) await printLine(io, `moved the tag from ${before}`);
    if (stays !== undefined) {
      await printLine(io, `kept the tag: it names an equivalent artifact; pushed ${digest} without a tag`);
    }
    if (published !== undefined && stays === undefined)
      await printLine(io, escapeControls(`published ${published}`));
    if (files.length > 1) {
      for (const file of files)
        await printLine(io, escapeControls(`${file.platform ?? file.title}: ${file.digest}`));
    }
    await printLine(io, `digest: ${stays ?? digest}`);
  });
}
