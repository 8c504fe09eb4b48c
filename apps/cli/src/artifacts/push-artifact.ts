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
import { plural, visible } from '../io/text.js';
import { connectOci } from '../registry/connect-oci.js';
import { documentLayer, fileLayer, type SourceLayer } from './artifact-source.js';

export interface PushOptions {
  exec?: { platform?: Platform; file: string }[];
  annotation?: Record<string, string>;
  plainHttp?: string[];
  output: OutputFormat;
}

/** What a push did, as JSON has it. */
interface Pushed {
  reference: string;
  digest: OciDigest;
  type: ArtifactType;
  mediaType: string;
  artifactType: string;
  outcome: 'pushed' | 'unchanged' | 'moved' | 'kept';
  /** What the tag named before, where it was moved. */
  before?: OciDigest;
  /** What the tag goes on naming, where the registry keeps it: a release of a function. */
  stays?: OciDigest;
  /** The release that a krmhub registry has made of it, as GROUP/KIND@RELEASE. */
  published?: string;
  files: { title: string; mediaType: string; digest: OciDigest; size: number; platform?: string }[];
}

const BLOBS_AT_ONCE = 4;

/** Blobs first, then manifests by their digests, then the tag: whoever finds it finds everything. */
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
  const before = await tagged(client, reference);
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
      if (before !== undefined) after = await tagged(client, reference);
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
    throw new KrmhubError(
      'usage',
      `${formatReference(reference)} has a digest, which only its bytes give it`,
      {
        hint: 'Name a tag, such as :v1.',
      },
    );
  }
  if (files.length + (exec.length > 0 ? 1 : 0) === 1) return { files, reference };
  throw new KrmhubError(
    'usage',
    files.length === 0 && exec.length === 0
      ? 'there is nothing to push'
      : 'an artifact has one file, or executables for several platforms',
    { hint: 'Write `krmhub push FILE REFERENCE`, or --exec for each executable.' },
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
      twice ? `there are two executables for ${twice}` : 'several executables need platforms',
      {
        hint: 'Write --exec linux/amd64=FILE, once for each platform.',
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
 * Which release a definition is that is pushed to a function: a signature of the manifest says it too, then. Elsewhere
 * the same file has the same digest under every tag.
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

/** The last one is what the tag names. */
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
 * The same input has the same digest, so that no clock is asked: 1970, or what SOURCE_DATE_EPOCH says
 * (reproducible-builds.org).
 */
function createdAt(io: Io): string {
  const epoch = io.env.SOURCE_DATE_EPOCH ?? '';
  if (epoch !== '' && !/^\d{1,11}$/.test(epoch)) {
    throw new KrmhubError('usage', `SOURCE_DATE_EPOCH is "${visible(epoch)}", and no number of seconds`);
  }
  return new Date(Number(epoch) * 1_000).toISOString().replace('.000Z', 'Z');
}

/** What the tag names now. Some registries tell strangers, and whoever may only push, nothing of what is there. */
async function tagged(client: OciClient, reference: Reference): Promise<OciDigest | undefined> {
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
    const verb = outcome === 'unchanged' ? 'Unchanged:' : 'Pushed';
    await printLine(io, visible(`${verb} ${reference} (${what}, ${size})`));
    if (before !== undefined) await printLine(io, `The tag named ${before} before.`);
    if (stays !== undefined) {
      await printLine(
        io,
        `The tag stays at what was there, which holds the same. What was pushed is ${digest}.`,
      );
    }
    if (published !== undefined && stays === undefined)
      await printLine(io, visible(`Published ${published}`));
    if (files.length > 1) {
      for (const file of files)
        await printLine(io, visible(`${file.platform ?? file.title}: ${file.digest}`));
    }
    await printLine(io, `Digest: ${stays ?? digest}`);
  });
}
