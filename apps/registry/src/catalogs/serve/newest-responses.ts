/**
 * Serves catalogs and single entries, from memory where possible.
 *
 * Each response with the newest snapshot of a catalog, and with one of its entries, is decided once for a snapshot.
 * Both ways to read a catalog take it from here: the bare server in front of the framework (stored-responses.ts) sends
 * what is in memory, and the routes find the rest.
 *
 * The ETag is the digest of the bytes, with a suffix for each content coding (segments/catalog-documents.ts).
 *
 * @module
 */

import { fillPath } from '@krmhub/api/paths';
import type { CatalogSyntax, RenderedEntry, SnapshotRecord } from '@krmhub/catalog';
import type { CatalogKind, FunctionName } from '@krmhub/schema';
import { BytesCache } from '../../http/bytes-cache.js';
import { NegotiatedDocument, type ServedDocument } from '../../http/negotiated-document.js';
import type { PublicAddress } from '../../http/public-address.js';
import { SERVER_LIMITS } from '../../limits.js';
import { type CatalogDocuments, cacheKey } from '../segments/catalog-documents.js';
import { newestCatalog, newestEntries } from './served-catalog.js';

/** Number of cached Accept-Encoding values; clients use a handful. */
const MAX_SPELLINGS = 100;

/** Bytes that the cached response of an entry needs besides the entry. */
const ENTRY_RESPONSE_BYTES = 1_024;

const ROUTE_OF = { yaml: 'catalogYaml', json: 'catalogJson' } as const;

/** A catalog in one syntax, under one kind. */
export interface CatalogResponse {
  snapshot: SnapshotRecord;
  syntax: CatalogSyntax;
  document: ServedDocument;
  byAccepted: Map<string, CodedResponse>;
}

/** The bytes are looked up separately: a client that already has the catalog does not need them. */
export interface CodedResponse {
  negotiated: NegotiatedDocument;
  /** `cacheKey` of the bytes in `CatalogDocuments`. */
  nameInMemory: string;
}

/** One entry as its own catalog, in YAML. */
export interface EntryResponse {
  snapshot: SnapshotRecord;
  negotiated: NegotiatedDocument;
  bytes: Buffer;
  byteLength: number;
}

interface Deps {
  config: PublicAddress;
  documents: CatalogDocuments;
}

export class NewestResponses {
  readonly #deps: Deps;
  /** By address. Only catalogs with a snapshot are added, so it stays small. */
  readonly #catalogs = new Map<string, CatalogResponse>();
  /** By address. Hashing a large entry for each response would delay other requests. */
  readonly #entries = new BytesCache<EntryResponse>(SERVER_LIMITS.maxEntryCacheBytes);

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Returns the last response at this path; its snapshot may be outdated. Routes count what has parameters. */
  lastCatalog(path: string): CatalogResponse | undefined {
    return path.includes('?') ? undefined : this.#catalogs.get(path);
  }

  /** Returns the response with a snapshot, which is the newest. */
  catalog(snapshot: SnapshotRecord, syntax: CatalogSyntax, kind: CatalogKind): CatalogResponse {
    const address = withKind(fillPath(ROUTE_OF[syntax], { name: snapshot.catalog }), kind);
    const last = this.#catalogs.get(address);
    if (last !== undefined && isSame(last.snapshot, snapshot)) {
      // Read again after what was in memory was forgotten.
      last.snapshot = snapshot;
      return last;
    }
    const { config, documents } = this.#deps;
    const document = newestCatalog(config, snapshot, { syntax, kind, documents });
    const fresh = { snapshot, syntax, document, byAccepted: new Map() };
    this.#catalogs.set(address, fresh);
    return fresh;
  }

  /** Returns the last response at this path; its snapshot may be outdated. Routes count what has parameters. */
  lastEntry(path: string): EntryResponse | undefined {
    return path.includes('?') ? undefined : this.#entries.get(path);
  }

  /** Returns the response with an entry of a snapshot, which is the newest. The name is as the catalog spells it. */
  async entry(
    snapshot: SnapshotRecord,
    { group, kind: functionKind }: FunctionName,
    kind: CatalogKind,
    read: () => Promise<RenderedEntry | undefined>,
  ): Promise<EntryResponse | undefined> {
    const path = fillPath('catalogEntry', { name: snapshot.catalog, group, kind: functionKind });
    const address = withKind(path, kind);
    const last = this.#entries.get(address);
    if (last !== undefined && isSame(last.snapshot, snapshot)) {
      // Read again after what was in memory was forgotten.
      last.snapshot = snapshot;
      return last;
    }
    const entry = await read();
    if (entry === undefined) return undefined;
    const { document, bytes } = newestEntries(this.#deps.config, snapshot, { kind, entries: [entry] });
    const negotiated = new NegotiatedDocument(document, undefined);
    const fresh = { snapshot, negotiated, bytes, byteLength: bytes.byteLength + ENTRY_RESPONSE_BYTES };
    this.#entries.set(address, fresh);
    return fresh;
  }
}

/** Returns the response in the coding that a client prefers. */
export function codedResponse(
  { document, byAccepted }: CatalogResponse,
  accepted = 'identity',
): CodedResponse {
  const known = byAccepted.get(accepted);
  if (known !== undefined) return known;
  const negotiated = new NegotiatedDocument(document, accepted);
  const fresh = { negotiated, nameInMemory: cacheKey(document.digest, negotiated.coding) };
  if (byAccepted.size < MAX_SPELLINGS) byAccepted.set(accepted, fresh);
  return fresh;
}

function withKind(path: string, kind: CatalogKind): string {
  return kind === 'Catalog' ? path : `${path}?kind=${kind}`;
}

/** Reports whether both are the same snapshot, in the same codings: a process can read a row again. */
function isSame(one: SnapshotRecord, other: SnapshotRecord): boolean {
  if (one === other) return true;
  const digests = one.digests['catalog.yaml'] === other.digests['catalog.yaml'];
  // A build adds the segments that a snapshot of an older version lacks.
  const hasSegments = (one.documents === undefined) === (other.documents === undefined);
  return one.serial === other.serial && digests && hasSegments;
}
