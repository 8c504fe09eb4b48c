import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { networkReason, printable } from '@krmhub/schema/network-reason';
import { SourceFailure } from '@krmhub/sources';
import type { ProviderSettings } from './provider-settings.js';

type Named = Pick<ProviderSettings, 'name'>;

/** Seconds by which clocks may differ. */
const LEEWAY_SECONDS = 30;
const AGAIN = 'Sign in again.';
const CLOCKS = 'The operator compares the clocks of the registry and of the provider.';
const OPERATOR = 'The operator of the registry finds more in its log.';

/** What providers answer (RFC 6749, sections 4.1.2.1 and 5.2; OpenID Connect Core 1.0, section 3.1.2.6). */
const ANSWERS: Readonly<Record<string, { why: string; hint: string; isOperators?: boolean }>> = {
  access_denied: {
    why: 'it did not let you in',
    hint: 'If you did not cancel, ask the administrator of the provider to assign you to this application.',
  },
  login_required: { why: 'it wants you to sign in there first', hint: AGAIN },
  interaction_required: { why: 'it wants to ask you something first', hint: AGAIN },
  consent_required: { why: 'it wants your consent first', hint: AGAIN },
  account_selection_required: { why: 'it wants you to choose an account first', hint: AGAIN },
  invalid_grant: {
    why: 'the code of this sign-in has expired, was used before, or is for another redirect URI',
    hint: `${AGAIN} If it fails again, the operator compares the redirect URI of the client with KRMHUB_PUBLIC_URL.`,
  },
  invalid_client: {
    why: 'it does not accept the client ID and the secret of the registry',
    hint: 'The operator sets KRMHUB_OIDC_CLIENT_ID and KRMHUB_OIDC_CLIENT_SECRET as the provider shows them.',
    isOperators: true,
  },
  invalid_scope: {
    why: 'it does not know a scope that the registry asks for',
    hint: 'The operator sets KRMHUB_OIDC_SCOPES.',
    isOperators: true,
  },
  unauthorized_client: {
    why: 'the client of the registry may not sign in users',
    hint: 'Its administrator allows the client to use authorization codes and refresh tokens.',
    isOperators: true,
  },
  unsupported_response_type: {
    why: 'the client of the registry may not use authorization codes',
    hint: 'Its administrator allows them for the client.',
    isOperators: true,
  },
  invalid_request: {
    why: 'it does not accept the request of the registry',
    hint: OPERATOR,
    isOperators: true,
  },
  server_error: { why: 'it has an error', hint: 'Try again later.', isOperators: true },
  temporarily_unavailable: { why: 'it is overloaded', hint: 'Try again later.', isOperators: true },
};

/** Checks of responses that fail, by the claim or the code of the library. */
const CHECKS: Readonly<Record<string, { why: string; hint: string }>> = {
  aud: { why: 'its ID token is for another client', hint: 'The operator compares KRMHUB_OIDC_CLIENT_ID.' },
  azp: { why: 'its ID token is for another client', hint: 'The operator compares KRMHUB_OIDC_CLIENT_ID.' },
  iss: { why: 'its ID token names another issuer', hint: 'The operator compares KRMHUB_OIDC_ISSUER.' },
  nonce: { why: 'its ID token is not for this sign-in', hint: AGAIN },
  exp: { why: 'its ID token has expired', hint: CLOCKS },
  nbf: { why: 'its ID token is not valid yet', hint: CLOCKS },
  OAUTH_KEY_SELECTION_FAILED: {
    why: 'it has no key for the signature of its ID token',
    hint: 'Try again in a minute: it may have changed its keys.',
  },
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: {
    why: 'its userinfo endpoint tells of another user than its ID token',
    hint: OPERATOR,
  },
};

/** What a provider says of a sign-in that has ended. Other errors can be of the provider or the registry. */
const ENDED = [
  'invalid_grant',
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
];
/** Descriptions of `invalid_grant` that are about the user, and not about a session that is over. */
const OF_USER = /\b(?:disabled|deactivated|deleted|locked|blocked|suspended)\b/i;

/** The provider does not confirm the user of a sign-in any more. */
export class ProviderRefusal extends KrmhubError {
  /** Whether it refuses the user. Else the session there may just be over. */
  readonly isOfUser: boolean;

  constructor(
    message: string,
    { isOfUser, ...options }: { isOfUser: boolean; hint?: string; cause?: unknown },
  ) {
    super('unauthorized', message, options);
    this.isOfUser = isOfUser;
  }
}

/** Returns an error for a refused sign-in. */
export function refused(provider: Named, why: string, hint?: string, cause?: unknown): KrmhubError {
  return new KrmhubError('unauthorized', inSignIn(provider, why), defined({ hint, cause }));
}

const inSignIn = ({ name }: Named, why: string) => `cannot sign in with ${name}: ${why}`;

/** Returns an error for a provider that cannot be used now. */
export function unavailable({ name }: Named, cause: unknown): KrmhubError {
  if (cause instanceof KrmhubError && !(cause instanceof SourceFailure)) return cause;
  const why = cause instanceof Error ? printable(cause.message, 500) : networkReason(cause);
  return new KrmhubError('unavailable', `cannot use ${name}: ${why}`, {
    hint: 'Try again in a minute. Who is signed in stays so for up to an hour. An administrator can sign in with a token.',
    cause,
  });
}

/** Returns what is wrong with an ID token that the library accepts. */
export function tokenProblem(
  { iat, azp }: { iat: number; azp?: unknown },
  clientId: string,
  now: Date,
): { why: string; hint: string } | undefined {
  if (iat > now.getTime() / 1000 + LEEWAY_SECONDS)
    return { why: 'its ID token is from the future', hint: CLOCKS };
  return azp !== undefined && azp !== clientId ? CHECKS.azp : undefined;
}

/**
 * Explains why a request to a provider failed: `unauthorized` if it refuses the user or sends what is not valid, and
 * `unavailable` if it is away or the registry is not configured as it wants.
 */
export function explainFailure(error: unknown, provider: Named): KrmhubError {
  if (error instanceof KrmhubError && !(error instanceof SourceFailure)) return error;
  const chain = causes(error);
  if (chain.some((one) => one instanceof SourceFailure))
    return unavailable(
      provider,
      chain.find((one) => one instanceof SourceFailure),
    );
  const answer = chain.map(readAnswer).find((one) => one !== undefined);
  if (answer !== undefined) return explainAnswer(answer, provider, error);
  const codes = chain.flatMap(({ code, cause }) => [(cause as { claim?: unknown } | undefined)?.claim, code]);
  const check = codes.map((code) => CHECKS[String(code)]).find((one) => one !== undefined);
  if (check !== undefined) return refused(provider, check.why, check.hint, error);
  const status = chain
    .map(({ cause }) => (cause instanceof Response ? cause.status : undefined))
    .find((one) => one !== undefined);
  if (status !== undefined) return unavailable(provider, new Error(`it responded with the status ${status}`));
  const [first, second] = chain;
  if (first === undefined) return unavailable(provider, error);
  if (!isOfLibrary(first)) return unavailable(provider, first);
  return refused(provider, printable((second ?? first).message), `${AGAIN} ${OPERATOR}`, error);
}

function explainAnswer({ error, description }: Answer, provider: Named, cause: unknown): KrmhubError {
  const known = ANSWERS[error] ?? { why: 'it answered with an error', hint: OPERATOR };
  const said = description === undefined ? error : `${error}: ${description}`;
  const why = `${known.why} (${printable(said, 300)})`;
  if (ENDED.includes(error)) {
    const isOfUser = error !== 'invalid_grant' || OF_USER.test(description ?? '');
    return new ProviderRefusal(inSignIn(provider, why), { isOfUser, hint: known.hint, cause });
  }
  if (known.isOperators !== true) return refused(provider, why, known.hint, cause);
  return new KrmhubError('unavailable', `cannot use ${provider.name}: ${why}`, { hint: known.hint, cause });
}

interface Answer {
  error: string;
  description?: string;
}

/** Returns the error that a provider sent with a redirect, a response, or the header of a response. */
function readAnswer(caught: Caught): Answer | undefined {
  const { error, error_description: description } = challenge(caught) ?? caught;
  if (typeof error !== 'string') return undefined;
  return { error, ...defined({ description: typeof description === 'string' ? description : undefined }) };
}

/**
 * Returns what WWW-Authenticate says. A provider sends it to a client that authenticates with a header (RFC 6749, section
 * 5.2); it need not repeat the error there.
 */
function challenge({ code, cause }: Caught): Pick<Caught, 'error' | 'error_description'> | undefined {
  if (code !== 'OAUTH_WWW_AUTHENTICATE_CHALLENGE' || !Array.isArray(cause)) return undefined;
  const challenges = cause as { scheme: string; parameters: Record<string, string | undefined> }[];
  const named = challenges.find(({ parameters }) => parameters.error !== undefined);
  if (named !== undefined) return named.parameters;
  return challenges.some(({ scheme }) => scheme.toLowerCase() === 'basic')
    ? { error: 'invalid_client' }
    : undefined;
}

/** Whether a provider refused the client ID and the secret, or how they were sent. */
export function refusesClient(error: unknown): boolean {
  return causes(error).some((one) => readAnswer(one)?.error === 'invalid_client');
}

type Caught = Error & { code?: unknown; error?: unknown; error_description?: unknown };

function causes(error: unknown): Caught[] {
  const found: Caught[] = [];
  for (let at = error; at instanceof Error && found.length < 6; at = at.cause) found.push(at);
  return found;
}

/** Whether the library refused a response. Other errors are of the network. */
function isOfLibrary({ code }: Caught): boolean {
  return typeof code === 'string' && code.startsWith('OAUTH_') && code !== 'OAUTH_TIMEOUT';
}
