import type { AuditStore, TokenRecord, TokenStore, UserRecord, UserStore } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { LoginStore } from '../../apps/registry/src/store/login-store.js';
import type { SessionStore } from '../../apps/registry/src/store/session-store.js';
import type { SignInRecord, SignInStore } from '../../apps/registry/src/store/sign-in-store.js';
import { AT } from './sample-records.js';

const DAY = 86_400_000;
const LIMITS = { maxOfOne: 4, max: 100 };
const ACT = { at: AT, by: 'alice' };
const day = (days: number) => new Date(Date.parse(AT) + days * DAY).toISOString();

type Store = SignInStore & SessionStore & LoginStore & TokenStore & UserStore & AuditStore;

/** The contract of every SignInStore. */
export function signInContract(store: () => Store): void {
  const confirm = (subject = 'a') =>
    store().confirmUser(
      { issuer: 'https://sso.example.com', subject, name: 'Alice', groups: [] },
      { at: AT, isSignIn: true },
    );
  const signInOf = (user: UserRecord, id: string): SignInRecord => ({
    ...{ id, user: user.id, sealed: `sealed ${id}`, createdAt: AT, confirmedAt: AT },
  });
  const begin = (user: UserRecord, id: string, { at = AT, expiresAt = day(1) } = {}) =>
    store().beginSession(
      { hash: `session ${id}`, user: user.id, createdAt: at, expiresAt, signIn: { id, key: `key ${id}` } },
      LIMITS,
      { ...ACT, at },
      signInOf(user, id),
    );
  const tokenOf = (user: UserRecord, id: string, signIn: string, expiresAt = day(30)): TokenRecord => ({
    ...{
      id,
      name: id,
      scopes: ['read'],
      groups: ['*'],
      repositories: [],
      createdAt: AT,
      createdBy: 'a',
      user,
    },
    ...{ expiresAt, signIn: { id: signIn, key: `key of ${id}`, confirmedAt: AT } },
  });
  const reason = { ...ACT, at: day(0.5), by: 'krmhub', reason: 'refused' };

  describe('sign-ins', () => {
    it('are shared by a session and its tokens, each of which has the key in its own way', async () => {
      const user = await confirm();
      await begin(user, 'one');
      await store().createToken(tokenOf(user, 't', 'one'), 'hash t');
      expect(await store().signIn('one')).toEqual(signInOf(user, 'one'));
      const session = await store().session('session one');
      expect([session?.signIn, session?.confirmedAt]).toEqual([{ id: 'one', key: 'key one' }, AT]);
      expect(await store().tokenByHash('hash t')).toEqual(tokenOf(user, 't', 'one'));
      expect(await store().tokensOfUser(user.id)).toEqual([tokenOf(user, 't', 'one')]);
      const change = { replaces: 'sealed one', sealed: 'next', confirmedAt: day(0.1) };
      expect(await store().replaceSignIn('one', change)).toBe(true);
      expect((await store().session('session one'))?.confirmedAt).toBe(day(0.1));
      expect((await store().tokenByHash('hash t'))?.signIn?.confirmedAt).toBe(day(0.1));
      expect(await store().signIn('none')).toBeUndefined();
    });

    it('are replaced by one of several at the same time', async () => {
      await begin(await confirm(), 'one');
      const sealed = ['r1', 'r2', 'r3'];
      const outcomes = await Promise.all(
        sealed.map((next) => store().replaceSignIn('one', { replaces: 'sealed one', sealed: next })),
      );
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      const winner = sealed[outcomes.indexOf(true)]!;
      expect(await store().signIn('one')).toMatchObject({ sealed: winner, confirmedAt: AT });
      expect(await store().replaceSignIn('none', { replaces: '', sealed: 'x' })).toBe(false);
    });

    it('end with their sessions, and their tokens know it', async () => {
      const user = await confirm();
      for (const id of ['one', 'two']) await begin(user, id);
      for (const id of ['one', 'two']) await store().createToken(tokenOf(user, `t ${id}`, id), `hash ${id}`);
      await store().endSignIn('one', { keepsTokens: false }, reason);
      await store().endSignIn('one', { keepsTokens: true }, reason);
      expect(await store().session('session one')).toBeUndefined();
      expect(await store().signIn('one')).toMatchObject({ sealed: '', endedAt: day(0.5) });
      expect((await store().tokenByHash('hash one'))?.signIn?.endedAt).toBe(day(0.5));
      expect(await store().replaceSignIn('one', { replaces: '', sealed: 'x' })).toBe(false);
      await store().endSignIn('two', { keepsTokens: true }, reason);
      expect([await store().session('session two'), await store().signIn('two')]).toEqual([
        undefined,
        undefined,
      ]);
      const { signIn: _, ...kept } = tokenOf(user, 't two', 'two');
      expect(await store().tokenByHash('hash two')).toEqual(kept);
      const { rows } = await store().auditRows({ action: 'session.end' }, { limit: 10 });
      expect(rows).toMatchObject(
        [1, 2].map(() => ({ object: `user/${user.id}`, detail: { reason: 'refused', sessions: 1 } })),
      );
    });

    it('that ended give no token and no login', async () => {
      const user = await confirm();
      await begin(user, 'one');
      await store().endSession('session one', ACT);
      expect(await store().signIn('one')).toBeUndefined();
      const token = tokenOf(user, 't', 'one');
      await expect(store().createToken(token, 'hash t')).rejects.toMatchObject({ code: 'conflict' });
      expect(await store().tokens()).toEqual([]);
      const [request, code] = await addLogin('w');
      expect(await store().answerLogin(code, { ...APPROVAL, signIn: { id: 'one', key: 'k' } }, ACT)).toBe(
        false,
      );
      expect(await store().loginRequest({ hash: request })).not.toHaveProperty('signIn');
    });

    it('are stored exactly as long as something that is usable refers to them', async () => {
      const random = new Random(11);
      const users = [await confirm('a'), await confirm('b')];
      const model = new Model();
      for (let step = 0; step < 120; step++) {
        model.now += random.below(3) / 10;
        const at = day(model.now);
        const one = model.signIns.length === 0 ? undefined : random.pick(model.signIns);
        const user = users[one?.user ?? random.below(2)]!;
        const kind = random.below(8);
        if (kind === 0 || one === undefined) {
          const made = model.add(random.below(2), `s${step}`, model.now + 0.1 + random.below(5));
          await begin(users[made.user]!, made.id, { at, expiresAt: day(made.sessions[0]!.until) });
          model.limitSessions(made.user, LIMITS.maxOfOne);
        } else if (kind <= 2) {
          const until = model.now + 0.1 + random.below(4);
          const isStored = (await store().signIn(one.id)) !== undefined;
          const token = { ...tokenOf(user, `t${step}`, one.id, day(until)), createdAt: at };
          const made = await store()
            .createToken(token, `hash ${step}`)
            .then(
              () => true,
              () => false,
            );
          expect([step, made]).toEqual([step, isStored]);
          if (made) one.tokens.push({ id: token.id, until });
        } else if (kind === 3) {
          const [request, code] = await addLogin(`w${step}`, at, day(model.now + 0.4));
          const answer = { ...APPROVAL, signIn: { id: one.id, key: 'sealed' } };
          if (await store().answerLogin(code, answer, { ...ACT, at }))
            one.logins.push({ id: request, until: model.now + 0.4 });
        } else if (kind === 4 && one.logins.length > 0) {
          const { id } = one.logins.pop()!;
          const signIn = (await store().loginRequest({ hash: id }))?.signIn;
          const record = { ...tokenOf(user, `l${step}`, one.id), createdAt: at };
          const used = await store().useLogin({ hash: id, at }, { record, hash: `hash ${step}`, origin: {} });
          if (used) one.tokens.push({ id: record.id, until: 30 });
          expect([step, used && signIn === undefined]).toEqual([step, false]);
        } else if (kind === 5 && one.sessions.length > 0) {
          one.sessions.pop();
          await store().endSession(`session ${one.id}`, { ...ACT, at });
        } else if (kind === 6 && one.tokens.length > 0) {
          await store().revokeToken(one.tokens.pop()!.id, at, { by: 'a' });
        } else if (kind === 7) {
          const keepsTokens = random.chance(0.5);
          await store().endSignIn(one.id, { keepsTokens }, { ...reason, at });
          model.end(one, keepsTokens);
        }
        // Whatever expired is deleted when the next session begins.
        await begin(users[0]!, `x${step}`, { at, expiresAt: day(model.now + 0.01) });
        await store().endSession(`session x${step}`, { ...ACT, at });
        model.add(0, `x${step}`, model.now);
        model.limitSessions(0, LIMITS.maxOfOne);
        model.drop();
        const stored = [];
        for (const { id } of model.all) if ((await store().signIn(id)) !== undefined) stored.push(id);
        expect([step, stored]).toEqual([step, model.signIns.map(({ id }) => id)]);
      }
      expect(model.all.length - model.signIns.length).toBeGreaterThan(20);
    });
  });

  const APPROVAL = { user: 'one', by: 'alice', scopes: ['read'], days: 30 };
  const addLogin = async (name: string, createdAt = AT, expiresAt = day(1)) => {
    const hash = `hash of ${name}`;
    const request = { hash, code: `CODE-${name}`, client: 'laptop', address: '::1', network: '::/64' };
    await store().addLoginRequest(
      { ...request, createdAt, expiresAt, state: 'pending', publicKey: 'key' },
      { max: 1_000, maxOfNetwork: { waiting: 1_000, ended: 1_000 } },
    );
    return [hash, request.code] as const;
  };
}

interface Until {
  id: string;
  /** Days. */
  until: number;
}

interface ModelSignIn {
  id: string;
  user: number;
  hasEnded: boolean;
  sessions: Until[];
  tokens: Until[];
  logins: Until[];
}

/** What refers to sign-ins. Times are days after the first one. */
class Model {
  now = 0;
  readonly all: ModelSignIn[] = [];
  signIns: ModelSignIn[] = [];

  add(user: number, id: string, until: number): ModelSignIn {
    const made = { id, user, hasEnded: false, sessions: [{ id, until }], tokens: [], logins: [] };
    this.all.push(made);
    this.signIns.push(made);
    return made;
  }

  /** The newest sessions of a user stay. */
  limitSessions(user: number, max: number): void {
    const begun = this.all.filter((one) => one.user === user && one.sessions.some(this.#isGood));
    for (const one of begun.slice(0, -max)) one.sessions = [];
  }

  end(one: ModelSignIn, keepsTokens: boolean): void {
    if (one.hasEnded) return;
    Object.assign(one, { hasEnded: true, sessions: [] });
    if (keepsTokens) Object.assign(one, { tokens: [], logins: [] });
  }

  drop(): void {
    this.signIns = this.signIns.filter(({ sessions, tokens, logins }) =>
      [...sessions, ...tokens, ...logins].some(this.#isGood),
    );
  }

  readonly #isGood = ({ until }: Until): boolean => day(until) > day(this.now);
}
