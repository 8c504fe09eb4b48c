import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { decodeText } from '../resource-list/decode-text.js';
import { fileError } from './file-error.js';
import { IGNORE_FILE, type IgnoreRules, readIgnoreRules } from './ignore-file.js';
import type { PackageLimits } from './limits.js';
import {
  type FileVersion,
  isResourceFile,
  isWriteFolder,
  KPTFILE,
  type PackageFile,
  type PackageFiles,
  type SkippedFile,
} from './package-file.js';

/** Windows has no such flag. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

interface Rules {
  /** Relative to the root, with a slash at the end; empty for the root. */
  base: string;
  ignores: IgnoreRules;
}

/**
 * Reads the files of resources of a package in the order of kpt: by name in each folder. A link is not followed: what
 * it leads to is read where it is, or is not part of the package.
 *
 * Throws `invalid-document` for a file that is not UTF-8, `too-large` beyond a limit, `not-found` for a missing folder.
 */
export function walkPackage(folder: string, limits: PackageLimits): PackageFiles {
  const files = new Map<string, PackageFile>();
  let bytes = 0;
  const walk = new Walk(folder, limits, (at) => {
    const file = readPackageFile(folder, at, limits.maxFileBytes);
    bytes += Number(file.version.size);
    if (bytes > limits.maxBytes)
      throw tooLarge(folder, `has more than ${limits.maxBytes} bytes of resources`);
    files.set(at, file);
    if (files.size > limits.maxFiles) {
      throw tooLarge(folder, `has more than ${limits.maxFiles} files of resources`);
    }
  });
  walk.run();
  return { folder, files, packages: walk.packages, skipped: walk.skipped };
}

/** Returns the paths of the files of resources, without reading them. */
export function listPackage(folder: string, limits: PackageLimits): Set<string> {
  const paths = new Set<string>();
  new Walk(folder, limits, (at) => paths.add(at)).run();
  return paths;
}

class Walk {
  readonly packages: string[] = [];
  readonly skipped: SkippedFile[] = [];
  readonly #root: string;
  readonly #limits: PackageLimits;
  readonly #visit: (path: string) => void;
  #entries = 0;

  constructor(root: string, limits: PackageLimits, visit: (path: string) => void) {
    this.#root = root;
    this.#limits = limits;
    this.#visit = visit;
  }

  run(): void {
    this.#folder('', this.#rulesOf(''), 0);
  }

  #folder(base: string, rules: Rules, depth: number): void {
    const { maxDepth, maxEntries } = this.#limits;
    if (depth > maxDepth) throw tooLarge(this.#root, `has more than ${maxDepth} levels of folders`);
    const entries = attempt(`cannot read the folder ${base || this.#root}`, () =>
      readdirSync(path.join(this.#root, base), { withFileTypes: true }),
    );
    if (entries.some(({ name }) => name === KPTFILE)) this.packages.push(base.replace(/\/$/, ''));
    this.#entries += entries.length;
    if (this.#entries > maxEntries) {
      throw tooLarge(this.#root, `has more than ${maxEntries} files and folders`);
    }
    // Go compares bytes, which differ from UTF-16 units beyond the basic plane.
    entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
    for (const entry of entries) {
      const at = base + entry.name;
      if (entry.isDirectory()) {
        // Not part of any package, and a branch may be named like a file.
        if (entry.name === '.git' || (base === '' && isWriteFolder(entry.name))) continue;
        if (rules.ignores(at.slice(rules.base.length), true)) continue;
        const inner = `${at}/`;
        this.#folder(inner, this.#isPackage(inner) ? this.#rulesOf(inner) : rules, depth + 1);
      } else if (isResourceFile(entry.name) && !rules.ignores(at.slice(rules.base.length), false)) {
        if (entry.isFile()) this.#visit(at);
        else this.#skip(at, entry.isSymbolicLink());
      }
    }
  }

  #isPackage(base: string): boolean {
    return lstatSync(path.join(this.#root, base, KPTFILE), { throwIfNoEntry: false }) !== undefined;
  }

  /** A package has its own ignore file, and that of an outer package does not apply. */
  #rulesOf(base: string): Rules {
    const file = path.join(this.#root, base, IGNORE_FILE);
    const isFile = lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
    if (!isFile) return { base, ignores: () => false };
    const { text } = readPackageFile(this.#root, base + IGNORE_FILE, this.#limits.maxFileBytes);
    return { base, ignores: readIgnoreRules(text) };
  }

  #skip(at: string, isLink: boolean): void {
    this.skipped.push({ path: at, reason: isLink ? 'it is a symbolic link' : 'it is not a file' });
  }
}

/** Reads one file of a package. Throws as `walkPackage`. */
export function readPackageFile(folder: string, at: string, maxBytes: number): PackageFile {
  return attempt(`cannot read ${at}`, () => {
    const descriptor = openSync(path.join(folder, at), constants.O_RDONLY | NO_FOLLOW);
    try {
      const stat = fstatSync(descriptor, { bigint: true });
      if (!stat.isFile()) throw new KrmhubError('conflict', `cannot read ${at}: it is not a file`);
      if (stat.size > maxBytes) throw tooLarge(at, `has more than ${maxBytes} bytes`);
      const bytes = readFileSync(descriptor);
      return {
        path: at,
        text: decodeText(bytes, at),
        version: versionOf(stat),
        mode: Number(stat.mode) & 0o7777,
        owner: Number(stat.uid),
        group: Number(stat.gid),
      };
    } finally {
      closeSync(descriptor);
    }
  });
}

export function versionOf(stat: {
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}): FileVersion {
  return {
    inode: stat.ino,
    size: stat.size,
    modifiedNanoseconds: stat.mtimeNs,
    changedNanoseconds: stat.ctimeNs,
  };
}

function tooLarge(what: string, problem: string): KrmhubError {
  return new KrmhubError('too-large', `cannot read the package: ${what} ${problem}`, {
    hint: 'List what is not part of the package in a .krmignore file.',
  });
}

function attempt<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw fileError(what, error);
  }
}
