/**
 * Uploads an OCI artifact, and prints the result.
 *
 * @module
 */

import {
  type ArtifactType,
  type Content,
  computeDigest,
  type OciClient,
  type OciDigest,
  type Reference,
  runInParallel,
} from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import type { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';

/** An artifact that is ready to be pushed. The tag names the last manifest. */
export interface Upload {
  /** `isCounted`: whether the progress counts its bytes. */
  blobs: { digest: OciDigest; content: Content; isCounted: boolean }[];
  manifests: BuiltManifest[];
}

export interface BuiltManifest {
  bytes: Uint8Array;
  mediaType: string;
  digest: OciDigest;
}

export interface UploadResult {
  outcome: 'pushed' | 'unchanged' | 'moved' | 'kept';
  /** The previous digest of the tag, if the tag moved. */
  before?: OciDigest;
  /** The digest that the tag keeps, if the registry does not move it: a release of a function. */
  stays?: OciDigest;
  /** The release that a krmhub registry published from it, as GROUP/KIND@RELEASE. */
  published?: string;
}

/** The result of a push, as JSON output has it. */
export interface Pushed extends UploadResult {
  reference: string;
  digest: OciDigest;
  type: ArtifactType | 'flux';
  mediaType: string;
  artifactType: string;
  files: { title: string; mediaType: string; digest: OciDigest; size: number; platform?: string }[];
}

const BLOBS_AT_ONCE = 4;

export function builtManifest(bytes: Uint8Array, mediaType: string): BuiltManifest {
  return { bytes, mediaType, digest: computeDigest(bytes) };
}

/** Pushes blobs, then manifests, then the tag, so that the tag never names an incomplete artifact. */
export async function uploadArtifact(
  client: OciClient,
  reference: Reference,
  { blobs, manifests }: Upload,
  progress: Progress,
): Promise<UploadResult> {
  const root = manifests.at(-1)!;
  const before = await currentDigest(client, reference);
  if (before === root.digest) return { outcome: 'unchanged' };
  let after: OciDigest | undefined = root.digest;
  let published: string | undefined;
  try {
    await pushBlobs(client, reference, blobs, progress);
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
  const stays = before !== undefined && after === before;
  return {
    outcome: before === undefined ? 'pushed' : stays ? 'kept' : 'moved',
    ...defined({ stays: stays ? before : undefined, before: stays ? undefined : before, published }),
  };
}

/**
 * Returns the current digest of the tag; undefined if the client must not read it, for example with a push-only token.
 */
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
  blobs: Upload['blobs'],
  progress: Progress,
): Promise<void> {
  const total = blobs.reduce((sum, { content, isCounted }) => sum + (isCounted ? content.size : 0), 0);
  let sent = 0;
  const unique = new Map(blobs.map((blob) => [blob.digest, blob]));
  await runInParallel(unique.values(), BLOBS_AT_ONCE, async ({ digest, content, isCounted }) => {
    let own = 0;
    const open = async function* () {
      sent -= own;
      own = 0;
      for await (const piece of content.open()) {
        yield piece;
        if (!isCounted) continue;
        own += piece.byteLength;
        sent += piece.byteLength;
        await progress.tick(() => `pushing ${sizeText(sent)} of ${sizeText(total)}`);
      }
    };
    await client.pushBlob(reference, digest, { size: content.size, open });
  });
}

/** Prints the result. `what` describes the artifact, for example `catalog`. */
export async function printPushed(io: Io, format: OutputFormat, pushed: Pushed, what: string): Promise<void> {
  await printData(io, format, pushed, async () => {
    const { reference, digest, outcome, before, stays, published, files } = pushed;
    const size = sizeText(files.reduce((sum, file) => sum + file.size, 0));
    const verb = outcome === 'unchanged' ? 'unchanged:' : 'pushed';
    await printLine(io, escapeControls(`${verb} ${reference} (${what}, ${size})`));
    if (before !== undefined) await printLine(io, `moved the tag from ${before}`);
    if (stays !== undefined) {
      await printLine(io, `kept the tag on an equivalent artifact; pushed ${digest} without a tag`);
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
