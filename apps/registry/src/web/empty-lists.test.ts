import { afterAll, beforeAll, expect, it } from 'vitest';
import { newKey, policy } from '../testing/signing.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { userSignedIn } from '../testing/user-session.js';

const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: admins, members: [{ssoGroup: admins}]}, {name: idle}]
  groups: [{pattern: idle.example.com, owner: idle}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  expect(await registry.send('PUT', '/api/v1/access', ACCESS)).toMatchObject({ status: 200 });
  expect(await registry.send('PUT', '/api/v1/policies', policy([newKey()]))).toMatchObject({ status: 200 });
});
afterAll(() => registry.close());

it.each([
  '/events?before=1',
  '/owners/idle',
  '/policies/team',
  '/catalogs/default',
  '/catalogs/default/history?before=1',
  '/operate',
  '/operate/publishers',
  '/operate/users?q=nobody',
  '/operate/events?by=nobody',
  '/operate/audit?actor=nobody',
  '/operate/tokens?page=2',
])('has no list without items: %s', async (path) => {
  const page = await (await userSignedIn(registry, { groups: ['admins'] })).text(path);
  expect(page).not.toMatch(/<(ul|ol|dl|table|tbody)\b[^>]*><\/\1>/);
});
