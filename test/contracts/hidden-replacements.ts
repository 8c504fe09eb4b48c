import {
  type AccessDocument,
  AccessRules,
  type Actor,
  ANONYMOUS,
  can,
  type DeprecationRecord,
  INSIDER,
  NO_ACCESS,
  teamActor,
  VISIBILITIES,
} from '@krmhub/catalog';
import { KrmhubError, type Replacement, replacementReason } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { asActor } from '../../apps/registry/src/http/auth/request-actor.js';
import { FunctionLocks } from '../../apps/registry/src/publish/function-locks.js';
import { setLifecycle } from '../../apps/registry/src/publish/set-lifecycle.js';
import { readableStore } from '../../apps/registry/src/store/readable-store.js';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

const GROUPS = ['a.example.com', 'b.example.com', 'c.example.com'];
const FUNCTIONS = GROUPS.flatMap((group) =>
  ['One', 'Two', 'Six'].map((word) => ({ group, kind: `${word}Of${group[0]!.toUpperCase()}` })),
);
const RELEASES = ['1.0.0', '2.0.0'];
const TEAMS = ['red', 'blue'];
const ACTIONS = ['deprecate', 'deprecate', 'deprecate', 'undeprecate', 'yank', 'unyank'] as const;
const STEPS = 60;
/** Before anything is hidden. */
const OPEN_STEPS = 12;
type Named = (typeof FUNCTIONS)[number];

const token = (name: string, groups: string[], scopes = ['read', 'yank']): Actor => ({
  ...{ name, id: name, scopes, groups, repositories: [], isInside: true },
});

function randomRules(random: Random, revision: number): AccessRules {
  const document: AccessDocument = {
    ...NO_ACCESS,
    teams: TEAMS.map((name) => ({ name, members: [] })),
    groups: GROUPS.map((pattern) => ({
      pattern,
      visibility: random.pick(VISIBILITIES),
      functions: FUNCTIONS.filter(({ group }) => group === pattern && random.chance(0.4)).map(({ kind }) => ({
        kind,
        visibility: random.pick(VISIBILITIES),
      })),
    })),
    grants: random
      .some(GROUPS, 0.5)
      .map((group) => ({ team: random.pick(TEAMS), may: ['read'], in: { group } })),
  };
  return new AccessRules(document, [], String(revision));
}

/** What readers see of deprecations, after random ones, changes of visibility, and other changes of the releases. */
export function replacementContract(harness: () => RegistryStoreHarness): void {
  it.each([1, 2])('names no replacement to who may not read it, and keeps it (seed %i)', async (seed) => {
    const random = new Random(seed);
    const { store } = harness();
    for (const name of FUNCTIONS)
      for (const [revision, release] of RELEASES.entries())
        await store.commitFunction(changeOf({ ...name, release }, revision));
    const access = { rules: new AccessRules(NO_ACCESS) };
    const seen = readableStore(store, access);
    const actors = () => [
      ...[ANONYMOUS, INSIDER, token('robot', ['a.example.com']), token('admin', ['*'], ['admin', 'yank'])],
      ...TEAMS.map((team) => teamActor(access.rules, team)),
    ];
    const stored = new Map<string, DeprecationRecord | undefined>();
    let hidden = 0;
    for (let step = 1; step <= STEPS; step += 1) {
      if (step > OPEN_STEPS && random.chance(0.4)) access.rules = randomRules(random, step);
      else await change({ random, seen, access, actor: random.pick(actors()), stored });
      for (const actor of actors())
        hidden += await asActor(actor, () => checkSeen({ seen, rules: access.rules, actor, stored }));
      for (const { group, kind } of FUNCTIONS)
        for (const { release, deprecated } of (await store.function(group, kind))!.releases)
          expect(deprecated, `${step}`).toEqual(stored.get(`${kind}@${release}`));
    }
    expect(hidden).toBeGreaterThan(50);
    await namesNoneOfHiddenCatalogs(store);
  });
}

/** A replacement that only catalogs have is named to the readers of one of them. */
export async function namesNoneOfHiddenCatalogs(store: RegistryStore): Promise<void> {
  const [own, upstream] = [
    { group: 'd.example.com', kind: 'Own' },
    { group: 'vendor.example.org', kind: 'PeelBanana' },
  ];
  await store.commitFunction(changeOf({ ...own, release: '1.0.0' }));
  await cutUpstream(store, 'blue-only', [upstream]);
  await cutUpstream(store, 'open', [{ kind: 'Weigh' }]);
  const access = { rules: new AccessRules(NO_ACCESS) };
  const seen = readableStore(store, access);
  const admin = token('admin', ['*'], ['admin', 'yank']);
  const deps = { store: seen, functionLocks: new FunctionLocks(), snapshotBuilder: { wake() {} }, access };
  await asActor(admin, () =>
    setLifecycle({ ...deps, clock: () => new Date(AT) }, 'deprecate', { ...own, release: '1.0.0' }, {
      ...{ reason: replacementReason(upstream), replacement: upstream },
      ...{ by: admin.name, recheck: async () => undefined },
    } as never),
  );
  const told = async () => {
    const names: string[] = [];
    const actors: [string, Actor][] = [
      ...[['anonymous', ANONYMOUS] as const, ['admin', admin] as const].map(
        ([name, actor]): [string, Actor] => [name, actor],
      ),
      ...TEAMS.map((team): [string, Actor] => [team, teamActor(access.rules, team)]),
    ];
    for (const [name, actor] of actors) {
      const tells = await asActor(actor, () => replacementsIn(seen, own));
      expect(new Set(tells).size, `${name}: ${tells}`).toBe(1);
      if (tells[0] === true) names.push(name);
    }
    return names;
  };
  const all = ['anonymous', 'admin', ...TEAMS];
  expect(await told()).toEqual(all);
  const hidden: AccessDocument = {
    ...NO_ACCESS,
    teams: TEAMS.map((name) => ({ name, members: [] })),
    catalogs: [{ pattern: 'blue-only', visibility: 'private' }],
    grants: [{ team: 'blue', may: ['read'], in: { catalog: 'blue-only' } }],
  };
  access.rules = new AccessRules(hidden, [], '1');
  expect(await told()).toEqual(['admin', 'blue']);
  // Another catalog has it too, with another case of the kind.
  await cutUpstream(store, 'open', [{ ...upstream, kind: 'PEELbanana' }]);
  expect(await told()).toEqual(all);
  await cutUpstream(store, 'open', [{ ...upstream, gone: 'PEELbanana' }]);
  expect(await told()).toEqual(['admin', 'blue']);
  await store.commitFunction(changeOf({ ...upstream, kind: 'Peelbanana', release: '1.0.0' }));
  expect(await told()).toEqual(all);
  expect(
    await store.servingCatalogs([{ group: 'vendor.example.org', kind: 'weigh' }, upstream, own]),
  ).toEqual([['open'], undefined, undefined]);
}

/** Whether each way to read a deprecated function names its replacement. */
async function replacementsIn(seen: RegistryStore, name: Named): Promise<boolean[]> {
  const [one] = [await seen.function(name.group, name.kind)];
  const all = [];
  for await (const fn of seen.allFunctions()) all.push(fn);
  const { items } = await seen.search({ kind: [name.kind], limit: 10 });
  const read: unknown[] = [
    ...[one, all.filter(({ kind }) => kind === name.kind), await seen.functions([name])],
    ...[await seen.publishState(name.group, name.kind), await seen.release(name.group, name.kind, '1.0.0')],
    (await seen.events(0, 1_000)).filter(
      ({ type, kind }) => type === 'release.deprecated' && kind === name.kind,
    ),
    items.map(({ replacement }) => replacement?.kind ?? ''),
  ];
  return read.map((found) => JSON.stringify(found).toLowerCase().includes('peelbanana'));
}

interface World {
  seen: RegistryStore;
  stored: Map<string, DeprecationRecord | undefined>;
}

/** A change by an actor, through the store as the actor sees it, and in the model. */
async function change({
  random,
  seen,
  access,
  actor,
  stored,
}: World & { random: Random; access: { rules: AccessRules }; actor: Actor }): Promise<void> {
  const { rules } = access;
  const reads = (name: Named) => can(rules, actor, 'read', name).allowed;
  const name = pickRelease(random, stored);
  const key = `${name.kind}@${name.release}`;
  const action = random.pick(ACTIONS);
  const { group, kind } = random.pick(FUNCTIONS);
  const wanted =
    action === 'deprecate' && random.chance(0.8) ? { group, kind: kind.toLowerCase() } : undefined;
  const replacement = wanted && { group, kind };
  const reason =
    wanted === undefined || random.chance(0.3) ? random.pick(['outdated', 'old']) : replacementReason(wanted);
  const before = stored.get(key);
  const locks = new FunctionLocks();
  const deps = { store: seen, functionLocks: locks, snapshotBuilder: { wake() {} }, access };
  const request = { reason, by: actor.name, recheck: async () => undefined };
  const done = await asActor(actor, () =>
    setLifecycle({ ...deps, clock: () => new Date(AT) } as never, action, name, {
      ...request,
      ...(wanted && { replacement: wanted }),
    } as never),
  ).catch((error: unknown) => error);
  if (done instanceof Error) {
    expect(done).toBeInstanceOf(KrmhubError);
    // Only what the actor asked for is named.
    for (const other of FUNCTIONS.filter((one) => !reads(one) && one.kind !== name.kind && one.kind !== kind))
      expect(`${done.message} ${(done as KrmhubError).hint}`).not.toContain(other.kind);
    return;
  }
  expect(reads(name) && (replacement === undefined || reads(replacement))).toBe(true);
  if (action === 'undeprecate') stored.delete(key);
  if (action !== 'deprecate') return;
  const known = before && seenMark(before, reads);
  const isSame = known?.reason === reason && known.replacement?.kind === replacement?.kind;
  if (!isSame) stored.set(key, { at: AT, by: actor.name, reason, ...(replacement && { replacement }) });
}

/** Mostly one that is deprecated, once some are: its replacement can be hidden by now, and the change must keep it. */
function pickRelease(random: Random, stored: World['stored']): Named & { release: string } {
  const [kind, release] =
    stored.size > 4 && random.chance(0.6) ? random.pick([...stored.keys()]).split('@') : [];
  const marked = FUNCTIONS.find((one) => one.kind === kind);
  return marked === undefined || release === undefined
    ? { ...random.pick(FUNCTIONS), release: random.pick(RELEASES) }
    : { ...marked, release };
}

function seenMark(mark: DeprecationRecord, reads: (name: Named) => boolean): DeprecationRecord {
  const { replacement, ...rest } = mark;
  if (replacement === undefined || reads(replacement)) return mark;
  const isDefault = rest.reason.toLowerCase() === replacementReason(replacement).toLowerCase();
  return isDefault ? { ...rest, reason: 'no reason is given' } : rest;
}

/** Reads everything as an actor. Returns how many replacements are hidden. */
async function checkSeen({
  seen,
  rules,
  actor,
  stored,
}: World & { rules: AccessRules; actor: Actor }): Promise<number> {
  const reads = (name: Named) => can(rules, actor, 'read', name).allowed;
  const all = [];
  for await (const one of seen.allFunctions()) all.push(one);
  const { items } = await seen.search({ limit: 100 });
  const [events, revocations] = [await seen.events(0, 1_000), await seen.revocations(0, 1_000)];
  const read: unknown[] = [all, items, events, revocations, await seen.functions(FUNCTIONS)];
  let hidden = 0;
  for (const name of FUNCTIONS) {
    const fn = await seen.function(name.group, name.kind);
    const state = await seen.publishState(name.group, name.kind);
    read.push(fn, state);
    expect(fn !== undefined).toBe(reads(name));
    if (fn === undefined) continue;
    expect(state.current).toEqual(fn);
    for (const { release, deprecated } of fn.releases) {
      const mark = stored.get(`${name.kind}@${release}`);
      const expected = mark && seenMark(mark, reads);
      if (expected !== mark) hidden += 1;
      expect(deprecated).toEqual(expected);
      const one = await seen.release(name.group, name.kind, release);
      read.push(one);
      expect(one?.deprecated).toEqual(expected);
      if (release !== RELEASES.at(-1)) continue;
      const item = items.find(({ kind }) => kind === name.kind);
      const isShown = item?.release === release;
      if (isShown) expect(item?.replacement).toEqual<Replacement | undefined>(expected?.replacement);
    }
  }
  const text = JSON.stringify(read).toLowerCase();
  for (const name of FUNCTIONS.filter((one) => !reads(one)))
    expect(text, `${actor.name} ${name.kind}`).not.toContain(name.kind.toLowerCase());
  return hidden;
}
