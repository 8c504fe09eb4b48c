import { defined } from '@krmhub/schema/defined';
import type { SourceContext } from '../context.js';
import { SourceFailure } from '../failure.js';
import { exchange } from './exchange.js';
import { guardedAgents } from './guarded-agents.js';
import { readBody } from './read-body.js';

/** A request to a service of which a document of `namedBy` tells the address. */
export interface ServiceRequest {
  url: string;
  /** URL of the document that names the address: a public one does not lead to a private one (`as-named`). */
  namedBy: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

export interface ServiceResponse {
  status: number;
  headers: Record<string, string>;
  bytes: Uint8Array;
}

/** Sends one request, and returns the response whatever its status. It follows no redirect, and tries once. */
export function sendRequest(
  { url: text, method, headers, body }: ServiceRequest,
  context: SourceContext,
): Promise<ServiceResponse> {
  const url = new URL(text);
  if (!context.options.protocols.some((protocol) => url.protocol === `${protocol}:`)) {
    throw new SourceFailure('forbidden-address', `${url.origin} is not an https URL`);
  }
  const options = {
    headers: { 'User-Agent': context.options.userAgent, ...headers, Connection: 'close' },
    agents: guardedAgents(context),
    context,
    method,
    ...defined({ body }),
  };
  const { maxCatalogBytes: maxBytes } = context.limits;
  return exchange(url, options, async (response, touch) => ({
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
    ),
    bytes: await readBody(response, { what: `the response of ${url.host}`, maxBytes, touch }),
  }));
}
