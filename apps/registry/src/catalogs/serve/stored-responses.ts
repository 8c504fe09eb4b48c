/**
 * Serving catalogs from memory, on node:http in front of the framework, whose routes serve everything else. Both take
 * their responses from newest-responses.ts.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ROUTES } from '@krmhub/api/routes';
import type { EntryReader } from '@krmhub/catalog';
import { clientAddress, readTrustedProxies, type TrustedProxySettings } from '../../http/client-address.js';
import type { ResponseHead } from '../../http/negotiated-document.js';
import type { PublicAddress } from '../../http/public-address.js';
import {
  chooseRequestId,
  commonHeaders,
  DENY_ALL_POLICY,
  READ_HEADERS,
} from '../../http/response-headers.js';
import type { Log } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import type { CatalogDocuments } from '../segments/catalog-documents.js';
import {
  type CatalogResponse,
  codedResponse,
  type EntryResponse,
  type NewestResponses,
} from './newest-responses.js';
import type { NewestSnapshots } from './newest-snapshots.js';

const CATALOG = /^\/catalogs\/([a-z0-9-]+)\/catalog\.(yaml|json)$/;
const ENTRY = /^\/catalogs\/([a-z0-9-]+)\/functions\/([a-z0-9.-]+)\/([A-Za-z0-9]+)\.yaml$/;

const NO_BYTES = new Uint8Array();

interface CountedRoute {
  route: string;
  count: ReturnType<Metrics['storedResponses']>;
}

interface Deps {
  store: EntryReader;
  documents: CatalogDocuments;
  newestSnapshots: NewestSnapshots;
  newestResponses: NewestResponses;
  metrics: Metrics;
  log: Log;
  config: PublicAddress & TrustedProxySettings;
}

type Responder = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Responds to reads of newest catalogs whose bytes are cached, and of single entries, without the framework, which
 * would cost more than the rest of the response. The routes handle all other requests.
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
  newestResponses,
  metrics,
  log,
  config,
}: Omit<Deps, 'store'>): Responder {
  const write = responseWriter(config, log);
  const counted = (route: string): CountedRoute => ({ route, count: metrics.storedResponses(route) });
  const routes = { yaml: counted(ROUTES.catalogYaml.path), json: counted(ROUTES.catalogJson.path) };

  const find = (url: string): CatalogResponse | undefined => {
    const last = newestResponses.lastCatalog(url);
    if (last !== undefined && last.snapshot === newest.known(last.snapshot.catalog)) return last;
    const [, name, syntax] = CATALOG.exec(url) ?? [];
    const snapshot = name === undefined ? undefined : newest.known(name);
    if (snapshot === undefined) return undefined;
    return newestResponses.catalog(snapshot, syntax === 'yaml' ? 'yaml' : 'json', 'Catalog');
  };

  return (request, response) => {
    const found = find(request.url ?? '');
    if (found === undefined) return false;
    const { negotiated, nameInMemory } = codedResponse(
      found,
      request.headers['accept-encoding'] as string | undefined,
    );
    const notModified = negotiated.notModified(request.headers['if-none-match']);
    const bytes = notModified === undefined ? documents.inMemory(nameInMemory) : NO_BYTES;
    if (bytes === undefined) return false;
    const head = notModified ?? negotiated.ok(negotiated.coding, bytes.byteLength);
    write(request, response, routes[found.syntax], head, bytes);
    return true;
  };
}

/** Responds with one entry as its own catalog, if the path has the stored spelling of the kind. */
function entryResponder(
  { store, newestSnapshots: newest, newestResponses, metrics, log, config }: Omit<Deps, 'documents'>,
  routes: RequestListener,
): Responder {
  const write = responseWriter(config, log);
  const route = ROUTES.catalogEntry.path;
  const counted = { route, count: metrics.storedResponses(route) };

  const answerWith = (
    request: IncomingMessage,
    response: ServerResponse,
    { negotiated, bytes }: EntryResponse,
  ): void => {
    const head =
      negotiated.notModified(request.headers['if-none-match']) ?? negotiated.ok('identity', bytes.byteLength);
    write(request, response, counted, head, bytes);
  };

  return (request, response) => {
    const { url = '' } = request;
    const last = newestResponses.lastEntry(url);
    if (last !== undefined && last.snapshot === newest.known(last.snapshot.catalog)) {
      answerWith(request, response, last);
      return true;
    }
    const [, name, group, kind] = ENTRY.exec(url) ?? [];
    const snapshot = name === undefined ? undefined : newest.known(name);
    if (snapshot === undefined || group === undefined || kind === undefined) return false;
    const read = () => store.snapshotEntry(snapshot.catalog, snapshot.serial, { group, kind });
    // The routes report a missing entry and a failing store.
    const found = newestResponses.entry(snapshot, { group, kind }, 'Catalog', read).catch(() => undefined);
    found
      .then((entry) => {
        if (entry === undefined) routes(request, response);
        else answerWith(request, response, entry);
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
    const requestId = chooseRequestId(request.headers['x-request-id'] as string | undefined);
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
