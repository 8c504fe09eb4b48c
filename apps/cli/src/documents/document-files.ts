import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { diskError, readFileUpTo, readStdin, STDIN_NAME } from '../files/read-file.js';
import type { Io } from '../io/io.js';

/** A file as the user named it, or as it was found in a folder that the user named. */
export interface DocumentFile {
  /** What messages call it: relative to where the command runs, or `<stdin>`. */
  name: string;
  bytes: Uint8Array;
  /** Named by the user, as against found in a folder. */
  explicit: boolean;
}

const SKIPPED_FOLDERS = new Set(['node_modules', '.git']);
const SOURCE_NAME = /\.(ya?ml|json)$/i;
/** Files that one command takes: more is a folder named by mistake. */
const MAX_FILES = 20_000;
const MAX_FOLDER_DEPTH = 64;

/** What was named, looked up and not read yet, in order and each once. */
export interface DocumentFileList {
  files: { name: string; explicit: boolean }[];
  /** Folders of Helm templates, which are no YAML before they are rendered. */
  templates: string[];
}

/** What begins so is read from an OCI registry. */
export const OCI_SCHEME = 'oci://';

/** Looks up files, folders of YAML and JSON, artifacts in OCI registries, and `-` for stdin. */
export async function findDocumentFiles(io: Io, names: readonly string[]): Promise<DocumentFileList> {
  if (names.filter((name) => name === '-').length > 1)
    throw new KrmhubError('usage', '"-" is given more than once');
  const found: DocumentFileList = { files: [], templates: [] };
  const byPath = new Map<string, DocumentFileList['files'][number]>();
  const add = (key: string, name: string, explicit: boolean): void => {
    const present = byPath.get(key);
    if (present !== undefined) {
      // Named by itself and by its folder: the user means this one.
      present.explicit ||= explicit;
      return;
    }
    const file = { name, explicit };
    byPath.set(key, file);
    found.files.push(file);
  };
  for (const name of names) {
    if (name === '-') {
      add(name, STDIN_NAME, true);
      continue;
    }
    if (name.startsWith(OCI_SCHEME)) {
      add(name, name, true);
      continue;
    }
    const full = path.resolve(io.cwd, name);
    const status = await stat(full).catch((error: unknown) => {
      throw diskError(error, `cannot read ${name}`);
    });
    if (!status.isDirectory()) {
      add(full, name, true);
      continue;
    }
    const below: string[] = [];
    await walk(io, name, below, found.templates, 0);
    if (below.length === 0) {
      throw new KrmhubError('not-found', `there is no .yaml, .yml or .json file in ${name}`);
    }
    for (const file of below) add(path.resolve(io.cwd, file), file, false);
  }
  return found;
}

/** Reads files, folders of YAML and JSON, artifacts, and `-` for stdin, in order. Files are read as they are asked for. */
export async function* readDocumentFiles(io: Io, names: readonly string[]): AsyncGenerator<DocumentFile> {
  for (const file of (await findDocumentFiles(io, names)).files) yield await readDocumentFile(io, file);
}

/** The bytes of a file that was found. */
export async function readDocumentFile(
  io: Pick<Io, 'stdin' | 'cwd' | 'env'>,
  { name, explicit }: DocumentFileList['files'][number],
): Promise<DocumentFile> {
  return { name, bytes: await bytesOf(io, name, DOCUMENT_LIMITS.maxSourceBytes), explicit };
}

async function bytesOf(
  io: Pick<Io, 'stdin' | 'cwd' | 'env'>,
  name: string,
  maxBytes: number,
): Promise<Uint8Array> {
  if (name === STDIN_NAME) return readStdin(io, maxBytes);
  if (!name.startsWith(OCI_SCHEME)) return readFileUpTo(io, name, maxBytes);
  const { readArtifact } = await import('./read-artifact.js');
  return readArtifact(io, name, maxBytes);
}

async function walk(
  io: Io,
  folder: string,
  found: string[],
  templates: string[],
  depth: number,
): Promise<void> {
  if (depth > MAX_FOLDER_DEPTH) throw new KrmhubError('usage', `${folder} is nested too deeply`);
  let entries: Dirent[];
  try {
    entries = await readdir(path.resolve(io.cwd, folder), { withFileTypes: true });
  } catch (error) {
    throw diskError(error, `cannot read ${folder}`);
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const isChart = entries.some((entry) => entry.isFile() && entry.name === 'Chart.yaml');
  for (const entry of entries) {
    const name = path.join(folder, entry.name);
    if (isChart && entry.isDirectory() && entry.name === 'templates') {
      templates.push(name);
      continue;
    }
    // Links are not followed: they may lead out of the folder or round in circles.
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name))
      await walk(io, name, found, templates, depth + 1);
    else if (entry.isFile() && SOURCE_NAME.test(entry.name)) found.push(name);
    if (found.length > MAX_FILES) {
      throw new KrmhubError('usage', `there are more than ${MAX_FILES} files`, {
        hint: 'Name a smaller folder.',
      });
    }
  }
}
