import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import {
  ARTIFACT_MEDIA_TYPES,
  type ArtifactFile,
  type ArtifactType,
  type Content,
  computeDigest,
  type Platform,
  toContent,
} from '@krmhub/oci';
import { hasErrors, KrmhubError, lint } from '@krmhub/schema';
import { readDocumentFiles } from '../documents/document-files.js';
import { diskError } from '../files/read-file.js';
import type { Io } from '../io/io.js';
import { plural } from '../io/text.js';

/** A file that is to be pushed. */
export interface SourceLayer {
  file: ArtifactFile;
  content: Content;
  platform?: Platform;
}

/** What of a name can be given as a title: a file that is pulled has to have it. */
export function isPlainFileName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && name.length <= 255 && !/[/\\\0-\x1f\x7f]/.test(name);
}

/** A catalog, a definition or a Starlark script, as its name and content say. Definitions and catalogs are linted first. */
export async function documentLayer(
  io: Io,
  name: string,
): Promise<{ type: ArtifactType; layer: SourceLayer }> {
  if (/\.star$/i.test(name)) {
    return { type: 'starlark', layer: await fileLayer(io, 'starlark', name) };
  }
  if (name !== '-' && !/\.(ya?ml|json)$/i.test(name)) {
    throw new KrmhubError('usage', `what ${name} is cannot be seen from its name`, {
      hint: 'Catalogs and definitions end with .yaml or .json, scripts with .star; name an executable with --exec.',
    });
  }
  const sources = [];
  for await (const source of readDocumentFiles(io, [name])) sources.push(source);
  const [source] = sources;
  if (source === undefined || sources.length > 1 || !source.explicit) {
    throw new KrmhubError('usage', `${name} is a folder, and an artifact has one file`, {
      hint: 'Name the file.',
    });
  }
  const { diagnostics, documents } = lint(source.bytes, { file: source.name });
  if (hasErrors(diagnostics)) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, errors, new Map([[source.name, source.bytes]]));
    throw new KrmhubError(
      'invalid-document',
      `${plural(errors.length, 'error')} in ${name}; nothing is pushed`,
      {
        hint: 'Mend what is named above; `krmhub lint` shows warnings too.',
      },
    );
  }
  const { printWarnings } = await import('../io/warnings.js');
  await printWarnings(io, diagnostics, new Map([[source.name, source.bytes]]));
  const type = documents[0]?.kind === 'KRMFunctionDefinition' ? 'definition' : 'catalog';
  if (documents.length !== 1) {
    throw new KrmhubError(
      'usage',
      `${name} holds ${plural(documents.length, 'document')}, and an artifact one`,
      {
        hint: 'Write each into a file of its own.',
      },
    );
  }
  const title = name === '-' ? `${type}.yaml` : path.basename(name);
  const { bytes } = source;
  const file = {
    title,
    mediaType: ARTIFACT_MEDIA_TYPES[type].layer,
    digest: computeDigest(bytes),
    size: bytes.byteLength,
  };
  return { type, layer: { file, content: toContent(bytes) } };
}

/** A file as it is, of any size. */
export async function fileLayer(io: Io, type: ArtifactType, name: string): Promise<SourceLayer> {
  const full = path.resolve(io.cwd, name);
  const status = await stat(full).catch((error: unknown) => {
    throw diskError(error, `cannot read ${name}`);
  });
  if (!status.isFile()) throw new KrmhubError('usage', `${name} is no file`);
  const title = path.basename(full);
  if (!isPlainFileName(title))
    throw new KrmhubError('usage', 'the name of the file has characters that no title has');
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
