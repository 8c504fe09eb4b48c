/**
 * Fetches catalogs and files over HTTP.
 *
 * @module
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { SourceAddress } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { FetchedCatalog, FetchRequest, SourceContext } from '../context.js';
import { SourceFailure } from '../failure.js';
import { siblingBundleNames } from '../sibling-bundles.js';
import { type GetOptions, getFile } from './get-file.js';
import { type GuardedAgents, guardedAgents } from './guarded-agents.js';

/** Characters of a stored validator. Longer ones are dropped. */
const MAX_VALIDATOR_LENGTH = 1_024;

/** Fetches a catalog and its bundles with HTTP. Rejects with SourceFailures only. */
export async function fetchHttp(
  { url: text }: Extract<SourceAddress, { type: 'http' }>,
  { validators = {}, bundles, onProgress }: FetchRequest,
  context: SourceContext,
): Promise<FetchedCatalog> {
  const url = webAddress(text);
  const agents = guardedAgents(context);
  const got = await getFile(url, {
    agents,
    context,
    conditions: toConditions(validators),
    maxBytes: context.limits.maxCatalogBytes,
    onProgress,
  });
  if (got.changed && got.html) {
    throw new SourceFailure('bad-answer', `${url.host} responded with a web page instead of a file`, {
      hint: /\/catalogs\/[^/]+\/?$/.test(url.pathname)
        ? `For a catalog of a krmhub registry, use ${printable(text.replace(/\/$/, ''))}/catalog.yaml`
        : 'Use the URL of the file itself, for example the "raw" URL of a git host. If the page is a login page, configure credentials.',
    });
  }
  const found = bundles ? await fetchSiblingBundles(url, agents, context) : [];
  if (!got.changed) return { validators, bundles: found };
  return { bytes: got.bytes, validators: readValidators(got.headers), bundles: found };
}

function webAddress(text: string): URL {
  const url = parseUrl(text);
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === '') return url;
  throw new SourceFailure(
    'forbidden-address',
    `${printable(text)} is not an http or https URL without credentials`,
  );
}

function toConditions({ etag, lastModified }: Record<string, string>): Record<string, string> {
  return defined({ 'If-None-Match': etag, 'If-Modified-Since': lastModified });
}

function readValidators(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = (name: string, value: string | undefined) =>
    value !== undefined && value.length <= MAX_VALIDATOR_LENGTH && /^[\x20-\x7e]+$/.test(value)
      ? { [name]: value }
      : {};
  return { ...kept('etag', headers.etag), ...kept('lastModified', headers['last-modified']) };
}

async function fetchSiblingBundles(
  url: URL,
  agents: GuardedAgents,
  context: SourceContext,
): Promise<Uint8Array[]> {
  const options: GetOptions = { agents, context, maxBytes: context.limits.maxBundleBytes };
  const found: Uint8Array[] = [];
  for (const name of siblingBundleNames(url.pathname.split('/').at(-1)!)) {
    const sibling = new URL(url);
    sibling.pathname = url.pathname.replace(/[^/]*$/, name);
    // They choose a rendition of a krmhub registry. One bundle signs all of them.
    for (const parameter of ['kind', 'profile']) sibling.searchParams.delete(parameter);
    const bundle = await fetchBundle(sibling, options);
    if (bundle !== undefined) found.push(bundle);
  }
  return found;
}

/** Returns undefined if there is no bundle. Rejects if the server fails. */
async function fetchBundle(url: URL, options: GetOptions): Promise<Uint8Array | undefined> {
  try {
    const got = await getFile(url, options);
    // Some servers return a web page instead of 404.
    return got.changed && !got.html ? got.bytes : undefined;
  } catch (error) {
    // Object stores respond with 403 for a missing file if the client may not list files.
    if (error instanceof SourceFailure && ['not-found', 'unauthorized'].includes(error.problem))
      return undefined;
    throw error;
  }
}
