import type { Act, AuditStore, TokenStore, UserRecord, UserStore } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type {
  DirectoryFilter,
  DirectoryStore,
  DirectoryUserFields,
} from '../../apps/registry/src/store/directory-store.js';
import type { LoginStore } from '../../apps/registry/src/store/login-store.js';
import type { SessionStore } from '../../apps/registry/src/store/session-store.js';
import type { SignInStore } from '../../apps/registry/src/store/sign-in-store.js';
import { DirectoryModel, ISSUER, LIMITS } from './directory-model.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT } from './sample-records.js';

const LATER = '2030-02-02T03:04:05.678Z';
const ACT: Act = { at: AT, by: 'entra' };
const ALL = { offset: 0, limit: 1_000 };

type Store = DirectoryStore & UserStore & SessionStore & SignInStore & TokenStore & LoginStore & AuditStore;

const fields = (userName: string, more: Partial<DirectoryUserFields> = {}): DirectoryUserFields => ({
  ...{ userName, isActive: true, attributes: {} },
  ...more,
});
const group = (name: string, members: Iterable<string> = []) => ({ name, members: new Set(members) });

/** The contract of every DirectoryStore. */
export function directoryContract(harness: () => Pick<RegistryStoreHarness, 'run'> & { store: Store }): void {
  const store = () => harness().store;
  const add = (userName: string, more: Partial<DirectoryUserFields> = {}, issuer = ISSUER) =>
    store().addDirectoryUser(issuer, fields(userName, more), LIMITS, ACT);
  const addGroup = (name: string, members: Iterable<string> = [], limits = LIMITS) =>
    store().addDirectoryGroup(ISSUER, group(name, members), limits, ACT);
  const change = (id: string, given: Partial<DirectoryUserFields>, act = ACT) =>
    store().changeDirectoryUser(ISSUER, id, (current) => ({ ...current, ...given }), act);
  const refuse = (work: Promise<unknown>, code: string) => expect(work).rejects.toMatchObject({ code });

  describe('users of a directory', () => {
    it('are users of the registry, whom the external ID or else the user name identifies', async () => {
      const attributes = {
        displayName: 'Alice\u202e  A.',
        emails: [{ value: 'x@example.com' }, { value: 'a@example.com', primary: true }],
      };
      const alice = await add('alice@example.com', { externalId: '00u1', attributes });
      expect(alice).toEqual({
        ...{ id: alice.id, user: alice.user, createdAt: AT, changedAt: AT },
        ...fields('alice@example.com', { externalId: '00u1', attributes }),
      });
      expect(await store().user(alice.user)).toEqual({
        ...{ id: alice.user, issuer: ISSUER, subject: '00u1', name: 'Alice A.', email: 'a@example.com' },
        ...{ groups: [], createdAt: AT, confirmedAt: AT, directory: { isActive: true, groups: [] } },
      });
      expect(await store().user((await add('bob')).user)).toMatchObject({ subject: 'bob', name: 'bob' });
      const signedIn = { issuer: ISSUER, subject: 'carol', name: 'Carol', groups: ['claimed'] };
      const carol = await store().confirmUser(signedIn, { at: AT, isSignIn: true });
      expect((await add('Carol', { externalId: 'carol' })).user).toBe(carol.id);
      expect((await store().user(carol.id))?.groups).toEqual(['claimed']);
    });

    it('and suspended ones do not count among those who may sign in, nor do those of another provider', async () => {
      const enter = (subject: string, issuer = ISSUER) =>
        store().confirmUser(
          { issuer, subject, name: subject, groups: [] },
          { at: AT, isSignIn: true, maxUsers: 2 },
        );
      const [ann, ben] = [await add('ann'), await add('ben'), await add('cleo')];
      await enter('ann');
      const dora = await enter('dora');
      await enter('dora', 'https://other.example.com');
      await enter('eve', 'https://other.example.com');
      await enter('eve');
      await refuse(enter('fay'), 'forbidden');
      await store().suspendUser(dora.id, true, ACT);
      await enter('fay');
      await refuse(enter('gil'), 'forbidden');
      await store().removeDirectoryUser(ISSUER, ann.id, ACT);
      await store().suspendUser(dora.id, false, ACT);
      await refuse(enter('gil'), 'forbidden');
      expect(await enter('ben')).toMatchObject({ id: ben.user });
    });

    it('are unique by name without case, and by subject; others may have the same in another directory', async () => {
      const alice = await add('alice', { externalId: '1' });
      await refuse(add('ALICE', { externalId: '2' }), 'conflict');
      await refuse(add('other', { externalId: '1' }), 'conflict');
      await refuse(add('1'), 'conflict');
      const elsewhere = await add('alice', { externalId: '1' }, 'https://other.example.com');
      expect(elsewhere.user).not.toBe(alice.user);
      expect(await store().directoryUser(ISSUER, elsewhere.id)).toBeUndefined();
      const bob = await add('bob', { externalId: '2' });
      await refuse(change(bob.id, { userName: 'aLice' }), 'conflict');
      await refuse(change(bob.id, { externalId: '1' }), 'conflict');
      // A change that is refused changes nothing.
      expect((await store().user(bob.user))?.directory).toEqual({ isActive: true, groups: [] });
      expect(await change(alice.id, { userName: 'Alice' })).toMatchObject({ userName: 'Alice' });
    });

    it('are found by each filter, and listed in pages', async () => {
      const names = Array.from({ length: 23 }, (_, number) => `user-${number}`);
      const added: { id: string }[] = [];
      for (const name of names) added.push(await add(name, { externalId: `id ${name}` }));
      const ids: string[] = [];
      for (let offset = 0; offset < 40; offset += 7) {
        const page = await store().directoryUsers(ISSUER, undefined, { offset, limit: 7 });
        expect(page.total).toBe(23);
        ids.push(...page.users.map(({ id }) => id));
      }
      expect(ids).toEqual(added.map(({ id }) => id).sort());
      const found = async (filter: DirectoryFilter, issuer = ISSUER) => {
        const { total, users } = await store().directoryUsers(issuer, filter, ALL);
        expect(total).toBe(users.length);
        return users.map(({ userName }) => userName);
      };
      expect(await found({ by: 'name', value: 'USER-7' })).toEqual(['user-7']);
      expect(await found({ by: 'externalId', value: 'id user-7' })).toEqual(['user-7']);
      expect(await found({ by: 'externalId', value: 'ID user-7' })).toEqual([]);
      expect(await found({ by: 'id', value: added[3]!.id })).toEqual(['user-3']);
      expect(await found({ by: 'id', value: added[3]!.id }, 'https://other.example.com')).toEqual([]);
      expect(await store().directoryUsers(ISSUER, undefined, { offset: 0, limit: 0 })).toMatchObject({
        total: 23,
        users: [],
      });
    });

    it('end their sessions as soon as they are not active', async () => {
      const { id, user } = await add('alice');
      const session = { hash: 'h', user, createdAt: AT, expiresAt: LATER };
      await store().beginSession(session, { maxOfOne: 9, max: 9 }, ACT);
      await change(id, { isActive: false });
      expect(await store().session('h')).toBeUndefined();
      expect(await store().user(user)).toMatchObject({ suspendedAt: AT, suspendedBy: 'the directory' });
    });

    it('stay suspended by an administrator, whatever the directory says', async () => {
      const { id, user } = await add('alice', { isActive: false });
      const admin = { at: LATER, by: 'admin' };
      await store().suspendUser(user, true, admin);
      const suspended = { suspendedAt: LATER, suspendedBy: 'admin' };
      expect(await store().user(user)).toMatchObject(suspended);
      await change(id, { isActive: true });
      expect(await store().user(user)).toMatchObject({ ...suspended, directory: { isActive: true } });
      await store().suspendUser(user, false, admin);
      expect((await store().user(user))?.suspendedAt).toBeUndefined();
      await change(id, { isActive: false });
      // Only the directory restores whom it manages.
      expect(await store().suspendUser(user, false, admin)).toMatchObject({ suspendedBy: 'the directory' });
      await store().removeDirectoryUser(ISSUER, id, ACT);
      expect((await store().suspendUser(user, false, admin))?.suspendedAt).toBeUndefined();
    });

    it('are suspended when they are removed, or are another user by a new subject', async () => {
      const platform = await add('member');
      const { id, user } = await add('alice', { externalId: 'wrong' });
      await addGroup('ops', [id, platform.id]);
      await store().confirmUser(
        { issuer: ISSUER, subject: 'wrong', name: 'A', groups: ['claimed'] },
        { at: AT, isSignIn: true },
      );
      const moved = await change(id, { externalId: 'right' });
      expect(moved?.user).not.toBe(user);
      const former = await store().user(user);
      expect([former?.suspendedBy, former?.directory, former?.groups]).toEqual([
        'the directory',
        undefined,
        [],
      ]);
      expect(await store().user(moved!.user)).toMatchObject({ subject: 'right', groups: ['ops'] });
      expect(await store().removeDirectoryUser(ISSUER, id, ACT)).toBe(true);
      expect(await store().removeDirectoryUser(ISSUER, id, ACT)).toBe(false);
      expect((await store().user(moved!.user))?.groups).toEqual([]);
      const again = await add('alice', { externalId: 'right' });
      expect([again.user, again.id === id]).toEqual([moved!.user, false]);
      expect((await store().user(again.user))?.suspendedAt).toBeUndefined();
    });
  });

  it('a user whom no directory suspends is not taken from it', async () => {
    const { id, user } = await add('alice');
    await addGroup('ops', [id]);
    const before = await store().user(user);
    await store().releaseUser(user, ACT);
    expect(await store().user(user)).toEqual(before);
    await change(id, { isActive: false });
    await store().releaseUser(user, ACT);
    const after = await store().user(user);
    expect([after?.groups, after?.directory, after?.suspendedBy]).toEqual([[], undefined, 'the directory']);
    expect((await store().directoryUsers(ISSUER, undefined, ALL)).total).toBe(0);
    const { groups } = await store().directoryGroups(ISSUER, undefined, ALL);
    expect(groups.map(({ name, size }) => [name, size])).toEqual([['ops', 0]]);
    await store().releaseUser(user, ACT);
    await store().releaseUser('00000000-0000-4000-8000-000000000000', ACT);
    expect(await store().user(user)).toEqual(after);
  });

  describe('users whom a directory removed', () => {
    const limits = { scopes: ['read'], groups: ['*'], repositories: [], createdAt: AT, createdBy: 'a' };
    const ways = {
      'are removed': (id: string) => store().removeDirectoryUser(ISSUER, id, ACT),
      'are another user by a new subject': (id: string) => change(id, { externalId: 'other' }),
      'are restored without their directory': async (id: string) => {
        const { user } = (await change(id, { isActive: false }))!;
        await store().releaseUser(user, ACT);
      },
    };

    it.each(Object.entries(ways))(
      'lose their tokens and logins when they %s, and get none back',
      async (_, end) => {
        const [alice, bob] = [await add('alice', { externalId: '1' }), await add('bob')];
        const users = new Map<string, UserRecord>();
        for (const { user } of [alice, bob]) {
          users.set(user, (await store().user(user))!);
          await store().createToken(
            { id: user, name: 't', ...limits, user: users.get(user)! },
            `hash ${user}`,
          );
          const login = { hash: `login ${user}`, code: `${user.slice(0, 4)}-${user.slice(9, 13)}` };
          const request = { ...login, client: 'c', address: '::1', network: user, publicKey: 'k' };
          const times = { createdAt: AT, expiresAt: LATER };
          const added = { ...request, ...times, state: 'pending' as const };
          expect(
            await store().addLoginRequest(added, { max: 9, maxOfNetwork: { waiting: 9, ended: 9 } }),
          ).toBe('added');
          await store().answerLogin(login.code, { user, by: 'a', scopes: ['read'], days: 1 }, ACT);
        }
        await end(alice.id);
        await add('alice again', { externalId: '1' });
        expect((await store().user(alice.user))?.suspendedAt).toBeUndefined();
        const revoked = await store().tokenByHash(`hash ${alice.user}`);
        expect([revoked?.revokedAt, revoked?.revokedReason]).toEqual([AT, 'the directory removed the user']);
        const token = (user: string) => ({
          record: { id: `new ${user}`, name: 'n', ...limits, user: users.get(user)! },
          hash: `new ${user}`,
          origin: {},
        });
        const use = (user: string) => store().useLogin({ hash: `login ${user}`, at: AT }, token(user));
        expect([await use(alice.user), await use(bob.user)]).toEqual([false, true]);
        expect((await store().tokenByHash(`hash ${bob.user}`))?.revokedAt).toBeUndefined();
      },
    );

    it.each([
      ['the directory adds them again', () => add('alice')],
      ['an administrator restores them', (user: string) => store().suspendUser(user, false, ACT)],
    ])('lose tokens that an earlier version left when %s', async (_, restore) => {
      const { run } = harness();
      if (run === undefined) return;
      const { id, user } = await add('alice');
      const of = (await store().user(user))!;
      await store().createToken({ id: 'old', name: 'old', ...limits, user: of }, 'old');
      await store().removeDirectoryUser(ISSUER, id, ACT);
      await run('UPDATE token SET revoked_at = NULL, revoked_by = NULL, revoked_reason = NULL');
      expect((await store().tokensOfUser(user)).map(({ revokedAt }) => revokedAt)).toEqual([undefined]);
      await restore(user);
      expect((await store().user(user))?.suspendedAt).toBeUndefined();
      const revoked = { revokedAt: AT, revokedReason: 'the directory removed the user' };
      expect(await store().tokenByHash('old')).toMatchObject(revoked);
      // Only once: another token is of the user who came back.
      await store().createToken({ id: 'new', name: 'new', ...limits, user: of }, 'new');
      const current = (await store().directoryUsers(ISSUER, undefined, ALL)).users;
      for (const one of current) for (const isActive of [false, true]) await change(one.id, { isActive });
      expect((await store().tokenByHash('new'))?.revokedAt).toBeUndefined();
    });

    it.each(['session', 'token', 'login'])('leave no sign-in that only a %s refers to', async (kind) => {
      const { id, user } = await add('alice');
      const signIn = { id: 'sign-in', key: 'k' };
      const record = { ...{ id: signIn.id, user, sealed: 'refresh token' }, createdAt: AT, confirmedAt: AT };
      const session = { hash: 'h', user, createdAt: AT, expiresAt: LATER, signIn };
      await store().beginSession(session, { maxOfOne: 9, max: 9 }, ACT, record);
      if (kind === 'token') {
        const of = { user: (await store().user(user))!, signIn: { ...signIn, confirmedAt: AT } };
        await store().createToken({ id: 't', name: 't', ...limits, ...of }, 't');
      }
      if (kind === 'login') {
        const request = { hash: 'l', code: 'c', client: 'c', address: '::1', network: 'n', publicKey: 'k' };
        const added = { ...request, createdAt: AT, expiresAt: LATER, state: 'pending' as const };
        await store().addLoginRequest(added, { max: 9, maxOfNetwork: { waiting: 9, ended: 9 } });
        await store().answerLogin('c', { user, by: 'a', scopes: ['read'], days: 1, signIn }, ACT);
      }
      if (kind !== 'session') await store().endSession('h', ACT);
      expect(await store().signIn(signIn.id)).toEqual(record);
      await store().removeDirectoryUser(ISSUER, id, ACT);
      expect(await store().signIn(signIn.id)).toBeUndefined();
    });
  });

  describe('groups of a directory', () => {
    it('are those of their members, with what the last sign-in said', async () => {
      const [alice, bob] = [await add('alice'), await add('bob')];
      const groups = async ({ user }: { user: string }) => (await store().user(user))?.groups;
      const ops = await addGroup('ops', [alice.id]);
      const web = await addGroup('https://groups.example.com/web', [alice.id, bob.id]);
      const url = `${ISSUER} https://groups.example.com/web`;
      expect([await groups(alice), await groups(bob)]).toEqual([[url, 'ops'], [url]]);
      await store().confirmUser(
        { issuer: ISSUER, subject: 'alice', name: 'Alice', groups: ['claimed', 'ops', 'web-id'] },
        { at: AT, isSignIn: true },
      );
      expect(await groups(alice)).toEqual(['claimed', url, 'ops', 'web-id']);
      const leave = { ...ops, members: new Set<string>() };
      await store().changeDirectoryGroup(ISSUER, ops.id, () => leave, LIMITS, ACT);
      // The claim of the last sign-in does not keep the group.
      expect(await groups(alice)).toEqual(['claimed', url, 'web-id']);
      const named = { name: 'web', externalId: 'web-id', members: new Set([alice.id, bob.id]) };
      await store().changeDirectoryGroup(ISSUER, web.id, () => named, LIMITS, ACT);
      expect([await groups(alice), await groups(bob)]).toEqual([['claimed', 'web', 'web-id'], ['web']]);
      expect(await store().removeDirectoryGroup(ISSUER, web.id, ACT)).toBe(true);
      expect([await groups(alice), await groups(bob)]).toEqual([['claimed'], []]);
      expect(await store().removeDirectoryGroup(ISSUER, web.id, ACT)).toBe(false);
    });

    it('refuse members whom the directory did not announce, names twice, and more than the limits', async () => {
      const limits = { maxUsers: 3, maxGroups: 3, maxMembers: 2, maxGroupsOfUser: 2 };
      const [alice, bob, carol] = [await add('a'), await add('b'), await add('c')];
      const issuer = 'https://other.example.com';
      const other = await add('a', {}, issuer);
      await refuse(store().addDirectoryUser(ISSUER, fields('d'), limits, ACT), 'too-large');
      // The directory of an earlier provider cannot remove its users any more.
      await store().addDirectoryUser(issuer, fields('d'), limits, ACT);
      await refuse(addGroup('ops', [other.id]), 'invalid-request');
      await refuse(addGroup('ops', [alice.id, bob.id, carol.id], limits), 'too-large');
      const ops = await addGroup('ops', [alice.id], limits);
      await refuse(addGroup('OPS', [], limits), 'conflict');
      await addGroup('web', [alice.id], limits);
      await refuse(addGroup('more', [alice.id, bob.id], limits), 'too-large');
      expect((await store().user(bob.user))?.groups).toEqual([]);
      await addGroup('more', [bob.id], limits);
      await refuse(addGroup('fourth', [], limits), 'too-large');
      await store().addDirectoryGroup(issuer, group('fourth'), limits, ACT);
      await refuse(
        store().changeDirectoryGroup(ISSUER, ops.id, () => group('web', [alice.id]), limits, ACT),
        'conflict',
      );
      const { total, groups } = await store().directoryGroups(ISSUER, { by: 'name', value: 'Ops' }, ALL);
      expect([total, groups]).toEqual([1, [{ ...ops, size: 1 }]]);
    });

    it('have rows in the audit log that name who came and who left', async () => {
      const users: { id: string; user: string }[] = [];
      for (let number = 0; number < 60; number += 1) users.push(await add(`u${number}`));
      const ops = await addGroup(
        'ops',
        users.map(({ id }) => id),
      );
      await store().changeDirectoryGroup(ISSUER, ops.id, () => group('ops', [users[0]!.id]), LIMITS, ACT);
      const { rows } = await store().auditRows({ object: `directory-group/${ops.id}` }, { limit: 100 });
      const named = (verb: string) =>
        rows.flatMap(({ detail }) =>
          String(detail?.[verb] ?? '')
            .split(' ')
            .filter((id) => id !== ''),
        );
      const ids = users.map(({ user }) => user);
      expect(named('added').sort()).toEqual([...ids].sort());
      expect(named('removed').sort()).toEqual(ids.slice(1).sort());
      expect(new Set(rows.map(({ actor, action }) => `${actor} ${action}`))).toEqual(
        new Set(['entra directory-group.add', 'entra directory-group.change']),
      );
    });
  });

  it.each([1, 2, 3])('a directory is what a model says after random changes (seed %i)', async (seed) => {
    const model = new DirectoryModel(store(), new Random(seed));
    for (let step = 0; step < 60; step += 1) {
      const done = await model.change();
      const users: UserRecord[] = await store().users({ limit: 1_000 });
      const shown = users.map(({ subject, groups, suspendedBy, directory }) => ({
        ...{ subject, groups: [...groups].sort(), suspendedBy, directory },
      }));
      const bySubject = (one: { subject: string }, other: { subject: string }) =>
        one.subject < other.subject ? -1 : 1;
      expect([step, done, shown.sort(bySubject)]).toEqual([step, done, model.users().sort(bySubject)]);
      const { total, users: listed } = await store().directoryUsers(ISSUER, undefined, ALL);
      expect([total, listed.map(({ userName }) => userName).sort()]).toEqual([
        listed.length,
        model.userNames(),
      ]);
      const { groups } = await store().directoryGroups(ISSUER, undefined, ALL);
      const members = await store().directoryMembers(groups.map(({ id }) => id));
      const namesOf = (id: string) =>
        members
          .filter((one) => one.group === id)
          .map(({ userName }) => userName)
          .sort();
      expect(groups.map(({ name, id, size }) => [name, size, namesOf(id)]).sort()).toEqual(model.groups());
    }
  });
}
