import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { Environment } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema';
import { networkReason } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import { MAX_TOKEN_LENGTH } from '@krmhub/signing/keyless';
import type { Io } from '../io/io.js';
import { runHelper } from '../io/run-helper.js';
import { getText } from './get-text.js';
import { isLoopback } from './plain-http.js';

const SIGSTORE_AUDIENCE = 'sigstore';

/**
 * Returns the identity token of the signer: from a file, from SIGSTORE_ID_TOKEN (GitLab and others), or from the CI
 * provider. There is no option for it, because other users of the machine can read arguments.
 */
export async function identityToken(io: Io, file: string | undefined): Promise<string> {
  if (file !== undefined) return readToken(io, file);
  const given = io.env.SIGSTORE_ID_TOKEN?.trim() ?? '';
  const token = given === '' ? await requestIdentityToken(io, SIGSTORE_AUDIENCE) : given;
  if (token !== undefined) return token;
  throw new KrmhubError('usage', 'cannot sign: no identity token found', {
    hint: 'Set --identity-token-file or SIGSTORE_ID_TOKEN, or add `permissions: {id-token: write}` to the GitHub Actions job.',
  });
}

/**
 * Returns the token with which the run of a workflow shows who it is to a registry: from KRMHUB_ID_TOKEN or
 * KRMHUB_ID_TOKEN_FILE, or from the CI provider. Undefined outside of CI, and in jobs that get none.
 */
export async function workflowIdentityToken(io: Io, audience: string): Promise<string | undefined> {
  const { KRMHUB_ID_TOKEN: given = '', KRMHUB_ID_TOKEN_FILE: file = '' } = io.env;
  if (given.trim() !== '') return forAudience(io, given.trim(), audience, 'KRMHUB_ID_TOKEN');
  if (file === '') return requestIdentityToken(io, audience);
  return forAudience(io, await readToken(io, file), audience, file);
}

/**
 * Returns a token that is for this registry alone. A registry that gets the token of another one could use it there, as
 * this workflow. Throws `unauthorized`.
 */
function forAudience(io: Io, token: string, audience: string, from: string): string {
  const found = readAudience(token);
  if (found === audience) return token;
  const isGitlab = io.env.GITLAB_CI === 'true';
  const what =
    found === undefined
      ? 'is not a token of a CI provider'
      : `is for the audience ${JSON.stringify(found)}, not for ${JSON.stringify(audience)}`;
  throw new KrmhubError('unauthorized', `the token in ${from} ${what}`, {
    hint: (isGitlab && identityTokenHint(io, audience)) || `Request a token with the audience ${audience}.`,
  });
}

/** Returns the audience of a token; undefined if it cannot be read. Nothing is verified. */
function readAudience(token: string): unknown {
  try {
    const { aud } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
  } catch {
    return undefined;
  }
}

/** Reports whether a run may have an identity token, without asking for it. */
export function mayHaveIdentityToken({ env }: Environment): boolean {
  const has = (name: string) => (env[name] ?? '') !== '';
  const names = ['KRMHUB_ID_TOKEN', 'KRMHUB_ID_TOKEN_FILE', 'ACTIONS_ID_TOKEN_REQUEST_URL'];
  return names.some(has) || COMMANDS.some(({ marker }) => env[marker] === 'true');
}

/** Returns how a job that has no identity token gets one. Undefined outside of CI, and for other providers. */
export function identityTokenHint({ env }: Environment, audience: string): string | undefined {
  if (env.GITHUB_ACTIONS === 'true') {
    const fork = env.GITHUB_EVENT_NAME === 'pull_request' ? ' A pull request from a fork gets none.' : '';
    return `Add \`permissions: {id-token: write}\` to the job.${fork}`;
  }
  return env.GITLAB_CI === 'true'
    ? `Add \`id_tokens: {KRMHUB_ID_TOKEN: {aud: "${audience}"}}\` to the job.`
    : undefined;
}

async function readToken(io: Io, file: string): Promise<string> {
  const bytes = await readFileUpTo(io, file, MAX_TOKEN_LENGTH);
  const token = new TextDecoder().decode(bytes).trim();
  if (token !== '') return token;
  throw new KrmhubError('usage', `cannot read an identity token from ${file}: the file is empty`);
}

/** Providers whose jobs ask a program for a token. The IDs that registries pin are in it on request. */
const COMMANDS = [
  {
    title: 'Buildkite',
    marker: 'BUILDKITE',
    program: 'buildkite-agent',
    args: (audience: string) => [
      ...['oidc', 'request-token', '--audience', audience],
      ...['--claim', 'organization_id', '--claim', 'pipeline_id'],
    ],
  },
  {
    title: 'CircleCI',
    marker: 'CIRCLECI',
    program: 'circleci',
    args: (audience: string) => ['run', 'oidc', 'get', '--claims', JSON.stringify({ aud: audience })],
  },
];

async function requestIdentityToken(io: Io, audience: string): Promise<string | undefined> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret = '' } = io.env;
  if (url !== '' && secret !== '') return requestActionsToken(io, { address: url, secret, audience });
  if (url !== '') {
    const why = 'ACTIONS_ID_TOKEN_REQUEST_URL is set, but ACTIONS_ID_TOKEN_REQUEST_TOKEN is not';
    throw new KrmhubError('unauthorized', `cannot get an identity token from GitHub Actions: ${why}`, {
      hint: 'Give both to the step, for example with `docker run -e`. A job has them with `permissions: {id-token: write}`.',
    });
  }
  const command = COMMANDS.find(({ marker }) => io.env[marker] === 'true');
  if (command === undefined) return undefined;
  const { title, program, args } = command;
  const result = await runHelper(io, program, args(audience));
  const token = 'output' in result ? result.output.trim() : '';
  if ('output' in result && result.code === 0 && token !== '') return token;
  const why = 'problem' in result ? result.problem : `exit code ${result.code}`;
  throw new KrmhubError('unavailable', `cannot get an identity token from ${title}: ${program}: ${why}`);
}

/** GitHub's documentation, "OpenID Connect reference: methods for requesting the OIDC token". */
async function requestActionsToken(
  io: Io,
  { address, secret, audience }: { address: string; secret: string; audience: string },
): Promise<string> {
  const failed = (
    why: string,
    code: 'unreachable' | 'unauthorized' | 'unavailable' = 'unreachable',
    hint = 'Add `permissions: {id-token: write}` to the job.',
  ) => new KrmhubError(code, `cannot get an identity token from GitHub Actions: ${why}`, { hint });
  const url = parseUrl(address);
  if (url === undefined) throw failed('ACTIONS_ID_TOKEN_REQUEST_URL is not a valid URL');
  if (url.protocol !== 'https:' && !isLoopback(url.hostname))
    throw failed('ACTIONS_ID_TOKEN_REQUEST_URL is not an https URL');
  url.searchParams.set('audience', audience);
  const headers = { Authorization: `Bearer ${secret}` };
  const { status, body } = await getText(io, url, headers).catch((error: unknown) => {
    const reason = networkReason(error);
    const hint = `Run the job again. If it repeats, let the runner reach ${url.host}, which ACTIONS_ID_TOKEN_REQUEST_URL names.`;
    throw failed(reason, 'unreachable', hint);
  });
  // Its own trouble, whatever the permissions of the job.
  if (status >= 500 || status === 429) throw failed(`status ${status}`, 'unavailable', 'Run the job again.');
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
