import type { Digest } from '../digests/digest.js';

/** The renderings of a snapshot that have a digest of their own. */
export const SNAPSHOT_RENDITIONS = [
  'catalog.yaml',
  'catalog.json',
  'krmfunctioncatalog.yaml',
  'krmfunctioncatalog.json',
] as const;
export type SnapshotRendition = (typeof SNAPSHOT_RENDITIONS)[number];

/** Where one API version of an entry came from. */
export interface EntryVersion {
  /** API version of the functionConfig. */
  name: string;
  /** Name of the recipe's source. */
  source: string;
  /** Absent for an entry of another catalog, which does not say from which release it is. */
  release?: string;
  /** Digest of the release's exact definition bytes; of another catalog's entry, of the entry in normal form. */
  definition: Digest;
  /** Who signed it, of those whom the recipe's policy names, in words. */
  signedBy?: string;
  /** Its references were rewritten to a mirror. */
  rewritten?: true;
}

export interface SnapshotEntry {
  group: string;
  kind: string;
  versions: EntryVersion[];
}

/** `snapshot.json`: what a snapshot holds and what came before it. Holds no time. */
export interface Snapshot {
  apiVersion: 'krmhub.dev/v1alpha1';
  kind: 'Snapshot';
  catalog: string;
  /** Counts the snapshots of a catalog from 1. */
  serial: number;
  /** Digest of the previous snapshot's catalog.yaml; null for the first. */
  previous: Digest | null;
  digests: Record<SnapshotRendition, Digest>;
  entries: SnapshotEntry[];
}

/** An API version of a function that an earlier source had provided already. */
export interface Shadowed {
  group: string;
  kind: string;
  version: string;
  source: string;
  release?: string;
  by: { source: string; release?: string };
}

/** Why something that a source provides is not taken. */
export const REFUSAL_CODES = [
  /** The group belongs to another source. */
  'claim',
  /** Its kind differs by case only from that of an earlier source. */
  'kind-case',
  /** It has not been known for long enough. */
  'minimum-age',
  'signature',
  'digest',
  'network',
  'storage',
  'license',
  'denied',
  /** A reference is not one any more once it is rewritten. */
  'rewrite',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** An API version of a function that a source provides and that is not taken. */
export interface Refused {
  group: string;
  kind: string;
  version: string;
  source: string;
  release?: string;
  /** Everything that is against it. */
  reasons: { code: RefusalCode; message: string }[];
}

/** An entry of an upstream catalog that lacked something. */
export interface CompletedEntry {
  /** Its number in the catalog, from 0. */
  entry: number;
  group: string;
  kind: string;
  /** Names of the fields that were filled in or left out, each once. */
  fields: string[];
}

/** A source of an upstream catalog, as it was when a snapshot was cut. */
export interface ReportedSource {
  source: string;
  url: string;
  /** `current`: the last look succeeded; `stale`: it did not, and an older copy is used; `missing`: there is none. */
  state: 'current' | 'stale' | 'missing';
  /** Digest of the copy that is used. */
  digest?: Digest;
  /** Of a copy that is a signed snapshot. */
  serial?: number;
  /** Why the last look did not succeed. */
  reason?: string;
  /** Entries that cannot be used: the first ones, and how many there are. */
  invalid: { entry: number; group?: string; kind?: string; message: string }[];
  invalidEntries: number;
  /** Entries that the defaults of the recipe completed: the first ones, and how many there are; absent for none. */
  completed?: CompletedEntry[];
  completedEntries?: number;
}

/** `report.json`: what a cut left out, and why. */
export interface SnapshotReport {
  apiVersion: 'krmhub.dev/v1alpha1';
  kind: 'SnapshotReport';
  catalog: string;
  serial: number;
  /** Sources that are upstream catalogs, in the recipe's order. */
  sources?: ReportedSource[];
  shadowed: Shadowed[];
  refused?: Refused[];
  /** Releases that a source matches and that are yanked. */
  yanked: { group: string; kind: string; release: string; source: string }[];
}
