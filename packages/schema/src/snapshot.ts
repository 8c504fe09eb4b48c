import type { Digest } from './digest.js';

/** The renderings of a snapshot that have a digest of their own. */
export const SNAPSHOT_FORMS = [
  'catalog.yaml',
  'catalog.json',
  'krmfunctioncatalog.yaml',
  'krmfunctioncatalog.json',
] as const;
export type SnapshotForm = (typeof SNAPSHOT_FORMS)[number];

/** Where one API version of an entry came from. */
export interface EntryVersion {
  /** API version of the functionConfig. */
  name: string;
  /** Name of the recipe's source. */
  source: string;
  release: string;
  /** Digest of the release's exact definition bytes. */
  definition: Digest;
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
  digests: Record<SnapshotForm, Digest>;
  entries: SnapshotEntry[];
}

/** An API version of a function that an earlier source had provided already. */
export interface Shadowed {
  group: string;
  kind: string;
  version: string;
  source: string;
  release: string;
  by: { source: string; release: string };
}

/** `report.json`: what a cut left out, and why. */
export interface SnapshotReport {
  apiVersion: 'krmhub.dev/v1alpha1';
  kind: 'SnapshotReport';
  catalog: string;
  serial: number;
  shadowed: Shadowed[];
  /** Releases that a source matches and that are yanked. */
  yanked: { group: string; kind: string; release: string; source: string }[];
}
