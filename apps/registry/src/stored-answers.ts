import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ROUTES } from '@krmhub/api/routes';
import { type RenderedEntry, renderCatalog, type SnapshotRecord } from '@krmhub/catalog';
import { type SnapshotForm, sha256 } from '@krmhub/schema';
import { alwaysSent, NOTHING_RUNS, requestIdOf, SENT_WITH_READS } from './answer-headers.js';
import { CACHE_ASKING, codedTags, entityTag, matchingTag } from './bytes-answer.js';
import { clientAddress, readTrustedProxies } from './client-address.js';
import { type Coding, negotiateCoding } from './content-coding.js';
import type { AccessSettings, RegistryParts } from './environment.js';
import { MEDIA_TYPES, ownLink } from './routes/snapshots.js';
import { catalogHeader, formOf } from './snapshot-forms.js';

const CATALOG = /^\/catalogs\/([a-z0-9-]+)\/catalog\.(yaml|json)$/;
const ENTRY = /^\/catalogs\/([a-z0-9-]+)\/functions\/([a-z0-9.-]+)\/([A-Za-z0-9]+)\.yaml$/;

/** How many spellings of Accept-Encoding are remembered; clients have a handful. */
const MAX_SPELLINGS = 100;

/** What answers for a snapshot in a syntax and coding have. */
interface Prepared {
  route: string;
  coding: Coding;
  /** As `codedTags` gives them. */
  tags: string[];
  /** Header fields as node:http takes them, names and values in turn; the last is the request's id. */
  found: string[];
  /** The last two are the tag and the request's id. */
  notModified: string[];
}

interface PreparedSnapshot {
  snapshot: SnapshotRecord;
  form: SnapshotForm;
  byAccepted: Map<string, Prepared>;
}

type Answerer = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Answers reads of newest catalogs, whole where their bytes are in memory, and of single entries on the bare
 * server: a framework would cost more than all the rest. What it does not answer goes to the routes, which give
 * the same answers.
 */
export function storedAnswers(
  parts: Pick<RegistryParts, 'store' | 'forms' | 'newest' | 'metrics' | 'log' | 'config'>,
  routes: RequestListener,
): RequestListener {
  const answerCatalog = catalogAnswerer(parts);
  const answerEntry = entryAnswerer(parts, routes);
  return (request, response) => {
    const { method, url } = request;
    const reads = (method === 'GET' || method === 'HEAD') && url?.startsWith('/catalogs/');
    if (reads && (answerCatalog(request, response) || answerEntry(request, response))) return;
    routes(request, response);
  };
}

function catalogAnswerer({
  forms,
  newest,
  metrics,
  log,
  config,
}: Pick<RegistryParts, 'forms' | 'newest' | 'metrics' | 'log' | 'config'>): Answerer {
  const logged = answerLog(log, config);
  /** By path. There are as many as catalogs: others have no snapshot. */
  const prepared = new Map<string, PreparedSnapshot>();

  const preparedFor = (url: string): PreparedSnapshot | undefined => {
    const match = CATALOG.exec(url);
    const snapshot = match === null ? undefined : newest.known(match[1]!);
    if (match === null || snapshot === undefined) return undefined;
    const known = prepared.get(url);
    if (known?.snapshot === snapshot) return known;
    const form = formOf('Catalog', match[2] === 'yaml' ? 'yaml' : 'json');
    const fresh = { snapshot, form, byAccepted: new Map<string, Prepared>() };
    prepared.set(url, fresh);
    return fresh;
  };

  return (request, response) => {
    const { method = '', url = '' } = request;
    const known = preparedFor(url);
    if (known === undefined) return false;
    const { snapshot, form, byAccepted } = known;
    const accepted = (request.headers['accept-encoding'] as string | undefined) ?? 'identity';
    const answer = byAccepted.get(accepted) ?? prepare(snapshot, form, negotiateCoding(accepted));
    const bytes = answer && forms.inMemory(snapshot, form, answer.coding);
    if (answer === undefined || bytes === undefined) return false;
    if (byAccepted.size < MAX_SPELLINGS) byAccepted.set(accepted, answer);

    const requestId = requestIdOf(request.headers['x-request-id'] as string | undefined);
    const ifNoneMatch = request.headers['if-none-match'];
    const matched = ifNoneMatch === undefined ? undefined : matchingTag(ifNoneMatch, answer.tags);
    // node:http copies the fields at once, so the array is free for the next answer.
    if (matched === undefined) {
      answer.found[answer.found.length - 1] = requestId;
      response.writeHead(200, answer.found);
      response.end(method === 'HEAD' ? undefined : bytes);
    } else {
      answer.notModified[answer.notModified.length - 3] = matched;
      answer.notModified[answer.notModified.length - 1] = requestId;
      response.writeHead(304, answer.notModified);
      response.end();
    }
    const { route } = answer;
    const status = response.statusCode;
    metrics.storedAnswer(method, route, status);
    logged(request, { requestId, method, route, path: url, status });
    return true;
  };

  function prepare(snapshot: SnapshotRecord, form: SnapshotForm, coding: Coding): Prepared | undefined {
    const bytes = forms.inMemory(snapshot, form, coding);
    if (bytes === undefined) return undefined;
    const syntax = form.endsWith('.yaml') ? 'yaml' : 'json';
    const tags = codedTags(snapshot.digests[form], coding);
    const common = { ...commonHeaders(config, snapshot, syntax), Vary: 'Accept-Encoding' };
    const content = {
      'Content-Type': MEDIA_TYPES[syntax],
      ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
      'Content-Length': String(bytes.byteLength),
    };
    const ending = { ETag: tags[0]!, 'X-Request-Id': '' };
    return {
      route: ROUTES[syntax === 'yaml' ? 'catalogYaml' : 'catalogJson'].path,
      coding,
      tags,
      found: Object.entries({ ...common, ...content, ...ending }).flat(),
      notModified: Object.entries({ ...common, ...ending }).flat(),
    };
  }
}

/**
 * Answers with one entry as a catalog of its own, where path and kind are spelt as they are stored. The document
 * is the entry behind the head that all catalogs of the snapshot have.
 */
function entryAnswerer(
  {
    store,
    newest,
    metrics,
    log,
    config,
  }: Pick<RegistryParts, 'store' | 'newest' | 'metrics' | 'log' | 'config'>,
  routes: RequestListener,
): Answerer {
  const logged = answerLog(log, config);
  const heads = new WeakMap<SnapshotRecord, { text: string; headers: string[] }>();
  const headOf = (snapshot: SnapshotRecord) => {
    const nothing = { digest: snapshot.digests['catalog.yaml'], yaml: '', json: '' };
    const text = [...renderCatalog('catalog.yaml', catalogHeader(snapshot), [nothing])].join('');
    const head = { text, headers: Object.entries(commonHeaders(config, snapshot, 'yaml')).flat() };
    heads.set(snapshot, head);
    return head;
  };

  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    snapshot: SnapshotRecord,
    entry: RenderedEntry,
  ): void => {
    const head = heads.get(snapshot) ?? headOf(snapshot);
    const bytes = Buffer.from(head.text + entry.yaml);
    const tag = entityTag(sha256(bytes), 'identity');
    const requestId = requestIdOf(request.headers['x-request-id'] as string | undefined);
    const headers = [...head.headers, 'ETag', tag, 'X-Request-Id', requestId];
    const { method = '', url } = request;
    if (matchingTag(request.headers['if-none-match'], [tag]) === undefined) {
      const content = ['Content-Type', MEDIA_TYPES.yaml, 'Content-Length', String(bytes.byteLength)];
      response.writeHead(200, [...headers, ...content]);
      response.end(method === 'HEAD' ? undefined : bytes);
    } else {
      response.writeHead(304, headers);
      response.end();
    }
    const route = ROUTES.catalogEntry.path;
    const status = response.statusCode;
    metrics.storedAnswer(method, route, status);
    logged(request, { requestId, method, route, path: url, status });
  };

  return (request, response) => {
    const [, name, group, kind] = ENTRY.exec(request.url ?? '') ?? [];
    const snapshot = name === undefined ? undefined : newest.known(name);
    if (snapshot === undefined || group === undefined || kind === undefined) return false;
    // The routes say what is wrong where there is no entry, and where the store fails.
    const found = store.catalogEntry(snapshot.catalog, group, kind).catch(() => undefined);
    found
      .then((entry) => {
        if (entry === undefined) routes(request, response);
        else answer(request, response, snapshot, entry);
      })
      .catch((error) => {
        log.error({ err: error }, 'an answer could not be written');
        response.destroy();
      });
    return true;
  };
}

function commonHeaders(
  config: AccessSettings,
  snapshot: SnapshotRecord,
  syntax: 'yaml' | 'json',
): Record<string, string> {
  return {
    ...alwaysSent(config.publicUrl),
    ...SENT_WITH_READS,
    'Content-Security-Policy': NOTHING_RUNS,
    'Cache-Control': CACHE_ASKING,
    Link: ownLink(config, snapshot, syntax, 'Catalog'),
  };
}

/** Writes the line of a request where anybody wants it: looking at addresses costs as much as an answer. */
function answerLog(log: RegistryParts['log'], { trustedProxies = [] }: AccessSettings) {
  const { proxies } = readTrustedProxies(trustedProxies);
  return (request: IncomingMessage, line: object): void => {
    if (!log.isLevelEnabled('debug')) return;
    log.debug({ client: clientAddress(request, proxies), ...line }, 'request');
  };
}
