import type { Digest } from '../digests/digest.js';

/** The files of a snapshot with their own digest. */
export const SNAPSHOT_RENDITIONS = [
  'catalog.yaml',
  'catalog.json',
  'krmfunctioncatalog.yaml',
  'krmfunctioncatalog.json',
] as const;
export type SnapshotRendition = (typeof SNAPSHOT_RENDITIONS)[number];

/** The origin of one API version of an entry. */
export interface EntryVersion {
  /** API version of the functionConfig. */
  name: string;
  /** Name of the source in the recipe. */
  source: string;
  /** Absent for an upstream entry, because upstream catalogs do not contain releases. */
  release?: string;
  /** Digest of the exact definition bytes of the release. For an upstream entry: of the entry in normal form. */
  definition: Digest;
  /** The signer, if the policy of the recipe trusts it, in words. */
  signedBy?: string;
  /** Its references were rewritten to a mirror. */
  rewritten?: true;
}

export interface SnapshotEntry {
  group: string;
  kind: string;
  versions: EntryVersion[];
}

/** `snapshot.json`: the entries of a snapshot and its predecessor. Contains no time. */
export interface Snapshot {
  apiVersion: 'krmhub.dev/v1alpha1';
  kind: 'Snapshot';
  catalog: string;
  /** The number of the snapshot in its catalog, from 1. */
  serial: number;
  /** Digest of the catalog.yaml of the previous snapshot; null for the first. */
  previous: Digest | null;
  digests: Record<SnapshotRendition, Digest>;
  entries: SnapshotEntry[];
}

/** A shadowed API version: an earlier source provides it. */
export interface Shadowed {
  group: string;
  kind: string;
  version: string;
  source: string;
  release?: string;
  by: { source: string; release?: string };
}

/** The reasons to reject an API version of a source. */
export const REFUSAL_CODES = [
  /** The group belongs to another source. */
  'claim',
  /** Its kind differs only in case from the kind of an earlier source. */
  'kind-case',
  /** It has not reached the minimum age. */
  'minimum-age',
  'signature',
  'digest',
  'network',
  'storage',
  'license',
  'denied',
  /** A rewritten reference is not valid. */
  'rewrite',
  /** Not everybody who may read the catalog may read the function. */
  'visibility',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** A rejected API version of a source. */
export interface Refused {
  group: string;
  kind: string;
  version: string;
  source: string;
  release?: string;
  /** All reasons. */
  reasons: { code: RefusalCode; message: string }[];
}

/** A completed entry of an upstream catalog. */
export interface CompletedEntry {
  /** Its index in the catalog, from 0. */
  entry: number;
  group: string;
  kind: string;
  /** The unique names of the completed and omitted fields. */
  fields: string[];
}

/** What an administrator should look at in an upstream source, although nothing is omitted. */
export const SOURCE_WARNING_CODES = [
  /** One of its groups looks like a group of the registry, and could be taken for it. */
  'look-alike-group',
] as const;

export interface SourceWarning {
  code: (typeof SOURCE_WARNING_CODES)[number];
  group: string;
  message: string;
  /** The group of the registry that it names. Absent in warnings of earlier versions. */
  like?: string;
}

/** The state of an upstream source when the snapshot was built. */
export interface ReportedSource {
  source: string;
  url: string;
  /**
   * `current`: the last sync succeeded. `stale`: the last sync failed, and an older copy is used. `missing`: there is
   * no copy.
   */
  state: 'current' | 'stale' | 'missing';
  /** Digest of the used copy. */
  digest?: Digest;
  /** Serial of a copy that is a signed snapshot. */
  serial?: number;
  /** Why the last sync failed. */
  reason?: string;
  /** What the operator of the registry should change. Only in the report of the current state. */
  warning?: string;
  /** The first invalid entries, and the number of all. */
  invalid: { entry: number; group?: string; kind?: string; message: string }[];
  invalidEntries: number;
  /** The first completed entries, and the number of all. Absent if there are none. */
  completed?: CompletedEntry[];
  completedEntries?: number;
  /** The first warnings. Absent if there are none. */
  warnings?: SourceWarning[];
}

/** `report.json`: the omitted entries of a snapshot, with reasons. */
export interface SnapshotReport {
  apiVersion: 'krmhub.dev/v1alpha1';
  kind: 'SnapshotReport';
  catalog: string;
  serial: number;
  /** The upstream sources, in the order of the recipe. */
  sources?: ReportedSource[];
  shadowed: Shadowed[];
  refused?: Refused[];
  /** The yanked releases that a source matches. */
  yanked: { group: string; kind: string; release: string; source: string }[];
}
