import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ssoGroups, type UserConfirmer, type UserReader, type UserRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { LRUCache } from 'lru-cache';
import { REGISTRY } from '../http/auth/caller.js';
import {
  isRecentlyConfirmed,
  type OpenSignIn,
  type SignInChecker,
  type SignInState,
} from '../http/auth/open-sign-in.js';
import { sealText, tryOpenText } from '../http/auth/sealed-text.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import type { SignInRecord, SignInStore } from '../store/sign-in-store.js';
import { ProviderRefusal } from './explain-failure.js';
import {
  type Confirmation,
  type IdentityProvider,
  type ProviderTokens,
  UnreadUser,
} from './identity-provider.js';
import { SignInProviders } from './sign-in-providers.js';

const PURPOSE = 'tokens of the provider';
const KEY_BYTES = 32;
/** Claims of other processes that are remembered: sign-ins can end while they are claimed. */
const MAX_CLAIMS = 1_000;

export interface SignInDeps {
  store: SignInStore & UserReader & UserConfirmer;
  signIn: SignInProviders;
  clock: () => Date;
  log: Log;
}

/** What is sealed of a sign-in. Times are milliseconds since 1970. */
interface Held extends ProviderTokens {
  /** When a process began to ask the provider. Absent if none does. */
  claimedAt?: number;
  /** When the provider was last asked in vain. */
  triedAt?: number;
  /** What was wrong with its response then. Absent if there was none. */
  refusal?: string;
}

/** A sign-in about which this process asks now. */
interface Claimed {
  record: SignInRecord;
  held: Held;
  /** What is sealed meanwhile. */
  claimed: string;
  user: UserRecord;
  provider: IdentityProvider;
}

/**
 * What identity providers gave when users signed in, and with which they are asked about these users again: at most once
 * a minute for each sign-in, when its session or one of its tokens is used.
 *
 * A sign-in is asked about by itself, although another one of the same user may just have been confirmed. Otherwise one
 * that the user ended at the provider, on a lost laptop for example, would go on for as long as the user works elsewhere.
 *
 * Providers let a refresh token be used once, and end everything if it is used again: so one process at a time claims
 * the sign-in by replacing what is sealed, and the others wait for the result. The sealed text is another one each time,
 * so that the claim is one comparison in the database.
 */
export class SignIns implements SignInChecker {
  readonly #deps: SignInDeps;
  readonly #running = new Map<string, Promise<SignInState | undefined>>();
  /** Claims of other processes, by sign-in, with the time at which this one first saw them. */
  readonly #claims = new LRUCache<string, { sealed: string; seenAt: number }>({ max: MAX_CLAIMS });

  constructor(deps: SignInDeps) {
    this.#deps = deps;
  }

  /** Returns a new sign-in of a user whom the provider has just confirmed, which is not stored, and its key. */
  begin(user: string, tokens: ProviderTokens): { record: SignInRecord; signIn: OpenSignIn } {
    const signIn = { id: randomUUID(), key: randomBytes(KEY_BYTES).toString('base64url') };
    const at = this.#time(this.#now());
    const times = { createdAt: at, confirmedAt: at };
    return { record: { id: signIn.id, user, sealed: seal(signIn, tokens), ...times }, signIn };
  }

  /** Returns the ID token with which the user signs out at the provider. */
  async idToken(signIn: OpenSignIn): Promise<string | undefined> {
    const record = await this.#deps.store.signIn(signIn.id);
    return record && open(signIn, record)?.idToken;
  }

  async check(signIn: OpenSignIn): Promise<SignInState | undefined> {
    const name = `${signIn.id} ${signIn.key}`;
    let running = this.#running.get(name);
    if (running === undefined) {
      running = this.#check(signIn).finally(() => this.#running.delete(name));
      this.#running.set(name, running);
    }
    return running;
  }

  async #check(signIn: OpenSignIn): Promise<SignInState | undefined> {
    const record = await this.#deps.store.signIn(signIn.id);
    const held = record && open(signIn, record);
    if (record === undefined || held === undefined) return undefined;
    const now = this.#now();
    const current = state(record, held);
    if (!current.canAsk || isRecentlyConfirmed(current.confirmedAt, now)) return current;
    if (isRecentlyConfirmed(held.triedAt, now)) return { ...current, problem: lastProblem(held) };
    const { store, signIn: providers } = this.#deps;
    const user = await store.user(record.user);
    const provider = user && providers.byIssuer(user.issuer);
    if (user === undefined || provider === undefined) return { ...current, problem: NOT_CONFIGURED };
    if (this.#isClaimed(record, held)) return this.#wait(signIn, record);
    const claimed = seal(signIn, { ...held, claimedAt: now });
    const isClaimed = await store.replaceSignIn(signIn.id, { replaces: record.sealed, sealed: claimed });
    return isClaimed ? this.#ask(signIn, { record, held, claimed, user, provider }) : this.#check(signIn);
  }

  /** Whether another process may still ask. Its clock can differ from that of this one, which times the claim, too. */
  #isClaimed({ id, sealed }: SignInRecord, { claimedAt }: Held): boolean {
    const { claimMilliseconds, clockMilliseconds } = SERVER_LIMITS;
    const seen = this.#claims.get(id);
    if (claimedAt === undefined) {
      this.#claims.delete(id);
      return false;
    }
    const now = this.#now();
    const seenAt = seen?.sealed === sealed ? seen.seenAt : now;
    this.#claims.set(id, { sealed, seenAt });
    return now - seenAt < claimMilliseconds && now - claimedAt < claimMilliseconds + clockMilliseconds;
  }

  /** Waits for another process that asks the provider. What it stores counts; the next request looks again. */
  async #wait(signIn: OpenSignIn, claimed: SignInRecord): Promise<SignInState | undefined> {
    let record: SignInRecord | undefined = claimed;
    for (let waited = 0; waited < WAIT_MILLISECONDS; waited += POLL_MILLISECONDS) {
      await sleep(POLL_MILLISECONDS);
      record = await this.#deps.store.signIn(signIn.id);
      if (record?.sealed !== claimed.sealed) {
        this.#claims.delete(signIn.id);
        break;
      }
    }
    const held = record && open(signIn, record);
    if (record === undefined || held === undefined) return undefined;
    const problem = held.triedAt === undefined ? undefined : lastProblem(held);
    return { ...state(record, held), ...defined({ problem }) };
  }

  async #ask(
    signIn: OpenSignIn,
    { record, held, claimed, user, provider }: Claimed,
  ): Promise<SignInState | undefined> {
    const { store, log } = this.#deps;
    const at = this.#now();
    const { claimedAt: _, triedAt: __, refusal: ___, ...before } = held;
    const replace = (next: Held, confirmedAt?: string) =>
      store.replaceSignIn(signIn.id, { replaces: claimed, sealed: seal(signIn, next), confirmedAt });
    try {
      const confirmation = await provider.refresh(held.refreshToken!, user.subject);
      await confirmUser(this.#deps, provider, confirmation, { at, isSignIn: false });
      const next = { ...before, ...confirmation.tokens };
      const isStored = await replace(next, this.#time(at));
      return isStored ? { ...state(record, next), confirmedAt: at } : this.#check(signIn);
    } catch (error) {
      if (error instanceof ProviderRefusal) {
        const keepsTokens = held.isOffline !== true && !error.isOfUser;
        return this.#end(record, { keepsTokens, reason: error.message });
      }
      log.warn({ err: error, userId: user.id }, 'cannot ask the identity provider about a user');
      const isRefused = error instanceof KrmhubError && error.code === 'unauthorized';
      const tokens = error instanceof UnreadUser ? error.tokens : {};
      const next: Held = {
        ...before,
        ...tokens,
        triedAt: at,
        ...defined({ refusal: isRefused ? error.message : undefined }),
      };
      const isStored = await replace(next);
      return isStored ? { ...state(record, next), problem: lastProblem(next) } : this.#check(signIn);
    }
  }

  async #end(
    { id }: SignInRecord,
    { keepsTokens, reason }: { keepsTokens: boolean; reason: string },
  ): Promise<undefined> {
    const act = { ...REGISTRY, at: this.#time(this.#now()), reason };
    await this.#deps.store.endSignIn(id, { keepsTokens }, act);
  }

  #now(): number {
    return this.#deps.clock().getTime();
  }

  #time(at: number): string {
    return new Date(at).toISOString();
  }
}

/** Returns the identity providers of a registry, and the sign-ins of its users. */
export function openSignIns(
  config: ConstructorParameters<typeof SignInProviders>[0],
  { temporaryFolder, ...deps }: Omit<SignInDeps, 'signIn'> & { temporaryFolder: string },
): { signIn: SignInProviders; signIns: SignIns } {
  const signIn = new SignInProviders(config, { temporaryFolder, clock: deps.clock });
  return { signIn, signIns: new SignIns({ ...deps, signIn }) };
}

/** Milliseconds between two looks at what another process does. */
const POLL_MILLISECONDS = 100;
/** Milliseconds for which a request waits for it; then it goes on with what was known before. */
const WAIT_MILLISECONDS = 15_000;

const seal = ({ key }: OpenSignIn, held: Held) => sealText(key, PURPOSE, JSON.stringify(held));

/** Returns undefined for a sign-in that ended, and for a text that was changed. */
function open({ key }: OpenSignIn, { sealed, endedAt }: SignInRecord): Held | undefined {
  const text = endedAt === undefined ? tryOpenText(key, PURPOSE, sealed) : undefined;
  return text === undefined ? undefined : (JSON.parse(text) as Held);
}

function state({ confirmedAt }: SignInRecord, { refreshToken, isOffline = false }: Held): SignInState {
  return { confirmedAt: Date.parse(confirmedAt), canAsk: refreshToken !== undefined, isOffline };
}

const NOT_CONFIGURED = new KrmhubError('unauthorized', 'the identity provider of the user is not configured');

function lastProblem({ refusal }: Held): KrmhubError {
  if (refusal !== undefined) return new KrmhubError('unauthorized', refusal);
  return new KrmhubError('unavailable', 'the identity provider of the user cannot be asked', {
    hint: 'Try again in a minute.',
  });
}

/**
 * Stores what a provider says about a user. Rejects with `forbidden` for a new one where there are as many as there may
 * be: with a provider that is open to anybody, anybody could fill the database.
 */
export function confirmUser(
  { store, signIn }: { store: UserConfirmer; signIn: SignInProviders },
  provider: IdentityProvider,
  { user }: Confirmation,
  { at, ...how }: { at: number; isSignIn: boolean; maxUsers?: number | undefined },
) {
  const isFirst = signIn.isFirst(provider);
  const groups = ssoGroups({ issuer: user.issuer, isFirst }, user.groups);
  return store.confirmUser({ ...user, groups }, { at: new Date(at).toISOString(), ...how });
}
