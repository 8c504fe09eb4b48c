import type { IncomingMessage, ServerResponse } from 'node:http';
import { ROUTES } from '@krmhub/api/routes';
import type { SnapshotRecord } from '@krmhub/catalog';
import { alwaysSent, NOTHING_RUNS, requestIdOf, SENT_WITH_READS } from './answer-headers.js';
import { CACHE_ASKING, codedTags, matchingTag } from './bytes-answer.js';
import { clientAddress, readTrustedProxies } from './client-address.js';
import { type Coding, negotiateCoding } from './content-coding.js';
import type { AccessSettings, RegistryParts } from './environment.js';
import { MEDIA_TYPES, ownLink } from './routes/snapshots.js';
import { formOf } from './snapshot-forms.js';

const CATALOG = /^\/catalogs\/([a-z0-9-]+)\/catalog\.(yaml|json)$/;

/** What every answer for a snapshot in a syntax and coding has. */
interface Prepared {
  /** As `codedTags` gives them. */
  tags: string[];
  /** Header fields of any answer, names and values in turn, as node:http takes them. */
  headers: string[];
  /** Those that describe the bytes. */
  contentHeaders: string[];
}

/**
 * Answers reads of newest catalogs whose bytes are in memory on the bare server: a framework would cost more than
 * all the rest. What it does not answer, false says, goes to the routes, which give the same answer.
 */
export function storedAnswers(
  parts: Pick<RegistryParts, 'forms' | 'newest' | 'metrics' | 'log' | 'config'>,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { forms, newest, metrics, log, config } = parts;
  const { proxies } = readTrustedProxies(config.trustedProxies ?? []);
  const prepared = new WeakMap<SnapshotRecord, Map<string, Prepared>>();

  return (request, response) => {
    const { method, url } = request;
    if ((method !== 'GET' && method !== 'HEAD') || url === undefined) return false;
    const match = CATALOG.exec(url);
    const snapshot = match === null ? undefined : newest.known(match[1]!);
    if (match === null || snapshot === undefined) return false;
    const started = performance.now();
    const syntax = match[2] === 'yaml' ? 'yaml' : 'json';
    const coding = negotiateCoding(request.headers['accept-encoding'] as string | undefined);
    const bytes = forms.inMemory(snapshot, formOf('Catalog', syntax), coding);
    if (bytes === undefined) return false;

    const answers = prepared.get(snapshot) ?? new Map<string, Prepared>();
    prepared.set(snapshot, answers);
    const name = `${syntax} ${coding}`;
    const answer = answers.get(name) ?? prepare(snapshot, syntax, coding, bytes, config);
    answers.set(name, answer);
    const { tags, headers, contentHeaders } = answer;
    const requestId = requestIdOf(request.headers['x-request-id'] as string | undefined);
    const own = ['X-Request-Id', requestId];
    const matched = matchingTag(request.headers['if-none-match'], tags);
    if (matched === undefined) {
      response.writeHead(200, [...headers, ...own, 'ETag', tags[0]!, ...contentHeaders]);
      response.end(method === 'HEAD' ? undefined : bytes);
    } else {
      response.writeHead(304, [...headers, ...own, 'ETag', matched]);
      response.end();
    }
    const route = ROUTES[syntax === 'yaml' ? 'catalogYaml' : 'catalogJson'].path;
    const status = response.statusCode;
    const seconds = (performance.now() - started) / 1000;
    metrics.request(method, route, status, seconds);
    if (log.isLevelEnabled('debug')) {
      const client = clientAddress(request, proxies);
      log.debug({ requestId, client, method, route, path: url, status, seconds }, 'request');
    }
    return true;
  };
}

function prepare(
  snapshot: SnapshotRecord,
  syntax: 'yaml' | 'json',
  coding: Coding,
  bytes: Uint8Array,
  config: AccessSettings,
): Prepared {
  const headers = {
    ...alwaysSent(config.publicUrl),
    ...SENT_WITH_READS,
    'Content-Security-Policy': NOTHING_RUNS,
    'Cache-Control': CACHE_ASKING,
    Link: ownLink(config, snapshot, syntax, 'Catalog'),
    Vary: 'Accept-Encoding',
  };
  const contentHeaders = {
    'Content-Type': MEDIA_TYPES[syntax],
    ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
    'Content-Length': String(bytes.byteLength),
  };
  return {
    tags: codedTags(snapshot.digests[formOf('Catalog', syntax)], coding),
    headers: Object.entries(headers).flat(),
    contentHeaders: Object.entries(contentHeaders).flat(),
  };
}
