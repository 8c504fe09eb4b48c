import { describeTombstone, type SnapshotRecord } from '@krmhub/catalog';
import { catalogFeedPath, catalogPath, compareSnapshotsPath } from '../addresses.js';
import { counted } from '../counted.js';
import { atomFeed, type FeedEntry, feedPath, permanentId } from '../feeds/atom.js';
import type { Site } from '../site.js';
import { changesText } from './cached-counts.js';
import type { SnapshotRow } from './snapshots-section.js';

/** Returns an Atom feed of snapshots of a catalog, the newest or those before a serial. */
export function snapshotFeed(
  site: Site,
  {
    id,
    name,
    appliedAt,
    before,
  }: { id: string; name: string; appliedAt: string; before: number | undefined },
  rows: readonly SnapshotRow[],
): string {
  const path = catalogFeedPath(name);
  // Serials have no gaps.
  const last = rows.at(-1)?.snapshot.serial ?? 1;
  return atomFeed({
    title: `Snapshots of the catalog ${name}`,
    self: site.whole(feedPath(path, before)),
    page: site.whole(catalogPath(name)),
    next: last > 1 ? site.whole(feedPath(path, last)) : undefined,
    id,
    updated: appliedAt,
    // A withdrawal is a new entry.
    entries: rows
      .map((row) => feedEntry(site, row))
      .sort((a, b) => (a.updated < b.updated ? 1 : a.updated > b.updated ? -1 : 0)),
  });
}

function feedEntry(site: Site, { snapshot, changes }: SnapshotRow): FeedEntry {
  const { catalog, serial, createdAt, functions, digests, withdrawn } = snapshot;
  const what =
    withdrawn === undefined
      ? changes && `${changesText(changes)}. `
      : `Withdrawn: ${describeTombstone(withdrawn)}. `;
  return {
    id: permanentId('snapshot', catalog, String(serial), digests['catalog.yaml']),
    title: `${catalog} ${serial}${withdrawn === undefined ? '' : ' withdrawn'}`,
    link: site.whole(snapshotLink(snapshot, changes !== undefined)),
    updated: withdrawn?.at ?? createdAt,
    author: 'krmhub',
    summary: `${what ?? ''}${counted(functions, 'function')}, ${digests['catalog.yaml']}.`,
  };
}

function snapshotLink({ catalog, serial }: SnapshotRecord, isCompared: boolean): string {
  return isCompared ? compareSnapshotsPath(catalog, { from: serial - 1, to: serial }) : catalogPath(catalog);
}
