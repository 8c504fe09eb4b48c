import {
  type CatalogEntryRow,
  type CatalogHeader,
  type RenderedEntry,
  renderProfile,
  renderReport,
  renderSnapshot,
  type SnapshotRecord,
} from '@krmhub/catalog';
import type { Digest, FunctionDefinition, Profile, ReportedSource } from '@krmhub/schema';
import type { Derivation } from '../../workers/derive/derivation.js';

/**
 * Documents about snapshots. Large catalogs have 20,000 entries and more, so they are not rendered for each request.
 */

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The provenance of every entry of a snapshot. */
export const SNAPSHOT_DOCUMENT: Derivation<SnapshotRecord> = {
  name: 'snapshot',
  async derive({ store }, snapshot) {
    const rows = await store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
    return encode(renderSnapshot(snapshot, rows));
  },
};

/** What a snapshot leaves out and why. */
export const SNAPSHOT_REPORT: Derivation<SnapshotRecord> = {
  name: 'snapshot-report',
  async derive({ store }, snapshot) {
    const rows = await store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
    return encode(renderReport(snapshot, rows));
  },
};

/** What the newest state of a catalog leaves out and why. */
export const CATALOG_REPORT: Derivation<{
  state: { catalog: string; serial: number; sources?: ReportedSource[] };
  /** The last event that the catalog includes: its rows change only with it. */
  throughEvent: number;
  /** What was left out that not everybody may read who reads the catalog. */
  excluded: readonly CatalogEntryRow[];
}> = {
  name: 'catalog-report',
  async derive({ store }, { state, excluded }) {
    return encode(renderReport(state, [...(await store.latestEntryRows(state.catalog)), ...excluded]));
  },
};

/** Entries of a snapshot as their own catalog, in the dialect of another tool. */
export const ENTRY_PROFILE: Derivation<{
  header: CatalogHeader;
  profile: Profile;
  entries: readonly Digest[];
}> = {
  name: 'entry-profile',
  async derive({ store }, { header, profile, entries }) {
    const stored = await store.entries(entries);
    const definitions = [...stored.values()].map(
      ({ json }: RenderedEntry) => JSON.parse(json) as FunctionDefinition,
    );
    return encode(renderProfile(profile, header, definitions).text);
  },
};
