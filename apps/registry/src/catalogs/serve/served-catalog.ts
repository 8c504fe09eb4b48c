import { fillPath } from '@krmhub/api/paths';
import { type CatalogSyntax, type RenderedEntry, renderCatalog, type SnapshotRecord } from '@krmhub/catalog';
import { type CatalogKind, sha256 } from '@krmhub/schema';
import { CACHE_FOREVER, CACHE_REVALIDATE } from '../../http/bytes-response.js';
import type { ServedDocument } from '../../http/negotiated-document.js';
import type { PublicAddress } from '../../http/public-address.js';
import { publicAddress } from '../../http/public-address.js';
import { catalogHeader, selectRendition } from '../catalog-header.js';
import type { CatalogDocuments } from '../segments/catalog-documents.js';

export const CATALOG_MEDIA_TYPES = { yaml: 'application/yaml', json: 'application/json' } as const;

export interface RequestedCatalog {
  syntax: CatalogSyntax;
  kind: CatalogKind;
  documents: CatalogDocuments;
}

/** Describes the response with the newest snapshot of a catalog. The digest names the rendition to send. */
export function newestCatalog(
  config: PublicAddress,
  snapshot: SnapshotRecord,
  { syntax, kind, documents }: RequestedCatalog,
): ServedDocument {
  const rendition = selectRendition(kind, syntax);
  return {
    digest: snapshot.digests[rendition],
    mediaType: CATALOG_MEDIA_TYPES[syntax],
    cacheControl: CACHE_REVALIDATE,
    headers: { Link: snapshotLink(config, snapshot, syntax, kind) },
    coded: true,
    codings: documents.codings(snapshot, rendition),
  };
}

/** Describes the response with a snapshot at its own address, which never changes. */
export function snapshotCatalog(
  config: PublicAddress,
  snapshot: SnapshotRecord,
  requested: RequestedCatalog,
): ServedDocument {
  return {
    ...newestCatalog(config, snapshot, requested),
    cacheControl: CACHE_FOREVER,
    headers: { Link: newestLink(config, snapshot) },
  };
}

/** Describes the response with entries of the newest snapshot as their own catalog, in YAML. */
export function newestEntries(
  config: PublicAddress,
  snapshot: SnapshotRecord,
  { kind, entries }: { kind: CatalogKind; entries: Iterable<RenderedEntry> },
): { document: ServedDocument; bytes: Buffer } {
  const text = [...renderCatalog(selectRendition(kind, 'yaml'), catalogHeader(snapshot), entries)].join('');
  const bytes = Buffer.from(text);
  return {
    document: {
      digest: sha256(bytes),
      mediaType: CATALOG_MEDIA_TYPES.yaml,
      cacheControl: CACHE_REVALIDATE,
      headers: { Link: snapshotLink(config, snapshot, 'yaml', kind) },
    },
    bytes,
  };
}

/** Links the fixed snapshot as the memento of RFC 7089. */
function snapshotLink(
  config: PublicAddress,
  { catalog, serial }: SnapshotRecord,
  syntax: CatalogSyntax,
  kind: CatalogKind,
): string {
  const route = syntax === 'yaml' ? 'snapshotCatalogYaml' : 'snapshotCatalogJson';
  const path = publicAddress(config, fillPath(route, { name: catalog, snapshot: String(serial) }));
  const query = kind === 'Catalog' ? '' : `?kind=${kind}`;
  const history = publicAddress(config, fillPath('snapshots', { name: catalog }));
  return `<${path}${query}>; rel="memento", <${history}>; rel="version-history"`;
}

/** Links the newest snapshot and the version history (RFC 5829). */
export function newestLink(config: PublicAddress, { catalog }: SnapshotRecord): string {
  const history = publicAddress(config, fillPath('snapshots', { name: catalog }));
  const newest = publicAddress(config, fillPath('catalogYaml', { name: catalog }));
  return `<${newest}>; rel="latest-version", <${history}>; rel="version-history"`;
}
