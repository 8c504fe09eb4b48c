import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { KrmhubError } from '@krmhub/schema';
import { networkReason } from '@krmhub/schema/network-reason';
import { MAX_TOKEN_LENGTH } from '@krmhub/signing/keyless';
import { readFileUpTo } from '../files/read-file.js';
import type { Io } from '../io/io.js';
import { agentFor, isLoopback } from '../registry/connection.js';

const AUDIENCE = 'sigstore';
const REQUEST_MILLISECONDS = 30_000;

/**
 * The token that says who signs: of a file, of the environment as GitLab and others give it, or of GitHub Actions. It is
 * never taken from an argument, which everybody on the machine can read.
 */
export async function identityToken(io: Io, file: string | undefined): Promise<string> {
  if (file !== undefined) {
    const bytes = await readFileUpTo(io, file, MAX_TOKEN_LENGTH);
    const token = new TextDecoder().decode(bytes).trim();
    if (token === '') throw new KrmhubError('usage', `${file} is empty, and holds no token`);
    return token;
  }
  const given = io.env.SIGSTORE_ID_TOKEN?.trim() ?? '';
  if (given !== '') return given;
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret = '' } = io.env;
  if (url !== '' && secret !== '') return tokenOfActions(io, url, secret);
  throw new KrmhubError('usage', 'there is no identity token to sign with', {
    hint: 'GitHub Actions gives one to jobs with `permissions: {id-token: write}`, GitLab in SIGSTORE_ID_TOKEN; else name a file with --identity-token-file.',
  });
}

/** GitHub's documentation, "OpenID Connect reference: methods for requesting the OIDC token". */
async function tokenOfActions(io: Io, address: string, secret: string): Promise<string> {
  const failed = (why: string, code: 'unreachable' | 'unauthorized' = 'unreachable') =>
    new KrmhubError(code, `GitHub Actions gives no identity token: ${why}`, {
      hint: 'The job needs `permissions: {id-token: write}`.',
    });
  if (!URL.canParse(address)) throw failed('ACTIONS_ID_TOKEN_REQUEST_URL is no address');
  const url = new URL(address);
  if (url.protocol !== 'https:' && !isLoopback(url.hostname)) throw failed('its address is not https://');
  url.searchParams.set('audience', AUDIENCE);
  const agent = await agentFor(io, url);
  const { status, body } = await answerOf(url, secret, agent).catch((error: unknown) => {
    throw failed(networkReason(error));
  });
  if (status !== 200) throw failed(`its answer has the status ${status}`, 'unauthorized');
  let value: unknown;
  try {
    ({ value } = JSON.parse(body) as { value?: unknown });
  } catch {
    throw failed('its answer is no JSON');
  }
  if (typeof value !== 'string' || value === '') throw failed('there is none in its answer');
  return value;
}

function answerOf(
  url: URL,
  secret: string,
  agent: Awaited<ReturnType<typeof agentFor>>,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? request : plainRequest;
    const headers = { Accept: 'application/json', Authorization: `Bearer ${secret}` };
    const signal = AbortSignal.timeout(REQUEST_MILLISECONDS);
    send(url, { headers, signal, ...(agent === undefined ? {} : { agent }) }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
    })
      .on('error', reject)
      .end();
  });
}
