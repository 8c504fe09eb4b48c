import { setTimeout } from 'node:timers/promises';
import type { FunctionDetail } from '@krmhub/api/model';
import { type ProofOutcome, userLabel } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { expect, it, vi } from 'vitest';
import { createToken } from '../http/auth/tokens.js';
import { accessWith, useClaims } from '../testing/claimed-groups.js';
import { definitionText } from '../testing/test-registry.js';
import { userSignedIn } from '../testing/user-session.js';
import { sharedProofs } from './find-proof.js';
import { claimGroup, verifyClaim } from './owner-claims.js';

const DAY = 86_400_000;
const AT = '2030-01-01T00:00:00.000Z';
const ACCESS = accessWith('');
const HIDDEN = `,
    {pattern: "*.secret.example.com", owner: platform, visibility: private},
    {pattern: "*.inside.example.com", owner: platform, visibility: internal},
    {pattern: claimed.example.com, visibility: private}`;

const world = useClaims();
const { apply, prove, proofOf, tokenOf, claim, release, owners, publish, withSlowProof } = world;

it('belongs to the team that its domain names, and nobody else publishes in it', async () => {
  const platform = await tokenOf('platform');
  const rivals = await tokenOf('rivals');
  const missing = await claim(platform, 'platform');
  expect(missing.status).toBe(403);
  expect(missing.body.detail).toContain('_krmhub.new.example.com has no TXT record');
  expect(missing.body.hint).toContain(proofOf('platform'));
  expect(await publish(rivals, '1.0.0')).toBe(201);

  prove('platform');
  expect((await claim(rivals, 'rivals')).body.detail).toContain(
    'not name this registry and the team "rivals"',
  );
  expect((await claim(rivals, 'platform')).status).toBe(403);
  const claimed = await claim(platform, 'platform');
  expect([claimed.status, claimed.body]).toEqual([
    200,
    expect.objectContaining({
      group: 'new.example.com',
      team: 'platform',
      proof: 'dns',
      displayName: 'Platform team',
    }),
  ]);
  expect(await owners()).toEqual(['new.example.com platform dns', 'ours.example.com platform administrator']);
  expect([await publish(rivals, '1.1.0'), await publish(platform, '1.1.0')]).toEqual([403, 201]);
  expect((await claim(rivals, 'rivals')).status).toBe(403);
});

it('is claimed and released by a user, whatever the name of the personal token is', async () => {
  const { user } = await userSignedIn(world.registry, { groups: ['rivals'] });
  const wanted = { name: 'admin', scopes: ['publish'] as const, groups: ['*'], repositories: ['*'], user };
  const { secret } = await createToken(world.registry.parts.store, wanted, { now: new Date(), by: 'Ada' });
  prove('rivals');
  expect((await claim(`Bearer ${secret}`, 'rivals')).status).toBe(200);
  expect((await release(`Bearer ${secret}`)).status).toBe(204);
  const events = await world.registry.parts.store.events(0, 100);
  const by = events.filter(({ reason }) => reason?.includes('rivals')).map((event) => event.by);
  expect(by).toEqual([userLabel(user), userLabel(user)]);
});

it('is claimed once: the same claim again only checks the proof, and adds no event', async () => {
  const platform = await tokenOf('platform');
  prove('platform');
  const { store } = world.registry.parts;
  expect((await claim(platform, 'platform')).status).toBe(200);
  const [first] = await store.ownerClaims();
  const applied = async () =>
    (await store.events(0, 1_000)).filter(({ type }) => type === 'access.applied').length;
  const before = await applied();
  world.registry.advance(DAY);
  expect((await claim(platform, 'platform')).status).toBe(200);
  expect(await applied()).toBe(before);
  const [checked] = await store.ownerClaims();
  expect(checked).toEqual({ ...first, checkedAt: expect.not.stringContaining(first!.checkedAt) });
  // Processes follow whether the proof is missing by an event.
  await store.putOwnerClaim({ ...checked!, missingSince: AT, problem: 'gone' }, { replaces: checked });
  world.registry.advance(DAY);
  expect((await claim(platform, 'platform')).status).toBe(200);
  expect(await applied()).toBe(before + 1);
  const [again] = await store.ownerClaims();
  expect(again).toEqual({ ...first, checkedAt: expect.not.stringContaining(first!.checkedAt) });
  world.names.records.delete('_krmhub.new.example.com');
  expect((await claim(platform, 'platform')).status).toBe(403);
});

it('needs a public URL, a known team, and a token that covers the group', async () => {
  const elsewhere = await tokenOf('platform', { groups: ['other.example.com'] });
  const reader = await tokenOf('platform', { scopes: ['read'] });
  prove('platform');
  expect([(await claim(elsewhere, 'platform')).status, (await claim(reader, 'platform')).status]).toEqual([
    403, 403,
  ]);
  const unknown = await claim(await world.registry.bearer(), 'platfrom');
  expect([unknown.status, unknown.body.detail, unknown.body.hint]).toEqual([
    400,
    'team "platfrom" is not in the Access document',
    'Did you mean platform?',
  ]);
  const declared = await claim(await world.registry.bearer(), 'rivals', 'ours.example.com');
  expect([declared.status, declared.body.detail]).toEqual([409, expect.stringContaining('Access document')]);
  expect(await owners()).toEqual(['ours.example.com platform administrator']);
});

it('is looked for once more if the look that a request joined began before the request', async () => {
  const platform = await tokenOf('platform');
  const { deps } = withSlowProof();
  const token = (await world.registry.parts.store.tokens()).find(({ team }) => team === 'platform')!;
  const asked = { group: 'new.example.com', team: 'platform', proof: 'dns' } as const;
  let now = Date.parse(AT);
  const clock = () => new Date(now);
  const answers: ((found: boolean) => void)[] = [];
  const find = () =>
    new Promise<ProofOutcome>((resolve) => {
      answers.push((found) => resolve(found ? { found } : { found, problem: 'no TXT record' }));
    });
  const slow = { ...deps, clock, findProof: sharedProofs(find, clock) };
  const claimIt = () => claimGroup(slow, asked, token, { origin: {}, recheck: async () => token });
  const first = claimIt().catch((error: KrmhubError) => error.code);
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  now += 1_000;
  const second = claimIt();
  // It has joined the first look.
  await setTimeout(100);
  expect(answers).toHaveLength(1);
  answers[0]!(false);
  expect(await first).toBe('forbidden');
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  answers[1]!(true);
  expect((await second).team).toBe('platform');
  expect((await claim(platform, 'platform')).status).toBe(403);
  expect(await owners()).toContain('new.example.com platform dns');
});

it('is one of at most 1,000 of its team, whatever the domain says', async () => {
  const platform = await tokenOf('platform');
  const { store } = world.registry.parts;
  const stored = { team: 'platform', proof: 'dns', claimedAt: AT, claimedBy: 'ci', checkedAt: AT } as const;
  const others = Array.from({ length: 999 }, (_, at) => ({ ...stored, group: `a${at}.example.com` }));
  const ownerClaims = store.ownerClaims.bind(store);
  store.ownerClaims = async () => [...others, ...(await ownerClaims())];
  prove('platform');
  expect((await claim(platform, 'platform')).status).toBe(200);
  prove('platform', 'more.example.com');
  const more = await claim(platform, 'platform', 'more.example.com');
  expect([more.status, more.body.detail]).toEqual([
    409,
    'the team "platform" has claimed 1000 groups, the limit',
  ]);
  expect((await claim(platform, 'platform')).status).toBe(200);
  prove('rivals', 'more.example.com');
  expect((await claim(await tokenOf('rivals'), 'rivals', 'more.example.com')).status).toBe(200);
});

it('moves to another team with its proof, and ends with it', async () => {
  const platform = await tokenOf('platform');
  prove('platform');
  await claim(platform, 'platform');
  prove('rivals');
  expect((await claim(platform, 'rivals')).status).toBe(200);
  expect((await owners())[0]).toBe('new.example.com rivals dns');
  expect((await claim(platform, 'platform')).status).toBe(403);
  expect((await release(platform)).status).toBe(403);
  expect((await release(await tokenOf('rivals'))).status).toBe(204);
  expect((await release(await world.registry.bearer())).status).toBe(404);
  expect(await owners()).toEqual(['ours.example.com platform administrator']);
});

it('is what it became while a proof was looked for', async () => {
  const platform = await tokenOf('platform');
  prove('platform');
  await claim(platform, 'platform');
  const { store } = world.registry.parts;
  const { deps, meanwhile } = withSlowProof();
  // The weekly check of a claim that moves to another team, and of one that ends.
  meanwhile(async () => {
    prove('rivals');
    expect((await claim(platform, 'rivals')).status).toBe(200);
  });
  expect((await verifyClaim(deps, 'new.example.com'))?.team).toBe('rivals');
  meanwhile(async () => {
    expect((await release(await tokenOf('rivals'))).status).toBe(204);
  });
  await expect(verifyClaim(deps, 'new.example.com')).rejects.toMatchObject({ code: 'not-found' });
  // A claim while another team claims the group.
  const token = (await store.tokens()).find(({ team }) => team === 'platform')!;
  const asked = { group: 'new.example.com', team: 'platform', proof: 'dns' } as const;
  const origin = { address: 'x' };
  meanwhile(async () => {
    expect((await claim(await tokenOf('rivals'), 'rivals')).status).toBe(200);
    prove('platform');
  });
  const claiming = claimGroup(deps, asked, token, { origin, recheck: async () => token });
  await expect(claiming).rejects.toMatchObject({ code: 'forbidden' });
  expect((await owners())[0]).toBe('new.example.com rivals dns');
  // With a token that is revoked.
  const moved = { ...asked, group: 'next.example.com' };
  prove('platform', 'next.example.com');
  const recheck = () => Promise.reject(new KrmhubError('unauthorized', 'revoked'));
  await expect(claimGroup(deps, moved, token, { origin, recheck })).rejects.toMatchObject({
    code: 'unauthorized',
  });
  // With a token that is not of the team any more, and of a group that an administrator gives to another team.
  const stranger = { ...token, team: 'rivals' };
  const left = claimGroup(deps, moved, token, { origin, recheck: async () => stranger });
  await expect(left).rejects.toMatchObject({ code: 'forbidden' });
  meanwhile(() => apply(accessWith(', {pattern: next.example.com, owner: rivals}')));
  const given = claimGroup(deps, moved, token, { origin, recheck: async () => token });
  await expect(given).rejects.toMatchObject({ code: 'conflict' });
  expect((await store.ownerClaims()).map(({ group }) => group)).toEqual(['new.example.com']);
});

it('does not begin for a team that is removed meanwhile, or right before it is stored', async () => {
  await world.registry.bearer();
  const admin = (await world.registry.parts.store.tokens())[0]!;
  const asked = { group: 'new.example.com', team: 'rivals', proof: 'dns' } as const;
  const given = { origin: {}, recheck: async () => admin };
  const removeTeam = () => apply(ACCESS.replace(/\n.*name: rivals.*/, ''));
  prove('rivals');
  const slow = withSlowProof();
  slow.meanwhile(removeTeam);
  await expect(claimGroup(slow.deps, asked, admin, given)).rejects.toThrow('"rivals" is not in the Access');
  await apply(ACCESS);
  const { store } = world.registry.parts;
  const putOwnerClaim: typeof store.putOwnerClaim = async (...put) => {
    await removeTeam();
    await store.putOwnerClaim(...put);
  };
  const deps = { ...slow.deps, store: Object.assign(Object.create(store), { putOwnerClaim }) };
  await expect(claimGroup(deps, asked, admin, given)).rejects.toThrow('"rivals" is not in the Access');
  expect(await store.ownerClaims()).toEqual([]);
});

it('names the owner of a group only to those who may read the group', async () => {
  const platform = await tokenOf('platform');
  const rivals = await tokenOf('rivals');
  prove('platform', 'claimed.example.com');
  expect((await claim(platform, 'platform', 'claimed.example.com')).status).toBe(200);
  await apply(accessWith(HIDDEN));
  const inside = ['*.inside.example.com platform administrator', 'ours.example.com platform administrator'];
  expect(await owners()).toEqual(inside.slice(1));
  expect(await owners(rivals)).toEqual(inside);
  const all = [
    inside[0],
    '*.secret.example.com platform administrator',
    'claimed.example.com platform dns',
    inside[1],
  ];
  expect(await owners(platform)).toEqual(all);
  expect(await owners(await world.registry.bearer())).toEqual(all);
});

it('is told with a function to a token that may read only this function of the group', async () => {
  const named = { group: 'a.secret.example.com', kind: 'SetLabels' };
  for (const kind of ['SetLabels', 'Other'])
    await world.registry.publish({ ...named, kind, release: '1.0.0' });
  await apply(accessWith(HIDDEN));
  const one = await tokenOf('platform', { groups: [`${named.group}/${named.kind}`] });
  const read = (kind: string, token?: string) =>
    world.registry.send<FunctionDetail>('GET', `/api/v1/functions/${named.group}/${kind}`, undefined, token);
  expect((await read('SetLabels', one)).body.owner).toMatchObject({ team: 'platform' });
  expect([(await read('Other', one)).status, (await read('Other')).status]).toEqual([404, 200]);
  expect(await owners(one)).toEqual(await owners(await tokenOf('rivals')));
  expect(JSON.stringify(await owners(one))).not.toContain('secret');
});

it('is not told to who may not read the group, by whatever is refused', async () => {
  const rivals = await tokenOf('rivals', { scopes: ['publish', 'yank'] });
  prove('platform', 'claimed.example.com');
  await claim(await tokenOf('platform'), 'platform', 'claimed.example.com');
  world.names.records.delete('_krmhub.claimed.example.com');
  // No group is open, so that nobody can begin the one that does not exist.
  await apply(accessWith(HIDDEN, '[]'));
  const said = async (group: string) => {
    const api = `/api/v1/owners/${group}`;
    const release = `/api/v1/functions/${group}/Fn/releases/1.0.0`;
    const answers = [
      await claim(rivals, 'rivals', group),
      await world.registry.send('POST', `${api}/verify`, undefined, rivals),
      await world.registry.send('DELETE', api, undefined, rivals),
      await world.registry.send(
        'PUT',
        release,
        definitionText({ group, kind: 'Fn', release: '1.0.0' }),
        rivals,
      ),
      await world.registry.send('POST', `${release}/yank`, { reason: 'no' }, rivals),
    ];
    return JSON.stringify(answers.map(({ status, body }) => [status, { ...body, requestId: '' }])).replaceAll(
      group,
      'GROUP',
    );
  };
  const absent = await said('absent.example.com');
  expect(absent).not.toContain('platform');
  expect(await said('claimed.example.com')).toBe(absent);
  expect(await said('a.secret.example.com')).toBe(absent);
  // Those who control the domain are told.
  prove('rivals', 'a.secret.example.com');
  expect((await claim(rivals, 'rivals', 'a.secret.example.com')).body.detail).toContain('gives a.secret');
});
