import path from 'node:path';
import { type LockedFunction, parseFunction, type ReleaseRule, releaseRule } from '@krmhub/catalog';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { imageRepository, lockedName, pinnedDigest } from '@krmhub/consume/resolve/images/named-image';
import type { NamedDigest, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { compareWritten, mayBeSynced } from '../function-configs/entry-runtime.js';
import type { ListedFunction } from '../function-configs/layers.js';
import type { Io } from '../io/io.js';
import { displayListed, displayPath } from '../lock/display-path.js';
import { searchOrder } from '../lock/search-order.js';
import type { UsePlace } from './outdated-report.js';
import type { PackageLock, ReadPackage } from './read-packages.js';

/** A function of a catalog that a package uses. */
export interface FunctionUse {
  type: 'function';
  place: UsePlace;
  apiVersion: string;
  kind: string;
  /** The catalogs that are searched for it, in order; of a locked function, the one that has it. */
  catalogs: readonly CatalogReference[];
  locked?: LockedFunction;
  /** What a release must satisfy, by the settings of the package. */
  rule?: ReleaseRule;
}

/** An image that a package names itself. */
export interface ImageUse {
  type: 'image';
  place: UsePlace;
  /** As it is run: with a tag, a digest, or a constraint on its tags. */
  image: string;
  /** Without its tag and digest. */
  repository: string;
  tag?: string;
  constraint?: string;
  /** What runs, from the reference or the lock file. */
  digest?: Digest;
  digestFrom?: NamedDigest['digestFrom'];
  /** The tag that the constraint meant when it was locked. */
  lockedTag?: string;
  apiVersion?: string;
  kind?: string;
  /** The catalogs in which its repository is looked for. */
  catalogs: readonly CatalogReference[];
}

export type Use = FunctionUse | ImageUse;

/**
 * Lists what a package uses, and what only its lock file has. Programs and scripts of the package itself are counted:
 * they have no releases.
 */
export function listUses(
  io: Io,
  { functions, lock, settings }: ReadPackage,
  options: ResolverOptions,
): { uses: Use[]; programs: number } {
  const uses: Use[] = [];
  const used = new Set<unknown>();
  let programs = 0;
  for (const listed of functions) {
    const use = listUse(io, listed, lock, searchOrder(io, options, listed.request));
    if (use === undefined) programs += 1;
    else {
      const rule = releaseRule(settings, parseFunction(listed.request), listed.request.range);
      uses.push(use.type === 'function' ? { ...use, ...defined({ rule }) } : use);
      used.add(use.type === 'function' ? use.locked : use.image);
    }
  }
  return { uses: [...uses, ...unusedEntries(io, lock, used)], programs };
}

function listUse(
  io: Io,
  listed: ListedFunction,
  lock: PackageLock | undefined,
  catalogs: readonly CatalogReference[],
): Use | undefined {
  const { request, written, line, column, field, name } = listed;
  const { apiVersion, kind, inline } = request;
  const runtime = written ?? inline;
  const locked = inline === undefined ? findLocked(lock, catalogs, apiVersion, kind) : undefined;
  const place: UsePlace = { file: displayListed(io, listed).file, line, column, field, ...defined({ name }) };
  if (runtime === undefined || isOfLock(runtime, locked)) {
    const at = lockPlace(io, lock, 'functions', locked);
    return {
      type: 'function',
      place: { ...place, ...defined({ lockedAt: at && `${at.file}:${at.line}` }) },
      apiVersion,
      kind,
      ...(locked === undefined ? { catalogs } : { locked, catalogs: [lockedCatalog(lock!, locked)] }),
    };
  }
  if (runtime.type !== 'container') return undefined;
  return { ...imageUse(io, runtime.image, lock, place), apiVersion, kind, catalogs };
}

/** The options of the command that locked it may have named its catalog. */
function findLocked(
  lock: PackageLock | undefined,
  catalogs: readonly CatalogReference[],
  apiVersion: string,
  kind: string,
): LockedFunction | undefined {
  if (lock === undefined) return undefined;
  const { locked } = lock;
  try {
    const found = locked.find(catalogs, apiVersion, kind);
    return found ?? locked.find(locked.searchOrder(apiVersion, kind), apiVersion, kind);
  } catch (error) {
    // A reference of a catalog is not valid, which the search for the function says.
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}

/** Reports whether `krmhub kpt sync` wrote what a step runs, from a function that is locked. */
function isOfLock(runtime: InlineRuntime, locked: LockedFunction | undefined): boolean {
  return locked !== undefined && mayBeSynced(runtime) && compareWritten(runtime, locked) !== 'other';
}

function lockedCatalog({ file }: PackageLock, { catalog }: LockedFunction): CatalogReference {
  return { text: catalog, folder: path.dirname(file) };
}

function imageUse(
  io: Io,
  image: string,
  lock: PackageLock | undefined,
  place: UsePlace,
): Omit<ImageUse, 'catalogs'> {
  const repository = imageRepository(image);
  const reference = parseImageReference(image);
  const pinned = pinnedDigest(image, lock?.locked);
  const version = image.slice(repository.length + 1);
  const tag = reference.ok ? reference.tag : undefined;
  const entry = lock?.lock.images?.find((one) => one.image === lockedName(image));
  const at = pinned?.digestFrom === 'lock' ? lockPlace(io, lock, 'images', entry) : undefined;
  return {
    type: 'image',
    place: { ...place, ...defined({ lockedAt: at && `${at.file}:${at.line}` }) },
    image,
    repository,
    ...defined({ tag, constraint: reference.ok || version === '' ? undefined : version }),
    ...defined({ digest: pinned?.digest, digestFrom: pinned?.digestFrom, lockedTag: pinned?.tag }),
  };
}

/** What the lock file has, and no functionConfig of the package uses. */
function unusedEntries(io: Io, lock: PackageLock | undefined, used: ReadonlySet<unknown>): Use[] {
  if (lock === undefined) return [];
  const functions = lock.lock.functions.filter((one) => !used.has(one));
  const images = (lock.lock.images ?? []).filter(
    ({ image }) => ![...used].some((one) => typeof one === 'string' && lockedName(one) === image),
  );
  return [
    ...functions.map((locked): Use => {
      const { apiVersion, kind, range } = locked;
      const place: UsePlace = { ...lockPlace(io, lock, 'functions', locked)!, field: 'lock' };
      const catalogs = [lockedCatalog(lock, locked)];
      const rule = range === undefined ? undefined : { range };
      return { type: 'function', place, apiVersion, kind, locked, catalogs, ...defined({ rule }) };
    }),
    ...images.map((one): Use => {
      const place: UsePlace = { ...lockPlace(io, lock, 'images', one)!, field: 'lock' };
      return { ...imageUse(io, one.image, lock, place), catalogs: [] };
    }),
  ];
}

/** Where an entry is in the lock file. */
function lockPlace<List extends 'functions' | 'images'>(
  io: Io,
  lock: PackageLock | undefined,
  list: List,
  entry: NonNullable<PackageLock['lock'][List]>[number] | undefined,
): Pick<UsePlace, 'file' | 'line' | 'column'> | undefined {
  if (lock === undefined || entry === undefined) return undefined;
  const index = (lock.lock[list] as readonly unknown[]).indexOf(entry);
  const { line = 1, column = 1 } = lock.positionOf([list, index]) ?? {};
  return { file: displayPath(io, lock.file), line, column };
}
