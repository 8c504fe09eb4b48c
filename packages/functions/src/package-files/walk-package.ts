import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { decodeText } from '../resource-list/decode-text.js';
import { IGNORE_FILE, isWriteFolder } from '../resource-list/reserved-files.js';
import { attempt, errorCode } from './file-error.js';
import { type IgnoreRules, readIgnoreRules } from './ignore-file.js';
import { PACKAGE_LIMITS, type PackageLimits } from './limits.js';
import {
  type FileVersion,
  isInside,
  isResourceFile,
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
 * Reads the files of resources of a package in the order of kpt: by name in each folder. A link to a file in the package
 * is read, as kpt does; what it leads to outside is not part of the package. `onProblem` gets the errors of files that
 * cannot be read.
 *
 * Throws `too-large` beyond a limit, `not-found` for a missing folder.
 */
export function walkPackage(
  folder: string,
  limits: PackageLimits,
  onProblem: (path: string, error: KrmhubError) => void,
): PackageFiles {
  const files = new Map<string, PackageFile>();
  let bytes = 0;
  const walk = new Walk(folder, limits, (at, target) => {
    const file = tryRead(folder, target ?? at, limits.maxFileBytes, (error) => onProblem(at, error));
    if (file === undefined) return;
    bytes += Number(file.version.size);
    if (bytes > limits.maxBytes)
      throw tooLarge(folder, `has more than ${limits.maxBytes} bytes of resources`);
    files.set(at, target === undefined ? file : { ...file, path: at, target });
    if (files.size > limits.maxFiles) {
      throw tooLarge(folder, `has more than ${limits.maxFiles} files of resources`);
    }
  });
  walk.run();
  return { folder, files, skipped: walk.skipped };
}

/** Returns the files of resources by path, without reading them: the one that a link leads to, or itself. */
export function listPackage(folder: string, limits = PACKAGE_LIMITS): Map<string, string> {
  const targets = new Map<string, string>();
  new Walk(folder, limits, (at, target = at) => targets.set(at, target)).run();
  return targets;
}

/** Returns a file; undefined for one that is not UTF-8, or that the user may not read. */
function tryRead(
  folder: string,
  at: string,
  maxBytes: number,
  onProblem: (error: KrmhubError) => void,
): PackageFile | undefined {
  try {
    return readPackageFile(folder, at, maxBytes);
  } catch (error) {
    if (!(error instanceof KrmhubError) || !UNREADABLE.includes(error.code)) throw error;
    onProblem(error);
    return undefined;
  }
}

const UNREADABLE: readonly string[] = ['invalid-document', 'unavailable'];

class Walk {
  readonly skipped: SkippedFile[] = [];
  readonly #root: string;
  readonly #limits: PackageLimits;
  readonly #visit: (path: string, target?: string) => void;
  #entries = 0;

  /** `visit` gets each file, and for a link the file that it leads to. */
  constructor(root: string, limits: PackageLimits, visit: (path: string, target?: string) => void) {
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
        else if (entry.isSymbolicLink()) this.#link(at);
        else this.#skip(at, 'it is not a file');
      }
    }
  }

  #isPackage(base: string): boolean {
    return this.#stat(base + KPTFILE) !== undefined;
  }

  /** A package has its own ignore file, and that of an outer package does not apply. */
  #rulesOf(base: string): Rules {
    const at = base + IGNORE_FILE;
    const stat = this.#stat(at);
    const own = stat?.isFile() === true ? at : undefined;
    const file = stat?.isSymbolicLink() === true ? this.#target(at) : own;
    if (file === undefined) return { base, ignores: () => false };
    const { text } = readPackageFile(this.#root, file, this.#limits.maxFileBytes);
    return { base, ignores: readIgnoreRules(text) };
  }

  #stat(at: string) {
    return attempt(`cannot read ${at}`, () =>
      lstatSync(path.join(this.#root, at), { throwIfNoEntry: false }),
    );
  }

  #link(at: string): void {
    const target = this.#target(at);
    if (target !== undefined) this.#visit(at, target);
  }

  #target(at: string): string | undefined {
    const target = linkTarget(this.#root, at);
    if (target.path === undefined) this.#skip(at, target.reason);
    return target.path;
  }

  #skip(at: string, reason: string): void {
    this.skipped.push({ path: at, reason: `${at}: ${reason}` });
  }
}

/** Returns the file in the package that a link leads to, or why there is none. */
function linkTarget(
  root: string,
  at: string,
): { path: string; reason?: undefined } | { path?: undefined; reason: string } {
  let real: string;
  try {
    real = realpathSync(path.join(root, at));
    if (!lstatSync(real).isFile()) return { reason: 'it is a symbolic link, but not to a file' };
  } catch (error) {
    const reason =
      errorCode(error) === 'ENOENT' ? 'to a file that does not exist' : 'that cannot be followed';
    return { reason: `it is a symbolic link ${reason}` };
  }
  const inside = path.relative(root, real).split(path.sep).join('/');
  const parts = inside.split('/');
  const isPart =
    isInside(inside) && !path.isAbsolute(inside) && !parts.includes('.git') && !isWriteFolder(parts[0]!);
  return isPart ? { path: inside } : { reason: 'it is a symbolic link to a file outside of the package' };
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
        text: decodeText(bytes, at, { isFile: true }),
        version: fileVersion(stat),
        mode: Number(stat.mode) & 0o7777,
        owner: Number(stat.uid),
        group: Number(stat.gid),
      };
    } finally {
      closeSync(descriptor);
    }
  });
}

export function fileVersion(stat: {
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
