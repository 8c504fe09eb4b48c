import type { ExchangedToken, Problem, TrustedPublisher } from '@krmhub/api/model';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { storeAccess } from '../testing/access.js';
import { AUDIENCE, TestIssuer } from '../testing/test-issuer.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

/** Publishers with given keys next to those for which the keys count that the issuer serves. */
const ISSUER = 'https://gitlab.example.com';
const JOB = {
  aud: AUDIENCE,
  project_path: 'example/functions',
  project_id: '1',
  namespace_id: '2',
  ref_path: 'refs/heads/main',
  ref_protected: 'true',
  pipeline_source: 'push',
};

let gitlab: TestIssuer;
let registry: TestRegistry;
beforeEach(async () => {
  gitlab = await TestIssuer.create(ISSUER);
  registry = await openTestRegistry({
    config: { publicUrl: AUDIENCE },
    fetchIssuer: (url) => gitlab.fetch(url),
  });
});
afterEach(async () => {
  await registry.close();
});

const add = (more: { settings?: object; keys?: string } = {}) =>
  registry.send<TrustedPublisher & Problem>('POST', '/api/v1/trusted-publishers', {
    ...{ group: 'example.com', provider: 'gitlab', issuer: ISSUER },
    ...more,
    settings: { project: 'example/functions', ...more.settings },
  });
const exchange = async (claims: Record<string, unknown> = {}) =>
  registry.send<ExchangedToken & Problem>('POST', '/api/v1/oidc/token', {
    token: await gitlab.sign({ ...JOB, ...claims }, { now: registry.parts.clock() }),
    groups: ['example.com'],
  });
const own = (owner: string, granted?: string) =>
  storeAccess(
    registry,
    `teams: [{name: platform}, {name: apps}]
groups: [{pattern: example.com, owner: ${owner}}]
grants: [${granted ? `{to: {team: ${granted}}, may: [publish], in: {group: example.com}}` : ''}]
`,
    [],
  );

it('a run that a given publisher does not accept is told why, also while the issuer is away', async () => {
  const keys = JSON.stringify(gitlab.keySet());
  expect((await add({ settings: { ref: 'refs/tags/*' }, keys })).status).toBe(201);
  expect((await add({ settings: { ref: 'refs/heads/release' } })).status).toBe(201);
  gitlab.isAway = true;
  const { status, body } = await exchange();
  expect([status, body.detail]).toEqual([503, expect.stringContaining(`cannot get the keys of ${ISSUER}`)]);
  expect(body.hint).toContain(
    'The publisher of example.com whose keys were given does not accept the run: ref_path is "refs/heads/main", expected refs/tags/*',
  );
  expect(body.hint).toContain('Try again in a minute');
  // No other publisher accepts this one either.
  const expired = await exchange({ exp: 1 });
  expect([expired.status, expired.body.detail]).toEqual([401, expect.stringContaining('expired')]);
  const stranger = await exchange({ project_path: 'example/others', project_id: '9' });
  expect([stranger.status, stranger.body.hint]).toEqual([503, expect.not.stringContaining('refs/tags')]);
});

it('a given publisher of a team that lost the group does not hide that of the team which has it now', async () => {
  const keys = JSON.stringify(gitlab.keySet());
  await own('platform');
  expect((await add({ keys })).status).toBe(201);
  await own('apps');
  expect((await exchange()).body.detail).toBe(
    'the trusted publisher of example.com lacks a grant from the team "apps", which owns the group "example.com"',
  );
  expect((await add()).status).toBe(201);
  const { status, body } = await exchange();
  expect([status, body.publishes], body.detail).toEqual([201, ['example.com']]);
  // While the issuer is away, the run learns what it would learn without the other publisher.
  gitlab.isAway = true;
  registry.advance(90_000_000);
  const away = await exchange();
  expect([away.status, away.body.hint]).toEqual([
    503,
    expect.stringContaining('lacks a grant from the team'),
  ]);
});

it('a publisher of a team that lost the group is replaced as the refusal says', async () => {
  await own('platform');
  const { body: former } = await add();
  await own('apps');
  const refused = await exchange();
  expect([refused.status, refused.body.hint]).toEqual([
    403,
    `The group has another owner now, who replaces the publisher: krmhub publisher remove ${former.id}, then krmhub publisher add example.com`,
  ]);
});

it('a run is told what the publisher of the owner wants, and not that another team has lost the group', async () => {
  await own('platform');
  expect((await add()).status).toBe(201);
  await own('apps');
  expect((await add({ settings: { ref: 'refs/tags/*' } })).status).toBe(201);
  const { status, body } = await exchange();
  expect([status, body.detail]).toEqual([
    403,
    'the workflow is not the trusted publisher of example.com: ref_path is "refs/heads/main", expected refs/tags/*',
  ]);
});

it('refuses a run for two teams alike, whether the issuer answers, has another key, or is away', async () => {
  const keys = JSON.stringify(gitlab.keySet());
  await own('platform');
  expect((await add({ keys })).status).toBe(201);
  await own('apps', 'platform');
  const { body: other } = await add({ settings: { ref: 'refs/heads/*' } });
  const answers = async () => {
    const { status, body } = await exchange();
    return [status, body.detail ?? body.publishes];
  };
  const refused = [409, 'the workflow is a trusted publisher of example.com for several teams'];
  expect(await answers()).toEqual(refused);
  // Keys of the issuer are kept for a day.
  registry.advance(90_000_000);
  gitlab.isAway = true;
  expect(await answers()).toEqual(refused);
  registry.advance(120_000);
  gitlab.isAway = false;
  gitlab.served = (await TestIssuer.create(ISSUER)).keySet();
  expect(await answers()).toEqual(refused);
  // What another team has counts only where it would accept the run, and may publish.
  expect(await exchange({ ref_path: 'refs/tags/v1' })).toMatchObject({ status: 201 });
  await own('platform');
  expect(await answers()).toEqual([201, ['example.com']]);
  await own('apps', 'platform');
  expect(await answers()).toEqual(refused);
  const act = { at: registry.parts.clock().toISOString(), by: 'admin' };
  await registry.parts.store.removeTrustedPublisher(other.id, act);
  expect(await answers()).toEqual([201, ['example.com']]);
});

it('names the group in which a workflow publishes for two teams', async () => {
  await own('apps');
  expect((await add()).status).toBe(201);
  await own('platform', 'apps');
  expect((await add({ settings: { ref: 'refs/heads/*' } })).status).toBe(201);
  const { status, body } = await exchange();
  expect([status, body.detail, body.hint]).toEqual([
    409,
    'the workflow is a trusted publisher of example.com for several teams',
    'Keep the one of the owner, and remove the others: krmhub publisher list example.com',
  ]);
});

it('reads once what the teams of publishers may do', async () => {
  const keys = JSON.stringify(gitlab.keySet());
  expect((await add({ keys })).status).toBe(201);
  expect((await add({ settings: { ref: 'refs/tags/*' } })).status).toBe(201);
  const { store } = registry.parts;
  const read = vi.spyOn(store, 'ownedGroups');
  expect((await exchange()).status).toBe(201);
  expect(read).toHaveBeenCalledTimes(1);
});
