import { readFileUpTo } from '@krmhub/consume/files/read-file';
import {
  computeDigest,
  createdAt,
  formatReference,
  type ImageType,
  imageType,
  type OciDigest,
  parseReference,
  README_IMAGE_LIMITS,
  readmeImagePath,
  readmeImagesManifest,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { connectOci } from '../registry/connect-oci.js';
import { pushReferrer } from '../registry/push-referrer.js';
import { resolveArtifact } from '../registry/release-artifact.js';
import type { AttachOptions } from '../signatures/attach-to-artifact.js';

interface Image {
  path: string;
  mediaType: ImageType;
  digest: OciDigest;
  size: number;
  bytes: Uint8Array;
}

/**
 * Pushes images of a README as one referrer of the release. The README refers to them by the paths of the arguments.
 */
export async function attachImages(
  io: Io,
  names: readonly string[],
  artifact: string,
  options: AttachOptions,
): Promise<void> {
  const { maxImages } = README_IMAGE_LIMITS;
  if (names.length > maxImages) {
    throw new KrmhubError('too-large', `cannot attach ${names.length} images; the limit is ${maxImages}`);
  }
  const images: Image[] = [];
  for (const name of names) images.push(await readImage(io, name));
  const { name, options: connection } = await resolveArtifact(io, artifact, options);
  const reference = parseReference(name);
  const progress = new Progress(io);
  const client = connectOci(io, progress, connection);
  const attach = async () => {
    const { digest, mediaType, bytes } = await client.manifest(reference);
    const manifest = readmeImagesManifest({
      subject: { digest, mediaType, size: bytes.byteLength },
      images,
      created: createdAt(io.now()),
    });
    const blobs = images.map((image) => image.bytes);
    return { subject: digest, digest: await pushReferrer(client, reference, manifest, blobs) };
  };
  const { subject, digest } = await attach().finally(() => progress.clear());
  const target = formatReference(reference);
  const attached = images.map(({ bytes: _, ...image }) => image);
  await printData(io, options.output, { reference: target, subject, digest, images: attached }, async () => {
    for (const { path, mediaType, size } of attached) {
      await printLine(io, escapeControls(`added ${path} to ${target} (${mediaType}, ${sizeText(size)})`));
    }
    await printLine(io, `digest: ${digest}`);
  });
}

async function readImage(io: Io, name: string): Promise<Image> {
  const { maxBytes } = README_IMAGE_LIMITS;
  const bytes = await readFileUpTo(io, name, maxBytes);
  const shown = JSON.stringify(name);
  const mediaType = imageType(bytes);
  if (mediaType === undefined) {
    throw new KrmhubError('usage', `${shown} is not a PNG, JPEG, GIF, WebP, or SVG image`, {
      hint: 'Run the command once for each bundle.',
    });
  }
  if (bytes.byteLength > maxBytes) {
    throw new KrmhubError('too-large', `${shown} exceeds ${maxBytes} bytes`, {
      hint: 'Make the image smaller, or link to it with an https URL.',
    });
  }
  const path = readmeImagePath(name.split('/').map(encodeURIComponent).join('/'));
  if (path === undefined) {
    throw new KrmhubError('usage', `${shown} is not in the current folder or below it`, {
      hint: 'Run the command in the folder of the README, with the paths as the README has them.',
    });
  }
  return { path, mediaType, digest: computeDigest(bytes), size: bytes.byteLength, bytes };
}
