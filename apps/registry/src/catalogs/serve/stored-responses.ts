import type { RenderedEntry, SnapshotRecord, SnapshotStore } from '@krmhub/catalog';
import type { TrustedProxySettings } from '../../http/client-address.js';
import type { PublicAddress } from '../../http/public-address.js';
import type { Log } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import type { CatalogDocuments } from '../segments/catalog-documents.js';
import type { NewestSnapshots } from './newest-snapshots.js';
/**
 * Serving catalogs from memory, on node:http in front of the framework, whose routes serve everything else. Both take
 * the response from served-catalog.ts and http/negotiated-document.ts.
 *
 * The ETag is the digest of the snapshot, with a suffix for each content coding (segments/catalog-documents.ts).
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ROUTES } from '@krmhub/api/routes';
import { BytesCache } from '../../http/bytes-cache.js';
import { clientAddress, readTrustedProxies } from '../../http/client-address.js';
import {
  NegotiatedDocument,
  type ResponseHead,
  type ServedDocument,
} from '../../http/negotiated-document.js';
import { commonHeaders, DENY_ALL_POLICY, READ_HEADERS, requestIdOf } from '../../http/response-headers.js';
import { SERVER_LIMITS } from '../../limits.js';
import { cacheKey } from '../segments/catalog-documents.js';
import { newestCatalog, newestEntries } from './served-catalog.js';

const CATALOG = /^\/catalogs\/([a-z0-9-]+)\/catalog\.(yaml|json)$/;
const ENTRY = /^\/catalogs\/([a-z0-9-]+)\/functions\/([a-z0-9.-]+)\/([A-Za-z0-9]+)\.yaml$/;

/** Number of cached Accept-Encoding values; clients use a handful. */
const MAX_SPELLINGS = 100;

/** Bytes that the cached response of an entry needs besides the entry. */
const ENTRY_RESPONSE_BYTES = 1_024;

const NO_BYTES = new Uint8Array();

interface CountedRoute {
  route: string;
  count: ReturnType<Metrics['storedResponses']>;
}

interface PreparedCatalog extends CountedRoute {
  snapshot: SnapshotRecord;
  document: ServedDocument;
  byAccepted: Map<string, PreparedRendition>;
}

/** The bytes are looked up separately: a client that already has the catalog does not need them. */
interface PreparedRendition {
  negotiated: NegotiatedDocument;
  /** `cacheKey` of the bytes in `CatalogDocuments`. */
  nameInMemory: string;
}

interface PreparedEntry {
  snapshot: SnapshotRecord;
  negotiated: NegotiatedDocument;
  bytes: Buffer;
  byteLength: number;
}

interface Deps {
  store: SnapshotStore;
  documents: CatalogDocuments;
  newestSnapshots: NewestSnapshots;
  metrics: Pick<Metrics, 'storedResponses'>;
  log: Log;
  config: PublicAddress & TrustedProxySettings;
}

type Responder = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Responds to reads of newest catalogs whose bytes are cached, and of single entries, without the framework, which
 * would cost more than the rest of the response. The routes handle all other requests. `served-catalog.ts` and
 * `NegotiatedDocument` decide the response for both.
 */
export function storedResponses(deps: Deps, routes: RequestListener): RequestListener {
  const answerCatalog = catalogResponder(deps);
  const answerEntry = entryResponder(deps, routes);
  return (request, response) => {
    const { method, url } = request;
    const reads = (method === 'GET' || method === 'HEAD') && url?.startsWith('/catalogs/');
    if (reads && (answerCatalog(request, response) || answerEntry(request, response))) return;
    routes(request, response);
  };
}

function catalogResponder({
  documents,
  newestSnapshots: newest,
  metrics,
  log,
  config,
}: Omit<Deps, 'store'>): Responder {
  const write = responseWriter(config, log);
  /** By path. Only catalogs with a snapshot are added, so it stays small. */
  const prepared = new Map<string, PreparedCatalog>();

  const preparedFor = (url: string): PreparedCatalog | undefined => {
    const known = prepared.get(url);
    if (known !== undefined && known.snapshot === newest.known(known.snapshot.catalog)) return known;
    const match = CATALOG.exec(url);
    const snapshot = match === null ? undefined : newest.known(match[1]!);
    if (match === null || snapshot === undefined) return undefined;
    const syntax = match[2] === 'yaml' ? 'yaml' : 'json';
    const route = ROUTES[syntax === 'yaml' ? 'catalogYaml' : 'catalogJson'].path;
    const fresh: PreparedCatalog = {
      snapshot,
      document: newestCatalog(config, snapshot, { syntax, kind: 'Catalog', documents }),
      route,
      count: metrics.storedResponses(route),
      byAccepted: new Map(),
    };
    prepared.set(url, fresh);
    return fresh;
  };

  const prepare = ({ document, byAccepted }: PreparedCatalog, accepted: string): PreparedRendition => {
    const negotiated = new NegotiatedDocument(document, accepted);
    const rendition = { negotiated, nameInMemory: cacheKey(document.digest, negotiated.coding) };
    if (byAccepted.size < MAX_SPELLINGS) byAccepted.set(accepted, rendition);
    return rendition;
  };

  return (request, response) => {
    const known = preparedFor(request.url ?? '');
    if (known === undefined) return false;
    const accepted = (request.headers['accept-encoding'] as string | undefined) ?? 'identity';
    const { negotiated, nameInMemory } = known.byAccepted.get(accepted) ?? prepare(known, accepted);
    const notModified = negotiated.notModified(request.headers['if-none-match']);
    const bytes = notModified === undefined ? documents.inMemory(nameInMemory) : NO_BYTES;
    if (bytes === undefined) return false;
    const head = notModified ?? negotiated.ok(negotiated.coding, bytes.byteLength);
    write(request, response, known, head, bytes);
    return true;
  };
}

/** Responds with one entry as its own catalog, if the path has the stored spelling of the kind. */
function entryResponder(
  { store, newestSnapshots: newest, metrics, log, config }: Omit<Deps, 'documents'>,
  routes: RequestListener,
): Responder {
  const write = responseWriter(config, log);
  const route = ROUTES.catalogEntry.path;
  const counted = { route, count: metrics.storedResponses(route) };
  /** By path. */
  const prepared = new BytesCache<PreparedEntry>(SERVER_LIMITS.maxEntryCacheBytes);

  const prepare = (url: string, snapshot: SnapshotRecord, entry: RenderedEntry): PreparedEntry => {
    const { document, bytes } = newestEntries(config, snapshot, { kind: 'Catalog', entries: [entry] });
    const negotiated = new NegotiatedDocument(document, undefined);
    const fresh = { snapshot, negotiated, bytes, byteLength: bytes.byteLength + ENTRY_RESPONSE_BYTES };
    prepared.set(url, fresh);
    return fresh;
  };

  const answerWith = (
    request: IncomingMessage,
    response: ServerResponse,
    { negotiated, bytes }: PreparedEntry,
  ): void => {
    const head =
      negotiated.notModified(request.headers['if-none-match']) ?? negotiated.ok('identity', bytes.byteLength);
    write(request, response, counted, head, bytes);
  };

  return (request, response) => {
    const { url = '' } = request;
    const known = prepared.get(url);
    if (known !== undefined && known.snapshot === newest.known(known.snapshot.catalog)) {
      answerWith(request, response, known);
      return true;
    }
    const [, name, group, kind] = ENTRY.exec(url) ?? [];
    const snapshot = name === undefined ? undefined : newest.known(name);
    if (snapshot === undefined || group === undefined || kind === undefined) return false;
    // The routes report a missing entry and a failing store.
    const found = store.latestEntry(snapshot.catalog, group, kind).catch(() => undefined);
    found
      .then((entry) => {
        if (entry === undefined) routes(request, response);
        else answerWith(request, response, prepare(url, snapshot, entry));
      })
      .catch((error) => {
        log.error({ err: error }, 'cannot write a response');
        response.destroy();
      });
    return true;
  };
}

type ResponseWriter = (
  request: IncomingMessage,
  response: ServerResponse,
  counted: CountedRoute,
  head: ResponseHead,
  bytes: Uint8Array,
) => void;

function responseWriter(config: Deps['config'], log: Log): ResponseWriter {
  const { proxies } = readTrustedProxies(config.trustedProxies ?? []);
  const common = {
    ...commonHeaders(config.publicUrl),
    ...READ_HEADERS,
    'Content-Security-Policy': DENY_ALL_POLICY,
  };
  const flatten = (head: ResponseHead): string[] =>
    Object.entries({ ...common, ...head.headers, 'X-Request-Id': '' }).flat();
  return (request, response, { route, count }, head, bytes) => {
    const { method = '', url } = request;
    const { status } = head;
    const requestId = requestIdOf(request.headers['x-request-id'] as string | undefined);
    head.fields ??= flatten(head);
    const { fields } = head;
    // node:http copies header fields immediately, so they can be reused for the next response.
    fields[fields.length - 1] = requestId;
    response.writeHead(status, fields);
    response.end(status === 304 || method === 'HEAD' ? undefined : bytes);
    count(method, status);
    // Parsing addresses costs as much as a response.
    if (!log.isLevelEnabled('debug')) return;
    const client = clientAddress(request, proxies);
    log.debug({ client, requestId, method, route, path: url, status }, 'request');
  };
}
