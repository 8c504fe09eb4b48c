import { KrmhubError } from '@krmhub/schema/error';
import { networkReason, printable } from '@krmhub/schema/network-reason';
import type { Bundle } from '@sigstore/bundle';
import { DSSEBundleBuilder, FulcioSigner, RekorWitness, TSAWitness, type Witness } from '@sigstore/sign';
import type { PayloadSigner } from './sign.js';
import { IN_TOTO_MEDIA_TYPE } from './statement.js';

/** A sigstore instance that signs without keys: bases of the addresses of its services. */
export interface SigningServices {
  /** Gives a certificate for a moment to whom a token names. */
  fulcioUrl: string;
  /** The log in which everybody can see what was signed by whom. */
  rekorUrl: string;
  /** The API of that log; the second one gives no time, so that an authority has to. */
  rekorVersion: 1 | 2;
  /** An authority that testifies the time; absent: none is asked. */
  timestampUrl?: string;
}

/** Characters of a token; those that issuers make have 2,000. */
export const MAX_TOKEN_LENGTH = 16_384;
const REQUEST_MILLISECONDS = 30_000;
const RETRY = { retries: 2, minTimeout: 500 };

/** Who a token says that it is for, which its issuer and the instance have yet to confirm. */
export interface TokenClaims {
  subject: string;
  issuer: string;
}

/**
 * Reads what an identity token says, so that a damaged one is refused here: the library would put it into its error.
 * Throws `usage`; nothing of the token stands in the error.
 */
export function readTokenClaims(token: string): TokenClaims {
  const refused = (why: string) =>
    new KrmhubError('usage', `the identity token is none: ${why}`, {
      hint: 'It is a JSON Web Token of an OIDC issuer, made for the audience sigstore.',
    });
  if (token.length > MAX_TOKEN_LENGTH) throw refused('it is too long');
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]+$/.test(part))) {
    throw refused('it has not three parts of base64url with dots between them');
  }
  let claims: Record<string, unknown>;
  try {
    claims = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString('utf8'));
    if (typeof claims !== 'object' || claims === null) throw new TypeError();
  } catch {
    throw refused('its middle part is no JSON object');
  }
  const { email, email_verified: isVerified, sub, iss } = claims;
  if (typeof iss !== 'string' || iss === '') throw refused('it does not say who issued it');
  if (typeof email === 'string' && email !== '') {
    if (isVerified !== true && isVerified !== 'true') {
      throw refused('its issuer has not verified the address in it');
    }
    return { subject: email, issuer: iss };
  }
  if (typeof sub !== 'string' || sub === '') throw refused('it does not say for whom it is');
  return { subject: sub, issuer: iss };
}

/**
 * Signs with a key that lives for one signature, and that the instance certifies to be of whom the token names. Rejects
 * with errors that name the service that failed.
 */
export function keylessSigner(services: SigningServices, token: string): PayloadSigner {
  readTokenClaims(token);
  const { fulcioUrl, rekorUrl, rekorVersion, timestampUrl } = services;
  if (rekorVersion === 2 && timestampUrl === undefined) {
    throw new KrmhubError('usage', 'a log of the second version needs an authority for the time', {
      hint: 'Name one with --timestamp-url.',
    });
  }
  const requests = { retry: RETRY, timeout: REQUEST_MILLISECONDS };
  const witnesses: Witness[] = [
    new RekorWitness({
      ...requests,
      rekorBaseURL: rekorUrl,
      majorApiVersion: rekorVersion,
      entryType: 'dsse',
    }),
  ];
  if (timestampUrl !== undefined) witnesses.push(new TSAWitness({ ...requests, tsaBaseURL: timestampUrl }));
  const signer = new FulcioSigner({
    ...requests,
    fulcioBaseURL: fulcioUrl,
    identityProvider: { getToken: async () => token },
  });
  return async (data) => {
    try {
      const builder = new DSSEBundleBuilder({ signer, witnesses });
      return (await builder.create({ data, type: IN_TOTO_MEDIA_TYPE })) as Bundle;
    } catch (error) {
      throw serviceError(error, services, token);
    }
  };
}

/** By the codes of the library: which service it was, and what to do about it. */
const SERVICES: Record<string, { name: string; url: keyof SigningServices; option: string }> = {
  CA_CREATE_SIGNING_CERTIFICATE_ERROR: {
    name: 'the certificate authority (Fulcio)',
    url: 'fulcioUrl',
    option: '--fulcio-url',
  },
  TLOG_CREATE_ENTRY_ERROR: { name: 'the log (Rekor)', url: 'rekorUrl', option: '--rekor-url' },
  TLOG_FETCH_ENTRY_ERROR: { name: 'the log (Rekor)', url: 'rekorUrl', option: '--rekor-url' },
  TSA_CREATE_TIMESTAMP_ERROR: {
    name: 'the timestamp authority',
    url: 'timestampUrl',
    option: '--timestamp-url',
  },
};

function serviceError(error: unknown, services: SigningServices, token: string): unknown {
  const { code, cause } = error as { code?: string; cause?: unknown };
  const service = SERVICES[code ?? ''];
  if (service === undefined) {
    // Whatever it is, a token may stand in its text or in its cause.
    const message = error instanceof Error ? error.message : String(error);
    return new KrmhubError('unavailable', `signing failed: ${printable(redact(token, message))}`);
  }
  const { name, url, option } = service;
  const where = `${name} at ${services[url]}`;
  const { statusCode } = (cause ?? {}) as { statusCode?: number };
  if (statusCode === undefined) {
    return new KrmhubError('unreachable', `${where} gives no answer: ${describeCause(cause, token)}`, {
      hint: `Look whether this machine reaches it; ${option} names another one.`,
    });
  }
  const said = printable(redact(token, cause instanceof Error ? cause.message : ''));
  if (statusCode === 429) {
    return new KrmhubError('rate-limited', `${where} has no time: ${said}`, { hint: 'Try again later.' });
  }
  if (statusCode >= 500) {
    return new KrmhubError('unavailable', `${where} has failed: ${said}`, { hint: 'Try again later.' });
  }
  return new KrmhubError('unauthorized', `${where} refuses to sign: ${said}`, {
    hint:
      url === 'fulcioUrl'
        ? 'Look whether the identity token is of an issuer that it trusts, made for the audience sigstore, and not too old.'
        : `Look whether ${option} names such a service.`,
  });
}

function describeCause(cause: unknown, token: string): string {
  // The client puts the reason of the system into an error of its own.
  const inner = (cause as { cause?: unknown } | undefined)?.cause;
  return printable(redact(token, networkReason(inner instanceof Error ? inner : cause)));
}

/** Services may repeat what they were sent. */
function redact(token: string, text: string): string {
  return [token, ...token.split('.')].reduce((clean, part) => clean.replaceAll(part, '(token)'), text);
}
