import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestBrowser } from '../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { userSignedIn } from '../testing/user-session.js';

/** Names that no phone shows in one line. */
const GROUP = 'fn.k8s.ab.io.platform.example.com';
const OTHER = 'lookalikes.of.the.platform.example.com';
const KIND = 'EnforceMandatoryLabelsOnPods';
const NAME = `/${GROUP}/${KIND}`;

const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams:
  - {name: admins, members: [{ssoGroup: admins}]}
  - {name: platform, displayName: Platform team, members: [{ssoGroup: admins}]}
  groups:
  - {pattern: ${GROUP}, owner: platform, functions: [{kind: ${KIND}, visibility: internal}]}
  - {pattern: "*.${GROUP}", owner: platform, visibility: internal}
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;
const POLICY = `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: platform}
spec:
  groups: [${GROUP}, "*.${GROUP}"]
  signers: [{issuer: https://issuer.example, subject: platform@example.com}]
`;

let registry: TestRegistry;
let admin: TestBrowser;
beforeAll(async () => {
  registry = await openTestRegistry();
  expect(await registry.send('PUT', '/api/v1/access', ACCESS)).toMatchObject({ status: 200 });
  const replacement = { group: OTHER, kind: `${KIND}Again` };
  for (const [name, release] of [
    [{ group: GROUP, kind: KIND }, '0.1.0'],
    [{ group: GROUP, kind: KIND }, '1.0.0'],
    [{ group: GROUP, kind: KIND }, '2.0.0'],
    [replacement, '1.0.0'],
  ] as const)
    expect(await registry.publish({ ...name, release })).toMatchObject({ status: 201 });
  const { store, access, clock } = registry.parts;
  const day = (days: number) => new Date(clock().getTime() + days * 86_400_000).toISOString();
  await store.putOwnerClaim({
    ...{ group: OTHER, team: 'platform', proof: 'dns', claimedBy: 'test', problem: 'gone' },
    ...{ claimedAt: day(-9), checkedAt: day(-1), missingSince: day(-1) },
  });
  await store.addTrustedPublisher({
    ...{ id: '00000000-0000-4000-8000-000000000001', group: GROUP, kind: KIND, provider: 'github' },
    ...{ issuer: 'https://token.actions.githubusercontent.com', settings: { repository: 'a/b' }, pins: {} },
    ...{ createdAt: day(-1), createdBy: 'test', pendingUntil: day(5) },
  });
  await access.reload(store);
  admin = await userSignedIn(registry, { groups: ['admins'] });
  const deprecated = await admin.act(`/operate/releases${NAME}/2.0.0`, {
    ...{ do: 'deprecate', reason: 'old', replacement: `${OTHER}/${KIND}Again@^1.0.0` },
  });
  expect(deprecated.status).toBe(303);
  const gone = `/operate/releases${NAME}/0.1.0/takedown`;
  expect((await admin.act(gone, { reason: 'a secret', confirmed: '1' })).status).toBe(303);
  const made = await registry.token({ name: 'ci', scopes: ['publish'], groups: [GROUP, `*.${GROUP}`] });
  expect(made.secret).not.toBe('');
});
afterAll(() => registry.close());

/** Texts of one word that have a long name as a whole, outside of commands and addresses. */
function wholeNames(page: string): string[] {
  return page
    .replaceAll(/<(pre|code|title|option|textarea|script)\b.*?<\/\1>|<a class="external".*?<\/a>/gs, '')
    .split(/<[^>]*>/)
    .filter((text) => /^\s*\S+\s*$/.test(text) && [GROUP, OTHER, KIND].some((name) => text.includes(name)));
}

it.each([
  '/',
  '/functions',
  `/functions/${GROUP}`,
  `/functions${NAME}`,
  `/functions${NAME}/releases`,
  `/functions${NAME}/compare?from=1.0.0&to=2.0.0`,
  '/owners',
  '/owners/platform',
  '/catalogs/default',
  '/events',
  '/operate',
  '/operate/access',
  '/operate/events',
  '/operate/publishers',
  '/operate/publishers?added=00000000-0000-4000-8000-000000000001',
  `/operate/releases?name=${GROUP}/${KIND}`,
  `/operate/releases?gone=${GROUP}/${KIND}@0.1.0`,
  `/operate/releases${NAME}/2.0.0`,
  `/operate/releases${NAME}/1.0.0/takedown`,
  '/operate/tokens',
])('lets a line break in the long names of %s', async (path) => {
  const page = await admin.text(path);
  expect(page).toContain('<wbr/>');
  expect(wholeNames(page)).toEqual([]);
});

it('lets a line break in the long names of policies', async () => {
  const checked = await (
    await admin.act('/operate/policies', { text: POLICY, expected: '0', do: 'check' })
  ).text();
  expect(checked).toContain('another verdict');
  expect(wholeNames(checked)).toEqual([]);
  expect(await registry.send('PUT', '/api/v1/policies', POLICY)).toMatchObject({ status: 200 });
  for (const path of ['/policies', '/policies/platform']) {
    const page = await new TestBrowser(registry).text(path);
    expect(page).toContain('<wbr/>');
    expect(wholeNames(page)).toEqual([]);
  }
});
