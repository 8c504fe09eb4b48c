import { stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError, readFileUpTo, readFolder } from '@krmhub/consume/files/read-file';
import type { ArchiveFile } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { readStdin } from '../io/read-stdin.js';

/** Bytes of all files of an artifact: Flux unpacks no more by default. */
const MAX_TOTAL_BYTES = 100 * 1_048_576;
/** More files are probably the wrong folder. */
const MAX_FILES = 10_000;
const MAX_FOLDER_DEPTH = 64;
/** The file of manifests from stdin. */
const STDIN_TITLE = 'manifests.yaml';

/** Files of an artifact, by name. */
export interface ManifestFiles {
  files: ArchiveFile[];
  /** Files and folders whose name begins with a dot; they are left out. */
  hidden: number;
  /** Bytes of all files. */
  size: number;
}

/**
 * Reads the manifests to deploy: the files of a folder, one file, or stdin for `-`. A pruning orchestrator deletes what
 * an artifact does not have, so empty input and files that cannot be packed are errors.
 */
export async function readManifestFiles(io: Io, name: string): Promise<ManifestFiles> {
  const found: ManifestFiles = { files: [], hidden: 0, size: 0 };
  if (name === '-') {
    add(found, name, STDIN_TITLE, await readStdin(io, MAX_TOTAL_BYTES));
  } else {
    const full = path.resolve(io.cwd, name);
    const status = await stat(full).catch((error: unknown) => {
      throw diskError(error, `cannot read ${name}`);
    });
    if (status.isDirectory()) await addFolder(io, name, '', found, 0);
    else add(found, name, path.basename(full), await readFileUpTo(io, full, MAX_TOTAL_BYTES));
  }
  if (found.files.every(({ bytes }) => isBlank(bytes))) {
    throw new KrmhubError('usage', `cannot push ${name}: it has no manifests`, {
      hint: 'Check that the render command succeeds. In a shell pipeline, use: set -o pipefail',
    });
  }
  return found;
}

async function addFolder(
  io: Io,
  root: string,
  below: string,
  found: ManifestFiles,
  depth: number,
): Promise<void> {
  const folder = path.join(root, below);
  if (depth > MAX_FOLDER_DEPTH) {
    throw new KrmhubError('usage', `cannot push ${root}: more than ${MAX_FOLDER_DEPTH} nested folders`);
  }
  for (const entry of await readFolder(io, folder)) {
    const inner = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.name.startsWith('.')) found.hidden++;
    else if (entry.isDirectory()) await addFolder(io, root, inner, found, depth + 1);
    else if (entry.isFile()) {
      add(found, root, inner, await readFileUpTo(io, path.join(root, inner), MAX_TOTAL_BYTES));
    } else {
      throw new KrmhubError('usage', `cannot push ${path.join(root, inner)}: it is not a regular file`, {
        hint: 'Flux does not unpack links. Copy the file, or push a rendered folder.',
      });
    }
  }
}

function add(found: ManifestFiles, root: string, name: string, bytes: Uint8Array): void {
  if (/[\\\x00-\x1f\x7f]/.test(name)) {
    throw new KrmhubError('usage', `cannot push ${root}: a file name has a character that Flux rejects`, {
      hint: `Rename the file: ${JSON.stringify(name)}`,
    });
  }
  found.files.push({ name, bytes });
  found.size += bytes.byteLength;
  if (found.files.length > MAX_FILES || found.size > MAX_TOTAL_BYTES) {
    const reason = found.files.length > MAX_FILES ? `${MAX_FILES} files` : `${MAX_TOTAL_BYTES} bytes`;
    throw new KrmhubError('too-large', `cannot push ${root}: more than ${reason}`, {
      hint: 'Push only the folder with the rendered manifests.',
    });
  }
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}
