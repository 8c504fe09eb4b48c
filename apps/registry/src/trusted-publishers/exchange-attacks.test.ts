import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import type { ExchangedToken, Problem, Release, TrustedPublisher } from '@krmhub/api/model';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUDIENCE, GITHUB, RUN, TestIssuer } from '../testing/test-issuer.js';
import { definitionText, openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { checkedKey, givenKeys, readKeys } from './issuer-keys.js';

/** What owners of other groups, issuers, and workflows try. */
const GITLAB = 'https://gitlab.example.com';
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: platform}, {name: rivals}]
  groups:
  - {pattern: ours.example.com, owner: platform}
  - {pattern: a.example.com, owner: rivals}
  - {pattern: secret.example.com, owner: platform, visibility: private}
`;
const WORKFLOW = { repository: 'example/functions', workflow: 'release.yml' };
const JOB = {
  aud: AUDIENCE,
  project_path: 'example/functions',
  project_id: '1',
  namespace_id: '2',
  ref_protected: 'true',
  pipeline_source: 'push',
};

let issuers: TestIssuer[];
let registry: TestRegistry;

beforeEach(async () => {
  issuers = await Promise.all([GITHUB, GITLAB].map((issuer) => TestIssuer.create(issuer)));
  registry = await openTestRegistry({
    config: { publicUrl: AUDIENCE, failedLoginsPerMinute: 5 },
    fetchIssuer: (url) => {
      const issuer = issuers.find((one) => url.startsWith(`${one.issuer}/`));
      return issuer === undefined ? Promise.reject(new Error('not found')) : issuer.fetch(url);
    },
  });
  await applyAccess(ACCESS);
});
afterEach(async () => {
  await registry.close();
});

const applyAccess = async (body: string) => {
  const headers = { Authorization: await registry.bearer(), 'Content-Type': 'application/yaml' };
  const response = await registry.request('/api/v1/access', { method: 'PUT', headers, body });
  expect(response.status, await response.text()).toBe(200);
};
const add = async (group: string, wanted: Record<string, unknown>, token?: string) =>
  registry.send<TrustedPublisher & Problem>(
    'POST',
    '/api/v1/trusted-publishers',
    { group, ...wanted },
    token ?? (await registry.bearer()),
  );
const exchange = (token: string, groups?: string[]) =>
  registry.send<ExchangedToken & Problem>('POST', '/api/v1/oidc/token', { token, groups });
const signBy = (issuer: TestIssuer, claims: object, header = {}) =>
  issuer.sign({ ...claims }, { now: registry.parts.clock(), header });
const publish = (token: string, group: string, release = '1.0.0') =>
  registry.send<Problem>(
    'PUT',
    `/api/v1/functions/${group}/SetLabels/releases/${release}`,
    definitionText({ group, kind: 'SetLabels', release }),
    `Bearer ${token}`,
  );

describe('the owner of another group', () => {
  it('cannot stop a workflow by giving the public keys of its issuer', async () => {
    const [, gitlab] = issuers as [TestIssuer, TestIssuer];
    const wanted = { provider: 'gitlab', issuer: GITLAB, settings: { project: 'example/functions' } };
    expect((await add('ours.example.com', wanted)).status).toBe(201);
    const [{ use: _, ...key }] = gitlab.keySet().keys as [JWK];
    const more = [{ alg: 'ES256' }, { alg: 'PS256' }, { alg: undefined, key_ops: ['encrypt'] }, { oth: [] }];
    const sets = more.map((one) => ({ keys: [{ ...key, ...one }] }));
    for (const [at, keys] of [gitlab.keySet(), { ...gitlab.keySet(), more: 1 }, ...sets].entries()) {
      const settings = { project: 'example/functions', ...(at === 0 ? {} : { file: `x${at}.yml` }) };
      expect((await add('a.example.com', { ...wanted, settings, keys: JSON.stringify(keys) })).status).toBe(
        201,
      );
      const { status, body } = await exchange(await signBy(gitlab, JOB), ['ours.example.com']);
      expect([status, body.publishes]).toEqual([201, ['ours.example.com']]);
    }

    // Another key with the same ID.
    const other = await TestIssuer.create(GITLAB);
    const collision = { ...other.keySet().keys[0], kid: gitlab.keySet().keys[0]!.kid };
    const settings = { project: 'evil/functions' };
    const keys = JSON.stringify({ keys: [collision] });
    expect((await add('a.example.com', { ...wanted, settings, keys })).status).toBe(201);
    const claims = { ...JOB, jti: 'one' };
    const forged = await signBy(other, claims, { kid: collision.kid });
    expect((await exchange(forged, ['ours.example.com'])).status).toBe(401);
    expect(
      (
        await exchange(
          await signBy(other, { ...claims, project_path: 'evil/functions' }, { kid: collision.kid }),
        )
      ).status,
    ).toBe(201);
    // Which does not use up the token of the real issuer with the same ID.
    expect((await exchange(await signBy(gitlab, claims), ['ours.example.com'])).status).toBe(201);
    gitlab.isAway = true;
    registry.advance(90_000_000);
    for (const token of [
      await signBy(gitlab, JOB),
      await signBy(await TestIssuer.create(GITLAB), JOB, { kid: collision.kid }),
    ]) {
      expect((await exchange(token, ['ours.example.com'])).status).toBe(503);
    }

    // Nor one whose owner gave the keys, later.
    const late = {
      ...wanted,
      settings: { project: 'late/functions' },
      keys: JSON.stringify(gitlab.keySet()),
    };
    expect((await add('ours.example.com', late)).status).toBe(201);
    const given = await signBy(gitlab, { ...JOB, project_path: 'late/functions' });
    expect((await exchange(given, ['ours.example.com'])).status).toBe(201);
  });

  it('cannot stop a workflow by adding it', async () => {
    const [github] = issuers as [TestIssuer];
    const wanted = { provider: 'github', settings: WORKFLOW };
    expect((await add('a.example.com', wanted)).status).toBe(201);
    expect((await add('ours.example.com', wanted)).status).toBe(201);
    const any = await exchange(await signBy(github, RUN));
    expect([any.status, any.body.hint]).toEqual([409, expect.stringContaining('a command of its own')]);
    const { status, body } = await exchange(await signBy(github, RUN), ['ours.example.com']);
    expect([status, body.publishes]).toEqual([201, ['ours.example.com']]);
    expect((await publish(body.token, 'ours.example.com')).status).toBe(201);
    expect((await publish(body.token, 'a.example.com')).status).toBe(403);
    const [rival] = (await registry.parts.store.trustedPublishers()) as [TrustedPublisher];
    await removePublisher(rival.id);
    expect((await exchange(await signBy(github, RUN))).status).toBe(201);
  });

  it('adds no more publishers than a team can have, in any number of groups', async () => {
    const wanted = { provider: 'custom', issuer: 'https://ci.example.com', settings: { subject: 'x' } };
    const { body } = await add('a.example.com', wanted);
    const { store } = registry.parts;
    const [stored] = await store.trustedPublishers({ id: body.id });
    for (let count = 1; count < 1_000; count += 1) {
      await store.addTrustedPublisher({ ...stored!, id: randomUUID(), group: `a${count}.example.com` });
    }
    const more = await add('a.example.com', { ...wanted, settings: { subject: 'y' } });
    expect([more.status, more.body.detail]).toEqual([409, 'the team has 1000 publishers, the limit']);
    expect((await add('ours.example.com', wanted)).status).toBe(201);
  });

  it('cannot publish as a workflow of GitHub with an issuer of its own', async () => {
    const issuer = `${GITHUB}.evil.example/_services/token`;
    const evil = await TestIssuer.create(issuer);
    issuers.unshift(evil);
    expect((await add('a.example.com', { provider: 'github', issuer, settings: WORKFLOW })).status).toBe(201);
    const { body } = await exchange(await signBy(evil, RUN));
    expect(body.publishes).toEqual(['a.example.com']);
    expect((await publish(body.token, 'a.example.com')).status).toBe(201);
    const release = '/api/v1/functions/a.example.com/SetLabels/releases/1.0.0';
    const { run, publishedBy } = (await (await registry.request(release)).json()) as Release;
    expect(publishedBy).toBe(`example/functions release.yml (GitHub Actions, ${issuer})`);
    expect(run).toMatchObject({ issuer, workflow: 'example/functions release.yml' });
    expect(run!.url).toBeUndefined();
    const page = await (await registry.request('/functions/a.example.com/SetLabels')).text();
    expect(page).toContain(issuer);
    expect(page).not.toContain('href="https://github.com/example/functions');
  });
});

describe('a hidden group', () => {
  const issuer = 'https://ci.example.com';
  const theirs = { provider: 'custom', issuer, settings: { subject: 'theirs' } };
  const account = { namespace: 'ci', serviceAccount: 'theirs' };
  const keysOf = (...from: TestIssuer[]) => from.flatMap((one) => one.keySet().keys);
  const given = (keys: unknown[]) => ({ keys: JSON.stringify({ keys }) });

  it.each<[string, (own: TestIssuer, evil: TestIssuer) => object | undefined]>([
    ['without publishers', () => undefined],
    ['whose issuer serves its keys', () => theirs],
    ['that gave the keys of its issuer', (own) => ({ ...theirs, ...given(keysOf(own)) })],
    [
      'that gave another key with the ID of the token',
      (own, evil) => ({ ...theirs, ...given([{ ...keysOf(own)[0], kid: keysOf(evil)[0]!.kid }]) }),
    ],
    ['that gave the key of the token', (own, evil) => ({ ...theirs, ...given(keysOf(own, evil)) })],
    [
      'that gave the key of the token, with another provider',
      (own, evil) => ({ provider: 'kubernetes', issuer, settings: account, ...given(keysOf(own, evil)) }),
    ],
  ])('%s looks to other publishers like one that does not exist', async (_, hidden) => {
    const created = [1, 2, 3, 4].map(() => TestIssuer.create(issuer));
    const [serving, own, evil, unknown] = (await Promise.all(created)) as [
      TestIssuer,
      TestIssuer,
      TestIssuer,
      TestIssuer,
    ];
    issuers.push(serving);
    const mine = { ...theirs, settings: { subject: 'mine' } };
    expect((await add('a.example.com', { ...mine, ...given(keysOf(evil)) })).status).toBe(201);
    const wanted = hidden(own, evil);
    if (wanted !== undefined) expect((await add('secret.example.com', { ...wanted })).status).toBe(201);
    const claims = { aud: AUDIENCE, sub: 'mine' };
    const answers = async (group: string) => {
      const found: string[] = [];
      for (const groups of [[group], ['a.example.com', group], [group, 'a.example.com']]) {
        for (const token of [
          await signBy(evil, claims),
          await signBy(evil, { ...claims, sub: 'other' }),
          await signBy(evil, { ...claims, aud: 'https://else.example' }),
          await signBy(evil, { ...claims, aud: [AUDIENCE, 'https://else.example'] }),
          await signBy(evil, { ...claims, exp: 1 }),
          await signBy(serving, { ...claims, sub: 'other' }),
          await signBy(serving, { ...claims, exp: 1 }),
          await signBy(unknown, claims),
          await signBy(unknown, claims, { kid: 'kty' }),
          await signBy(unknown, claims, { kid: keysOf(evil)[0]!.kid }),
        ]) {
          const { status, body } = await exchange(token, groups);
          const { code, detail, hint, publishes } = body as Partial<typeof body>;
          const text = JSON.stringify({ status, code, detail, hint, publishes }).replaceAll(group, 'GROUP');
          // The clock of the registry goes on between two answers.
          found.push(text.replace(/\S+Z, the time of the registry/, 'NOW, the time of the registry'));
        }
      }
      return found;
    };
    const all: string[] = [];
    for (const before of [
      async () => undefined,
      // The keys that the issuer serves count for a publisher, and with them those of hidden groups.
      async () => expect((await add('a.example.com', mine)).status).toBe(201),
      async () => {
        serving.isAway = true;
        registry.advance(90_000_000);
      },
    ]) {
      await before();
      const absent = await answers('absent.example.com');
      expect(await answers('secret.example.com')).toEqual(absent);
      all.push(...absent);
    }
    for (const status of [201, 401, 403, 503])
      expect(all.join(), String(status)).toContain(`"status":${status}`);
  });

  it('is not told by claims that only the owner of another publisher signed', async () => {
    const [serving, evil] = [await TestIssuer.create(issuer), await TestIssuer.create(issuer)];
    issuers.push(serving);
    const account = { namespace: 'ci', serviceAccount: 'mine' };
    const mine = { provider: 'kubernetes', issuer, settings: account, pins: { serviceAccountUid: 'never' } };
    expect((await add('a.example.com', { ...mine, ...given(keysOf(evil)) })).status).toBe(201);
    expect((await add('secret.example.com', theirs)).status).toBe(201);
    const claims = {
      ...{ aud: [AUDIENCE], sub: 'theirs' },
      'kubernetes.io': { namespace: 'ci', serviceaccount: { name: 'mine', uid: '1' } },
    };
    for (const isAway of [false, true]) {
      serving.isAway = isAway;
      const answers = [];
      for (const group of ['absent.example.com', 'secret.example.com']) {
        registry.advance(90_000_000);
        const { fetches } = serving;
        const { status, body } = await exchange(await signBy(evil, claims), ['a.example.com', group]);
        answers.push([status, body.detail, body.hint, serving.fetches - fetches]);
      }
      expect(answers[1]).toEqual(answers[0]);
    }
  });
});

describe('a workflow whose key is given in one place and served in another', () => {
  const issuer = 'https://ci.example.com';
  const wanted = { provider: 'custom', issuer, settings: { subject: 's' } };

  it('publishes in all groups that accept it, and in those with its key if the issuer is away', async () => {
    const serving = await TestIssuer.create(issuer);
    issuers.push(serving);
    const keys = JSON.stringify(serving.keySet());
    for (const [group, more] of [
      ['ours.example.com', { keys }],
      ['secret.example.com', {}],
      ['secret.example.com', { kind: 'SetLabels', keys }],
    ] as const) {
      expect((await add(group, { ...wanted, ...more })).status).toBe(201);
    }
    const publishes = async (...groups: string[]) => {
      const token = await signBy(serving, { aud: AUDIENCE, sub: 's' });
      const { status, body } = await exchange(token, groups.length === 0 ? undefined : groups);
      return status === 201 ? [...body.publishes].sort() : status;
    };
    const all = ['ours.example.com', 'secret.example.com', 'secret.example.com/SetLabels'];
    expect(await publishes('ours.example.com', 'secret.example.com')).toEqual(all);
    expect(await publishes()).toEqual(all);
    expect(await publishes('secret.example.com')).toEqual(all.slice(1));
    serving.isAway = true;
    registry.advance(90_000_000);
    expect(await publishes('ours.example.com')).toEqual(all.slice(0, 1));
    expect(await publishes('ours.example.com', 'secret.example.com')).toEqual([all[0], all[2]]);
  });

  it('publishes where the publisher with its key is of an earlier owner, or of another provider', async () => {
    const serving = await TestIssuer.create(issuer);
    issuers.push(serving);
    const keys = JSON.stringify(serving.keySet());
    const account = { provider: 'kubernetes', issuer, settings: { namespace: 'ci', serviceAccount: 's' } };
    const publishes = async (aud: unknown) => {
      const uid = { namespace: 'ci', serviceaccount: { name: 's', uid: '1' } };
      const claims = { aud, sub: 's', 'kubernetes.io': uid };
      const { status, body } = await exchange(await signBy(serving, claims), ['ours.example.com']);
      return [status, body.publishes ?? body.detail];
    };
    expect((await add('ours.example.com', { ...wanted, keys })).status).toBe(201);
    expect((await add('ours.example.com', account)).status).toBe(201);
    expect(await publishes([AUDIENCE])).toEqual([201, ['ours.example.com']]);

    await applyAccess(ACCESS.replace('ours.example.com, owner: platform', 'ours.example.com, owner: rivals'));
    expect((await publishes(AUDIENCE))[0]).toBe(403);
    expect((await add('ours.example.com', { ...wanted, kind: 'SetLabels' })).status).toBe(201);
    expect(await publishes(AUDIENCE)).toEqual([201, ['ours.example.com/SetLabels']]);
  });
});

const removePublisher = async (id: string) => {
  const headers = { Authorization: await registry.bearer() };
  const target = `/api/v1/trusted-publishers/${id}`;
  expect((await registry.request(target, { method: 'DELETE', headers })).status).toBe(204);
};

describe('the token of a workflow', () => {
  const wanted = { provider: 'github', settings: WORKFLOW };

  it('ends when its publisher is removed', async () => {
    const [github] = issuers as [TestIssuer];
    const { body: publisher } = await add('ours.example.com', wanted);
    const { body } = await exchange(await signBy(github, RUN));
    expect((await publish(body.token, 'ours.example.com')).status).toBe(201);
    await removePublisher(publisher.id);
    const { status, body: refused } = await publish(body.token, 'ours.example.com', '1.0.1');
    expect([status, refused.detail]).toEqual([401, expect.stringContaining('revoked')]);
  });

  it('publishes, and does nothing else', async () => {
    const [github] = issuers as [TestIssuer];
    await add('ours.example.com', { ...wanted, kind: 'SetLabels' });
    const { body } = await exchange(await signBy(github, RUN));
    expect(body.publishes).toEqual(['ours.example.com/SetLabels']);
    const authorization = `Bearer ${body.token}`;
    expect((await publish(body.token, 'ours.example.com')).status).toBe(201);
    const secret = { group: 'secret.example.com', kind: 'SetLabels', release: '1.0.0' };
    expect((await registry.publish(secret)).status).toBe(201);
    const reason = { reason: 'for a test' };
    const release = '/api/v1/functions/ours.example.com/SetLabels/releases/1.0.0';
    const id = randomUUID();
    for (const [method, target, sent] of [
      ['POST', `${release}/yank`, reason],
      ['POST', `${release}/deprecate`, reason],
      ['POST', `${release}/takedown`, reason],
      [
        'PUT',
        release.replaceAll('SetLabels', 'SetName'),
        definitionText({ group: 'ours.example.com', kind: 'SetName', release: '1.0.0' }),
      ],
      ['POST', '/api/v1/tokens', { name: 'more', scopes: ['publish'], groups: ['ours.example.com'] }],
      ['GET', '/api/v1/tokens', undefined],
      ['GET', '/api/v1/audit', undefined],
      ['GET', '/api/v1/access', undefined],
      ['PUT', '/api/v1/access', ACCESS],
      ['GET', '/api/v1/trusted-publishers?group=ours.example.com', undefined],
      ['POST', '/api/v1/trusted-publishers', { group: 'ours.example.com', ...wanted }],
      ['POST', '/api/v1/oidc/check', { group: 'ours.example.com', claims: {} }],
      ['DELETE', `/api/v1/trusted-publishers/${id}`, undefined],
      ['DELETE', '/api/v1/owners/ours.example.com', undefined],
    ] as const) {
      const response = await registry.request(target, {
        method,
        headers: { Authorization: authorization, 'Content-Type': 'application/json' },
        ...(sent === undefined ? {} : { body: typeof sent === 'string' ? sent : JSON.stringify(sent) }),
      });
      expect([403], `${method} ${target}: ${await response.text()}`).toContain(response.status);
    }
    const hidden = '/api/v1/functions/secret.example.com/SetLabels';
    const absent = await registry.request(hidden.replace('secret', 'absent'), {
      headers: { Authorization: authorization },
    });
    expect((await registry.request(hidden, { headers: { Authorization: authorization } })).status).toBe(
      absent.status,
    );
    const basic = `Basic ${Buffer.from(`krmhub:${body.token}`).toString('base64')}`;
    const upload = async (repository: string) =>
      (
        await registry.request(`/v2/${repository}/blobs/uploads/`, {
          method: 'POST',
          headers: { Authorization: basic },
        })
      ).status;
    expect(await upload('functions/ours.example.com/setlabels')).toBe(202);
    expect(await upload('functions/ours.example.com/setname')).toBe(403);
    expect(await upload('functions/ours.example.com/setlabelsx')).toBe(403);
    expect(await upload('functions/a.example.com/setlabels')).toBe(403);
    expect(await upload('catalogs/default')).toBe(403);
    expect(await upload('team/anything')).toBe(403);
    const list = await (await registry.request('/v2/_catalog', { headers: { Authorization: basic } })).text();
    expect(list).not.toContain('secret.example.com');
  });

  it('is in no log, audit row, or list, and neither is the token of the provider', async () => {
    const [github] = issuers as [TestIssuer];
    await add('ours.example.com', wanted);
    const sent = [await signBy(github, RUN), await signBy(github, { ...RUN, event_name: 'workflow_run' })];
    const { body } = await exchange(sent[0]!);
    await exchange(sent[1]!);
    await exchange(`${sent[1]}x`);
    await publish(body.token, 'ours.example.com');
    const headers = { Authorization: await registry.bearer() };
    const read = async (target: string) => (await registry.request(target, { headers })).text();
    const written = [
      registry.logged.join(''),
      await read('/api/v1/audit'),
      await read('/api/v1/tokens'),
    ].join('');
    expect(written).toContain('example/functions release.yml (GitHub Actions)');
    for (const one of [...sent, body.token]) expect(written).not.toContain(one.slice(-40));
  });
});

it('locks nobody out who shares the address of a job with wrong settings', async () => {
  const [github] = issuers as [TestIssuer];
  await add('ours.example.com', { provider: 'github', settings: WORKFLOW });
  for (let count = 0; count < 10; count += 1) {
    expect((await exchange(await signBy(github, { ...RUN, aud: 'https://else.example' }))).status).toBe(401);
  }
  const { status, body } = await exchange(await signBy(github, RUN));
  expect(status).toBe(201);
  expect((await publish(body.token, 'ours.example.com')).status).toBe(201);
});

it('reads the three newest keys with an ID that a group gave, whatever other groups gave', async () => {
  const issuer = 'https://ci.example.com';
  const signers: TestIssuer[] = [];
  const ids: string[] = [];
  for (const subject of ['oldest', 'b', 'c', 'newest']) {
    const signer = await TestIssuer.create(issuer);
    signers.push(signer);
    const keys = JSON.stringify({ keys: [{ ...signer.keySet().keys[0], kid: 'same' }] });
    const wanted = { provider: 'custom', issuer, settings: { subject }, keys };
    // The same key once more is not another one.
    for (const kind of ['SetLabels', 'SetName']) {
      const { status, body } = await add('ours.example.com', { ...wanted, kind });
      expect(status).toBe(201);
      ids.push(body.id);
      // They are ordered by time.
      registry.advance(1);
    }
    if (subject === 'oldest') expect((await add('a.example.com', wanted)).status).toBe(201);
  }
  const tried = async (...groups: string[]) => {
    const subjects = ['oldest', 'b', 'c', 'newest'];
    const statuses: number[] = [];
    for (const [at, signer] of signers.entries()) {
      const token = await signBy(signer, { aud: AUDIENCE, sub: subjects[at] }, { kid: 'same' });
      statuses.push((await exchange(token, groups)).status);
    }
    return statuses;
  };
  expect(await tried('ours.example.com')).toEqual([401, 201, 201, 201]);
  expect(await tried('ours.example.com', 'a.example.com')).toEqual([201, 201, 201, 201]);
  expect(await tried('a.example.com')).toEqual([201, 401, 401, 401]);
  // Of many groups, fewer keys of each are checked. Who is refused is told so, whatever the groups have.
  const named = (count: number) => Array.from({ length: count }, (_, at) => `absent${at}.example.com`);
  expect(await tried('ours.example.com', ...named(4))).toEqual([401, 201, 201, 201]);
  expect(await tried('ours.example.com', ...named(8))).toEqual([401, 401, 401, 201]);
  const hints = async (...groups: string[]) => {
    const token = await signBy(signers[1]!, { aud: AUDIENCE, sub: 'x' }, { kid: 'same' });
    return (await exchange(token, groups)).body.hint;
  };
  const fewer = 'name fewer groups at once, at most 5';
  expect(await hints(...named(1), 'ours.example.com', ...named(9))).toContain(fewer);
  expect(await hints(...named(9))).toContain(fewer);
  expect(await hints(...named(5))).not.toContain(fewer);
  for (const id of ids.slice(-2)) await removePublisher(id);
  expect(await tried('ours.example.com')).toEqual([201, 201, 201, 401]);
});

describe('keys', () => {
  const rsa = (bits: number) => generateKeyPairSync('rsa', { modulusLength: bits });
  const jwkOf = async (key: KeyObject | CryptoKey, more: object = {}): Promise<JWK> => ({
    ...(await exportJWK(key)),
    kid: 'a',
    ...more,
  });

  it('that cannot verify a token are refused when they are given, and skipped when they are served', async () => {
    const good = await jwkOf(rsa(2048).publicKey);
    const p521 = await jwkOf(generateKeyPairSync('ec', { namedCurve: 'secp521r1' }).publicKey);
    const odd: JWK[] = [
      await jwkOf(rsa(1024).publicKey),
      await jwkOf(generateKeyPairSync('ed25519').publicKey),
      p521,
      { ...good, use: 'enc' },
      { ...good, n: '' },
      // It would cost much to verify with them, or nothing to sign.
      { ...good, n: Buffer.alloc(1_025, 255).toString('base64url') },
      { ...good, e: Buffer.alloc(200, 255).toString('base64url') },
      { ...good, e: 'AQ' },
      { ...good, kty: 'EC' },
      { kty: 'RSA', kid: 'a', x5c: ['AAAA'] },
      { kty: 'none', kid: 'a' },
      {},
    ];
    for (const key of odd) {
      expect(() => readKeys({ keys: [key] } as never), JSON.stringify(key)).toThrow('no RSA key of at least');
      expect(readKeys({ keys: [key, { ...good, kid: 'b' }] } as never).keys).toEqual([{ ...good, kid: 'b' }]);
    }
    const secret = await jwkOf(rsa(2048).privateKey);
    for (const key of [secret, { kty: 'oct', kid: 'a', k: 'AAAA' }]) {
      expect(() => readKeys({ keys: [good, key] } as never)).toThrow('a private key');
    }
    const keys = JSON.stringify({ keys: [good, good] });
    const settings = { namespace: 'ci', serviceAccount: 'x' };
    const given = { provider: 'kubernetes', issuer: 'https://k.example.com', settings };
    expect((await add('ours.example.com', { ...given, keys })).body.detail).toContain('the same `kid`');
    const gitlab = {
      provider: 'gitlab',
      settings: { project: 'a/b' },
      keys: JSON.stringify({ keys: [good] }),
    };
    expect((await add('ours.example.com', gitlab)).body.detail).toContain('serves its own keys');
  });

  it('that were given are not read unless a token names them, which would cost much', async () => {
    const [one, other] = [await jwkOf(rsa(2048).publicKey), await jwkOf(rsa(2048).publicKey)];
    const wanted = { ...other, kid: 'b' };
    const text = JSON.stringify({ keys: [one, wanted, { ...one, kid: 'c' }, { kty: 'RSA', kid: 'b' }, 1] });
    expect(givenKeys(text, 'b').filter((key) => checkedKey(key) !== undefined)).toEqual([wanted]);
    expect(givenKeys(text, 'd')).toEqual([]);
  });

  it('verify no token with another algorithm, and no critical or nested one', async () => {
    const [github] = issuers as [TestIssuer];
    await add('ours.example.com', { provider: 'github', settings: WORKFLOW });
    const signed = async (alg: string, header: object = {}, critical: object = {}) => {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
      const kid = randomUUID();
      github.served = {
        keys: [...github.keySet().keys, { ...(await exportJWK(publicKey)), kid, ...header }],
      };
      registry.advance(61_000);
      const at = Math.floor(registry.parts.clock().getTime() / 1000);
      const claims = { ...RUN, iss: GITHUB, sub: 's', jti: randomUUID(), iat: at, exp: at + 300 };
      const crit = { later: true };
      return new SignJWT(claims).setProtectedHeader({ alg, kid, ...critical }).sign(privateKey, { crit });
    };
    for (const [alg, header] of [
      ['PS256', {}],
      ['ES384', {}],
      ['EdDSA', {}],
      ['RS512', {}],
      ['ES256', { use: 'enc' }],
      ['ES256', { alg: 'RS256' }],
      ['RS256', { alg: 'PS256' }],
    ] as const) {
      const { status, body } = await exchange(await signed(alg, header));
      expect([status, body.status], alg).toEqual([401, 401]);
    }
    const critical = await signed('RS256', {}, { crit: ['later'], later: true });
    expect((await exchange(critical)).status).toBe(401);
    const encode = (text: string) => Buffer.from(text).toString('base64url');
    const nested = `${encode('{"alg":"RS256","kid":"x","cty":"JWT"}')}.${encode(await signBy(github, RUN))}.AAAA`;
    expect((await exchange(nested)).status).toBe(401);
    expect((await exchange(await signed('ES256'))).status).toBe(201);
  });
});

it.each([
  ['no identifier', { jti: undefined }, 'no claim "jti"'],
  ['a number as its identifier', { jti: 7 }, 'jti is "7"'],
  ['an empty identifier', { jti: '' }, 'jti is ""'],
  ['a list as its identifier', { jti: ['a'] }, 'jti is'],
  ['an end that is text', { exp: '4000000000' }, '"exp"'],
  ['an end that is no number', { exp: null }, '"exp"'],
  ['a beginning in the future', { nbf: 4_000_000_000 }, 'not valid yet'],
  ['a beginning that is text', { nbf: 'now' }, '"nbf"'],
  ['a time of issue that is text', { iat: '1' }, '"iat"'],
])('refuses a token with %s', async (_, claims, message) => {
  const [github] = issuers as [TestIssuer];
  await add('ours.example.com', { provider: 'github', settings: WORKFLOW });
  const { status, body } = await exchange(await signBy(github, { ...RUN, ...claims }));
  expect([status, body.detail]).toEqual([401, expect.stringContaining(message)]);
});

it('remembers a token for as long as it is taken', async () => {
  const [github] = issuers as [TestIssuer];
  await add('ours.example.com', { provider: 'github', settings: WORKFLOW });
  const token = await signBy(github, RUN);
  expect((await exchange(token)).status).toBe(201);
  for (let seconds = 0; seconds < 400; seconds += 20) {
    registry.advance(20_000);
    // Each exchange forgets what cannot be used again.
    expect((await exchange(await signBy(github, RUN))).status).toBe(201);
    expect((await exchange(token)).status).toBe(401);
  }
});

it('remembers a token although the clock of another process is ahead', async () => {
  const [github] = issuers as [TestIssuer];
  await add('ours.example.com', { provider: 'github', settings: WORKFLOW });
  const token = await signBy(github, RUN);
  expect((await exchange(token)).status).toBe(201);
  registry.advance(1_200_000);
  expect((await exchange(await signBy(github, RUN))).status).toBe(201);
  registry.advance(-1_200_000);
  const { status, body } = await exchange(token);
  expect([status, body.detail]).toEqual([401, 'the identity token was exchanged before']);
});
