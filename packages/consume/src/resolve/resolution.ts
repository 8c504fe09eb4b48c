import type { IgnoredMinAge, LockedFunctions, PackageSettings, PinnedRuntime } from '@krmhub/catalog';
import { findRules } from '@krmhub/catalog/runtimes/runtimes';
import type { InlineContainer, InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import type { FunctionDefinition, RuntimeKind } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import type { KrmhubError } from '@krmhub/schema/error';
import type { CatalogReference } from '../references/parse-catalog.js';
import type { CatalogOptions } from '../trust/catalog-trust.js';

/** From a functionConfig to the runtime that may run: what is asked, and what was found. */

export interface ResolverOptions extends CatalogOptions {
  /** Use the cache only. */
  offline: boolean;
  /**
   * `--runtime`: the kind of runtime to use where a function has several. Default: container, else exec, else Starlark.
   */
  runtime?: RuntimeKind;
  /** Locked functions are used as they are locked. A lock grants no trust: their catalogs must also be trusted. */
  lock?: LockedFunctions;
  /** Which releases the package accepts. */
  settings?: PackageSettings;
  /** Kinds whose release may be newer than the settings allow; empty for all. */
  ignoreMinAge?: readonly string[];
  /** Ask registries for the platforms of images whose digest is known. Those of a tag are known anyway. */
  platforms?: boolean;
}

/** A functionConfig, and the catalogs that its layer names, in order. */
export interface FunctionRequest {
  /** `GROUP/VERSION`. */
  apiVersion: string;
  kind: string;
  inline?: InlineRuntime;
  catalogs: readonly CatalogReference[];
  /** The range of releases in its annotation, as written. It takes precedence over the settings. */
  range?: string;
  /** The release that is locked and is resolved again. */
  lockedRelease?: string;
  /** It names no catalogs, but a kustomization that is built on its own does. */
  isBelowCatalogs?: true;
}

/** A catalog as it was when it was read. */
export interface CatalogState {
  /** As written in the request or the option. */
  reference: string;
  /** Of a snapshot of a registry. */
  name?: string;
  serial?: number;
  /** Of the bytes of its `catalog.yaml`, or of the file itself; absent where the server does not say. */
  digest?: Digest;
  /** Fingerprint of the pinned key that signed the snapshot. */
  key?: Digest;
}

/** A release that was chosen by the settings of the package. */
export interface ChosenRelease {
  /** As written; absent for none. */
  range?: string;
  /** Serial of the snapshot with the release; absent for the newest one. */
  snapshot?: number;
  /** Set if it is too new. */
  ignoredMinAge?: IgnoredMinAge;
  /** Of newer releases that were skipped, one sentence each. `Resolution.warnings` has them, too. */
  warnings: string[];
}

/** The catalog that a function was found in. */
export interface ResolvedCatalog extends CatalogState {
  /** Why it is trusted, in words: an option, or a pinned key. */
  trustedBy: string;
}

export interface Resolution {
  apiVersion: string;
  kind: string;
  /** Absent for an inline runtime. */
  catalog?: ResolvedCatalog;
  /** Catalogs that were searched before and do not have the function. */
  searched: CatalogState[];
  /** Absent for an inline runtime, and where a lock file has the function. */
  entry?: FunctionDefinition;
  /** The locked definition of a function that a lock file has; absent if it is not available. */
  declared?: CheckedDefinition;
  /** Absent where the catalog does not say. */
  release?: string;
  /** Digest of the exact bytes of the release's definition; without a release, of the entry in normal form. */
  definition?: Digest;
  /** Who signed the release, in words; absent where no policy of this user requires a signature. */
  signedBy?: string;
  /** Where that says what was built, in words. Has foreign text. */
  builtFrom?: string;
  /** Absent without settings for the function, and for a locked one. */
  chosen?: ChosenRelease;
  runtime: PinnedRuntime | ResolvedInline;
  inline: boolean;
  /** One sentence each: yanked, deprecated, a tag that was looked up, … */
  warnings: string[];
}

/** The exact image of a runtime that a package names itself, and what says so. */
export interface NamedDigest {
  digest: Digest;
  digestFrom: 'reference' | 'lock' | 'registry';
  /** The tag that a constraint means now, or meant when it was locked. */
  tag?: string;
  platforms?: Record<string, Digest>;
}

/** A runtime that a package names itself; an image with its digest. */
export type ResolvedInline =
  | Exclude<InlineRuntime, InlineContainer>
  | (InlineContainer & Partial<NamedDigest>);

/** Reports whether a runtime is of a catalog, not one that a package names itself. */
export function isPinned(runtime: PinnedRuntime | ResolvedInline): runtime is PinnedRuntime {
  return findRules(runtime as PinnedRuntime).isComplete(runtime as PinnedRuntime);
}

/** An entry of a catalog with an image of the same repository as an image that a package names. */
export interface ImageMatch {
  /** As written in the request or the option. */
  catalog: string;
  apiVersion: string;
  kind: string;
  /** `NAME@sha256:…`; `NAME:TAG` where the catalog does not pin it. */
  image: string;
}

/** What a catalog can resolve. */
export interface ListedKind {
  /** `GROUP/VERSION`. */
  apiVersion: string;
  kind: string;
  /** The catalog that it resolves to, as in the option. */
  catalog: string;
}

/** Resolves functionConfigs. What it reads of a catalog, it reads once. */
export interface Resolver {
  /**
   * Throws a KrmhubError: `not-found` if no catalog has the function, `untrusted` for a catalog that is needed and not
   * trusted, with the option that would trust it, and `unreachable` if a catalog that is needed cannot be read. An image
   * that the request names itself gets the digest of its reference, of the lock, or of its registry.
   */
  resolve(request: FunctionRequest): Promise<Resolution>;
  /**
   * Finds an entry with an image of the same repository in the catalogs of the options and in these; one with the same
   * digest comes first. Catalogs that cannot be used are left out.
   */
  matchImage(
    image: string,
    digest: Digest | undefined,
    catalogs: readonly CatalogReference[],
  ): Promise<ImageMatch | undefined>;
  /**
   * Lists every API version and kind of the catalogs in the options, in search order and each once. Throws as `resolve`
   * does, if one of them is not trusted or cannot be read. `onInvalid` gets an error for each entry that cannot be
   * used.
   */
  list(onInvalid?: (error: KrmhubError) => void): Promise<ListedKind[]>;
  close(): Promise<void>;
}
