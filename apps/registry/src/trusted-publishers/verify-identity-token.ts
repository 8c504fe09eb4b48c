import { type Claims, type Provider, provider, type TrustedPublisher } from '@krmhub/catalog';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  jwtVerify,
} from 'jose';
import { type IssuerKeys, readKeys } from './issuer-keys.js';

/** Length of a token. */
const MAX_LENGTH = 16_384;
/** Seconds by which clocks may differ. */
const LEEWAY_SECONDS = 30;
/** Seconds after which a token expires at the latest: until then the registry remembers that it was used. */
const MAX_LIFE_SECONDS = 86_400;
const ALGORITHMS = ['RS256', 'ES256'];
const HINT_KEYS = 'Add the publisher again with the new keys of the issuer.';
const HINT_ISSUER =
  'An owner of the group adds the workflow: krmhub publisher add. See `krmhub help trusted-publishing`.';

/** A token of a provider whose signature, audience, and time were verified. */
export interface IdentityToken {
  claims: Claims;
  issuer: string;
  /** The publishers whose keys verify it: anybody can give keys for an issuer, which count for that publisher alone. */
  publishers: readonly TrustedPublisher[];
  /** What no other token of the issuer has: its ID, else a digest of what is signed. */
  key: string;
  /** Until when it could be used again. */
  usableUntil: Date;
}

/**
 * Verifies a token of a provider of which a publisher is known (OpenID Connect Core 1.0, section 3.1.3.7). The issuer
 * that the token names only chooses the keys. Rejects with `unauthorized`, whose message says what is wrong, and with
 * `unavailable` if the keys of the issuer cannot be had.
 */
export async function verifyIdentityToken(
  token: string,
  context: { publishers: readonly TrustedPublisher[]; audience: string; keys: IssuerKeys; now: Date },
): Promise<IdentityToken> {
  const { audience, now } = context;
  const { issuer, keyId } = readUnverified(token);
  const named = context.publishers.filter((one) => one.issuer === issuer);
  if (named.length === 0) {
    throw refused(`no trusted publisher has the issuer ${JSON.stringify(issuer)}`, HINT_ISSUER);
  }
  const { claims, source, publishers } = await verifyByAny(
    token,
    { named, keyId, known: context.keys },
    {
      issuer,
      audience,
      now,
    },
  );
  const problems = publishers.map((one) => formProblem(claims, provider(one.provider)));
  const accepted = publishers.filter((_, index) => problems[index] === undefined);
  if (accepted.length === 0) throw problems[0]!;
  const { exp, jti } = claims as { exp: number; jti?: unknown };
  if (exp - now.getTime() / 1000 > MAX_LIFE_SECONDS) throw refused('it is valid for more than a day');
  const own = isText(jti) ? `jti ${sha256(Buffer.from(jti))}` : signedDigest(token);
  const usableUntil = new Date((exp + 2 * LEEWAY_SECONDS) * 1000);
  return { claims, issuer, publishers: accepted, key: `${source} ${own}`, usableUntil };
}

/** Signatures have several spellings that verify, so what is signed identifies a token. */
function signedDigest(token: string): string {
  return `content ${sha256(Buffer.from(token.slice(0, token.lastIndexOf('.'))))}`;
}

function readUnverified(token: string): { issuer: string; keyId: string } {
  if (token.length > MAX_LENGTH) {
    throw refused(`the token has ${token.length} characters; the limit is ${MAX_LENGTH}`);
  }
  try {
    const { kid, alg } = decodeProtectedHeader(token);
    const { iss } = decodeJwt(token);
    if (typeof iss !== 'string') throw refused('the token has no claim "iss"');
    if (typeof kid !== 'string') throw refused('the header of the token has no "kid"');
    if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) {
      throw refused(`the token is signed with ${JSON.stringify(alg)}, not with ${ALGORITHMS.join(' or ')}`);
    }
    return { issuer: iss, keyId: kid };
  } catch (error) {
    if (error instanceof KrmhubError) throw error;
    throw refused('it is not a JSON Web Token', 'Send the token as your CI provider returns it.');
  }
}

interface Expected {
  issuer: string;
  audience: string;
  now: Date;
}

/**
 * Verifies a token with the keys that were given for the issuer, and then with those that it serves. Returns the name of
 * the keys, and the publishers for which they count.
 */
async function verifyByAny(
  token: string,
  { named, keyId, known }: { named: readonly TrustedPublisher[]; keyId: string; known: IssuerKeys },
  expected: Expected,
): Promise<{ claims: Claims; source: string; publishers: readonly TrustedPublisher[] }> {
  let problem = refused(
    `the publishers of ${expected.issuer} have no key ${JSON.stringify(keyId)}`,
    HINT_KEYS,
  );
  for (const text of new Set(named.flatMap(({ keys }) => keys ?? []))) {
    const keys = readKeys(JSON.parse(text));
    if (!keys.keys.some(({ kid }) => kid === keyId)) continue;
    try {
      const claims = await verified(token, keys, expected);
      const publishers = named.filter((one) => one.keys === text);
      return { claims, source: sha256(Buffer.from(text)), publishers };
    } catch (error) {
      problem = error as KrmhubError;
    }
  }
  const publishers = named.filter(({ keys }) => keys === undefined);
  if (publishers.length === 0) throw problem;
  const keys = await known.find(expected.issuer, keyId);
  return { claims: await verified(token, keys, expected), source: 'issuer', publishers };
}

async function verified(
  token: string,
  keys: JSONWebKeySet,
  { issuer, audience, now }: Expected,
): Promise<Claims> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: LEEWAY_SECONDS,
      requiredClaims: ['iss', 'aud', 'exp', 'iat', 'sub'],
      currentDate: now,
    });
    const { iat = 0 } = payload;
    if (iat > now.getTime() / 1000 + LEEWAY_SECONDS) {
      throw refused(
        'the token was issued in the future',
        'Compare the clocks of the registry and of the provider.',
      );
    }
    return payload;
  } catch (error) {
    if (error instanceof KrmhubError) throw error;
    throw explained(error, audience, decodeJwt(token));
  }
}

function explained(error: unknown, audience: string, claims: Claims): KrmhubError {
  if (error instanceof errors.JWTExpired) {
    return refused(
      'the token has expired',
      'Request a new token right before it is needed, and compare the clocks.',
    );
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud' && claims.aud !== undefined) {
      const found = JSON.stringify(claims.aud);
      return refused(
        `the token is for the audience ${found}, not for ${JSON.stringify(audience)}`,
        `Request a token with the audience ${audience}.`,
      );
    }
    return refused(`the claim "${error.claim}" of the token is missing or not valid`);
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) return refused('its signature is not valid');
  return refused('it cannot be verified');
}

/** Returns why a provider would not have made such a token. One for several registries could be taken to another. */
function formProblem(
  { aud, jti }: Claims,
  { listsAudience, hasTokenIds, title }: Provider,
): KrmhubError | undefined {
  if (!isText(aud) && !(listsAudience && Array.isArray(aud) && aud.length === 1)) {
    return refused(
      'it has a list of audiences',
      listsAudience ? 'Request a token for this registry alone.' : `${title} signs tokens with one audience.`,
    );
  }
  return hasTokenIds && !isText(jti) ? refused('it has no claim "jti"') : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function refused(why: string, hint?: string): KrmhubError {
  return new KrmhubError('unauthorized', `the identity token is refused: ${why}`, defined({ hint }));
}
