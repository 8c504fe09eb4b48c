/**
 * What the decisions of this package have to know of one kind of runtime. Each kind is one file beside this one, and all
 * of them are in the table of `runtimes.ts`. Separate processes load these files: they import single modules.
 */

import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import type { Digest } from '@krmhub/schema/digests/is-digest';
import type { ErrorCode } from '@krmhub/schema/error';
import type { RuntimePin } from '../ports/runtime-pin.js';
import type { LockField } from './lock-fields.js';

/** One thing that a runtime of a definition runs. */
export interface DeclaredProgram {
  /** As it is written: an image, or an https, git or oci reference. */
  reference: string;
  /** The digest in a field of its own: 64 digits, if it is valid. */
  beside?: string;
  /** The digest in the reference. */
  inside?: string;
  /** `OS/ARCH`, of an executable. */
  platform?: string;
}

/** One thing that a pinned runtime runs. */
export interface PinnedProgram {
  /** An image, or the address of a file. */
  uri: string;
  sha256: Digest;
  /** `OS/ARCH`, of an executable, and its name. */
  platform?: string;
  bin?: string;
  /** Of a script: a registry can delete it without the release. */
  deletable?: boolean;
}

/** What a registry serves for the reference of an image. */
export interface ServedImage {
  /** Digest of its manifest or index. */
  digest: Digest;
  platforms?: Record<string, Digest>;
}

export type RuntimePlan<Pinned> =
  | { type: 'pinned'; runtime: Pinned; warnings: string[] }
  /** Ask the registry for the digest of this reference, then plan again. */
  | { type: 'ask'; reference: string }
  | { type: 'refused'; code: ErrorCode; reason: string; hint: string };

/** Text and a snippet to copy. */
export interface UsagePart {
  text: string;
  snippet?: string;
}

/** The compatibility rules of runtimes. */
export type RuntimeRule =
  | 'network-required'
  | 'storage-required'
  | 'capability-dropped'
  | 'registry-changed'
  | 'repository-changed'
  | 'image-changed'
  | 'download-changed'
  | 'digest-removed'
  | 'digest-added'
  | 'platform-added'
  | 'platform-removed';

export type ReportChange = (rule: RuntimeRule, at: Path, message: string) => void;

/** The address and the digest that a change is about. */
export interface ChangedReference {
  address: string | undefined;
  digest?: string | undefined;
}

/** What a runtime may access besides its input. */
export type RuntimeAccess = 'everything' | { network: boolean; storage: boolean };

/** An executable of a new function. */
export interface DraftPlatform {
  os: string;
  arch: string;
  bin: string;
  file: string;
}

export interface CatalogRuntime<Declared, Pinned> {
  /** Returns what it runs, in the order of the definition. */
  programs(declared: Declared): DeclaredProgram[];
  /** Returns it with each reference rewritten, for a mirror. */
  rewrite(declared: Declared, rewrite: (reference: string) => string): Declared;
  /** Returns it with its fields in canonical order. */
  order(declared: Declared): JsonValue;
  /** Returns it with each reference that a digest identifies replaced by that digest. */
  withoutPlaces(declared: Declared): unknown;
  /** Returns the names by which a takedown asks whether another release uses the same. */
  takedownPins(declared: Declared): RuntimePin[];
  /**
   * Returns its YAML in the definition of a new function, to be edited. `name` is that of its program, and its releases
   * are below `url`. `bin` of a platform is YAML, and `file` the name of its download.
   */
  draft(program: { name: string; url: string; platforms: readonly DraftPlatform[] }): string;
  access(declared: Declared): RuntimeAccess;
  /** What an operator can read: its permissions, in one line. */
  permissions(declared: Declared): string;
  /** How to use it; empty if another section says it. `file` is the functionConfig. */
  usage(declared: Declared, file: string): UsagePart[];
  /** Why dialects of other tools do not have it. Absent for those that have. */
  unsupported: { kustomize?: string; porch?: string };
  /** Reports the changes of two definitions. Both have it, except that a container can be new. */
  compare(before: Declared | undefined, after: Declared, at: Path, report: ReportChange): void;
  /** Returns what a change is about. `below` is its path below the runtime. */
  changed(
    before: Declared | undefined,
    after: Declared | undefined,
    below: Path,
  ): { before?: ChangedReference; after?: ChangedReference };

  /** Plans how it is pinned by digests. */
  pin(declared: Declared, served: ServedImage | undefined): RuntimePlan<Pinned>;
  /** Returns what a definition would have for it. */
  declare(pinned: Pinned): Declared;
  pinnedPrograms(pinned: Pinned): PinnedProgram[];
  /** Reports whether a value of this type has all fields: it can be from a damaged file. */
  isComplete(pinned: Pinned): boolean;
  /** Reads it from a lock file; undefined where an error is reported. */
  readLock(field: LockField): Pinned | undefined;
  /** Returns what a lock file has for it. */
  lockDocument(pinned: Pinned): JsonObject;
  /**
   * Returns how a locked one differs from the one of a definition. With `anyPlace`, it may name another place of the
   * same bytes.
   */
  difference(locked: Pinned, declared: Pinned, anyPlace: boolean): string | undefined;
}

export const CATALOG_HINT = 'Ask the publisher of the catalog to correct its entry.';

export function pinned<Pinned>(runtime: Pinned, warnings: string[] = []): RuntimePlan<Pinned> {
  return { type: 'pinned', runtime, warnings };
}

export function refused(
  code: ErrorCode,
  reason: string,
  hint: string,
): Extract<RuntimePlan<never>, { type: 'refused' }> {
  return { type: 'refused', code, reason, hint };
}
