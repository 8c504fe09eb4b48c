import type { YoungRelease } from '@krmhub/catalog/resolve/plan-release';
import type { Diagnostic } from '@krmhub/schema/diagnostic';
import type { Digest } from '@krmhub/schema/digest';
import type { ChangeKind } from '@krmhub/schema/documents/change-kinds';
import type { FunctionField } from '../function-configs/layers.js';

/** Where something is used. */
export interface UsePlace {
  /** Relative to the working directory, if it is below it; a URL for a remote base. */
  file: string;
  /** One-based, of the functionConfig, the step of a Kptfile, or the entry of the lock file. */
  line: number;
  column: number;
  /** The list that names it; `lock` for an entry of the lock file that nothing uses. */
  field: FunctionField | 'lock';
  /** `metadata.name` of the functionConfig. */
  name?: string;
  /** `FILE:LINE` of its entry in the lock file. */
  lockedAt?: string;
}

/** A release of a function, or a tag of an image. What is unknown is absent. */
export interface KnownVersion {
  /** SemVer version of a release. */
  release?: string;
  tag?: string;
  /** Digest of the definition of a release. */
  definition?: Digest;
  /** Digest of the image. */
  digest?: Digest;
  /** When the registry got the release, RFC 3339. */
  publishedAt?: string;
}

/**
 * How what is used compares with what there is:
 *
 * - `current`: the newest runs.
 * - `behind`: `krmhub lock --upgrade` would take `wanted`, which is another one than the locked one.
 * - `newer`: the locked one is wanted, and there is a newer one, out of range.
 * - `not-locked`: nothing is locked; `wanted` runs now.
 * - `not-pinned`: an image with a tag that is not locked, so that other bytes can run tomorrow.
 * - `unknown`: see `problem`.
 */
export type UpdateState = 'current' | 'behind' | 'newer' | 'not-locked' | 'not-pinned' | 'unknown';

/** What is wrong with the locked release. */
export interface UpdateNotice {
  type: 'yanked' | 'deprecated' | 'taken-down';
  reason: string;
  /** What to use instead, as `GROUP/KIND[@RANGE]`. */
  replacement?: string;
}

/** What `krmhub outdated` found about one functionConfig, step, or lock entry; an item of its JSON. */
export interface OutdatedEntry extends UsePlace {
  apiVersion?: string;
  kind?: string;
  /** The catalog that it is from, as the package or the option names it. */
  catalog?: string;
  /** Page of the function on its registry. */
  page?: string;
  /** The image, if the package names it itself: as it is run, with its tag, digest, or constraint. */
  image?: string;
  /** SemVer range, or the constraint of a Kptfile on tags, that `wanted` satisfies. */
  range?: string;
  state: UpdateState;
  locked?: KnownVersion;
  wanted?: KnownVersion;
  newest?: KnownVersion;
  /** What `wanted` changes, or else `newest`, by SemVer: `digest` if only the digest differs. */
  update?: 'major' | 'minor' | 'patch' | 'digest' | 'other';
  /** What the upgrade to `wanted`, or else to `newest`, changes. Absent if the definitions were not compared. */
  changes?: ChangeKind[];
  notices: UpdateNotice[];
  /** Releases above `wanted` that are too new for `minAge`, newest first, and when they no longer are. */
  tooNew?: YoungRelease[];
  /** Why nothing, or not everything, is known. */
  problem?: string;
}

/** A catalog or the repository of an image that could not be asked. */
export interface OutdatedFailure {
  /** As the package or the option names the catalog; the repository of an image. */
  source: string;
  /** An error code, as in `{"error": …}`. */
  code: string;
  message: string;
  hint?: string;
}

/** The JSON of `krmhub outdated`. */
export interface OutdatedReport {
  /** Relative to the working directory, if it is below it. */
  path: string;
  entries: OutdatedEntry[];
  /** Programs and scripts of the packages themselves, which have no releases. */
  programs: number;
  /** What could not be asked. What the entries need of it is unknown. */
  failures: OutdatedFailure[];
  /** Problems in the files. */
  problems: Diagnostic[];
}
