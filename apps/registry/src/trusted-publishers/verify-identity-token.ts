import { type Claims, type Provider, provider, type TrustedPublisher } from '@krmhub/catalog';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWK,
  jwtVerify,
} from 'jose';
import { givenKey, type IssuerKeys, importPublicKey } from './issuer-keys.js';

/** Length of a token. */
const MAX_LENGTH = 16_384;
/** Seconds by which clocks may differ. */
const LEEWAY_SECONDS = 30;
/** Seconds after which a token expires at the latest: until then the registry remembers that it was used. */
const MAX_LIFE_SECONDS = 86_400;
/** Seconds for which the registry remembers that after it expired: the clock of another of its processes can be behind. */
const REMEMBERED_SECONDS = 3_600;
/** Different sets with a key of one ID that owners of the wanted groups gave for an issuer. */
const MAX_SETS = 50;
/** As many are read of all groups. */
const MAX_OTHER_SETS = 20;
const ALGORITHMS = ['RS256', 'ES256'];
/** Errors of tokens whose signature is valid. */
const OF_CLAIMS = [errors.JWTExpired, errors.JWTClaimValidationFailed, errors.JWTInvalid];
const HINT_CLOCKS = 'Compare the clocks of the registry and of the provider.';
const HINT_KEYS = 'Add the publisher again with the new keys of the issuer.';
const HINT_GROUPS = 'Name what it will publish, as krmhub publish does: `groups`.';
const HINT_SETS =
  'Remove publishers whose keys the issuer no longer has. To see them: krmhub publisher list.';
const HINT_ISSUER =
  'An owner of the group adds the workflow: krmhub publisher add, with --issuer for a server of your own. See `krmhub help trusted-publishing`.';

/** A token of a provider whose signature, audience, and time were verified. */
export interface IdentityToken {
  claims: Claims;
  issuer: string;
  /** The publishers whose keys verify it: any owner can give keys for an issuer, which count for that publisher alone. */
  publishers: readonly TrustedPublisher[];
  /** Why the issuer did not say whether it has the key: more publishers may accept the token then. */
  problem: KrmhubError | undefined;
  /** What no other token of the issuer has: its key with its ID, else with a digest of what is signed. */
  key: string;
  issuedAt: Date;
  /** Until when it is remembered, so that it is not used again. */
  usableUntil: Date;
}

/**
 * Verifies a token of a provider of which a publisher is known (OpenID Connect Core 1.0, section 3.1.3.7). The issuer
 * that the token names only chooses the keys. Rejects with `unauthorized`, whose message says what is wrong, and with
 * `unavailable` if the keys of the issuer cannot be had.
 */
export async function verifyIdentityToken(
  token: string,
  context: {
    publishersOf(issuer: string): Promise<TrustedPublisher[]>;
    /** What the token is exchanged for: the keys of these groups come first. Absent for all groups. */
    groups?: readonly string[] | undefined;
    audience: string;
    keys: IssuerKeys;
    now: Date;
  },
): Promise<IdentityToken> {
  const { audience, now, groups } = context;
  const { issuer, keyId } = readUnverified(token);
  const named = await context.publishersOf(issuer);
  if (named.length === 0) {
    throw refused(`no trusted publisher has the issuer ${JSON.stringify(issuer)}`, HINT_ISSUER);
  }
  const { signers, problem } = await candidateKeys({ named, groups, keyId, issuer }, context.keys);
  const signer = await verifyByAny(token, signers, { issuer, audience, now });
  if (signer === undefined) throw problem ?? refused('its signature is not valid');
  const { key, claims } = signer;
  const counted = new Set(signer.publishers);
  // In their own order: the first one decides how the run is described, also to those who may not see the groups.
  const publishers = named.filter((one) => counted.has(one));
  const problems = publishers.map((one) => formProblem(claims, provider(one.provider)));
  const accepted = publishers.filter((_, index) => problems[index] === undefined);
  if (accepted.length === 0) throw problems[0]!;
  const { exp, iat, jti } = claims as { exp: number; iat: number; jti?: unknown };
  if (exp - now.getTime() / 1000 > MAX_LIFE_SECONDS) throw refused('it is valid for more than a day');
  const own = isText(jti) ? `jti ${sha256(Buffer.from(jti))}` : signedDigest(token);
  const issuedAt = new Date(Math.max(iat, 0) * 1000);
  const usableUntil = new Date((exp + REMEMBERED_SECONDS) * 1000);
  // By key, so that no one uses up the tokens that another key signs.
  const used = { key: `${keyDigest(key)} ${own}`, issuedAt, usableUntil };
  return { claims, issuer, publishers: accepted, problem, ...used };
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

interface Signer {
  key: JWK;
  /** The publishers for which the key counts. */
  publishers: TrustedPublisher[];
}

interface Sought {
  /** The publishers of the issuer. */
  named: readonly TrustedPublisher[];
  groups: readonly string[] | undefined;
  keyId: string;
  issuer: string;
}

/**
 * Returns the keys that can verify a token: those that the issuer serves, those that owners of the groups gave for it,
 * then some that owners of any group gave. With the last ones, a workflow that names groups where it is no publisher reads
 * the same whether these have publishers of its issuer or not. A key counts for all publishers that have it. Rejects if
 * there is none.
 */
async function candidateKeys(
  sought: Sought,
  known: IssuerKeys,
): Promise<{ signers: Signer[]; problem: KrmhubError | undefined }> {
  const { named, keyId, issuer } = sought;
  const found = new Map<string, Signer>();
  const add = ({ keys }: JSONWebKeySet, publishers: readonly TrustedPublisher[]) => {
    for (const key of keys.filter(({ kid }) => kid === keyId)) {
      const digest = keyDigest(key);
      const first = found.get(digest) ?? { key, publishers: [] };
      found.set(digest, { key: first.key, publishers: [...first.publishers, ...publishers] });
    }
  };
  let problem: KrmhubError | undefined;
  const served = named.filter(({ keys }) => keys === undefined);
  if (served.length > 0) {
    try {
      add(await known.find(issuer, keyId), served);
    } catch (error) {
      problem = error as KrmhubError;
    }
  }
  for (const text of givenSets(sought)) {
    add(
      givenKey(text, keyId),
      named.filter(({ keys }) => keys === text),
    );
  }
  if (found.size > 0) {
    return { signers: [...found.values()], problem: problem?.code === 'unavailable' ? problem : undefined };
  }
  throw problem ?? refused(`the publishers of ${issuer} have no key ${JSON.stringify(keyId)}`, HINT_KEYS);
}

/** Returns the sets of keys that owners gave and that are read: each costs time. Throws if the groups have too many. */
function givenSets({ named, groups, keyId, issuer }: Sought): Set<string> {
  const spelled = JSON.stringify(keyId);
  const given = named.filter(({ keys }) => keys?.includes(spelled) === true || keys?.includes('\\') === true);
  const setsOf = (publishers: readonly TrustedPublisher[]) =>
    new Set(publishers.flatMap(({ keys }) => keys ?? []));
  const wantedGroups = new Set(groups ?? given.map(({ group }) => group));
  const wanted = setsOf(given.filter(({ group }) => wantedGroups.has(group)));
  if (wanted.size > MAX_SETS) {
    const hint = groups === undefined ? HINT_GROUPS : HINT_SETS;
    throw refused(`more than ${MAX_SETS} keys of ${issuer} have its ID`, hint);
  }
  // The first ones of all, not of the others: that would tell which are of the wanted groups.
  return new Set([...wanted, ...[...setsOf(given)].slice(0, MAX_OTHER_SETS)]);
}

/** Verifies a token with the key that signed it. Of several keys with one ID, another owner may have given the wrong ones. */
async function verifyByAny(
  token: string,
  candidates: readonly Signer[],
  expected: Expected,
): Promise<(Signer & { claims: Claims }) | undefined> {
  for (const candidate of candidates) {
    const claims = await verified(token, candidate.key, expected);
    if (claims !== undefined) return { ...candidate, claims };
  }
  return undefined;
}

/** Returns the same text for each spelling of a key. */
function keyDigest(key: JWK): string {
  return sha256(importPublicKey(key).export({ type: 'spki', format: 'der' }));
}

/** Returns the claims of a token; undefined if another key signed it. Rejects for claims that are not valid. */
async function verified(
  token: string,
  key: JWK,
  { issuer, audience, now }: Expected,
): Promise<Claims | undefined> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [key] }), {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: LEEWAY_SECONDS,
      requiredClaims: ['iss', 'aud', 'exp', 'iat', 'sub'],
      currentDate: now,
    });
    const { iat = 0 } = payload;
    if (iat > now.getTime() / 1000 + LEEWAY_SECONDS) {
      throw refused('the token was issued in the future', HINT_CLOCKS);
    }
    return payload;
  } catch (error) {
    if (error instanceof KrmhubError) throw error;
    if (!OF_CLAIMS.some((type) => error instanceof type)) return undefined;
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
    if (error.claim === 'nbf' && error.reason === 'check_failed')
      return refused('it is not valid yet', HINT_CLOCKS);
    return refused(`the claim "${error.claim}" of the token is missing or not valid`);
  }
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
