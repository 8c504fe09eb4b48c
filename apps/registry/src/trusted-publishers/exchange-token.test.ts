import { randomUUID } from 'node:crypto';
import type { ExchangedToken, Problem, Release, TrustedPublisher } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUDIENCE, GITHUB, TestIssuer } from '../testing/test-issuer.js';
import { definitionText, openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: platform}, {name: rivals}]
  groups: [{pattern: ours.example.com, owner: platform}]
`;
const RUN = {
  aud: AUDIENCE,
  repository: 'Example/Functions',
  repository_id: '1001',
  repository_owner: 'Example',
  repository_owner_id: '2001',
  workflow_ref: 'Example/Functions/.github/workflows/release.yml@refs/tags/v1.0.0',
  job_workflow_ref: 'Example/Functions/.github/workflows/release.yml@refs/tags/v1.0.0',
  ref: 'refs/tags/v1.0.0',
  sha: 'a'.repeat(40),
  event_name: 'push',
  run_id: '77',
};

let github: TestIssuer;
let registry: TestRegistry;
let publisher: TrustedPublisher;

beforeEach(async () => {
  github = await TestIssuer.create(GITHUB);
  registry = await open();
  await applyAccess(ACCESS);
  publisher = (await add({ settings: { repository: 'example/functions', workflow: 'release.yml' } })).body;
});
const open = (folder?: string) =>
  openTestRegistry({
    config: { publicUrl: `${AUDIENCE}/` },
    fetchIssuer: (url) => github.fetch(url),
    ...defined({ folder }),
  });
afterEach(async () => {
  await registry.close();
});

async function applyAccess(text: string): Promise<void> {
  const response = await registry.request('/api/v1/access', {
    method: 'PUT',
    headers: { Authorization: await registry.bearer(), 'Content-Type': 'application/yaml' },
    body: text,
  });
  expect(response.status, await response.clone().text()).toBe(200);
}

const add = async (wanted: Record<string, unknown>, token?: string) =>
  registry.send<TrustedPublisher & Problem>(
    'POST',
    '/api/v1/trusted-publishers',
    { group: 'ours.example.com', provider: 'github', ...wanted },
    token ?? (await registry.bearer()),
  );
const exchange = (token: string) =>
  registry.send<ExchangedToken & Problem>('POST', '/api/v1/oidc/token', { token });
const sign = (claims: Record<string, unknown> = {}, header = {}) =>
  github.sign({ ...RUN, ...claims }, { now: registry.parts.clock(), header });
const publish = (token: string, name: { group?: string; kind?: string; release: string }) => {
  const wanted = { group: 'ours.example.com', kind: 'SetLabels', ...name };
  const target = `/api/v1/functions/${wanted.group}/${wanted.kind}/releases/${wanted.release}`;
  return registry.send<Problem>('PUT', target, definitionText(wanted), `Bearer ${token}`);
};

it('gets no token for more groups than a token may have', async () => {
  const { store } = registry.parts;
  const [stored] = await store.trustedPublishers();
  const of = store.publishersOfToken.bind(store);
  await applyAccess(
    ACCESS.replace(
      '{pattern: ours.example.com',
      '{pattern: "more*.example.com", owner: platform}, {pattern: ours.example.com',
    ),
  );
  let count = 100;
  store.publishersOfToken = async (...given) => [
    ...(await of(...given)),
    ...Array.from({ length: count }, (_, at) => ({
      ...stored!,
      id: `more${at}`,
      group: `more${at}.example.com`,
    })),
  ];
  const refused = await exchange(await sign());
  expect([refused.status, refused.body.detail, refused.body.hint]).toEqual([
    409,
    'the workflow is a trusted publisher of 101 groups or functions; a token is for at most 100',
    expect.stringContaining('Name what it will publish'),
  ]);
  count = 99;
  // None of them is stored.
  expect((await exchange(await sign())).body.detail).toBe('the trusted publisher was changed meanwhile');
});

it('publishes without a stored secret, and a release shows the run', async () => {
  const { status, body } = await exchange(await sign());
  expect([status, body.publishes]).toEqual([201, ['ours.example.com']]);
  expect(Date.parse(body.expiresAt) - registry.parts.clock().getTime()).toBeLessThanOrEqual(900_000);
  expect((await publish(body.token, { release: '1.0.0' })).status).toBe(201);
  expect((await publish(body.token, { group: 'other.example.com', release: '1.0.0' })).status).toBe(403);

  const release = '/api/v1/functions/ours.example.com/SetLabels/releases/1.0.0';
  const { run, publishedBy } = (await (await registry.request(release)).json()) as Release;
  expect(publishedBy).toBe('Example/Functions release.yml (GitHub Actions)');
  expect(run).toEqual({
    provider: 'github',
    workflow: 'Example/Functions release.yml',
    url: 'https://github.com/Example/Functions/actions/runs/77',
    commit: 'a'.repeat(40),
    ref: 'refs/tags/v1.0.0',
  });
  const page = await (await registry.request('/functions/ours.example.com/SetLabels')).text();
  expect(page).toContain('href="https://github.com/Example/Functions/actions/runs/77"');
  registry.advance(900_000);
  expect((await publish(body.token, { release: '1.0.1' })).status).toBe(401);
});

it('counts once, also with another spelling of its signature, and after a restart', async () => {
  const token = await sign();
  expect((await exchange(token)).status).toBe(201);
  const again = await exchange(token);
  expect([again.status, again.body.detail]).toEqual([401, 'the identity token was exchanged before']);
  // The last character of an RS256 signature has four bits that no decoder reads.
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = letters.indexOf(token.at(-1)!);
  const other = letters[(last & 0b110000) | ((last + 1) & 0b001111)]!;
  expect((await exchange(`${token.slice(0, -1)}${other}`)).status).toBe(401);

  await registry.parts.close();
  registry = await open(registry.folder);
  expect((await exchange(token)).body.detail).toBe('the identity token was exchanged before');
  const two = await sign();
  const both = await Promise.all([exchange(two), exchange(two), exchange(two)]);
  expect(both.map(({ status }) => status).sort()).toEqual([201, 401, 401]);
});

const REFUSED: [string, Record<string, unknown>, string][] = [
  ['another audience', { aud: 'https://other.example.net' }, 'for the audience "https://other.example.net"'],
  ['a list of audiences', { aud: [AUDIENCE] }, 'a list of audiences'],
  ['several audiences', { aud: [AUDIENCE, 'https://other.example.net'] }, 'a list of audiences'],
  ['no audience', { aud: undefined }, '"aud"'],
  ['no identifier', { jti: undefined }, 'no claim "jti"'],
  ['no subject', { sub: undefined }, '"sub"'],
  ['a long life', { exp: 4_000_000_000 }, 'more than a day'],
  ['another issuer', { iss: 'https://evil.example.net' }, 'no trusted publisher has the issuer'],
  ['a longer issuer', { iss: `${GITHUB}/example` }, 'no trusted publisher has the issuer'],
  ['another repository', { repository: 'evil/functions' }, 'no trusted publisher is "evil/functions'],
  [
    'another workflow',
    { workflow_ref: 'Example/Functions/.github/workflows/other.yml@refs/heads/main' },
    'workflow_ref is "Example/Functions/.github/workflows/other.yml@refs/heads/main", expected release.yml',
  ],
  [
    'a workflow of another repository',
    { workflow_ref: 'evil/x/.github/workflows/release.yml@refs/heads/main' },
    'workflow_ref is',
  ],
  [
    'a workflow in a folder with that name',
    { workflow_ref: 'Example/Functions/.github/workflows/x/release.yml@refs/heads/main' },
    'workflow_ref is',
  ],
  ['a pull request that it does not trust', { event_name: 'pull_request_target' }, 'event_name is'],
  ['a workflow that another one starts', { event_name: 'workflow_run' }, 'anybody who opens a pull request'],
  ['no ID of the repository', { repository_id: undefined }, 'repository_id is missing'],
];

describe('a token of a provider is refused', () => {
  it.each(REFUSED)('with %s', async (_, claims, message) => {
    const { status, body } = await exchange(await sign(claims));
    expect([401, 403]).toContain(status);
    expect(body.detail).toContain(message);
    expect((await registry.parts.store.tokens()).filter(({ run }) => run !== undefined)).toEqual([]);
  });

  it('with a wrong signature, another algorithm, or without a key ID', async () => {
    const token = await sign();
    const [header = '', payload = '', signature = ''] = token.split('.');
    const changed = Buffer.from(JSON.stringify({ ...JSON.parse(atob(payload)), repository: 'x/y' }));
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const [text, message] of [
      [`${header}.${changed.toString('base64url')}.${signature}`, 'signature is not valid'],
      [`${encode({ alg: 'none', kid: 'x' })}.${payload}.`, 'signed with "none"'],
      [`${encode({ alg: 'HS256', kid: 'x' })}.${payload}.${signature}`, 'signed with "HS256"'],
      [await sign({}, { kid: undefined }), 'no "kid"'],
      ['nothing', 'not a JSON Web Token'],
      [`${'a'.repeat(16_385)}`, ''],
    ] as const) {
      const { status, body } = await exchange(text);
      expect([400, 401], text).toContain(status);
      expect(body.detail).toContain(message);
    }
  });

  it.each([
    [-301_000 - 31_000, 'expired'],
    [31_000 + 60_000, ''],
  ])('if the clock of its provider is off by %d ms', async (offset, message) => {
    const now = new Date(registry.parts.clock().getTime() + offset);
    const { status, body } = await exchange(await github.sign(RUN, { now }));
    expect([status, body.detail]).toEqual([401, expect.stringContaining(message)]);
  });

  it('takes clocks that differ by half a minute', async () => {
    for (const offset of [-25_000, 25_000]) {
      const now = new Date(registry.parts.clock().getTime() + offset);
      expect((await exchange(await github.sign(RUN, { now }))).status).toBe(201);
    }
  });
});

describe('a publisher', () => {
  it('pins the repository at its first use, so that another one of that name gets nothing', async () => {
    expect((await exchange(await sign())).status).toBe(201);
    const taken = await exchange(await sign({ repository_id: '9999' }));
    expect([taken.status, taken.body.detail]).toEqual([
      403,
      expect.stringContaining('repository_id is "9999", expected 1001'),
    ]);
    const [stored] = await registry.parts.store.trustedPublishers();
    expect(stored).toMatchObject({ pins: { repositoryId: '1001', ownerId: '2001' } });
    expect(stored!.pendingUntil).toBeUndefined();
  });

  it('is removed by an administrator; who does not own the group is not told whether it exists', async () => {
    const remove = async (id: string, secret: string) => {
      const target = `/api/v1/trusted-publishers/${id}`;
      const headers = { Authorization: `Bearer ${secret}`, 'X-Request-Id': 'same' };
      const response = await registry.request(target, { method: 'DELETE', headers });
      return [response.status, await response.text()];
    };
    const publishing = { scopes: ['publish' as const] };
    const strangers = [
      await registry.token({ name: 'a', ...publishing, team: 'rivals' }),
      await registry.token({ name: 'b', ...publishing, groups: ['elsewhere.example.com'] }),
      await registry.token({ name: 'c', scopes: ['read'] }),
    ];
    for (const { secret } of strangers) {
      const refused = await remove(publisher.id, secret);
      expect(refused).toEqual(await remove(randomUUID(), secret));
      expect(refused[0]).toBe(403);
    }
    // Owners who signed in remove it: test/authorization/changed-publishers.test.ts.
    const { secret } = await registry.token({ name: 'd', ...publishing, team: 'platform' });
    const copied = await remove(publisher.id, secret);
    expect(copied).toEqual([403, expect.stringContaining('no user signed in to get it')]);
    const { secret: administrator } = await registry.token({ name: 'e' });
    expect((await remove(publisher.id, administrator))[0]).toBe(204);
  });

  it('that nobody uses ends after a month', async () => {
    registry.advance(31 * 86_400_000);
    expect((await exchange(await sign())).status).toBe(401);
  });

  it('ends with the rights of the team that added it', async () => {
    await applyAccess(ACCESS.replace('owner: platform', 'owner: rivals'));
    const { status, body } = await exchange(await sign());
    expect([status, body.detail]).toEqual([403, expect.stringContaining('which owns the group')]);
  });

  it('can be limited to an environment, a branch or tag, and a function', async () => {
    const bearer = await registry.bearer();
    await registry.request(`/api/v1/trusted-publishers/${publisher.id}`, {
      method: 'DELETE',
      headers: { Authorization: bearer },
    });
    const settings = { repository: 'example/functions', workflow: 'release.yml' };
    const limited = { ...settings, environment: 'Release', ref: 'refs/tags/*' };
    expect((await add({ kind: 'SetLabels', settings: limited })).status).toBe(201);
    expect((await exchange(await sign())).body.detail).toContain('environment is missing, expected Release');
    const branch = await exchange(await sign({ environment: 'release', ref: 'refs/heads/main' }));
    expect(branch.body.detail).toContain('ref is "refs/heads/main", expected refs/tags/*');
    const { body } = await exchange(await sign({ environment: 'release' }));
    expect(body.publishes).toEqual(['ours.example.com/SetLabels']);
    expect((await publish(body.token, { kind: 'SetName', release: '1.0.0' })).status).toBe(403);
    expect((await publish(body.token, { release: '1.0.0' })).status).toBe(201);
  });

  it('is refused with every problem of it, and twice', async () => {
    const wrong = await add({ settings: { repo: 'a/b' }, pins: { repositoryID: '1' }, keys: '{}' });
    expect(wrong.status).toBe(400);
    for (const part of ['"repo"', 'the setting repository is missing', 'the setting workflow is missing']) {
      expect(wrong.body.detail).toContain(part);
    }
    expect(wrong.body.detail).toContain('serves its own keys');
    const custom = await add({ provider: 'custom', issuer: GITHUB, settings: { subject: 'x' } });
    expect(custom.body.detail).toContain('is not an issuer of');
    const settings = { workflow: 'release.yml', repository: 'example/functions' };
    expect((await add({ settings })).status).toBe(409);
    expect((await add({ settings: { ...settings, repository: 'Example/Functions' } })).status).toBe(409);
  });

  it('is added once by requests at the same time, so that removing it leaves none', async () => {
    const settings = { workflow: 'other.yml', repository: 'example/functions' };
    const added = await Promise.all(Array.from({ length: 5 }, () => add({ settings })));
    expect(added.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  it('is managed by the owner of the group only, and not by a workflow', async () => {
    const { body } = await exchange(await sign());
    const settings = { repository: 'evil/functions', workflow: 'release.yml' };
    expect((await add({ settings }, `Bearer ${body.token}`)).status).toBe(403);
    const publishing = `Bearer ${(await registry.token({ scopes: ['publish'] })).secret}`;
    expect((await add({ settings }, publishing)).status).toBe(403);
    const list = (token: string, group?: string) =>
      registry.request(`/api/v1/trusted-publishers${group === undefined ? '' : `?group=${group}`}`, {
        headers: { Authorization: token },
      });
    expect((await list(publishing, 'ours.example.com')).status).toBe(403);
    expect((await list(publishing)).status).toBe(403);
    expect((await list(await registry.bearer())).status).toBe(200);
  });

  it('with given keys counts for those keys alone', async () => {
    const issuer = 'https://kubernetes.default.svc';
    const ours = await TestIssuer.create(issuer);
    const theirs = await TestIssuer.create(issuer);
    const settings = { namespace: 'ci', serviceAccount: 'publisher' };
    const wanted = { provider: 'kubernetes', issuer, settings };
    const claims = {
      aud: [AUDIENCE],
      'kubernetes.io': { namespace: 'ci', serviceaccount: { name: 'publisher', uid: '1' } },
    };
    await add({ ...wanted, keys: JSON.stringify(ours.keySet()) });
    await add({ ...wanted, group: 'theirs.example.com', keys: JSON.stringify(theirs.keySet()) });
    const now = registry.parts.clock();
    expect((await exchange(await ours.sign(claims, { now }))).body.publishes).toEqual(['ours.example.com']);
    expect((await exchange(await theirs.sign(claims, { now }))).body.publishes).toEqual([
      'theirs.example.com',
    ]);
    const { keys } = theirs.keySet();
    expect(JSON.stringify(await registry.parts.store.trustedPublishers())).toContain(keys[0]!.kid);
  });
});

it('keeps its keys while the provider is away, and finds new ones', async () => {
  expect((await exchange(await sign())).status).toBe(201);
  github.isAway = true;
  registry.advance(3_600_000);
  expect((await exchange(await sign())).status).toBe(201);
  github.isAway = false;
  github.served = { keys: [] };
  registry.advance(3_600_000);
  expect((await exchange(await sign())).status).toBe(201);
  github.served = undefined;
  await github.addKey();
  registry.advance(61_000);
  const { fetches } = github;
  expect((await exchange(await sign())).status).toBe(201);
  const unknown = { kid: 'unknown' };
  for (let count = 0; count < 5; count += 1)
    expect((await exchange(await sign({}, unknown))).status).toBe(401);
  expect(github.fetches - fetches).toBeLessThanOrEqual(2);
  github.isAway = true;
  registry.advance(90_000_000);
  const gone = await exchange(await sign());
  expect([gone.status, gone.body.detail]).toEqual([503, expect.stringContaining('connection refused')]);
});

it('can be the only way to publish in a group, for administrators too', async () => {
  await applyAccess(ACCESS.replace('owner: platform', 'owner: platform, trustedPublishingOnly: true'));
  const administrator = (await registry.bearer()).slice('Bearer '.length);
  const refused = await publish(administrator, { release: '1.0.0' });
  expect([refused.status, refused.body.detail]).toEqual([
    403,
    expect.stringContaining('a trusted publisher'),
  ]);
  expect(refused.body.hint).toContain('Publish by a workflow that is a trusted publisher of the group');
  const { body } = await exchange(await sign());
  expect((await publish(body.token, { release: '1.0.0' })).status).toBe(201);
});
