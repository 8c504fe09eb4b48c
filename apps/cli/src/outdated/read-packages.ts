import path from 'node:path';
import type { LockedFunctions, PackageSettings } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { Diagnostic } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import type { Layer, ListedFunction } from '../function-configs/layers.js';
import { openRemoteBases } from '../function-configs/open-remote-bases.js';
import { inspectLayers } from '../function-configs/read-layers.js';
import type { Io } from '../io/io.js';
import { lockCommand, lockPath, packageFolder, readLockFile, type StoredLock } from '../lock/lock-file.js';
import { lockedFunctions } from '../lock/locked-functions.js';
import { packageSettings } from '../lock/open-lock.js';
import { packageFunctions } from '../lock/search-order.js';
import { findPackages } from './find-packages.js';

/** The lock file of a package. */
export interface PackageLock extends Omit<StoredLock, 'text'> {
  /** Absolute. */
  file: string;
  locked: LockedFunctions;
}

/** A package with its functionConfigs, in the order in which they run. */
export interface ReadPackage {
  functions: ListedFunction[];
  lock?: PackageLock;
  settings?: PackageSettings;
}

export interface ReadPackagesOptions {
  recursive: boolean;
  /** `--lock`, for a single package. */
  lockFile?: string;
  imagePrefix?: string;
}

/**
 * Reads the package of a path, or with `recursive` all packages below it. What another package is built on counts there
 * if it has no lock file of its own. A lock file or settings with errors are problems, and do not count. Throws `not-found`.
 */
export async function readPackages(
  io: Io,
  target: string,
  options: ReadPackagesOptions,
): Promise<{ packages: ReadPackage[]; diagnostics: Diagnostic[] }> {
  const bases = await openRemoteBases(io);
  try {
    const found: { layer: Layer; read: ReadPackage }[] = [];
    const diagnostics = new Map<string, Diagnostic>();
    for (const place of await findPackages(io, target, options.recursive)) {
      const { layer, lock, settings, problems } = await readPackage(io, place, options, bases.fetch);
      for (const one of problems) diagnostics.set(JSON.stringify(one), one);
      if (layer !== undefined) {
        const read = { functions: usedFunctions(layer, lock), ...defined({ lock, settings }) };
        found.push({ layer, read });
      }
    }
    const below = new Set(found.flatMap(({ layer }) => layer.layers.flatMap(folders)));
    const seen = new Set<string>();
    // A plain folder has the functionConfigs of all packages below it, too.
    const isPlain = ({ layer, read }: (typeof found)[number]) =>
      layer.type === 'folder' && read.lock === undefined;
    const ordered = [...found.filter((one) => !isPlain(one)), ...found.filter(isPlain)];
    const packages = ordered.flatMap((one): ReadPackage[] => {
      const { layer, read } = one;
      if (read.lock === undefined && below.has(layer.folder)) return [];
      const functions = isPlain(one)
        ? read.functions.filter((listed) => !seen.has(placeKey(listed)))
        : read.functions;
      for (const listed of functions) seen.add(placeKey(listed));
      return functions.length === 0 && read.lock === undefined ? [] : [{ ...read, functions }];
    });
    return { packages, diagnostics: [...diagnostics.values()] };
  } finally {
    await bases.close();
  }
}

async function readPackage(
  io: Io,
  place: string,
  { lockFile, imagePrefix }: ReadPackagesOptions,
  fetchRemote: Awaited<ReturnType<typeof openRemoteBases>>['fetch'],
): Promise<Omit<ReadPackage, 'functions'> & { layer?: Layer; problems: Diagnostic[] }> {
  const folder = await packageFolder(io, place);
  const file = lockPath(io, folder, lockFile);
  const command = lockCommand(io, { folder: place, lock: lockFile, imagePrefix });
  const problems: Diagnostic[] = [];
  const stored = await collectProblems(problems, () => readLockFile(io, file, command));
  const read = await collectProblems(problems, () => packageSettings(io, folder));
  const { layer, diagnostics } = await inspectLayers(io, place, {
    fetchRemote,
    all: stored !== undefined,
    withKptfile: true,
    ...defined({ imagePrefix }),
  });
  const common = { folder: path.dirname(file), frozen: false, command };
  const lock = stored && { ...stored, file, locked: lockedFunctions(io, stored.lock, common) };
  return { ...defined({ layer, lock, settings: read?.settings }), problems: [...problems, ...diagnostics] };
}

/** Returns what is read; undefined for a file with errors, which go into the list. */
async function collectProblems<Result>(
  problems: Diagnostic[],
  read: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.diagnostics.length === 0) throw error;
    problems.push(...error.diagnostics);
    return undefined;
  }
}

/** Documents of a plain folder are functionConfigs if their kind is locked. */
function usedFunctions(layer: Layer, lock: PackageLock | undefined): ListedFunction[] {
  const locked = new Set(lock?.lock.functions.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
  return packageFunctions(layer, lock?.locked).filter(
    ({ isCandidate, request }) => isCandidate !== true || locked.has(`${request.apiVersion} ${request.kind}`),
  );
}

function folders({ folder, layers }: Layer): string[] {
  return [folder, ...layers.flatMap(folders)];
}

function placeKey({ file, line, column }: ListedFunction): string {
  return JSON.stringify([file, line, column]);
}
