/**
 * The lock file: exactly what a package runs, and the state of the catalogs that it was found in.
 *
 * @module
 */

import type { Digest } from '@krmhub/schema';
import { compareText } from '@krmhub/schema/compare-text';
import { defined } from '@krmhub/schema/defined';
import { MAX_PLATFORMS } from '../runtimes/lock-fields.js';
import type { PinnedRuntime } from '../runtimes/runtimes.js';

/** Name of the lock file, in the folder of the package that it locks. */
export const LOCK_FILE = 'krmhub.lock';
export const LOCK_API_VERSION = 'krmhub.dev/v1alpha1';
export const LOCK_KIND = 'Lock';

/** Limits on lock files: the unit and the reason for each. */
export const LOCK_LIMITS = {
  /** Size of a lock file. A function takes about 500 bytes. */
  maxBytes: 4_194_304,
  /** Catalogs of a lock file. A package uses a few. */
  maxCatalogs: 200,
  /** Functions of a lock file. Large packages use dozens. */
  maxFunctions: 2_000,
  /** Images of a lock file; the reason is that of functions. */
  maxImages: 2_000,
  /** Platforms of an image or executable. The largest real image indexes have about 20. */
  maxPlatforms: MAX_PLATFORMS,
  /** Length of a text, such as a reference, in UTF-16 code units. */
  maxTextLength: 2_048,
} as const;

/** What a package runs, and the state of the catalogs that it was found in. */
export interface Lock {
  /** By reference. */
  catalogs: LockedCatalog[];
  /** By catalog, apiVersion and kind. */
  functions: LockedFunction[];
  /** Images that the package itself names without a digest, by `image`; absent for none. */
  images?: LockedImage[];
}

/** An image that a package names without a digest, and exactly what runs for it. */
export interface LockedImage {
  /** As it is run: `REPOSITORY:TAG`, or `REPOSITORY:CONSTRAINT` for a constraint on its tags. */
  image: string;
  /** The tag that a constraint meant when it was locked; absent without a constraint. */
  tag?: string;
  digest: Digest;
  /** By platform, for example `linux/amd64`; absent where the registry did not say. */
  platforms?: Record<string, Digest>;
}

/** A catalog that was searched, as it was read then. */
export interface LockedCatalog {
  /** As the package names it; a file relative to the folder of the lock file, with slashes. */
  reference: string;
  /** Name of the catalog. */
  name?: string;
  /** Serial of the snapshot; absent for a catalog without snapshots. */
  serial?: number;
  /** Digest of the catalog's bytes; absent where only single entries were read. */
  digest?: Digest;
  /** Fingerprint of the key that signed the snapshot; absent where no key is pinned. */
  key?: Digest;
}

/** Why a release was too new when it was locked. */
export interface IgnoredMinAge {
  /** As written, for example `72h`. */
  minAge: string;
  /** When the registry got the release. */
  publishedAt: string;
}

/** One kind of functionConfig, and exactly what runs for it. */
export interface LockedFunction {
  /** Reference of the catalog that has it, one of the lock's catalogs. */
  catalog: string;
  /** `group/version` of the functionConfig. */
  apiVersion: string;
  kind: string;
  /** Serial of the snapshot that it was found in, where the catalog is locked at a later one. */
  serial?: number;
  /** The range of releases that the package asked for, as written; absent for none. */
  range?: string;
  /** Absent for an entry that does not say from which release it is. */
  release?: string;
  /** The release was too new, and was locked all the same. */
  ignoredMinAge?: IgnoredMinAge;
  /** Digest of the definition, as `snapshot.json` has it. */
  definition: Digest;
  /** Who signed it, in words. */
  signedBy?: string;
  /** References of the catalogs that are searched before and did not have it; absent for none. */
  notIn?: string[];
  runtime: PinnedRuntime;
}

/** A catalog as the file that names it writes it, and the folder that a relative path starts at. */
export interface LockReference {
  text: string;
  folder: string;
}

/** The lock file as a resolver asks it. It grants no trust: the catalog must still be trusted. */
export interface LockedFunctions {
  /** Nothing but the lock and the cache may be used. */
  readonly frozen: boolean;
  /** The command that locks the package, for hints. */
  readonly command: string;
  /** Set for a lock that is compared with another: its functions count, whatever ranges the package has now. */
  readonly ignoresRanges?: boolean;
  /**
   * Returns what is locked for a kind of functionConfig where these catalogs are searched in this order. Undefined if
   * it is not locked, and if a catalog before the one that has it was not searched when it was locked.
   */
  find(catalogs: readonly LockReference[], apiVersion: string, kind: string): LockedFunction | undefined;
  /** Returns the state of a catalog when it was locked; undefined for a catalog that was not read. */
  catalog(reference: LockReference): LockedCatalog | undefined;
  /**
   * Returns the catalogs in the order in which they were searched for the one locked function of a kind, for a package
   * that names no catalogs. Empty if there is none or several.
   */
  searchOrder(apiVersion: string, kind: string): LockReference[];
  /** Returns what is locked for an image that the package names itself; undefined if it is not locked. */
  image(image: string): LockedImage | undefined;
}

/** Sorts a lock as its file has it, in code unit order. */
export function sortLock({ catalogs, functions, images = [] }: Lock): Lock {
  return {
    catalogs: [...catalogs].sort((a, b) => compareText(a.reference, b.reference)),
    functions: [...functions].sort(compareLockedFunctions),
    ...defined({
      images: images.length === 0 ? undefined : [...images].sort((a, b) => compareText(a.image, b.image)),
    }),
  };
}

/** By catalog, apiVersion and kind, in code unit order. */
export function compareLockedFunctions(a: LockedFunction, b: LockedFunction): number {
  return (
    compareText(a.catalog, b.catalog) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.kind, b.kind)
  );
}
