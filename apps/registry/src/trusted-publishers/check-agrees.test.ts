import type { CheckedPublishers, ExchangedToken, Problem, TrustedPublisher } from '@krmhub/api/model';
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { storeAccess } from '../testing/access.js';
import { AUDIENCE, GITHUB, RUN, TestIssuer } from '../testing/test-issuer.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

/** `krmhub publisher check` with a token says what its exchange says, and each message has what came, and what was expected. */
const CLUSTER = 'https://kubernetes.default.svc';
const ACCOUNT = {
  aud: [AUDIENCE],
  'kubernetes.io': { namespace: 'ci', serviceaccount: { name: 'publisher', uid: '1' } },
};

let github: TestIssuer;
let cluster: TestIssuer;
let registry: TestRegistry;
beforeEach(async () => {
  github = await TestIssuer.create(GITHUB);
  cluster = await TestIssuer.create(CLUSTER);
  registry = await openTestRegistry({
    config: { publicUrl: AUDIENCE },
    fetchIssuer: (url) => github.fetch(url),
  });
  const settings = { repository: 'example/functions', workflow: 'release.yml' };
  await add({ provider: 'github', settings });
  const account = { namespace: 'ci', serviceAccount: 'publisher' };
  const keys = JSON.stringify(cluster.keySet());
  await add({ provider: 'kubernetes', issuer: CLUSTER, settings: account, keys });
});
afterEach(async () => {
  await registry.close();
});

const add = async (wanted: Record<string, unknown>) => {
  const body = { group: 'example.com', ...wanted };
  const added = await registry.send<TrustedPublisher & Problem>('POST', '/api/v1/trusted-publishers', body);
  expect(added.status, added.body.detail).toBe(201);
};
const own = (owner: string) =>
  storeAccess(
    registry,
    `teams: [{name: platform}, {name: apps}]\ngroups: [{pattern: example.com, owner: ${owner}}]\n`,
    [],
  );
const check = async (claims: Record<string, unknown>) => {
  const asked = { group: 'example.com', claims };
  const { body } = await registry.send<CheckedPublishers>('POST', '/api/v1/oidc/check', asked);
  const ofIssuer = body.publishers.filter(({ problems }) => problems.every(({ claim }) => claim !== 'iss'));
  return ofIssuer.map(({ problems }) => problems);
};
const tried = async (claims: Record<string, unknown>, issuer = github) => {
  const token = await issuer.sign(claims, { now: registry.parts.clock() });
  const { status, body } = await registry.send<ExchangedToken & Problem>('POST', '/api/v1/oidc/token', {
    ...{ token, groups: ['example.com'] },
  });
  return { status, body, checked: await check(decodeJwt(token)) };
};
const seconds = (more: number) => Math.floor(registry.parts.clock().getTime() / 1000) + more;
const time = (at: number) => new Date(at * 1000).toISOString();

it('agrees about the audience and the times of a token', async () => {
  const other = 'https://other.example.net';
  const wrong: [claims: object, claim: string, message: string][] = [
    [{ aud: other }, 'aud', `for the audience "${other}", not for "${AUDIENCE}"`],
    [{ aud: [AUDIENCE, other] }, 'aud', 'a list of audiences: aud is '],
    [{ exp: seconds(-40) }, 'exp', `expired: exp is "${time(seconds(-40))}", expected later than `],
    [{ nbf: seconds(300) }, 'nbf', `not valid yet: nbf is "${time(seconds(300))}", expected at most `],
    [{ iat: seconds(300) }, 'iat', `issued in the future: iat is "${time(seconds(300))}", expected at most `],
    [
      { exp: seconds(90_000) },
      'exp',
      `more than a day: exp is "${time(seconds(90_000))}", expected at most a day`,
    ],
    [{ exp: 8.7e15, iat: 'now' }, 'iat', 'iat is "now", expected a time in seconds'],
  ];
  for (const [claims, claim, message] of wrong) {
    for (const [issuer, run] of [
      [github, RUN],
      [cluster, ACCOUNT],
    ] as const) {
      const { status, body, checked } = await tried({ ...run, ...claims }, issuer);
      expect([status, body.detail], claim).toEqual([401, expect.stringContaining(message)]);
      if (claim !== 'aud' && !message.includes('seconds'))
        expect(body.detail).toContain(', the time of the registry');
      expect(checked, message).toEqual([expect.arrayContaining([expect.objectContaining({ claim })])]);
    }
  }
  const { status, checked } = await tried({ ...RUN, jti: 5 });
  expect([status, checked]).toEqual([401, [[expect.objectContaining({ claim: 'jti', found: '5' })]]]);
  for (const claims of [{}, { nbf: seconds(25), iat: seconds(25) }]) {
    const { status, checked } = await tried({ ...RUN, ...claims });
    expect([status, checked], JSON.stringify(claims)).toEqual([201, [[]]]);
  }
  // An owner can ask about some of the claims.
  const { aud: _, ...some } = RUN;
  expect(await check({ iss: GITHUB, ...some })).toEqual([[]]);
});

it('agrees about a publisher of a team that lost the group', async () => {
  await own('platform');
  await add({ provider: 'github', settings: { repository: 'example/owned', workflow: 'release.yml' } });
  const workflow_ref = 'example/owned/.github/workflows/release.yml@refs/tags/v1';
  const run = { ...RUN, repository: 'example/owned', repository_id: '7', workflow_ref };
  const before = await tried(run);
  expect([before.status, before.checked]).toEqual([201, expect.arrayContaining([[]])]);
  await own('apps');
  const { status, body, checked } = await tried(run);
  expect([status, body.detail]).toEqual([403, expect.stringContaining('lacks a grant from the team "apps"')]);
  expect(checked).toContainEqual([
    expect.objectContaining({
      claim: 'team',
      found: 'platform',
      why: expect.stringContaining('it lacks a grant'),
    }),
  ]);
});

it('names the keys of an issuer as a way out only where they can be given', async () => {
  github.isAway = true;
  const { status, body } = await tried(RUN);
  expect([status, body.hint]).toEqual([503, expect.not.stringContaining('--keys')]);
});

it('tells who may not see all publishers what to do', async () => {
  const { secret } = await registry.token({ scopes: ['publish'] });
  const headers = { Authorization: `Bearer ${secret}` };
  const listed = await registry.request('/api/v1/trusted-publishers', { headers });
  expect(await listed.json()).toMatchObject({
    status: 403,
    hint: 'Name a group that you own: krmhub publisher list GROUP',
  });
});

it('describes claims that are nested deeper than a recursion goes', async () => {
  const nested = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  for (const claim of ['aud', 'exp', 'jti', 'repository']) {
    const claims = { iss: GITHUB, ...RUN, [claim]: 'nested' };
    const body = JSON.stringify({ group: 'example.com', claims }).replace('"nested"', nested);
    const response = await registry.request('/api/v1/oidc/check', {
      method: 'POST',
      headers: { Authorization: await registry.bearer(), 'Content-Type': 'application/json' },
      body,
    });
    const { publishers } = (await response.json()) as CheckedPublishers;
    expect([claim, publishers[0]?.problems.map((one) => one.claim)]).toEqual([
      claim,
      expect.arrayContaining([claim]),
    ]);
  }
});
