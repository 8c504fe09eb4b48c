/**
 * Finds and reads documents in files, folders, OCI artifacts, and stdin.
 *
 * @module
 */

import { stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError, readFileUpTo, readFolder } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';
import { hideInValue } from '@krmhub/schema/hide-passwords';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { Io, StandardInput } from '../io/io.js';
import { readStdin, STDIN_NAME } from '../io/read-stdin.js';

/** A file that the user named, or that is in a folder that the user named. */
export interface DocumentFile {
  /** Name for messages: relative to the working directory, or `<stdin>`. */
  name: string;
  bytes: Uint8Array;
  /** True if the user named the file, false if it was found in a folder. */
  explicit: boolean;
}

const SKIPPED_FOLDERS = new Set(['node_modules', '.git']);
const SOURCE_NAME = /\.(ya?ml|json)$/i;
const SOURCE_OR_SCRIPT_NAME = /\.(ya?ml|json|star)$/i;
/** Maximum number of files; more is probably the wrong folder. */
const MAX_FILES = 20_000;
const MAX_FOLDER_DEPTH = 64;

/** Files to read, in order and without duplicates. */
export interface DocumentFileList {
  files: { name: string; explicit: boolean }[];
  /** Folders of Helm templates, which are not valid YAML before rendering. */
  templates: string[];
}

/** Prefix of names that are read from an OCI registry. */
export const OCI_SCHEME = 'oci://';

/**
 * Finds files, files in folders, OCI artifacts, and stdin for `-`. With `scripts`, folders also give Starlark files.
 */
export async function findDocumentFiles(
  io: Io,
  names: readonly string[],
  { scripts = false }: { scripts?: boolean } = {},
): Promise<DocumentFileList> {
  if (names.filter((name) => name === '-').length > 1)
    throw new KrmhubError('usage', 'cannot read stdin twice: "-" is an argument more than once', {
      hint: 'Use "-" only once.',
    });
  const found: DocumentFileList = { files: [], templates: [] };
  const byPath = new Map<string, DocumentFileList['files'][number]>();
  const add = (key: string, name: string, explicit: boolean): void => {
    const present = byPath.get(key);
    if (present !== undefined) {
      // The user named both the file and its folder.
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
      throw diskError(error, `cannot read ${hideInValue(name)}`);
    });
    if (!status.isDirectory()) {
      add(full, name, true);
      continue;
    }
    const below: string[] = [];
    await walk(io, name, below, found.templates, 0, scripts ? SOURCE_OR_SCRIPT_NAME : SOURCE_NAME);
    if (below.length === 0) {
      throw new KrmhubError('not-found', `no .yaml, .yml, or .json file in ${name}`, {
        hint: 'Use a folder with definitions, or create one: krmhub init GROUP/KIND',
      });
    }
    for (const file of below) add(path.resolve(io.cwd, file), file, false);
  }
  return found;
}

/** Returns the files of a folder and of those below it whose name matches, without following links. */
export async function findFilesBelow(io: Io, folder: string, wanted: RegExp): Promise<string[]> {
  const found: string[] = [];
  await walk(io, folder, found, [], 0, wanted);
  return found;
}

/** Reads files, files in folders, OCI artifacts, and stdin for `-`, in order and one at a time. */
export async function* readDocumentFiles(io: Io, names: readonly string[]): AsyncGenerator<DocumentFile> {
  for (const file of (await findDocumentFiles(io, names)).files) yield await readDocumentFile(io, file);
}

/** What reading files needs. Artifacts need all of `Io`: their registry, and the keys that the user pinned. */
type DocumentIo = StandardInput & WorkingFolder & Partial<Io>;

/** Reads a file that was found. */
export async function readDocumentFile(
  io: DocumentIo,
  { name, explicit }: DocumentFileList['files'][number],
): Promise<DocumentFile> {
  return { name, bytes: await readBytes(io, name, DOCUMENT_LIMITS.maxSourceBytes), explicit };
}

async function readBytes(io: DocumentIo, name: string, maxBytes: number): Promise<Uint8Array> {
  if (name === STDIN_NAME) return readStdin(io, maxBytes);
  if (!name.startsWith(OCI_SCHEME)) return readFileUpTo(io, name, maxBytes);
  if (!isWhole(io)) throw new TypeError(`a worker thread cannot read ${name}`);
  const { readArtifact } = await import('./read-artifact.js');
  return readArtifact(io, name, maxBytes);
}

function isWhole(io: DocumentIo): io is Io {
  return io.env !== undefined && io.stderr !== undefined && io.now !== undefined;
}

async function walk(
  io: Io,
  folder: string,
  found: string[],
  templates: string[],
  depth: number,
  wanted: RegExp,
): Promise<void> {
  if (depth > MAX_FOLDER_DEPTH)
    throw new KrmhubError('usage', `cannot read ${folder}: more than ${MAX_FOLDER_DEPTH} nested folders`);
  const entries = await readFolder(io, folder);
  const isChart = entries.some((entry) => entry.isFile() && entry.name === 'Chart.yaml');
  for (const entry of entries) {
    const name = path.join(folder, entry.name);
    if (isChart && entry.isDirectory() && entry.name === 'templates') {
      templates.push(name);
      continue;
    }
    // Does not follow links: they can leave the folder or form a cycle.
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name))
      await walk(io, name, found, templates, depth + 1, wanted);
    else if (entry.isFile() && wanted.test(entry.name)) found.push(name);
    if (found.length > MAX_FILES) {
      throw new KrmhubError('usage', `cannot read ${folder}: more than ${MAX_FILES} files`, {
        hint: 'Use a smaller folder.',
      });
    }
  }
}
