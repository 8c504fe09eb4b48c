import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { defined } from '@krmhub/schema/defined';
import type { Diagnostic, Range } from '@krmhub/schema/diagnostic';
import { hidePasswords } from '@krmhub/schema/hide-passwords';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { Io } from '../io/io.js';
import { CONFIG_CODES, type ConfigCode } from './codes.js';
import type { ReadLayersOptions } from './layers.js';
import { LAYER_LIMITS } from './limits.js';

/** Where a problem is: a file, and the value in it. */
export interface ProblemPlace {
  /** Absolute path. */
  file: string;
  range?: Range | undefined;
  /** Field path, as in diagnostics. */
  path?: string;
}

export type LocalPath =
  | { type: 'file' | 'folder'; path: string }
  | { type: 'missing'; reason: string; isDenied?: boolean }
  /** A file that is not in or below the folder, with links resolved. */
  | { type: 'outside'; path: string };

/** Reads files for all layers of a package, under their limits, and collects what is wrong. */
export class LayerReader {
  readonly diagnostics: Diagnostic[] = [];
  readonly options: ReadLayersOptions;
  readonly #io: Io;
  /** With links resolved, as the paths of files are. */
  readonly #folder: string;
  readonly #exceeded = new Set<string>();
  /** The address of each path in a folder that was fetched, or of a fetched file. */
  readonly #remotes = new Map<string, (inside: string) => string>();
  #layers = 0;
  #files = 0;
  #bytes = 0;
  #functions = 0;

  private constructor(io: Io, folder: string, options: ReadLayersOptions) {
    this.#io = io;
    this.#folder = folder;
    this.options = options;
  }

  static async open(io: Io, options: ReadLayersOptions): Promise<LayerReader> {
    return new LayerReader(io, await realpath(io.cwd), options);
  }

  /** Names what was fetched to a path by its address: the user does not know the temporary path. */
  addRemote(fetched: string, address: (inside: string) => string): void {
    this.#remotes.set(fetched, address);
  }

  /** The address of a file that was fetched, without a password; undefined for one of this machine. */
  remoteName(file: string): string | undefined {
    for (const [fetched, address] of this.#remotes) {
      if (!isInOrBelow(file, fetched)) continue;
      return hidePasswords(address(path.relative(fetched, file).split(path.sep).join('/')));
    }
    return undefined;
  }

  /** The name of a file in messages: its address, or relative to the working directory, if it is below it. */
  displayName(file: string): string {
    return this.remoteName(file) ?? displayName(this.#folder, file);
  }

  report(
    code: ConfigCode,
    message: string,
    { file, range, path: at = '' }: ProblemPlace,
    hint?: string,
  ): void {
    const { severity, fix } = CONFIG_CODES[code];
    const place = { file: this.displayName(file), path: at, ...defined({ range }) };
    this.diagnostics.push({ code, severity, message, ...place, hint: hint ?? fix });
  }

  /** Reports whether there may be another layer; reports the limit once. */
  countLayer(place: ProblemPlace): boolean {
    this.#layers += 1;
    return this.#within('maxLayers', this.#layers, place);
  }

  countFunction(place: ProblemPlace): boolean {
    this.#functions += 1;
    return this.#within('maxListedFunctions', this.#functions, place);
  }

  /** Reads a file that was found; undefined where a problem is reported. */
  async readFile(file: string): Promise<Uint8Array | undefined> {
    this.#files += 1;
    if (!this.#within('maxConfigFiles', this.#files, { file })) return undefined;
    const bytes = await readFileUpTo(this.#io, file, DOCUMENT_LIMITS.maxSourceBytes);
    this.#bytes += bytes.byteLength;
    return this.#within('maxConfigBytes', this.#bytes, { file }) ? bytes : undefined;
  }

  #within(name: keyof typeof LAYER_LIMITS, count: number, place: ProblemPlace): boolean {
    const limit = LAYER_LIMITS[name];
    if (count <= limit) return true;
    if (!this.#exceeded.has(name)) {
      this.#exceeded.add(name);
      this.report('config/limit', `${LIMIT_TEXTS[name]}; the limit is ${limit}`, place);
    }
    return false;
  }
}

const LIMIT_TEXTS: Record<keyof typeof LAYER_LIMITS, string> = {
  maxLayerDepth: 'the bases are nested too deeply',
  maxLayers: 'there are too many kustomizations, components, and bases',
  maxConfigFiles: 'there are too many files',
  maxConfigBytes: 'the files are too large together',
  maxListedFunctions: 'there are too many functionConfigs',
  maxConfigAliases: 'the aliases expand to too many values',
};

/** The name of a file in messages: relative to a folder, if it is below it. */
export function displayName(folder: string, file: string): string {
  const relative = path.relative(folder, file);
  if (relative === '') return '.';
  return relative.startsWith('..') || path.isAbsolute(relative) ? file : relative.split(path.sep).join('/');
}

/**
 * Finds what a path names that is written in a file of `folder`. As kustomize by default, a file must be in or below
 * the folder after links are resolved; a folder may be anywhere. `folder` itself has no links.
 */
export async function findLocal(folder: string, text: string): Promise<LocalPath> {
  let found: string;
  try {
    found = await realpath(path.resolve(folder, text));
    const status = await stat(found);
    if (status.isDirectory()) return { type: 'folder', path: found };
    if (!status.isFile()) return { type: 'missing', reason: 'not a regular file' };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const reason = REASONS[String(code)] ?? 'cannot be read';
    return { type: 'missing', reason, isDenied: code === 'EACCES' };
  }
  return isInOrBelow(found, folder) ? { type: 'file', path: found } : { type: 'outside', path: found };
}

const REASONS: Record<string, string> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EACCES: 'permission denied',
  ELOOP: 'its links form a cycle',
  ENAMETOOLONG: 'the name is too long',
};

/** Reports whether a path is a folder itself or inside it. Both are absolute and without links. */
export function isInOrBelow(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return (
    relative === '' ||
    !(relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative))
  );
}
