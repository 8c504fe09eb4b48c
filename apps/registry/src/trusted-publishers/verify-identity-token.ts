import {
  type Claims,
  describeProblem,
  type IssuerTeam,
  namesSource,
  type Provider,
  provider,
  publisherTarget,
  shortClaim,
  type TrustedPublisher,
  type TrustedPublisherReader,
} from '@krmhub/catalog';
import { type JsonValue, KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  compactVerify,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWK,
  jwtVerify,
} from 'jose';
import { ALGORITHMS, findSigners } from './given-signers.js';
import { givenKeys, type IssuerKeys, keyDigest } from './issuer-keys.js';
import {
  type ComparedPublisher,
  type ComparePublishers,
  describeClaimedWorkflow,
  describeRefusal,
} from './publisher-rights.js';
import { formProblem, isText, LEEWAY_SECONDS, type TokenProblem, tokenProblems } from './token-problems.js';

/** Length of a token. */
const MAX_LENGTH = 16_384;
/** Seconds for which the registry remembers that after it expired: the clock of another of its processes can be behind. */
const REMEMBERED_SECONDS = 3_600;
/** Groups whose given keys are read: the first ones that are named. */
const MAX_GROUPS = 50;
/** Given keys with which a token is checked, whether there are as many or not (given-signers.ts): of so many groups, one each. */
const MAX_CHECKED = 16;
/** Different keys with the ID that owners of a group gave: the newest ones, which are checked if fewer groups are named. */
const MAX_KEYS_OF_GROUP = 3;
/** Groups of which all these keys are checked. */
const MAX_FULLY_CHECKED = Math.floor(MAX_CHECKED / MAX_KEYS_OF_GROUP);
/** Publishers with keys, and different keys, of a token that names no group. */
const MAX_KEYED = 1_000;
const MAX_KEYS = 50;
const HINT_GROUPS = 'Name what it will publish, as krmhub publish does: `groups`.';

/** A token of a provider whose signature, audience, and time were verified. */
export interface IdentityToken {
  claims: Claims;
  issuer: string;
  /**
   * The publishers of the groups that name the source of the run, and whose keys verify it: any owner can give keys for an
   * issuer, which count for that publisher alone.
   */
  publishers: readonly TrustedPublisher[];
  /**
   * Publishers without keys of the same groups for the source of a run that a given key verifies. They give it nothing, unless
   * they are among `publishers`: only the issuer says whether they accept it.
   */
  others: readonly TrustedPublisher[];
  /** Whether the issuer itself says what the claims say, and not only an owner who gave a key. */
  isServed: boolean;
  /** What no other token of the issuer has: its key with its ID, else with a digest of what is signed. */
  key: string;
  issuedAt: Date;
  /** Until when it is remembered, so that it is not used again. */
  usableUntil: Date;
}

interface VerifyContext {
  /** What can accept the token. */
  publishers(
    of: { issuer: string; keyId: string },
    groups: Parameters<TrustedPublisherReader['publishersOfToken']>[1],
  ): Promise<TrustedPublisher[]>;
  issuerTeams(issuer: string): Promise<IssuerTeam[]>;
  compare: ComparePublishers;
  /** Absent for all groups. */
  groups?: readonly string[] | undefined;
  audience: string;
  keys: IssuerKeys;
  now: Date;
}

/**
 * Verifies a token of a provider of which a publisher is known (OpenID Connect Core 1.0, section 3.1.3.7). The issuer
 * that the token names only chooses the keys. Rejects with `unauthorized`, whose message says what is wrong, and with
 * `unavailable` if the keys of the issuer cannot be had.
 *
 * Anyone can name any group, also a hidden one, and sign with keys that they gave. So what publishers of the groups have
 * shows only to the source that they name; all other answers depend on what the issuer serves.
 */
export async function verifyIdentityToken(text: string, context: VerifyContext): Promise<IdentityToken> {
  const unverified = readUnverified(text);
  const { issuer, keyId } = unverified;
  const teams = await context.issuerTeams(issuer);
  if (teams.length === 0) {
    const hint = `An owner of the group adds the workflow: krmhub publisher add ${context.groups?.[0] ?? 'GROUP'}, with --issuer for a server of your own. See \`krmhub help trusted-publishing\`.`;
    throw refused(`no trusted publisher has the issuer ${JSON.stringify(shortClaim(issuer))}`, hint);
  }
  const served = teams.filter(({ isServed }) => isServed).map(({ team }) => team);
  const { given, own } = await givenSigner(text, unverified, context);
  const { publishers: keyed, claims: said } = given ?? { publishers: [], claims: {} };
  const ofSource = given === undefined ? [] : own.filter((one) => namesSource(one, said));
  // Together, so that the rights of their teams are read once.
  const ofGiven = (await context.compare([...keyed, ...ofSource], said)).slice(0, keyed.length);
  const compared = ofGiven.map((one) => ({ publisher: one.publisher, problems: acceptProblems(one) }));
  // One of a team that lost the group must not hide that of the team which has it now.
  const taken = compared.flatMap(({ publisher, problems }) => (problems.length === 0 ? [publisher] : []));
  // What else the group has for its source, its own token may find out, whether the issuer answers or not.
  const groups = new Set(taken.map(({ group }) => group));
  const others = ofSource.filter((one) => groups.has(one.group) && isFormed(one, said));
  const verified = async (signer: Signer, isServed = false) => ({
    ...(await checked(text, signer, context)),
    ...{ others, isServed },
  });
  // All that the group lets it publish. One of another team or provider may be refused where the other one is not.
  const hasMore = (than: TrustedPublisher) =>
    others.some(
      (one) =>
        one.group === than.group &&
        (than.kind !== undefined || one.team !== than.team || one.provider !== than.provider),
    );
  const isTaken = (group: string) => taken.some((one) => one.group === group && !hasMore(one));
  if (given !== undefined && context.groups?.every(isTaken) === true) return verified(given);
  try {
    // Asked or not, whatever the groups have: only the issuer says which claims are true.
    if (served.length === 0) throw unknownKey(text, keyId, context.groups);
    const signer = await servedSigner(text, await context.keys.find(issuer, keyId, served), keyId);
    const named = own.filter((one) => namesSource(one, signer.claims));
    const publishers = [...(given?.publishers ?? []), ...named];
    return await verified({ ...signer, publishers }, true);
  } catch (error) {
    const isAway = (error as KrmhubError).code === 'unavailable';
    if (given === undefined) throw error;
    const token = await verified(given);
    if (isAway && taken.length === 0) throw alsoRefused(error as KrmhubError, compared);
    return token;
  }
}

/** Returns why a publisher does not accept a run, each as a part of a sentence. */
function acceptProblems(compared: ComparedPublisher): string[] {
  const problems = compared.problems.map(describeProblem);
  const refusal = describeRefusal(compared);
  return refusal === undefined ? problems : [...problems, refusal];
}

/**
 * Adds to the error of an issuer that is away why the publishers with given keys do not accept the run: when it is back,
 * the others may not accept it either.
 */
function alsoRefused(
  error: KrmhubError,
  compared: { publisher: TrustedPublisher; problems: readonly string[] }[],
): KrmhubError {
  const [closest] = compared.sort((a, b) => a.problems.length - b.problems.length);
  const { publisher, problems } = closest!;
  const target = publisherTarget(publisher);
  const hint = `The publisher of ${target} whose keys were given does not accept the run: ${problems.join('; ')}. Another publisher may accept it. ${error.hint ?? ''}`;
  return new KrmhubError('unavailable', error.message, { hint: hint.trim() });
}

/** Signatures have several spellings that verify, so what is signed identifies a token. */
function signedDigest(token: string): string {
  return `content ${sha256(Buffer.from(token.slice(0, token.lastIndexOf('.'))))}`;
}

/** What a token says of itself. */
interface Unverified {
  issuer: string;
  keyId: string;
  algorithm: string;
}

function readUnverified(token: string): Unverified {
  if (token.length > MAX_LENGTH) {
    throw refused(`the token has ${token.length} characters; the limit is ${MAX_LENGTH}`);
  }
  try {
    const { kid, alg } = decodeProtectedHeader(token);
    const { iss } = decodeJwt(token);
    if (typeof iss !== 'string') throw refused('the token has no claim "iss"');
    if (typeof kid !== 'string') throw refused('the header of the token has no "kid"');
    if (typeof alg !== 'string' || !ALGORITHMS.some((known) => known === alg)) {
      throw refused(`the token is signed with ${JSON.stringify(alg)}, not with ${ALGORITHMS.join(' or ')}`);
    }
    return { issuer: iss, keyId: kid, algorithm: alg };
  } catch (error) {
    if (error instanceof KrmhubError) throw error;
    throw refused('it is not a JSON Web Token', 'Send the token as your CI provider returns it.');
  }
}

interface Signer {
  key: JWK;
  claims: Claims;
  publishers: readonly TrustedPublisher[];
}

/** A key that owners gave, not checked. */
interface GivenKey {
  given: JsonValue;
  /** The publishers that have a token checked with it. */
  checking: TrustedPublisher[];
  /** Others for which it counts. */
  more: TrustedPublisher[];
}

interface KeyPlaces {
  named: readonly string[];
  /** Those of them whose given keys are read. */
  keyed: readonly string[];
  /** Those of them that have tokens checked. */
  checking: ReadonlySet<string>;
  /**
   * How many keys of each, the newest ones. It depends on what the client named alone: what is read of one group must not
   * tell what the others have.
   */
  ofGroup: number;
}

function keyPlaces(named: readonly string[]): KeyPlaces {
  const keyed = [...new Set(named)].slice(0, MAX_GROUPS);
  const checking = new Set(keyed.slice(0, MAX_CHECKED));
  const ofGroup = Math.min(MAX_KEYS_OF_GROUP, Math.floor(MAX_CHECKED / checking.size));
  return { named, keyed, checking, ofGroup };
}

/** Returns the keys with an ID that owners gave: each that is checked costs time. */
function candidates(
  wanted: readonly TrustedPublisher[],
  { issuer, keyId }: Unverified,
  places: KeyPlaces | undefined,
): GivenKey[] {
  const isLimited = places === undefined;
  const refuseMany = () => {
    throw refused(`owners gave many keys of ${issuer} that have its ID`, HINT_GROUPS);
  };
  if (isLimited && wanted.filter(({ keys }) => keys !== undefined).length > MAX_KEYED) refuseMany();
  const found = new Map<string, GivenKey>();
  const ofGroups = new Map<string, string[]>();
  for (const publisher of wanted) {
    const { group, keys } = publisher;
    for (const given of keys === undefined ? [] : givenKeys(keys, keyId)) {
      const text = JSON.stringify(given);
      const ofGroup = ofGroups.get(group) ?? [];
      ofGroups.set(group, ofGroup);
      if (!ofGroup.includes(text)) ofGroup.push(text);
      const place = ofGroup.indexOf(text);
      if (place >= MAX_KEYS_OF_GROUP) continue;
      const key = found.get(text) ?? { given, checking: [], more: [] };
      found.set(text, key);
      const isChecking = isLimited || (places.checking.has(group) && place < places.ofGroup);
      (isChecking ? key.checking : key.more).push(publisher);
      if (isLimited && found.size > MAX_KEYS) refuseMany();
    }
  }
  return [...found.values()];
}

/**
 * Returns the given key that signed a token, for the publishers that name its source, if there is one, and the publishers
 * without keys. The keys, which can be many, are not held while the issuer is asked.
 */
async function givenSigner(
  token: string,
  of: Unverified,
  { publishers: read, groups }: VerifyContext,
): Promise<{ given: Signer | undefined; own: TrustedPublisher[] }> {
  const places = groups && keyPlaces(groups);
  const wanted = await read(of, places ?? { limit: MAX_KEYED + 1 });
  const own = wanted.filter(({ keys }) => keys === undefined);
  const keys = candidates(wanted, of, places).filter(({ checking }) => checking.length > 0);
  const atLeast = places === undefined ? 0 : places.checking.size * places.ofGroup;
  const signers = findSigners(token, of, { keys, atLeast });
  const [first] = signers;
  if (first === undefined) return { given: undefined, own };
  const { key } = first;
  const claims = decodeJwt(token);
  // Owners can spell the same key in different ways.
  const digest = keyDigest(key);
  const same = signers.filter((one) => keyDigest(one.key) === digest);
  const ofSource = (publishers: readonly TrustedPublisher[]) =>
    publishers.filter((one) => namesSource(one, claims));
  const checking = ofSource(same.flatMap((one) => one.checking));
  // That another source of a group has the key must not show in what the others accept.
  if (checking.length === 0) return { given: undefined, own };
  const publishers = [...checking, ...ofSource(same.flatMap((one) => one.more))];
  return { given: { key, claims, publishers }, own };
}

/** Returns the key that signed a token, of those that the issuer serves. Rejects if there is none. */
async function servedSigner(
  token: string,
  { keys }: JSONWebKeySet,
  keyId: string,
): Promise<Omit<Signer, 'publishers'>> {
  for (const key of keys.filter(({ kid }) => kid === keyId)) {
    const claims = await signedClaims(token, key);
    if (claims !== undefined) return { key, claims };
  }
  throw refused('its signature is not valid');
}

/** Returns the claims of a token, of which only the signature was verified; undefined if another key signed it. */
async function signedClaims(token: string, key: JWK): Promise<Claims | undefined> {
  try {
    await compactVerify(token, createLocalJWKSet({ keys: [key] }), { algorithms: ALGORITHMS });
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

/** Returns a token with its claims checked. Rejects for claims that are not valid. */
async function checked(
  token: string,
  { key, publishers, claims: { iss } }: Signer,
  { audience, now }: VerifyContext,
): Promise<Omit<IdentityToken, 'others' | 'isServed'>> {
  const issuer = iss as string;
  const claims = await checkedClaims(token, key, { issuer, audience, now });
  const problems = publishers.map((one) => refusedForm(claims, provider(one.provider)));
  const accepted = publishers.filter((_, index) => problems[index] === undefined);
  if (accepted.length === 0 && publishers.length > 0) throw problems[0]!;
  const { exp, iat, jti } = claims as { exp: number; iat: number; jti?: unknown };
  const own = isText(jti) ? `jti ${sha256(Buffer.from(jti))}` : signedDigest(token);
  const issuedAt = new Date(Math.max(iat, 0) * 1000);
  const usableUntil = new Date((exp + REMEMBERED_SECONDS) * 1000);
  // By key, so that no one uses up the tokens that another key signs.
  return { claims, issuer, publishers: accepted, key: `${keyDigest(key)} ${own}`, issuedAt, usableUntil };
}

/** The error for a workflow that is not a trusted publisher, or whose token is signed with another key than its publisher has. */
function unknownKey(text: string, keyId: string, groups: readonly string[] | undefined): KrmhubError {
  const where = groups === undefined ? '' : ` of ${groups.join(', ')}`;
  const group = groups?.[0] ?? 'GROUP';
  const claims = decodeJwt(text);
  const who = describeClaimedWorkflow(String(claims.iss), claims);
  // By what the client named alone, whatever keys its groups have.
  const fewer =
    new Set(groups).size > MAX_FULLY_CHECKED
      ? `. Of so many groups, not every key is checked: name fewer groups at once, at most ${MAX_FULLY_CHECKED}`
      : '';
  return refused(
    `no trusted publisher${where} is ${who} with the key ${JSON.stringify(shortClaim(keyId))}`,
    `An owner of the group adds the workflow: krmhub publisher add ${group}. If it was added, it may have ended because no run used it for 30 days, or the issuer may have new keys: remove it, and add it again with the new keys. To see those that exist: krmhub publisher list ${group}${fewer}`,
  );
}

/** Returns the claims of a token that a key signed. Rejects for claims that are not valid. */
async function checkedClaims(
  token: string,
  key: JWK,
  { issuer, audience, now }: { issuer: string; audience: string; now: Date },
): Promise<Claims> {
  const [problem] = tokenProblems(decodeJwt(token), { audience, now });
  if (problem !== undefined) throw refusedFor(problem);
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [key] }), {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: LEEWAY_SECONDS,
      requiredClaims: ['iss', 'aud', 'exp', 'iat', 'sub'],
      currentDate: now,
    });
    return payload;
  } catch (error) {
    if (!(error instanceof errors.JWTClaimValidationFailed)) throw refused('it cannot be verified');
    throw refused(`the claim "${error.claim}" of the token is missing or not valid`);
  }
}

/** Whether claims have the form that the provider of a publisher gives them. */
function isFormed(publisher: TrustedPublisher, claims: Claims): boolean {
  return refusedForm(claims, provider(publisher.provider)) === undefined;
}

/** Returns the error for a token that a provider would not have made. */
function refusedForm(claims: Claims, made: Provider): KrmhubError | undefined {
  const problem = formProblem(claims, made);
  if (problem !== undefined) return refusedFor(problem);
  return made.hasTokenIds && claims.jti === undefined ? refused('it has no claim "jti"') : undefined;
}

function refusedFor({ why, hint, sentence, claim, expected, found }: TokenProblem): KrmhubError {
  return refused(sentence ?? `${why}: ${describeProblem({ claim, expected, found, why: undefined })}`, hint);
}

function refused(why: string, hint?: string): KrmhubError {
  return new KrmhubError('unauthorized', `the identity token is refused: ${why}`, defined({ hint }));
}
