import { KrmhubError } from '@krmhub/schema/error';
import { networkReason, printable } from '@krmhub/schema/network-reason';
import type { Bundle } from '@sigstore/bundle';
import { DSSEBundleBuilder, FulcioSigner, RekorWitness, TSAWitness, type Witness } from '@sigstore/sign';
import type { PayloadSigner } from './sign.js';
import { IN_TOTO_MEDIA_TYPE } from './statement.js';

/** Base URLs of a sigstore instance for keyless signing. */
export interface SigningServices {
  /** Issues a short-lived certificate for the identity in a token. */
  fulcioUrl: string;
  /** Public transparency log of signatures. */
  rekorUrl: string;
  /** API version of the log. Version 2 returns no time, so it needs a timestamp authority. */
  rekorVersion: 1 | 2;
  /** Timestamp authority. Default: none. */
  timestampUrl?: string;
}

/** Characters of a token. Real tokens have about 2,000. */
export const MAX_TOKEN_LENGTH = 16_384;
const REQUEST_MILLISECONDS = 30_000;
const RETRY = { retries: 2, minTimeout: 500 };

/** Unverified claims of an identity token. */
export interface TokenClaims {
  subject: string;
  issuer: string;
}

/**
 * Parses the claims of an identity token without verifying it. The sigstore library would print an invalid token in its
 * error. Throws `usage`, without any part of the token.
 */
export function readTokenClaims(token: string): TokenClaims {
  const refused = (why: string) =>
    new KrmhubError('usage', `invalid identity token: ${why}`, {
      hint: 'Use a JSON Web Token from an OIDC issuer, with the audience sigstore.',
    });
  if (token.length > MAX_TOKEN_LENGTH) throw refused('it is too long');
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every((part) => /^[A-Za-z0-9_-]+$/.test(part))) {
    throw refused('expected three base64url parts separated by dots');
  }
  let claims: Record<string, unknown>;
  try {
    claims = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString('utf8'));
    if (typeof claims !== 'object' || claims === null) throw new TypeError();
  } catch {
    throw refused('its middle part is not a JSON object');
  }
  const { email, email_verified: isVerified, sub, iss } = claims;
  if (typeof iss !== 'string' || iss === '') throw refused('the claim iss is missing');
  if (typeof email === 'string' && email !== '') {
    if (isVerified !== true && isVerified !== 'true') {
      throw refused('the issuer has not verified its email address');
    }
    return { subject: email, issuer: iss };
  }
  if (typeof sub !== 'string' || sub === '') throw refused('the claim sub is missing');
  return { subject: sub, issuer: iss };
}

/**
 * Returns a signer with an ephemeral key, which the sigstore instance certifies for the identity in the token. Rejects
 * with errors that name the service that failed.
 */
export function keylessSigner(services: SigningServices, token: string): PayloadSigner {
  readTokenClaims(token);
  const { fulcioUrl, rekorUrl, rekorVersion, timestampUrl } = services;
  if (rekorVersion === 2 && timestampUrl === undefined) {
    throw new KrmhubError('usage', 'version 2 of the log requires a timestamp authority', {
      hint: 'Set one with --timestamp-url.',
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

/** Services by error code of the sigstore library. */
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
    // The message may contain the token. The cause is dropped for the same reason.
    const message = error instanceof Error ? error.message : String(error);
    return new KrmhubError('unavailable', `signing failed: ${printable(redact(token, message))}`);
  }
  const { name, url, option } = service;
  const where = `${name} at ${services[url]}`;
  const { statusCode } = (cause ?? {}) as { statusCode?: number };
  if (statusCode === undefined) {
    return new KrmhubError('unreachable', `cannot reach ${where}: ${describeCause(cause, token)}`, {
      hint: `Check the network connection, or use another service with ${option}.`,
    });
  }
  const detail = printable(redact(token, cause instanceof Error ? cause.message : ''));
  if (statusCode === 429) {
    return new KrmhubError('rate-limited', `${where} has reached its rate limit: ${detail}`, {
      hint: 'Try again later.',
    });
  }
  if (statusCode >= 500) {
    return new KrmhubError('unavailable', `${where} failed: ${detail}`, { hint: 'Try again later.' });
  }
  return new KrmhubError('unauthorized', `${where} rejected the request: ${detail}`, {
    hint:
      url === 'fulcioUrl'
        ? 'Check the identity token: a trusted issuer, the audience sigstore, and not expired.'
        : `Check the URL in ${option}.`,
  });
}

function describeCause(cause: unknown, token: string): string {
  // The HTTP client wraps the error of the system.
  const inner = (cause as { cause?: unknown } | undefined)?.cause;
  return printable(redact(token, networkReason(inner instanceof Error ? inner : cause)));
}

/** Removes the token: services may repeat it in errors. */
function redact(token: string, text: string): string {
  return [token, ...token.split('.')].reduce((clean, part) => clean.replaceAll(part, '(token)'), text);
}
