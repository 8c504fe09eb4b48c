import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { IMAGE_TYPE_BYTES, imageType } from '@krmhub/oci/readme-images';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { type AttachOptions, attachToArtifact } from '../signatures/attach-to-artifact.js';

/** Attaches one bundle or images of the README to an artifact, which is the last argument. */
export async function attachFiles(io: Io, args: readonly string[], options: AttachOptions): Promise<void> {
  const files = args.slice(0, -1);
  const artifact = args.at(-1)!;
  const [first] = files;
  if (first === undefined) {
    throw new KrmhubError('usage', 'cannot attach: FILE or ARTIFACT is missing', {
      hint: 'Run: krmhub attach FILE GROUP/KIND@RELEASE',
    });
  }
  if (files.length === 1 && !(await isImage(io, first)))
    return attachToArtifact(io, first, artifact, options);
  const { attachImages } = await import('./attach-images.js');
  await attachImages(io, files, artifact, options);
}

/** Reports whether a file is an image. A file that cannot be read is not: the command for bundles says why. */
async function isImage(io: Io, name: string): Promise<boolean> {
  const start = await readFileUpTo(io, name, IMAGE_TYPE_BYTES).catch(() => new Uint8Array());
  return imageType(start) !== undefined;
}
