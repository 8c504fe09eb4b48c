import type { CatalogFunction, FunctionDetail, Release, SearchResult } from '@krmhub/api/model';
import type { OwnerList, VerifiedOwner } from '@krmhub/api/owner-model';
import { expect, it } from 'vitest';
import { accessWith, useClaims } from '../testing/claimed-groups.js';
import { OwnerChecks } from './owner-checks.js';
import { verifyClaim } from './owner-claims.js';

const DAY = 86_400_000;
const ACCESS = accessWith('');

const world = useClaims();
const { apply, prove, tokenOf, claim, release, owners, publish, withSlowProof } = world;

it('is checked every week, warns while the proof is missing, and ends after two weeks', async () => {
  const platform = await tokenOf('platform');
  prove('platform');
  await claim(platform, 'platform');
  const { ownerChecks } = world.registry.parts;
  world.names.records.delete('_krmhub.new.example.com');
  world.registry.advance(6 * DAY);
  await ownerChecks.run();
  const verify = async () =>
    (
      await world.registry.send<VerifiedOwner>(
        'POST',
        '/api/v1/owners/new.example.com/verify',
        undefined,
        platform,
      )
    ).body;
  expect((await world.registry.parts.store.ownerClaims())[0]?.missingSince).toBeUndefined();
  world.registry.advance(DAY);
  await ownerChecks.run();
  expect((await world.registry.parts.store.ownerClaims())[0]).toMatchObject({
    problem: expect.stringContaining('no TXT record'),
  });
  expect((await verify()).outcome).toBe('missing');
  expect(await publish(platform, '1.0.0')).toBe(201);
  prove('platform');
  expect((await verify()).outcome).toBe('verified');
  world.names.records.delete('_krmhub.new.example.com');
  world.registry.advance(8 * DAY);
  await ownerChecks.run();
  world.registry.advance(14 * DAY);
  await ownerChecks.run();
  expect(await owners()).toEqual(['ours.example.com platform administrator']);
  const { body } = await world.registry.send<{ events: { type: string; reason?: string }[] }>(
    'GET',
    '/api/v1/events?limit=1000',
  );
  // A catalog may be built after it.
  expect(body.events.filter(({ type }) => type === 'access.applied').at(-1)).toMatchObject({
    reason: expect.stringContaining('the claim ended: the proof was missing for two weeks'),
  });
});

it('is marked as missing wherever the owner is shown, until it is found again', async () => {
  const platform = await tokenOf('platform');
  prove('platform');
  await claim(platform, 'platform');
  expect(await publish(platform, '1.0.0')).toBe(201);
  const { registry } = world;
  const { store, ownerChecks } = registry.parts;
  const get = async (address: string) => (await registry.request(address)).text();
  const marks = async () => {
    const json = async <Body>(address: string) => JSON.parse(await get(address)) as Body;
    const fn = await json<FunctionDetail>('/api/v1/functions/new.example.com/Fn');
    const release = await json<Release>('/api/v1/functions/new.example.com/Fn/releases/1.0.0');
    const found = await json<SearchResult>('/api/v1/functions?group=new.example.com');
    const entry = await json<CatalogFunction>('/api/v1/catalogs/default/functions/new.example.com/Fn');
    const { owners: all } = await json<OwnerList>('/api/v1/owners');
    const listed = all.find(({ group }) => group === 'new.example.com');
    const values = [fn.owner, release.owner, found.items[0]?.owner, entry.owner, listed];
    const pages = [
      '/functions/new.example.com/Fn',
      '/functions/new.example.com/Fn/releases',
      '/functions?group=new.example.com',
      '/functions/new.example.com',
      '/owners/platform',
      '/owners',
    ];
    const marked = await Promise.all(pages.map(async (page) => (await get(page)).includes('proof missing')));
    return [...values.map((one) => one?.missingSince), ...marked];
  };
  await registry.waitForCatalogs();
  const none = await marks();
  expect(none).toEqual([...Array(5).fill(undefined), ...Array(6).fill(false)]);
  const acts = async () =>
    (await store.auditRows({ action: 'owner.check' }, { limit: 100 })).rows.map(({ actor }) => actor);
  world.names.records.delete('_krmhub.new.example.com');
  registry.advance(8 * DAY);
  await ownerChecks.run();
  const since = (await store.ownerClaims())[0]?.missingSince;
  expect(await marks()).toEqual([...Array(5).fill(since), ...Array(6).fill(true)]);
  expect(await acts()).toEqual(['krmhub']);
  // A check that finds the same adds nothing.
  registry.advance(2 * DAY);
  await ownerChecks.run();
  expect(await acts()).toEqual(['krmhub']);
  prove('platform');
  registry.advance(2 * DAY);
  await ownerChecks.run();
  expect(await marks()).toEqual(none);
  expect(await acts()).toEqual(['krmhub', 'krmhub']);
});

it('does not end by a check that began before its proof was found again', async () => {
  const platform = await tokenOf('platform');
  prove('platform');
  await claim(platform, 'platform');
  const { ownerChecks, store } = world.registry.parts;
  world.names.records.delete('_krmhub.new.example.com');
  world.registry.advance(8 * DAY);
  await ownerChecks.run();
  world.registry.advance(14 * DAY);
  const { deps, meanwhile } = withSlowProof();
  meanwhile(async () => {
    prove('platform');
    const target = '/api/v1/owners/new.example.com/verify';
    const { body } = await world.registry.send<VerifiedOwner>('POST', target, undefined, platform);
    expect(body.outcome).toBe('verified');
  });
  expect(await verifyClaim(deps, 'new.example.com')).toMatchObject({ team: 'platform' });
  expect((await store.ownerClaims()).map(({ missingSince }) => missingSince)).toEqual([undefined]);
});

it('is looked for once by requests at the same time', async () => {
  const platform = await tokenOf('platform');
  prove('platform');
  await claim(platform, 'platform');
  const verify = () => verifyClaim(world.registry.parts, 'new.example.com');
  for (const isMissing of [false, true]) {
    world.registry.advance(DAY);
    world.names.asked.length = 0;
    const claims = await Promise.all(Array.from({ length: 12 }, verify));
    expect(claims.map((one) => one?.missingSince !== undefined)).toEqual(Array(12).fill(isMissing));
    expect(world.names.asked).toEqual(['_krmhub.new.example.com']);
    world.names.records.delete('_krmhub.new.example.com');
  }
});

it('is checked although the check of another one fails', async () => {
  const platform = await tokenOf('platform');
  const groups = ['a.example.com', 'b.example.com', 'c.example.com'];
  for (const group of groups) {
    prove('platform', group);
    expect((await claim(platform, 'platform', group)).status).toBe(200);
    world.names.records.delete(`_krmhub.${group}`);
  }
  const { store, findProof } = world.registry.parts;
  world.registry.advance(8 * DAY);
  // The first claim is released while its proof is looked for.
  const released: typeof findProof = async (asked, url) => {
    const found = await findProof(asked, url);
    if (asked.group === groups[0]) await release(platform, asked.group);
    return found;
  };
  await new OwnerChecks({ ...world.registry.parts, findProof: released }).run();
  const left = await store.ownerClaims();
  expect(left.map(({ group, missingSince }) => [group, missingSince !== undefined])).toEqual([
    [groups[1], true],
    [groups[2], true],
  ]);
});

it('that lost a private group is not shown it by its catalogs any more, and nothing else has to happen', async () => {
  await apply(
    ACCESS.replace(
      / groups: .*/s,
      ` groups: [{pattern: new.example.com, visibility: private}]
  catalogs: [{pattern: vault, visibility: private}]
  grants: [{to: {team: platform}, may: [read], in: {catalog: vault}}]
`,
    ),
  );
  const platform = await tokenOf('platform');
  prove('platform');
  expect((await claim(platform, 'platform')).status).toBe(200);
  expect(await publish(platform, '1.0.0')).toBe(201);
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: vault}
spec: {sources: [{name: ours, functions: {}}]}
`;
  expect((await world.registry.send('PUT', '/api/v1/catalogs/vault', recipe)).status).toBeLessThan(300);
  await world.registry.waitForCatalogs();
  const isShown = async () => {
    const headers = { Authorization: platform };
    return (
      await (await world.registry.request('/catalogs/vault/catalog.yaml', { headers })).text()
    ).includes('Fn');
  };
  expect(await isShown()).toBe(true);
  prove('rivals');
  expect((await claim(platform, 'rivals')).status).toBe(200);
  await expect.poll(isShown, { timeout: 20_000 }).toBe(false);
  prove('platform');
  expect((await claim(await tokenOf('rivals'), 'platform')).status).toBe(200);
  await expect.poll(isShown, { timeout: 20_000 }).toBe(true);
  expect((await release(platform)).status).toBe(204);
  await expect.poll(isShown, { timeout: 20_000 }).toBe(false);
});

it('is in the audit log only if there is a claim to look for', async () => {
  const platform = await tokenOf('platform');
  const verify = async () =>
    (await world.registry.send('POST', '/api/v1/owners/ours.example.com/verify', undefined, platform)).status;
  // Its owner is declared.
  expect(await verify()).toBe(404);
  const { rows } = await world.registry.parts.store.auditRows({ action: 'owner.verify' }, { limit: 10 });
  expect(rows).toEqual([]);
});
