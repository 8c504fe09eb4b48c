import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { networkReason } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import { MAX_TOKEN_LENGTH } from '@krmhub/signing/keyless';
import type { Io } from '../io/io.js';
import { proxyAgentFor } from '../registry/connection.js';
import { isLoopback } from '../registry/plain-http.js';

const AUDIENCE = 'sigstore';
const REQUEST_MILLISECONDS = 30_000;

/**
 * Returns the identity token of the signer: from a file, from SIGSTORE_ID_TOKEN (GitLab and others), or from GitHub
 * Actions. There is no option for it, because other users of the machine can read arguments.
 */
export async function identityToken(io: Io, file: string | undefined): Promise<string> {
  if (file !== undefined) {
    const bytes = await readFileUpTo(io, file, MAX_TOKEN_LENGTH);
    const token = new TextDecoder().decode(bytes).trim();
    if (token === '')
      throw new KrmhubError('usage', `cannot read an identity token from ${file}: the file is empty`);
    return token;
  }
  const given = io.env.SIGSTORE_ID_TOKEN?.trim() ?? '';
  if (given !== '') return given;
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret = '' } = io.env;
  if (url !== '' && secret !== '') return requestActionsToken(io, url, secret);
  throw new KrmhubError('usage', 'cannot sign: no identity token found', {
    hint: 'Set --identity-token-file or SIGSTORE_ID_TOKEN, or add `permissions: {id-token: write}` to the GitHub Actions job.',
  });
}

/** GitHub's documentation, "OpenID Connect reference: methods for requesting the OIDC token". */
async function requestActionsToken(io: Io, address: string, secret: string): Promise<string> {
  const failed = (why: string, code: 'unreachable' | 'unauthorized' = 'unreachable') =>
    new KrmhubError(code, `cannot get an identity token from GitHub Actions: ${why}`, {
      hint: 'Add `permissions: {id-token: write}` to the job.',
    });
  const url = parseUrl(address);
  if (url === undefined) throw failed('ACTIONS_ID_TOKEN_REQUEST_URL is not a valid URL');
  if (url.protocol !== 'https:' && !isLoopback(url.hostname))
    throw failed('ACTIONS_ID_TOKEN_REQUEST_URL is not an https URL');
  url.searchParams.set('audience', AUDIENCE);
  const agent = await proxyAgentFor(io, url);
  const { status, body } = await sendRequest(url, secret, agent).catch((error: unknown) => {
    throw failed(networkReason(error));
  });
  if (status !== 200) throw failed(`status ${status}`, 'unauthorized');
  let value: unknown;
  try {
    ({ value } = JSON.parse(body) as { value?: unknown });
  } catch {
    throw failed('the response is not JSON');
  }
  if (typeof value !== 'string' || value === '') throw failed('the response has no token');
  return value;
}

function sendRequest(
  url: URL,
  secret: string,
  agent: Awaited<ReturnType<typeof proxyAgentFor>>,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? request : plainRequest;
    const headers = { Accept: 'application/json', Authorization: `Bearer ${secret}` };
    const signal = AbortSignal.timeout(REQUEST_MILLISECONDS);
    send(url, { headers, signal, ...defined({ agent }) }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    })
      .on('error', reject)
      .end();
  });
}
