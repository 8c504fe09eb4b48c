import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditStore, ssoGroups, type UserStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { REGISTRY } from '../../http/auth/caller.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { Confirmation, IdentityProvider, ProviderTokens } from '../../sign-in/identity-provider.js';
import type { SignInProviders } from '../../sign-in/sign-in-providers.js';
import type { SessionRecord, SessionStore } from '../../store/session-store.js';
import { openText, sealText } from './sealed-text.js';

const PURPOSE = 'tokens of the provider';

export interface RefreshDeps {
  store: Pick<SessionStore, 'session' | 'refreshSession' | 'endSession'> &
    Pick<UserStore, 'user' | 'confirmUser'> &
    Pick<AuditStore, 'recordAct'>;
  signIn: SignInProviders;
  clock: () => Date;
  log: Log;
}

/** What the session of a user stores, sealed. Times are milliseconds since 1970. */
interface Held extends ProviderTokens {
  /** When the provider last confirmed the user. */
  confirmedAt: number;
  /** When a process began to ask the provider. Absent if none does. */
  claimedAt?: number;
  /** When the provider was last asked in vain. */
  triedAt?: number;
}

/**
 * Asks the provider about the user of a session that is in use, at most once a minute. Providers let a refresh token be
 * used once, and end everything if it is used again: so one process at a time claims the session by replacing what it
 * stores, and the others wait for the result. The sealed text is another one each time, so that the claim is one
 * comparison in the database.
 */
export class SessionRefresh {
  readonly #deps: RefreshDeps;
  readonly #running = new Map<string, Promise<boolean>>();

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  /** Returns what a new session stores. */
  seal(id: string, tokens: ProviderTokens): string {
    return sealHeld(id, { ...tokens, confirmedAt: this.#now() });
  }

  /** Returns the ID token with which the user signs out at the provider. */
  idToken(id: string, { refreshToken: sealed }: Pick<SessionRecord, 'refreshToken'>): string | undefined {
    return sealed === undefined ? undefined : openHeld(id, sealed)?.idToken;
  }

  /** Reports whether the session of a user continues. If the provider does not know the user any more, it ends. */
  continues(id: string, record: SessionRecord): Promise<boolean> {
    let running = this.#running.get(record.hash);
    if (running === undefined) {
      running = this.#check(id, record).finally(() => this.#running.delete(record.hash));
      this.#running.set(record.hash, running);
    }
    return running;
  }

  async #check(id: string, record: SessionRecord): Promise<boolean> {
    const { user, refreshToken: sealed } = record;
    if (user === undefined || sealed === undefined) return true;
    const held = openHeld(id, sealed);
    const now = this.#now();
    if (held === undefined || now - held.confirmedAt >= SERVER_LIMITS.unconfirmedMilliseconds) return false;
    if (held.refreshToken === undefined || isRecent(held.confirmedAt, now) || isRecent(held.triedAt, now))
      return true;
    const { claimedAt = Number.NEGATIVE_INFINITY } = held;
    if (now - claimedAt < SERVER_LIMITS.claimMilliseconds) return this.#wait(record);
    const claimed = sealHeld(id, { ...held, claimedAt: now });
    if (await this.#replace(record.hash, sealed, claimed))
      return this.#refresh(id, record, { held, claimed });
    const current = await this.#deps.store.session(record.hash);
    return current !== undefined && this.#check(id, current);
  }

  /** Waits for another process that asks the provider. What it stores counts; the next request looks again. */
  async #wait({ hash, refreshToken: claimed }: SessionRecord): Promise<boolean> {
    for (let waited = 0; waited < WAIT_MILLISECONDS; waited += POLL_MILLISECONDS) {
      await sleep(POLL_MILLISECONDS);
      const record = await this.#deps.store.session(hash);
      if (record === undefined) return false;
      if (record.refreshToken !== claimed) return true;
    }
    return true;
  }

  async #refresh(
    id: string,
    record: SessionRecord,
    { held, claimed }: { held: Held; claimed: string },
  ): Promise<boolean> {
    const { store, signIn, log } = this.#deps;
    const user = await store.user(record.user!);
    const provider = user && signIn.byIssuer(user.issuer);
    if (user === undefined || provider === undefined)
      return this.#end(record, 'its provider is not configured');
    const at = this.#now();
    try {
      const confirmation = await provider.refresh(held.refreshToken!, user.subject);
      await confirmUser(this.#deps, provider, confirmation, { at, isSignIn: false });
      const tokens = { ...defined({ idToken: held.idToken }), ...confirmation.tokens };
      return await this.#replace(record.hash, claimed, sealHeld(id, { ...tokens, confirmedAt: at }));
    } catch (error) {
      if (error instanceof KrmhubError && error.code === 'unauthorized')
        return this.#end(record, error.message);
      log.warn({ err: error, userId: user.id }, 'cannot ask the identity provider about a user');
      const { claimedAt: _, ...before } = held;
      await this.#replace(record.hash, claimed, sealHeld(id, { ...before, triedAt: at }));
      return true;
    }
  }

  #replace(hash: string, replaces: string | undefined, refreshToken: string): Promise<boolean> {
    const at = new Date(this.#now()).toISOString();
    return this.#deps.store.refreshSession(hash, { replaces, refreshToken, at });
  }

  async #end({ hash, user }: SessionRecord, reason: string): Promise<false> {
    const { store } = this.#deps;
    await store.endSession(hash);
    const at = new Date(this.#now()).toISOString();
    const ended = {
      ...REGISTRY,
      at,
      action: 'session.end',
      object: `user/${user}`,
      outcome: 'done',
    } as const;
    await store.recordAct({ ...ended, detail: { reason } });
    return false;
  }

  #now(): number {
    return this.#deps.clock().getTime();
  }
}

/** Milliseconds between two looks at what another process does. */
const POLL_MILLISECONDS = 100;
/** Milliseconds for which a request waits for it; then it goes on with what was known before. */
const WAIT_MILLISECONDS = 15_000;

const sealHeld = (id: string, held: Held) => sealText(id, PURPOSE, JSON.stringify(held));

/** Returns undefined for a text that was changed. */
function openHeld(id: string, sealed: string): Held | undefined {
  try {
    return JSON.parse(openText(id, PURPOSE, sealed)) as Held;
  } catch {
    return undefined;
  }
}

/** Whether it was within the last minute. The clock of another process may be ahead: its minute is not waited for. */
function isRecent(at: number | undefined, now: number): boolean {
  return at !== undefined && Math.abs(now - at) < SERVER_LIMITS.confirmMilliseconds;
}

/** Stores what a provider says about a user. */
export function confirmUser(
  { store, signIn }: { store: Pick<UserStore, 'confirmUser'>; signIn: SignInProviders },
  provider: IdentityProvider,
  { user }: Confirmation,
  { at, isSignIn }: { at: number; isSignIn: boolean },
) {
  const isFirst = signIn.isFirst(provider);
  const groups = ssoGroups({ issuer: user.issuer, isFirst }, user.groups);
  return store.confirmUser({ ...user, groups }, { at: new Date(at).toISOString(), isSignIn });
}
