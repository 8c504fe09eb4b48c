import type { IncomingHttpHeaders } from 'node:http';
import type { SourceAddress } from '@krmhub/catalog';
import { printable } from '@krmhub/schema/network-reason';
import type { FetchedCatalog, FetchRequest, SourceContext } from '../context.js';
import { SourceFailure } from '../failure.js';
import { siblingBundleNames } from '../sibling-bundles.js';
import { type GetOptions, getFile } from './get-file.js';
import { type GuardedAgents, guardedAgents } from './guarded-agents.js';

/** Characters of a validator that is kept and sent again. Longer ones do without. */
const MAX_VALIDATOR_LENGTH = 1_024;

/** A catalog at a web address, and the bundles beside it. Rejects with SourceFailures only. */
export async function fetchHttp(
  { url: text }: Extract<SourceAddress, { type: 'http' }>,
  { validators = {}, bundles, onProgress }: FetchRequest,
  context: SourceContext,
): Promise<FetchedCatalog> {
  const url = webAddress(text);
  const agents = guardedAgents(context.guard, context.limits.connectMilliseconds);
  const got = await getFile(url, {
    agents,
    context,
    conditions: toConditions(validators),
    maxBytes: context.limits.maxCatalogBytes,
    onProgress,
  });
  if (got.changed && got.html) {
    throw new SourceFailure('bad-answer', `${url.host} answered with a web page, and no catalog`, {
      hint: 'Write the address of the file itself, such as the "raw" one of a forge. It may also be a login page.',
    });
  }
  const found = bundles ? await fetchSiblingBundles(url, agents, context) : [];
  if (!got.changed) return { validators, bundles: found };
  return { bytes: got.bytes, validators: readValidators(got.headers), bundles: found };
}

function webAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === '') return url;
  throw new SourceFailure('forbidden-address', `${printable(text)} is no web address without credentials`);
}

function toConditions({ etag, lastModified }: Record<string, string>): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { 'If-None-Match': etag }),
    ...(lastModified === undefined ? {} : { 'If-Modified-Since': lastModified }),
  };
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
    const bundle = await fetchBundle(sibling, options);
    if (bundle !== undefined) found.push(bundle);
  }
  return found;
}

/** Undefined where there is none. A server that fails says nothing of that, and neither does this. */
async function fetchBundle(url: URL, options: GetOptions): Promise<Uint8Array | undefined> {
  try {
    const got = await getFile(url, options);
    // Some servers have a page for whatever is not there.
    return got.changed && !got.html ? got.bytes : undefined;
  } catch (error) {
    // Stores of files answer 403 for what is not there, to whoever may not list them.
    if (error instanceof SourceFailure && ['not-found', 'unauthorized'].includes(error.problem))
      return undefined;
    throw error;
  }
}
