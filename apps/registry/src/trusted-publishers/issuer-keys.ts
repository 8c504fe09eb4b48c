import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { isIssuerOf, provider } from '@krmhub/catalog';
import { CI_PROVIDERS, type JsonValue, KrmhubError, sha256 } from '@krmhub/schema';
import { isObject } from '@krmhub/schema/json/access';
import type { JSONWebKeySet, JWK } from 'jose';
import type { FetchFile } from '../upstreams/fetch-file.js';
import { fetchConfiguration, fetchJson } from './issuer-configuration.js';

/** Limits on a request to an issuer: bytes of a configuration or of keys, and time. */
export const ISSUER_LIMITS = { maxBytes: 262_144, milliseconds: 10_000 };
/** Keys that one issuer serves. */
const MAX_KEYS = 100;
/** Keys that an owner gives for one: each token reads those of many owners. */
const MAX_GIVEN_KEYS = 20;
/** Characters of them as they are stored: a token reads those of up to a thousand publishers. */
const MAX_GIVEN_LENGTH = 10_000;
const MIN_RSA_BITS = 2_048;
/** Larger keys and exponents make each token that names the key cost milliseconds. Nobody uses them. */
const MAX_RSA_BITS = 8_192;
const MAX_RSA_EXPONENT = 65_537n;
/** Characters of the ID of a key. */
const MAX_ID_LENGTH = 256;
/** Issuers whose keys are remembered. */
export const MAX_ISSUERS = 200;
/** Those of them without a key that a token named. */
const MAX_UNUSED = 50;
/** Those of one team, of all and of those without such a key: a team takes places of its own before those of others. */
const MAX_OF_TEAM = 50;
const MAX_UNUSED_OF_TEAM = 10;
/** Issuers that are asked in a minute, besides the usual ones. */
const MAX_TRIED = 10_000;
const USUAL_ISSUERS = new Set(CI_PROVIDERS.flatMap((name) => provider(name).issuer ?? []));
/** Milliseconds after which keys are fetched again. */
const FRESH_MILLISECONDS = 600_000;
/** Milliseconds for which keys are used although newer ones cannot be fetched. */
const KEPT_MILLISECONDS = 86_400_000;
/** Milliseconds between two requests because of an unknown key, or after a failure. */
const COOLDOWN_MILLISECONDS = 60_000;

interface Known {
  /** The teams with publishers of the issuer; none if administrators added some. */
  teams: readonly string[];
  keys: JSONWebKeySet | undefined;
  fetchedAt: number;
  problem: string | undefined;
  fetching: Promise<void> | undefined;
}

/** A limited number of issuers. The one that was added last is the last one to leave. */
class Places {
  readonly #issuers = new Map<string, Known>();
  readonly #max: number;
  readonly #maxOfTeam: number;

  constructor(max: number, maxOfTeam: number) {
    this.#max = max;
    this.#maxOfTeam = maxOfTeam;
  }

  get size(): number {
    return this.#issuers.size;
  }

  get(issuer: string): Known | undefined {
    return this.#issuers.get(issuer);
  }

  /**
   * Adds an issuer. Reports false if all places, or those of its team, are taken: the usual issuers stay, and those that
   * are being asked, so that no more are asked at a time than have a place.
   */
  add(issuer: string, known: Known): boolean {
    this.#issuers.delete(issuer);
    const counts = new Map<string, number>();
    for (const { teams } of this.#issuers.values())
      for (const team of teams) counts.set(team, (counts.get(team) ?? 0) + 1);
    const isFull = ({ teams }: Known) =>
      teams.length > 0 && teams.every((team) => (counts.get(team) ?? 0) >= this.#maxOfTeam);
    // Those that it shares with teams that have places left are not counted: they are of these teams too.
    const isOwn = (one: Known) => isFull(one) && one.teams.some((team) => known.teams.includes(team));
    if (isFull(known) && !this.#removeOldest(isOwn) && [...this.#issuers.values()].some(isOwn)) return false;
    if (this.#issuers.size >= this.#max && !this.#removeOldest(() => true)) return false;
    this.#issuers.set(issuer, known);
    return true;
  }

  remove(issuer: string): void {
    this.#issuers.delete(issuer);
  }

  #removeOldest(isIt: (known: Known) => boolean): boolean {
    for (const [issuer, known] of this.#issuers) {
      if (known.fetching === undefined && !USUAL_ISSUERS.has(issuer) && isIt(known))
        return this.#issuers.delete(issuer);
    }
    return false;
  }
}

/**
 * The keys of issuers, as OpenID Connect Discovery 1.0 finds them. A failed or empty answer keeps the keys of before for
 * a day: an outage of a provider stops nobody who publishes meanwhile.
 *
 * Owners can name any issuer, and have tokens sent that name it: issuers without a key that a token named have places of
 * their own.
 */
export class IssuerKeys {
  readonly #used = new Places(MAX_ISSUERS - MAX_UNUSED, MAX_OF_TEAM);
  readonly #unused = new Places(MAX_UNUSED, MAX_UNUSED_OF_TEAM);
  /** When issuers were asked, the last one at the end: also of those that have no place any more. */
  readonly #triedAt = new Map<string, number>();
  readonly #fetch: FetchFile;
  readonly #clock: () => Date;

  constructor({ fetch, clock }: { fetch: FetchFile; clock: () => Date }) {
    this.#fetch = fetch;
    this.#clock = clock;
    for (const issuer of USUAL_ISSUERS) this.#used.add(issuer, newlyKnown());
  }

  /** Issuers that are remembered. */
  get size(): number {
    return this.#used.size + this.#unused.size;
  }

  /**
   * Returns the keys of an issuer that has the key `id`. The teams are those with publishers of the issuer, undefined for
   * publishers that administrators added. Rejects with `unavailable` or `unauthorized`.
   */
  async find(
    issuer: string,
    id: string,
    teams: readonly (string | undefined)[] = [],
  ): Promise<JSONWebKeySet> {
    const counted = teams.includes(undefined) ? [] : (teams as readonly string[]);
    const known = this.#get(issuer) ?? this.#add(issuer, counted);
    known.teams = counted;
    const has = () => known.keys?.keys.some(({ kid }) => kid === id) === true;
    const now = this.#clock().getTime();
    const isFresh = now - known.fetchedAt < FRESH_MILLISECONDS;
    // Anybody can have an unknown key asked for: others do not wait for that.
    if (!(isFresh && has()) && (known.fetching !== undefined || this.#mayAsk(issuer, now))) {
      known.fetching ??= this.#refresh(issuer, known).finally(() => {
        known.fetching = undefined;
      });
      await known.fetching;
    }
    const isKept = now - known.fetchedAt < KEPT_MILLISECONDS;
    if (known.keys === undefined || !isKept) throw unavailable(issuer, known.problem);
    if (!has()) {
      throw new KrmhubError('unauthorized', `${issuer} has no key ${JSON.stringify(id)}`, {
        hint: 'Is the token from this issuer? A key that is a few seconds old is found after a minute.',
      });
    }
    // It may have left meanwhile, and another request added it again.
    if ((this.#get(issuer) ?? known) === known && this.#used.add(issuer, known)) this.#unused.remove(issuer);
    return known.keys;
  }

  #get(issuer: string): Known | undefined {
    return this.#used.get(issuer) ?? this.#unused.get(issuer);
  }

  #add(issuer: string, teams: readonly string[]): Known {
    const known = { ...newlyKnown(), teams };
    if (!this.#unused.add(issuer, known)) throw unavailable(issuer, 'many other issuers are being asked');
    return known;
  }

  /** Reports whether an issuer was not asked in the last minute. */
  #mayAsk(issuer: string, now: number): boolean {
    const isOver = (at: number) => now - at >= COOLDOWN_MILLISECONDS;
    for (const [oldest, at] of this.#triedAt) {
      if (!isOver(at)) break;
      this.#triedAt.delete(oldest);
    }
    const at = this.#triedAt.get(issuer);
    if (at !== undefined) return isOver(at);
    return this.#triedAt.size < MAX_TRIED || USUAL_ISSUERS.has(issuer);
  }

  async #refresh(issuer: string, known: Known): Promise<void> {
    this.#triedAt.delete(issuer);
    this.#triedAt.set(issuer, this.#clock().getTime());
    try {
      known.keys = await this.#fetchKeys(issuer);
      known.fetchedAt = this.#clock().getTime();
      known.problem = undefined;
    } catch (error) {
      known.problem = error instanceof Error ? error.message : String(error);
    }
  }

  async #fetchKeys(issuer: string): Promise<JSONWebKeySet> {
    const { jwks_uri: url } = await fetchConfiguration(issuer, this.#fetch);
    if (typeof url !== 'string' || !url.startsWith('https://')) {
      throw new Error('its configuration has no https URL of keys');
    }
    return readKeys(await fetchJson(url, this.#fetch));
  }
}

const newlyKnown = (): Known => ({
  teams: [],
  keys: undefined,
  fetchedAt: Number.NEGATIVE_INFINITY,
  problem: undefined,
  fetching: undefined,
});

/** Whether owners can give the keys of an issuer: not if it can be one of a provider that serves its own. */
const mayGiveKeys = (issuer: string) =>
  !USUAL_ISSUERS.has(issuer) &&
  CI_PROVIDERS.every((name) => provider(name).takesKeys || !isIssuerOf(name, issuer));

function unavailable(issuer: string, problem = 'it was asked less than a minute ago'): KrmhubError {
  const instead = mayGiveKeys(issuer)
    ? 'If the registry cannot reach the issuer, add the publisher with its keys: krmhub publisher add --keys FILE.'
    : 'If it repeats, the operator lets the registry reach the issuer.';
  return new KrmhubError('unavailable', `cannot get the keys of ${issuer}: ${problem}`, {
    hint: `Try again in a minute. ${instead}`,
  });
}

/** Reads a JSON Web Key Set (RFC 7517, section 5) with public keys for signatures. Throws an Error. */
export function readKeys(value: JsonValue, max = MAX_KEYS): { keys: NamedKey[] } {
  const keys = isObject(value) && Array.isArray(value.keys) ? value.keys : undefined;
  if (keys === undefined) throw new Error('it is not a JSON Web Key Set');
  if (keys.length > max) throw new Error(`it has ${keys.length} keys; the limit is ${max}`);
  if (keys.some((key) => isObject(key) && (Object.hasOwn(key, 'd') || Object.hasOwn(key, 'k')))) {
    throw new Error('it has a private key: send the public keys only');
  }
  const usable = usableKeys(keys);
  if (usable.length === 0) {
    throw new Error(
      `it has no RSA key of at least ${MIN_RSA_BITS} and at most ${MAX_RSA_BITS} bits, and no P-256 key, with a \`kid\``,
    );
  }
  return { keys: usable };
}

/**
 * Returns the set that is stored of one that an owner gives, without what is not read: each token reads those of many
 * owners. Throws an Error.
 */
export function storedKeys(text: string): string {
  const { keys } = readKeys(JSON.parse(text) as JsonValue, MAX_GIVEN_KEYS);
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) throw new Error('two keys have the same `kid`');
  const stored = JSON.stringify({ keys: keys.map((key) => publicJwk(importPublicKey(key), key.kid)) });
  if (stored.length <= MAX_GIVEN_LENGTH) return stored;
  throw new Error(`its keys have ${stored.length} characters; the limit is ${MAX_GIVEN_LENGTH}`);
}

/** Returns the keys with this ID of a set that an owner gave, not checked: that costs time for each of them. */
export function givenKeys(text: string, id: string): JsonValue[] {
  const { keys } = JSON.parse(text) as { keys: JsonValue[] };
  return keys.filter((key) => isObject(key) && key.kid === id);
}

/** Checks a key that an owner gave, or an issuer serves. Returns undefined for one that can verify no token. */
export function checkedKey(key: JsonValue): KeyObject | undefined {
  if (!isObject(key) || typeof key.kid !== 'string' || key.kid.length > MAX_ID_LENGTH) return undefined;
  return signingKey(key as unknown as JWK);
}

/** Returns a key without what else an owner wrote, such as `alg`, which would limit it for other publishers that have it. */
export function publicJwk(key: KeyObject, kid: string): JWK {
  return { ...key.export({ format: 'jwk' }), kid } as JWK;
}

type NamedKey = JWK & { kid: string };

function usableKeys(keys: readonly JsonValue[]): NamedKey[] {
  return keys.filter((key) => checkedKey(key) !== undefined) as unknown as NamedKey[];
}

/** Returns a public key of a set. Throws for one that is not valid. */
export function importPublicKey(key: JWK): KeyObject {
  return createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
}

/** Returns a key that can verify RS256 or ES256 (RFC 7518, sections 3.3 and 3.4). */
function signingKey(key: JWK): KeyObject | undefined {
  if (key.use !== undefined && key.use !== 'sig') return undefined;
  try {
    const imported = importPublicKey(key);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = imported;
    if (type !== 'rsa') return details.namedCurve === 'prime256v1' ? imported : undefined;
    const { modulusLength: bits = 0, publicExponent: exponent = 0n } = details;
    const isUsual = bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS;
    return isUsual && exponent > 1n && exponent <= MAX_RSA_EXPONENT ? imported : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the same text for each spelling of a key. */
export function keyDigest(key: JWK): string {
  return sha256(importPublicKey(key).export({ type: 'spki', format: 'der' }));
}
