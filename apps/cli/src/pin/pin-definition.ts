/**
 * Writes the digests of what a definition runs into its file.
 *
 * @module
 */

import { stat } from 'node:fs/promises';
import path from 'node:path';
import { openCache } from '@krmhub/consume/cache/cache';
import { CacheWriter } from '@krmhub/consume/cache/cache-writer';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { ImageRegistries } from '@krmhub/consume/resolve/images/served-image';
import { EXECUTABLE_LIMITS } from '@krmhub/functions';
import { decodeText } from '@krmhub/functions/resource-list/decode-text';
import { defined } from '@krmhub/schema/defined';
import { type Digest, sha256 } from '@krmhub/schema/digest';
import { openResourceFile, type ResourceFile } from '@krmhub/schema/edit-yaml';
import { KrmhubError } from '@krmhub/schema/error';
import { fullRepository, ociDigest, parseImageReference } from '@krmhub/schema/image-reference';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import {
  field,
  fieldNames,
  type ResourceNode,
  scalarText,
  setField,
  textNode,
} from '@krmhub/schema/resource-yaml';
import { escapeControls } from '@krmhub/schema/text';
import type { Platform } from '../functions/programs/programs.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { consumePorts } from '../registry/consume-ports.js';
import { downloadDigest } from '../run/fetch-executable.js';

export interface PinOptions {
  /** The image to write, with a tag. Default: the one in the definition. */
  image?: string;
  /** Executables to pin. Default: all. */
  platforms?: readonly Platform[];
  /** Folder with the executables, by the last part of their URIs. Default: download them. */
  files?: string;
  /** URL of the folder with the executables, to write. Default: the URIs in the definition. */
  downloads?: string;
  dryRun: boolean;
  output: OutputFormat;
}

/** What a definition runs, and the digest that was found for it. */
interface Pin {
  /** An image, or the URI of an executable. */
  reference: string;
  digest: string;
  /** Of an image, all that it has; undefined if the registry does not say. Of an executable, its own. */
  platforms?: string[];
}

/**
 * Writes the digests of the images and executables of a definition into its file, and changes nothing else there. Throws
 * one error for all that has no digest, and then writes nothing.
 */
export async function pinDefinition(io: Io, name: string, options: PinOptions): Promise<void> {
  const file = await definitionFile(io, name);
  const text = decodeText(await readFileUpTo(io, file, DOCUMENT_LIMITS.maxSourceBytes), file);
  const edited = openResourceFile(text, file);
  const runtimes = findRuntimes(edited, file);
  checkOptions(file, runtimes, options);
  const pins: Pin[] = [];
  const failures: KrmhubError[] = [];
  const attempt = async (pin: () => Promise<Pin>) => {
    try {
      pins.push(await pin());
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      failures.push(error);
    }
  };
  const pinImages = async (images: ImageRegistries) => {
    for (const container of runtimes.containers) await attempt(() => pinImage(images, container, options));
  };
  if (runtimes.containers.length > 0) await withRegistries(io, pinImages);
  for (const platform of selectPlatforms(runtimes.platforms, options)) {
    await attempt(() => pinExecutable(io, platform, options));
  }
  const [first] = failures;
  if (first !== undefined) {
    const reasons = failures.map(({ message }) => `  ${message}`);
    throw new KrmhubError(first.code, [escapeControls(`cannot pin ${file}:`), ...reasons].join('\n'), {
      hint: `Nothing was written. ${first.hint ?? 'Push the image or upload the executable first.'}`,
    });
  }
  const after = edited.edited().text;
  for (const { reference, digest, platforms } of pins) {
    const built = platforms === undefined ? 'platforms unknown' : platforms.join(', ');
    await printLine(io, escapeControls(`${reference} is ${digest} (${built})`));
  }
  const isChanged = after !== text;
  if (options.dryRun && isChanged) {
    const { printPatch } = await import('../io/print-patch.js');
    await printPatch(io, [{ type: 'update', path: file, before: text, after }]);
  } else if (isChanged) {
    await writeFileAtomically(path.resolve(io.cwd, file), after, { overwrite: true });
  }
  const outcome = !isChanged ? 'unchanged' : options.dryRun ? 'would change' : 'wrote';
  await printLine(io, escapeControls(`${outcome} ${file}`));
  await printData(io, options.output, { file, changed: isChanged, pins }, async () => undefined);
}

/** A folder is that of a function. */
async function definitionFile(io: Io, name: string): Promise<string> {
  const found = await stat(path.resolve(io.cwd, name)).catch((error: unknown) => {
    throw diskError(error, `cannot read ${name}`);
  });
  return found.isDirectory() ? path.join(name, 'definition.yaml') : name;
}

interface Runtimes {
  containers: ResourceNode[];
  /** Entries of exec runtimes. */
  platforms: ResourceNode[];
}

/** Finds what each API version runs. KEP-2906 also has examples with one runtime for all of them. */
function findRuntimes(file: ResourceFile, name: string): Runtimes {
  const [document, other] = file.documents;
  const root = document?.root;
  if (other !== undefined || scalarText(field(root, 'kind')) !== 'KRMFunctionDefinition') {
    throw new KrmhubError(
      'invalid-document',
      escapeControls(`cannot pin ${name}: it is not one definition`),
      {
        hint: 'Start a function: krmhub init GROUP/KIND',
      },
    );
  }
  const spec = field(root, 'spec');
  const runtimes = [spec, ...(field(spec, 'versions')?.content ?? [])].map((one) => field(one, 'runtime'));
  return {
    containers: runtimes.flatMap((one) => field(one, 'container') ?? []),
    platforms: runtimes.flatMap((one) => field(field(one, 'exec'), 'platforms')?.content ?? []),
  };
}

function checkOptions(file: string, { containers, platforms }: Runtimes, options: PinOptions): void {
  const { image, files, downloads, platforms: wanted } = options;
  const refuse = (message: string, hint: string) =>
    new KrmhubError('usage', escapeControls(`cannot pin ${file}: ${message}`), { hint });
  if (containers.length + platforms.length === 0) {
    throw refuse(
      'it has no image and no executable',
      'A script gets its digest when you publish it: krmhub publish',
    );
  }
  const images = new Set(containers.map((one) => scalarText(field(one, 'image'))));
  if (image !== undefined && images.size !== 1) {
    const what = images.size === 0 ? 'it has no image' : `its API versions have ${images.size} images`;
    throw refuse(`${what}, so --image does not apply`, 'Write the images into the file.');
  }
  if (platforms.length > 0) return;
  const stray = Object.entries({ '--files': files, '--downloads': downloads, '--platforms': wanted });
  const [option] = stray.find(([, value]) => value !== undefined) ?? [];
  if (option !== undefined)
    throw refuse(`it has no executable, so ${option} does not apply`, `Remove ${option}.`);
}

async function withRegistries(io: Io, use: (images: ImageRegistries) => Promise<void>): Promise<void> {
  const cache = await openCache(consumePorts(io));
  try {
    await use(new ImageRegistries(consumePorts(io), cache, new CacheWriter(cache), false));
  } finally {
    await cache.close();
  }
}

async function pinImage(images: ImageRegistries, container: ResourceNode, options: PinOptions): Promise<Pin> {
  const image = options.image ?? scalarText(field(container, 'image')) ?? '';
  const parsed = parseImageReference(image);
  if (!parsed.ok) {
    throw new KrmhubError('usage', escapeControls(`the image "${image}" ${parsed.reason}`), {
      hint: 'Use HOST/PATH:TAG, for example: --image ghcr.io/acme/set-owner:v1.0.0',
    });
  }
  const version = parsed.digest === undefined ? `:${parsed.tag ?? 'latest'}` : `@${parsed.digest}`;
  const { digest, platforms } = await images.find(fullRepository(image) + version);
  setField(container, 'image', textNode(image));
  setAfter(container, 'image', 'sha256', digest.slice('sha256:'.length));
  return { reference: image, digest, ...defined({ platforms: platforms && Object.keys(platforms) }) };
}

function selectPlatforms(entries: readonly ResourceNode[], { platforms }: PinOptions): ResourceNode[] {
  if (platforms === undefined) return [...entries];
  const wanted = platforms.map(({ os, arch }) => `${os}/${arch}`);
  const missing = wanted.filter((one) => !entries.some((entry) => platformName(entry) === one));
  if (missing.length > 0) {
    throw new KrmhubError('usage', `the definition has no executable for ${missing.join(', ')}`, {
      hint: 'Add an entry for the platform to runtime.exec.platforms.',
    });
  }
  return entries.filter((entry) => wanted.includes(platformName(entry)));
}

function platformName(entry: ResourceNode): string {
  return `${scalarText(field(entry, 'os'))}/${scalarText(field(entry, 'arch'))}`;
}

async function pinExecutable(io: Io, entry: ResourceNode, { files, downloads }: PinOptions): Promise<Pin> {
  const written = scalarText(field(entry, 'uri')) ?? '';
  const platform = platformName(entry);
  const pinned = ociDigest(written);
  if (pinned !== undefined && downloads === undefined) {
    return { reference: written, digest: `sha256:${pinned}`, platforms: [platform] };
  }
  const name = written.split(/[?#]/, 1)[0]!.split('/').at(-1)!;
  const uri = downloads === undefined ? written : `${downloads.replace(/\/+$/, '')}/${name}`;
  const digest = await (files === undefined
    ? downloadDigest(io, uri, platform)
    : hashFile(io, path.join(files, name)));
  setField(entry, 'uri', textNode(uri));
  setAfter(entry, 'uri', 'sha256', digest.slice('sha256:'.length));
  return { reference: uri, digest, platforms: [platform] };
}

async function hashFile(io: Io, file: string): Promise<Digest> {
  const bytes = await readFileUpTo(io, file, EXECUTABLE_LIMITS.maxSourceBytes);
  if (bytes.byteLength <= EXECUTABLE_LIMITS.maxSourceBytes) return sha256(bytes);
  throw new KrmhubError('too-large', escapeControls(`${file} is larger than an executable may be`));
}

/** Sets a field; a new one is below another field. */
function setAfter(map: ResourceNode, other: string, name: string, value: string): void {
  const isNew = field(map, name) === undefined;
  setField(map, name, textNode(value));
  if (!isNew) return;
  const added = map.content.splice(-2);
  map.content.splice(2 * fieldNames(map).indexOf(other) + 2, 0, ...added);
}
