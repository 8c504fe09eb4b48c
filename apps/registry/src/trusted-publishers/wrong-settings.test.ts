import { generateKeyPairSync } from 'node:crypto';
import type { CheckedPublishers, ExchangedToken, Problem, TrustedPublisher } from '@krmhub/api/model';
import { exportJWK } from 'jose';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { storeAccess } from '../testing/access.js';
import { AUDIENCE, GITHUB, RUN, TestIssuer } from '../testing/test-issuer.js';
import { definitionText, openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

/** Mistakes of owners and workflows: each answer says what to do next. */
const WANTED = {
  group: 'example.com',
  provider: 'github',
  settings: { repository: 'example/functions', workflow: 'release.yml' },
};

let github: TestIssuer;
let registry: TestRegistry;
beforeEach(async () => {
  github = await TestIssuer.create(GITHUB);
  registry = await openTestRegistry({
    config: { publicUrl: AUDIENCE },
    fetchIssuer: (url) => github.fetch(url),
  });
});
afterEach(async () => {
  await registry.close();
});

const add = (more: Record<string, unknown> = {}) =>
  registry.send<TrustedPublisher & Problem>('POST', '/api/v1/trusted-publishers', { ...WANTED, ...more });
const send = (token: string, groups: string[] = ['example.com']) =>
  registry.send<ExchangedToken & Problem>('POST', '/api/v1/oidc/token', { token, groups });
const exchange = async (claims: Record<string, unknown> = {}) =>
  send(await github.sign({ ...RUN, ...claims }, { now: registry.parts.clock() }));

it('a repository that was renamed, or given to another owner, is told so', async () => {
  await add({ pins: { repositoryId: '1', ownerId: '2' } });
  const renamed = await exchange({
    repository: 'example/renamed',
    workflow_ref: RUN.workflow_ref.replace('functions', 'renamed'),
  });
  expect(renamed.body.detail).toContain(
    'repository is "example/renamed", expected example/functions (the repository has another name now)',
  );
  expect(renamed.body.hint).toContain('krmhub publisher add example.com');
  const given = await exchange({ repository: 'new/functions', repository_owner_id: '3' });
  expect(given.body.detail).toContain('repository is "new/functions"');
  expect(given.body.detail).toContain('repository_owner_id is "3", expected 2');
  const stranger = await exchange({ repository: 'new/functions', repository_id: '9' });
  expect(stranger.body.detail).toBe('no trusted publisher of example.com is "new/functions"');
  const other = { repository: 'example/other', repository_id: '9' };
  const workflow_ref = 'example/other/.github/workflows/release.yml@refs/tags/v1';
  expect((await exchange({ ...other, workflow_ref })).body.hint).toBe(
    'An owner of the group adds the workflow: krmhub publisher add example.com --github example/other --workflow release.yml. To see those that exist: krmhub publisher list example.com',
  );
});

it('a workflow with the name of a publisher of another issuer is told so', async () => {
  const issuer = 'https://github.example.com/_services/token';
  const server = await TestIssuer.create(issuer);
  await add({ group: 'a.example.com' });
  const keys = server.fetch;
  github.fetch = (url) => keys(url);
  await add({ group: 'b.example.com', issuer });
  const token = await server.sign(RUN, { now: registry.parts.clock() });
  const { status, body } = await send(token, ['a.example.com']);
  expect([status, body.detail]).toEqual([
    403,
    `no trusted publisher of a.example.com is "example/functions release.yml" of the issuer ${issuer}`,
  ]);
});

it('a run that no publisher may accept is not told to replace its publisher', async () => {
  const { body: publisher } = await add();
  const forbidden = await exchange({ event_name: 'pull_request_target' });
  expect(forbidden.body.hint).toBe('Run it as expected: this holds for every publisher of the provider.');
  const both = await exchange({
    event_name: 'pull_request_target',
    workflow_ref: RUN.workflow_ref.replace('release', 'test'),
  });
  expect(both.body.hint).toContain(`krmhub publisher remove ${publisher.id}`);
});

it('a workflow that publishes another function than it may is told which publisher to add', async () => {
  await add({ kind: 'SetOther' });
  const { body } = await exchange();
  const path = '/api/v1/functions/example.com/SetLabels/releases/1.0.0';
  const { status, body: refused } = await registry.send<Problem>(
    'PUT',
    path,
    definitionText({ group: 'example.com', kind: 'SetLabels', release: '1.0.0' }),
    `Bearer ${body.token}`,
  );
  expect([status, refused.hint]).toEqual([
    403,
    'This workflow is a trusted publisher of example.com/SetOther. An owner of the group adds it for more: krmhub publisher add example.com',
  ]);
});

it('a publisher that was not used in time matches nothing, and can be added again', async () => {
  const { body: first } = await add();
  registry.advance(31 * 86_400_000);
  const refused = await exchange();
  expect([refused.status, refused.body.hint]).toEqual([401, expect.stringContaining('krmhub publisher add')]);
  const claims = { iss: GITHUB, ...RUN };
  const { body } = await registry.send<CheckedPublishers>('POST', '/api/v1/oidc/check', {
    group: 'example.com',
    claims,
  });
  expect(body.publishers).toEqual([]);
  const again = await add();
  expect([again.status, again.body.id === first.id]).toEqual([201, false]);
  expect((await exchange()).status).toBe(201);
  registry.advance(31 * 86_400_000);
  const twice = await add();
  expect([twice.status, twice.body.hint]).toEqual([
    409,
    `It needs no second one. To change it, remove it first: krmhub publisher remove ${again.body.id}`,
  ]);
});

it('a run whose publisher was not used in time is told so, and no other one', async () => {
  const { body: first } = await add();
  registry.advance(31 * 86_400_000);
  const answer = async (claims = {}, groups: string[] | null = ['example.com']) => {
    const token = await github.sign({ ...RUN, ...claims }, { now: registry.parts.clock() });
    const named = groups === null ? {} : { groups };
    const { status, body } = await registry.send<Problem>('POST', '/api/v1/oidc/token', { token, ...named });
    return [status, body.detail, body.hint];
  };
  const ended = [
    401,
    `the identity token is refused: the trusted publisher of example.com expired at ${first.pendingUntil} because no run used it in time`,
    'An owner of the group adds it again: krmhub publisher add example.com --github example/functions --workflow release.yml',
  ];
  expect(await answer()).toEqual(ended);
  expect(await answer({}, null)).toEqual(ended);
  const others = [{ repository_id: '7', repository: 'example/other' }, { event_name: 'pull_request' }];
  for (const claims of others) {
    const [status, detail] = await answer(claims);
    expect([status, detail]).toEqual([
      403,
      expect.stringContaining('no trusted publisher of example.com is'),
    ]);
  }
  expect((await answer({}, ['other.example.com']))[1]).toContain('no trusted publisher of other.example.com');
  // Beside another one of its issuer that does not accept the run.
  const settings = { ...WANTED.settings, ref: 'refs/heads/other' };
  expect((await add({ group: 'other.example.com', settings })).status).toBe(201);
  expect(await answer({}, ['example.com', 'other.example.com'])).toEqual(ended);
});

it('an issuer whose publishers ended long ago is not asked for keys', async () => {
  const issuer = 'https://ci.example.com';
  const ci = await TestIssuer.create(issuer);
  await add({ provider: 'custom', issuer, settings: { subject: 'subject' } });
  const fetched = vi.spyOn(github, 'fetch');
  const asked = async () => {
    fetched.mockClear();
    const { body } = await send(await ci.sign({ aud: AUDIENCE }, { now: registry.parts.clock() }));
    return [fetched.mock.calls.length > 0, body.detail];
  };
  registry.advance(59 * 86_400_000);
  expect(await asked()).toEqual([true, expect.stringContaining(issuer)]);
  registry.advance(2 * 86_400_000);
  expect(await asked()).toEqual([
    false,
    `the identity token is refused: no trusted publisher has the issuer "${issuer}"`,
  ]);
});

it('while a newer Access document cannot be read, a run is told that, and not that the owner changed', async () => {
  await add();
  const unreadable = storeAccess(registry, 'newField: [x]');
  await expect(unreadable).rejects.toMatchObject({ code: 'invalid-document' });
  const { status, body } = await exchange();
  expect([status, body.detail, body.hint]).toEqual([
    403,
    expect.stringContaining('whose Access document is of a newer version of krmhub'),
    'Ask the operator to start the version of krmhub that applied the Access document, or a later one.',
  ]);
  const { body: checked } = await registry.send<CheckedPublishers>('POST', '/api/v1/oidc/check', {
    group: 'example.com',
    claims: { iss: GITHUB, ...RUN },
  });
  const problems = checked.publishers[0]!.problems.map(({ why }) => why ?? '').join();
  expect(problems).toContain('the operator starts the version of krmhub that applied it');
  expect(problems).not.toContain('adds it again');
});

it('a branch that no token can have, and a server instead of its issuer, are refused when added', async () => {
  for (const ref of ['main', 'v*', 'tags/v1', '/refs/tags/v1']) {
    const { status, body } = await add({ settings: { ...WANTED.settings, ref } });
    expect([status, body.detail]).toEqual([400, expect.stringContaining('such as refs/tags/*')]);
  }
  for (const ref of ['refs/heads/main', '*', '*/v1']) {
    expect((await add({ settings: { ...WANTED.settings, ref } })).status).toBe(201);
  }
  const { body } = await add({ issuer: 'https://github.example.com' });
  expect(body.detail).toContain('for example https://github.example.com/_services/token');
  const missing = await add({ provider: 'custom', settings: { subject: 'x' } });
  expect(missing.body.detail).toContain('is missing, for example https://');
});

it('keys that owners give cost little, and not those of other groups', async () => {
  const issuer = 'https://ci.example.com';
  const custom = { provider: 'custom', issuer, settings: { subject: 'subject' } };
  const key = async (kid: string, pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })) => ({
    ...(await exportJWK(pair.publicKey)),
    kid,
  });
  const one = await key('a');
  const many = await add({ ...custom, keys: JSON.stringify({ keys: Array(21).fill(one) }) });
  expect([many.status, many.body.detail]).toEqual([400, expect.stringContaining('the limit is 20')]);
  const padded = {
    keys: [
      { ...one, note: 'x'.repeat(10_000) },
      { kty: 'oct?', note: 'y'.repeat(10_000) },
    ],
    more: 1,
  };
  expect((await add({ ...custom, keys: JSON.stringify(padded) })).status).toBe(201);
  const [stored] = await registry.parts.store.trustedPublishers();
  expect(JSON.parse(stored!.keys!)).toEqual({ keys: [one] });

  const ours = await TestIssuer.create(issuer);
  const kid = ours.keySet().keys[0]!.kid!;
  expect(
    (await add({ ...custom, group: 'ours.example.com', keys: JSON.stringify(ours.keySet()) })).status,
  ).toBe(201);
  for (let count = 0; count < 52; count += 1) {
    const keys = JSON.stringify({ keys: [await key(kid)] });
    const other = { ...custom, group: 'a.example.com', settings: { subject: `s${count}` }, keys };
    expect((await add(other)).status).toBe(201);
  }
  const sign = () => ours.sign({ aud: AUDIENCE }, { now: registry.parts.clock() });
  expect((await send(await sign(), ['ours.example.com'])).status).toBe(201);
  expect((await send(await sign(), ['a.example.com'])).body.detail).toContain(
    'no trusted publisher of a.example.com is "subject" of the issuer https://ci.example.com with the key',
  );
});

it('a workflow that names a group without a publisher is told so, also with keys that an owner gave', async () => {
  const cluster = await TestIssuer.create('https://kubernetes.default.svc');
  const settings = { namespace: 'ci', serviceAccount: 'publisher' };
  const keys = JSON.stringify(cluster.keySet());
  const wanted = { provider: 'kubernetes', issuer: 'https://kubernetes.default.svc', settings, keys };
  expect((await add({ ...wanted, group: 'a.example.com' })).status).toBe(201);
  const account = { namespace: 'ci', serviceaccount: { name: 'publisher', uid: '1' } };
  const sign = (from: TestIssuer) =>
    from.sign({ aud: [AUDIENCE], 'kubernetes.io': account }, { now: registry.parts.clock() });
  const { status, body } = await send(await sign(cluster), ['b.example.com']);
  expect([status, body.detail]).toEqual([
    401,
    expect.stringContaining(
      'no trusted publisher of b.example.com is "ci publisher" of the issuer https://kubernetes.default.svc with the key',
    ),
  ]);
  expect(body.hint).toContain('krmhub publisher add b.example.com');
  const forged = await TestIssuer.create('https://kubernetes.default.svc');
  expect((await send(await sign(forged), ['b.example.com'])).status).toBe(401);
  expect((await send(await sign(cluster), ['a.example.com'])).status).toBe(201);
});

it('a publisher whose keys are stored as they were given is not added twice', async () => {
  const issuer = 'https://ci.example.com';
  const custom = { provider: 'custom', issuer, settings: { subject: 'subject' } };
  const keys = JSON.stringify((await TestIssuer.create(issuer)).keySet(), undefined, 2);
  const { body } = await add({ ...custom, keys });
  const { store, clock } = registry.parts;
  const [stored] = await store.trustedPublishers();
  expect(stored!.keys).not.toBe(keys);
  const now = clock().toISOString();
  const origin = {};
  await store.removeTrustedPublisher(body.id, { at: now, by: 'admin', origin });
  await store.addTrustedPublisher({ ...stored!, keys }, origin, () => undefined);
  expect((await add({ ...custom, keys })).status).toBe(409);
  const others = JSON.stringify((await TestIssuer.create(issuer)).keySet());
  expect((await add({ ...custom, keys: others })).status).toBe(201);
});
