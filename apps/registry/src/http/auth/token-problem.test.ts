import { expect, it } from 'vitest';
import { tokenProblem, withConfirmedGroups, withCurrentGroups } from './tokens.js';

const AT = '2030-01-01T00:00:00.000Z';
const user = {
  ...{ id: 'u', issuer: 'https://sso.example.com', subject: 'a', name: 'Alice', groups: [] },
  ...{ createdAt: AT, confirmedAt: AT },
};
const token = {
  ...{
    id: 't',
    name: 't',
    scopes: ['read'],
    groups: ['*'],
    repositories: [],
    createdAt: AT,
    createdBy: 'Alice',
  },
  user,
};
const days = (count: number) => new Date(Date.parse(AT) + count * 86_400_000);
const signIn = [{ issuer: 'https://first.example.com' }, { issuer: user.issuer }];

it('a personal token works as long as a provider of the registry has said who the user is', () => {
  const settings = { oidcConfirmDays: 30, signIn };
  expect(tokenProblem(token, days(30), settings)).toBeUndefined();
  expect(tokenProblem(token, days(31), settings)).toContain('did not sign in for 30 days');
  expect(tokenProblem(token, days(1), { ...settings, signIn: signIn.slice(0, 1) })).toContain(
    'no longer has',
  );
  expect(tokenProblem(token, days(1), { ...settings, signIn: [] })).toContain('no longer has');
  const { user: _, ...robot } = token;
  expect(tokenProblem(robot, days(31), { ...settings, signIn: [] })).toBeUndefined();
  const suspended = { ...token, user: { ...user, suspendedAt: AT } };
  expect(tokenProblem(suspended, days(1), settings)).toContain('suspended');
});

it('the groups of a user are those of its own provider, also after another one is the first', () => {
  const settings = { signIn: [{ issuer: 'https://new.example.com' }, { issuer: user.issuer }] };
  const before = { ...settings, signIn: [...settings.signIn].reverse() };
  const groups = ['admins', 'https://sso.example.com https://x'];
  const directory = { isActive: true, groups };
  const qualified = ['https://sso.example.com admins', 'https://sso.example.com https://x'];
  for (const one of [
    { ...user, groups },
    { ...user, groups, directory },
  ]) {
    for (const now of [days(1), days(31)]) {
      expect(withCurrentGroups({ ...token, user: one }, now, before).user?.groups).toEqual(groups);
      expect(withCurrentGroups({ ...token, user: one }, now, settings).user?.groups).toEqual(qualified);
    }
    expect(withConfirmedGroups(one, days(1), settings).groups).toEqual(qualified);
  }
  const { user: _, ...robot } = token;
  expect(withCurrentGroups(robot, days(1), settings)).toBe(robot);
});
