import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import {
  ARTIFACT_MEDIA_TYPES,
  type ArtifactFile,
  type ArtifactType,
  type Content,
  computeDigest,
  type Platform,
  toContent,
} from '@krmhub/oci';
import { DOCUMENT_LIMITS, hasErrors, KrmhubError, lint } from '@krmhub/schema';
import { plural, shellWord } from '@krmhub/schema/text';
import { type DocumentFile, readDocumentFiles } from '../documents/document-files.js';
import type { Io } from '../io/io.js';

/** A file to push. */
export interface SourceLayer {
  file: ArtifactFile;
  content: Content;
  platform?: Platform;
}

/** Reports whether a title is a valid file name. Pulled files are named by their titles. */
export function isPlainFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && name.length <= 255 && !/[/\\\0-\x1f\x7f]/.test(name);
}

/**
 * Reads a catalog, a definition or a Starlark script, by its name and content. Lints definitions and catalogs, and
 * scripts.
 */
export async function documentLayer(
  io: Io,
  name: string,
  prepare: (source: DocumentFile) => Promise<DocumentFile> = async (source) => source,
): Promise<{ type: ArtifactType; layer: SourceLayer }> {
  if (/\.star$/i.test(name)) {
    const title = await regularFileTitle(io, name);
    return { type: 'starlark', layer: bytesLayer('starlark', title, await lintedScript(io, name)) };
  }
  if (name !== '-' && !/\.(ya?ml|json)$/i.test(name)) {
    throw new KrmhubError('usage', `cannot determine the file type of ${name}`, {
      hint: 'Use the extension .yaml or .json for catalogs and definitions, .star for scripts, and --exec for executables.',
    });
  }
  const sources = [];
  for await (const source of readDocumentFiles(io, [name])) sources.push(await prepare(source));
  const [source] = sources;
  if (source === undefined || sources.length > 1 || !source.explicit) {
    throw new KrmhubError('usage', `cannot push ${name}: it is a folder`, {
      hint: 'Push one file of it.',
    });
  }
  const { diagnostics, documents } = lint(source.bytes, { file: source.name });
  if (hasErrors(diagnostics)) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, errors, new Map([[source.name, source.bytes]]));
    throw new KrmhubError('invalid-document', `cannot push ${name}: ${plural(errors.length, 'error')}`, {
      hint: `Fix the errors above, then check: krmhub lint ${shellWord(name)}`,
    });
  }
  const { printWarnings } = await import('../io/warnings.js');
  await printWarnings(io, diagnostics, new Map([[source.name, source.bytes]]));
  const type = documents[0]?.kind === 'KRMFunctionDefinition' ? 'definition' : 'catalog';
  if (documents.length !== 1) {
    throw new KrmhubError(
      'usage',
      `cannot push ${name}: it contains ${plural(documents.length, 'document')}, expected one`,
      {
        hint: 'Move each document to a separate file.',
      },
    );
  }
  const title = name === '-' ? `${type}.yaml` : path.basename(name);
  return { type, layer: bytesLayer(type, title, source.bytes) };
}

function bytesLayer(type: ArtifactType, title: string, bytes: Uint8Array): SourceLayer {
  const file = {
    title,
    mediaType: ARTIFACT_MEDIA_TYPES[type].layer,
    digest: computeDigest(bytes),
    size: bytes.byteLength,
  };
  return { file, content: toContent(bytes) };
}

/** Returns a script. Prints its problems, and throws `invalid-document` if there is an error. */
async function lintedScript(io: Io, name: string): Promise<Uint8Array> {
  const { lintScript } = await import('@krmhub/functions/starlark/lint-script');
  const bytes = await readFileUpTo(io, name, DOCUMENT_LIMITS.maxScriptBytes);
  const diagnostics = lintScript(bytes, name);
  if (diagnostics.length === 0) return bytes;
  const { printDiagnostics } = await import('../io/diagnostics.js');
  await printDiagnostics(io, io.stderr, diagnostics, new Map([[name, bytes]]));
  if (!hasErrors(diagnostics)) return bytes;
  throw new KrmhubError('invalid-document', `cannot push ${name}: the script has errors`, {
    hint: `Fix the errors above, then check: krmhub lint ${shellWord(name)}`,
  });
}

/** Reads a file of any size without parsing it. */
export async function fileLayer(io: Io, type: ArtifactType, name: string): Promise<SourceLayer> {
  const full = path.resolve(io.cwd, name);
  const title = await regularFileTitle(io, name);
  const hash = createHash('sha256');
  let size = 0;
  const open = () => createReadStream(full);
  try {
    for await (const piece of open() as AsyncIterable<Uint8Array>) {
      hash.update(piece);
      size += piece.byteLength;
    }
  } catch (error) {
    throw diskError(error, `cannot read ${name}`);
  }
  const file: ArtifactFile = {
    title,
    mediaType: ARTIFACT_MEDIA_TYPES[type].layer,
    digest: `sha256:${hash.digest('hex')}`,
    size,
  };
  return { file, content: { size, open } };
}

/** Returns the title of a file: its name. Throws `usage` for what is not a regular file. */
async function regularFileTitle(io: Io, name: string): Promise<string> {
  const full = path.resolve(io.cwd, name);
  const status = await stat(full).catch((error: unknown) => {
    throw diskError(error, `cannot read ${name}`);
  });
  if (!status.isFile()) throw new KrmhubError('usage', `cannot push ${name}: it is not a regular file`);
  const title = path.basename(full);
  if (isPlainFileName(title)) return title;
  throw new KrmhubError(
    'usage',
    `cannot push ${name}: its name has characters that are not allowed in a title`,
  );
}
