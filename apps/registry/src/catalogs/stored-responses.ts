/**
 * Serving catalogs from memory, on node:http in front of the framework. The routes give the same responses, and all
 * others.
 *
 * The ETag is the digest of the snapshot, with a suffix for each content coding. Renditions of old snapshots are
 * evicted; a request regenerates them from the stored entries, and the digest is checked
 * (renditions/snapshot-renditions.ts).
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ROUTES } from '@krmhub/api/routes';
import { type RenderedEntry, renderCatalog, type SnapshotRecord } from '@krmhub/catalog';
import { type SnapshotForm, sha256 } from '@krmhub/schema';
import { BytesCache } from '../http/bytes-cache.js';
import { CACHE_REVALIDATE, codedTags, entityTag, matchingTag } from '../http/bytes-response.js';
import { clientAddress, readTrustedProxies } from '../http/client-address.js';
import { type Coding, negotiateCoding } from '../http/content-coding.js';
import { commonHeaders, DENY_ALL_POLICY, READ_HEADERS, requestIdOf } from '../http/response-headers.js';
import { SERVER_LIMITS } from '../limits.js';
import { MEDIA_TYPES, snapshotLink } from '../routes/snapshots.js';
import type { AccessSettings, RegistryParts } from '../server/environment.js';
import type { Metrics } from '../server/metrics.js';
import { cacheKey, catalogHeader, selectRendition } from './renditions/snapshot-renditions.js';

const CATALOG = /^\/catalogs\/([a-z0-9-]+)\/catalog\.(yaml|json)$/;
const ENTRY = /^\/catalogs\/([a-z0-9-]+)\/functions\/([a-z0-9.-]+)\/([A-Za-z0-9]+)\.yaml$/;

/** How many spellings of Accept-Encoding are remembered; clients have a handful. */
const MAX_SPELLINGS = 100;

/** Bytes beside an entry's own that its prepared answer takes. */
const ENTRY_RESPONSE_BYTES = 1_024;

/** Header fields as node:http takes them, names and values in turn; the last is the request's id. */
type HeaderFields = string[];

/** An answer of which nothing but the request's id is made anew. */
interface PreparedResponse {
  /** As `codedTags` gives them. */
  tags: string[];
  found: HeaderFields;
  /** The last two are the tag and the request's id. */
  notModified: HeaderFields;
}

/** Of the form of a snapshot in a coding. Whoever has it needs no bytes, so they may not be in memory yet. */
interface RenditionResponse extends Omit<PreparedResponse, 'found'> {
  /** Of the bytes, as `SnapshotRenditions` has them. */
  nameInMemory: string;
  coding: Coding;
  found?: HeaderFields;
}

interface PreparedRendition {
  snapshot: SnapshotRecord;
  form: SnapshotForm;
  syntax: 'yaml' | 'json';
  route: string;
  count: ReturnType<Metrics['storedResponses']>;
  byAccepted: Map<string, RenditionResponse>;
}

interface EntryResponse extends PreparedResponse {
  snapshot: SnapshotRecord;
  bytes: Buffer;
  byteLength: number;
}

type Responder = (request: IncomingMessage, response: ServerResponse) => boolean;
type Parts = Pick<RegistryParts, 'store' | 'renditions' | 'newestSnapshots' | 'metrics' | 'log' | 'config'>;

/**
 * Answers reads of newest catalogs, whole where their bytes are in memory, and of single entries on the bare
 * server: a framework would cost more than all the rest. What it does not answer goes to the routes, which give
 * the same answers.
 */
export function storedResponses(parts: Parts, routes: RequestListener): RequestListener {
  const answerCatalog = catalogResponder(parts);
  const answerEntry = entryResponder(parts, routes);
  return (request, response) => {
    const { method, url } = request;
    const reads = (method === 'GET' || method === 'HEAD') && url?.startsWith('/catalogs/');
    if (reads && (answerCatalog(request, response) || answerEntry(request, response))) return;
    routes(request, response);
  };
}

function catalogResponder({
  renditions: forms,
  newestSnapshots: newest,
  metrics,
  log,
  config,
}: Omit<Parts, 'store'>): Responder {
  const logged = responseLog(log, config);
  /** By path. There are as many as catalogs: others have no snapshot. */
  const prepared = new Map<string, PreparedRendition>();

  const preparedFor = (url: string): PreparedRendition | undefined => {
    const known = prepared.get(url);
    if (known !== undefined && known.snapshot === newest.known(known.snapshot.catalog)) return known;
    const match = CATALOG.exec(url);
    const snapshot = match === null ? undefined : newest.known(match[1]!);
    if (match === null || snapshot === undefined) return undefined;
    const syntax = match[2] === 'yaml' ? 'yaml' : 'json';
    const route = ROUTES[syntax === 'yaml' ? 'catalogYaml' : 'catalogJson'].path;
    const fresh: PreparedRendition = {
      snapshot,
      form: selectRendition('Catalog', syntax),
      syntax,
      route,
      count: metrics.storedResponses(route),
      byAccepted: new Map(),
    };
    prepared.set(url, fresh);
    return fresh;
  };

  const headersOf = ({ snapshot, syntax }: PreparedRendition) => ({
    ...catalogHeaders(config, snapshot, syntax),
    Vary: 'Accept-Encoding',
  });

  const prepare = (prepared: PreparedRendition, accepted: string): RenditionResponse => {
    const { snapshot, form, byAccepted } = prepared;
    const coding = negotiateCoding(accepted);
    const tags = codedTags(snapshot.digests[form], coding);
    const answer = {
      nameInMemory: cacheKey(snapshot.digests[form], coding),
      coding,
      tags,
      notModified: notModifiedFields(headersOf(prepared), tags),
    };
    if (byAccepted.size < MAX_SPELLINGS) byAccepted.set(accepted, answer);
    return answer;
  };

  return (request, response) => {
    const { method = '', url = '' } = request;
    const known = preparedFor(url);
    if (known === undefined) return false;
    const { route, count, byAccepted } = known;
    const accepted = (request.headers['accept-encoding'] as string | undefined) ?? 'identity';
    const answer = byAccepted.get(accepted) ?? prepare(known, accepted);
    const requestId = requestIdOf(request.headers['x-request-id'] as string | undefined);
    const matched = matchingTag(request.headers['if-none-match'], answer.tags);
    if (matched !== undefined) sendNotModified(response, answer.notModified, matched, requestId);
    else {
      const bytes = forms.inMemory(answer.nameInMemory);
      if (bytes === undefined) return false;
      answer.found ??= okFields(headersOf(known), answer.tags, known.syntax, bytes, answer.coding);
      sendOk(request, response, answer.found, bytes, requestId);
    }
    const status = response.statusCode;
    count(method, status);
    logged(request, () => ({ requestId, method, route, path: url, status }));
    return true;
  };
}

/**
 * Answers with one entry as a catalog of its own, where path and kind are spelt as they are stored. The document
 * is the entry behind the head that all catalogs of the snapshot have.
 */
function entryResponder(
  { store, newestSnapshots: newest, metrics, log, config }: Omit<Parts, 'renditions'>,
  routes: RequestListener,
): Responder {
  const logged = responseLog(log, config);
  const route = ROUTES.catalogEntry.path;
  const count = metrics.storedResponses(route);
  /** By path. */
  const prepared = new BytesCache<EntryResponse>(SERVER_LIMITS.maxEntryCacheBytes);
  const heads = new WeakMap<SnapshotRecord, { text: string; headers: Record<string, string> }>();
  const headOf = (snapshot: SnapshotRecord) => {
    const nothing = { digest: snapshot.digests['catalog.yaml'], yaml: '', json: '' };
    const text = [...renderCatalog('catalog.yaml', catalogHeader(snapshot), [nothing])].join('');
    const head = { text, headers: catalogHeaders(config, snapshot, 'yaml') };
    heads.set(snapshot, head);
    return head;
  };

  const prepare = (url: string, snapshot: SnapshotRecord, entry: RenderedEntry): EntryResponse => {
    const { text, headers } = heads.get(snapshot) ?? headOf(snapshot);
    const bytes = Buffer.from(text + entry.yaml);
    const tag = entityTag(sha256(bytes), 'identity');
    const byteLength = bytes.byteLength + ENTRY_RESPONSE_BYTES;
    const answer = {
      snapshot,
      bytes,
      byteLength,
      tags: [tag],
      found: okFields(headers, [tag], 'yaml', bytes, 'identity'),
      notModified: notModifiedFields(headers, [tag]),
    };
    prepared.set(url, answer);
    return answer;
  };

  const answerWith = (request: IncomingMessage, response: ServerResponse, answer: EntryResponse): void => {
    const requestId = requestIdOf(request.headers['x-request-id'] as string | undefined);
    const { tags, found, notModified, bytes } = answer;
    const matched = matchingTag(request.headers['if-none-match'], tags);
    if (matched !== undefined) sendNotModified(response, notModified, matched, requestId);
    else sendOk(request, response, found, bytes, requestId);
    const { method = '', url } = request;
    const status = response.statusCode;
    count(method, status);
    logged(request, () => ({ requestId, method, route, path: url, status }));
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
    // The routes say what is wrong where there is no entry, and where the store fails.
    const found = store.latestEntry(snapshot.catalog, group, kind).catch(() => undefined);
    found
      .then((entry) => {
        if (entry === undefined) routes(request, response);
        else answerWith(request, response, prepare(url, snapshot, entry));
      })
      .catch((error) => {
        log.error({ err: error }, 'an answer could not be written');
        response.destroy();
      });
    return true;
  };
}

// node:http copies header fields at once, so that those of a prepared answer are free for the next one.

function sendOk(
  request: IncomingMessage,
  response: ServerResponse,
  fields: HeaderFields,
  bytes: Uint8Array,
  requestId: string,
): void {
  fields[fields.length - 1] = requestId;
  response.writeHead(200, fields);
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

function sendNotModified(
  response: ServerResponse,
  fields: HeaderFields,
  tag: string,
  requestId: string,
): void {
  fields[fields.length - 3] = tag;
  fields[fields.length - 1] = requestId;
  response.writeHead(304, fields);
  response.end();
}

function okFields(
  common: Record<string, string>,
  [tag = '']: readonly string[],
  syntax: 'yaml' | 'json',
  bytes: Uint8Array,
  coding: Coding,
): HeaderFields {
  const content = {
    'Content-Type': MEDIA_TYPES[syntax],
    ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
    'Content-Length': String(bytes.byteLength),
  };
  return Object.entries({ ...common, ...content, ETag: tag, 'X-Request-Id': '' }).flat();
}

function notModifiedFields(common: Record<string, string>, [tag = '']: readonly string[]): HeaderFields {
  return Object.entries({ ...common, ETag: tag, 'X-Request-Id': '' }).flat();
}

function catalogHeaders(
  config: AccessSettings,
  snapshot: SnapshotRecord,
  syntax: 'yaml' | 'json',
): Record<string, string> {
  return {
    ...commonHeaders(config.publicUrl),
    ...READ_HEADERS,
    'Content-Security-Policy': DENY_ALL_POLICY,
    'Cache-Control': CACHE_REVALIDATE,
    Link: snapshotLink(config, snapshot, syntax, 'Catalog'),
  };
}

/** Writes the line of a request where anybody wants it: looking at addresses costs as much as an answer. */
function responseLog(log: RegistryParts['log'], { trustedProxies = [] }: AccessSettings) {
  const { proxies } = readTrustedProxies(trustedProxies);
  return (request: IncomingMessage, line: () => object): void => {
    if (!log.isLevelEnabled('debug')) return;
    log.debug({ client: clientAddress(request, proxies), ...line() }, 'request');
  };
}
