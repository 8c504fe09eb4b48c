import { randomUUID } from 'node:crypto';
import type { CreatedToken, LoginResult, PendingLogin, Problem, TrustedPublisher } from '@krmhub/api/model';
import type { TokenScope } from '@krmhub/api/token-scopes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../../apps/registry/src/http/auth/tokens.js';
import { signedIn, TestBrowser } from '../../apps/registry/src/testing/operator-session.js';
import { GITHUB, RUN, TestIssuer } from '../../apps/registry/src/testing/test-issuer.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { userSignedIn } from '../../apps/registry/src/testing/user-session.js';

/** As browsers of tests send it. */
const ORIGIN = 'http://registry.test';
const PATH = '/api/v1/trusted-publishers';
const SCOPES: TokenScope[] = ['read', 'publish', 'yank', 'push'];
const access = (more: string) => `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: owners, members: [{ssoGroup: owners}]}, {name: admins, members: [{ssoGroup: admins}]}]
  groups: [{pattern: example.com, owner: owners${more}}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;

let github: TestIssuer;
let registry: TestRegistry;
beforeAll(async () => {
  github = await TestIssuer.create(GITHUB);
  registry = await openTestRegistry({
    config: { publicUrl: ORIGIN },
    fetchIssuer: (url) => github.fetch(url),
  });
});
afterAll(() => registry.close());

/** Returns the token that `krmhub login` gets if it is allowed in a browser. */
async function login(browser: TestBrowser, more: Record<string, string> = {}): Promise<string> {
  const asked = { client: 'laptop' };
  const { body } = await registry.send<PendingLogin>('POST', '/api/v1/login/requests', asked, '');
  const allowed = await browser.act('/login/device', { code: body.code, answer: 'allow', ...more });
  expect(allowed.status).toBe(303);
  const { secret } = body;
  const got = await registry.send<LoginResult>('POST', '/api/v1/login/token', { secret }, '');
  return got.body.token!;
}

async function created(by: string, wanted: object = {}): Promise<string> {
  const asked = { name: 'copied', scopes: ['publish'], ...wanted };
  const { status, body } = await registry.send<CreatedToken>('POST', '/api/v1/tokens', asked, `Bearer ${by}`);
  expect(status).toBe(201);
  return body.token;
}

const owner = () => userSignedIn(registry, { groups: ['owners'] });
const administrator = () => userSignedIn(registry, { groups: ['owners', 'admins'] });

/** Returns a personal token as the page of tokens makes it, and as earlier versions stored all. */
async function stored({ user }: Awaited<ReturnType<typeof owner>>, scopes = SCOPES): Promise<string> {
  const { store, clock } = registry.parts;
  const wanted = { name: 'stored', scopes, groups: ['*'], repositories: ['*'], user, expiresInDays: 30 };
  return (await createToken(store, wanted, { now: clock(), by: 'Ada' })).secret;
}

async function workflowToken(): Promise<string> {
  const token = await github.sign(
    { ...RUN, aud: ORIGIN, workflow_ref: 'example/functions/.github/workflows/own.yml@refs/tags/v1' },
    { now: registry.parts.clock() },
  );
  const { body } = await registry.send<{ token: string }>('POST', '/api/v1/oidc/token', { token }, '');
  return body.token;
}

/** Every kind of credential of an owner and of administrators, and whether it changes trusted publishers. */
const CREDENTIALS: [string, () => Promise<string>, 'changes' | 'sees' | 'neither'][] = [
  ['the login of an owner', async () => login(await owner()), 'changes'],
  ['the login of an administrator', async () => login(await administrator(), { wide: 'on' }), 'changes'],
  ['the login of an owner without the group', async () => login(await userSignedIn(registry)), 'neither'],
  ['a token that a login made', async () => created(await login(await owner())), 'sees'],
  ['a personal token of an owner', async () => stored(await owner()), 'sees'],
  ['a personal token of an administrator', async () => stored(await administrator()), 'sees'],
  ['one with the scope admin', async () => stored(await administrator(), [...SCOPES, 'admin']), 'changes'],
  [
    'a login that a personal token of an administrator allowed, without the scope',
    async () => {
      const browser = new TestBrowser(registry);
      await browser.signIn(await stored(await administrator(), [...SCOPES, 'admin']));
      return login(browser);
    },
    'sees',
  ],
  [
    'a token of the team',
    async () => (await registry.token({ scopes: SCOPES, team: 'owners' })).secret,
    'sees',
  ],
  ['a token of a pipeline', async () => (await registry.token({ scopes: SCOPES })).secret, 'neither'],
  ['a token of an administrator', async () => (await registry.token({})).secret, 'changes'],
  ['a workflow', workflowToken, 'neither'],
];

describe.each(['', ', trustedPublishingOnly: true'])('trusted publishers of a group%s', (more) => {
  beforeAll(async () => {
    expect((await registry.send('PUT', '/api/v1/access', access(more))).status).toBe(200);
    const settings = { repository: 'example/functions', workflow: 'own.yml' };
    await registry.send('POST', PATH, { group: 'example.com', provider: 'github', settings });
  });

  it.each(CREDENTIALS)('are changed with %s as it may', async (_, credential, expected) => {
    const authorization = `Bearer ${await credential()}`;
    const wanted = () => ({
      ...{ group: 'example.com', provider: 'github' },
      settings: { repository: 'example/functions', workflow: `${randomUUID()}.yml` },
    });
    const { status: added, body } = await registry.send<TrustedPublisher & Problem>(
      'POST',
      PATH,
      wanted(),
      authorization,
    );
    const other = await registry.send<TrustedPublisher>('POST', PATH, wanted());
    const headers = { Authorization: authorization };
    const removed = await registry.request(`${PATH}/${other.body.id}`, { method: 'DELETE', headers });
    const listed = await registry.request(`${PATH}?group=example.com`, { headers });
    const verdicts = { changes: [201, 204, 200], sees: [403, 403, 200], neither: [403, 403, 403] };
    expect([added, removed.status, listed.status]).toEqual(verdicts[expected]);
    if (expected !== 'sees') return;
    expect(body.detail).toContain('cannot change trusted publishers');
    expect(body.hint).toMatch(/krmhub login.*KRMHUB_TOKEN.*pages.*administrator/);
    expect(JSON.parse(await removed.text())).toMatchObject({ detail: body.detail, hint: body.hint });
  });

  it('a session of an owner changes them on the page, and one that began with a token does not', async () => {
    const form = () => ({
      ...{ target: 'example.com', provider: 'github', pins: '', issuer: '', keys: '' },
      settings: `repository=example/functions\nworkflow=${randomUUID()}.yml`,
    });
    expect((await (await owner()).act('/operate/publishers', form())).status).toBe(303);
    const { body } = await registry.send<TrustedPublisher>('POST', PATH, {
      ...{ group: 'example.com', provider: 'github' },
      settings: { repository: 'example/functions', workflow: `${randomUUID()}.yml` },
    });
    const team = await signedIn(registry, { scopes: SCOPES, team: 'owners' });
    expect((await team.act('/operate/publishers', form())).status).toBe(403);
    expect((await team.act(`/operate/publishers/${body.id}/remove`)).status).toBe(403);
    expect((await (await owner()).act(`/operate/publishers/${body.id}/remove`)).status).toBe(303);
  });
});
