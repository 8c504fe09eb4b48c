import type { CatalogHeader, SnapshotRecord } from '@krmhub/catalog';
import { type CatalogKind, SNAPSHOT_RENDITIONS, type SnapshotRendition } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

/** Returns what the head of every rendition of a snapshot contains. */
export function catalogHeader({
  catalog,
  labels,
}: Pick<SnapshotRecord, 'catalog' | 'labels'>): CatalogHeader {
  return { name: catalog, ...defined({ labels }) };
}

/** Returns the name of the rendition with this kind and syntax. */
export function selectRendition(kind: CatalogKind, syntax: 'yaml' | 'json'): SnapshotRendition {
  const rendition = SNAPSHOT_RENDITIONS.find((name) => name === `${kind.toLowerCase()}.${syntax}`);
  if (rendition === undefined) throw new RangeError(`${kind} has no rendition ${syntax}`);
  return rendition;
}
