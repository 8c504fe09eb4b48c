import { afterEach, beforeEach, expect, it } from 'vitest';
import { accessText } from '../testing/access.js';
import { newKey, policy } from '../testing/signing.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';
import { EventFollower } from '../workers/processes/event-follower.js';
import { startFollowing } from './apply-events.js';

const OWNED = { group: 'owned.example.com', kind: 'SetLabels', release: '1.0.0' };
const ROBOTS = { group: 'ci.example.com', kind: 'SetLabels', release: '1.0.0' };
const SPEC = `teams: [{name: platform}]
groups:
- {pattern: owned.example.com, owner: platform}
- {pattern: ci.example.com, trustedPublishingOnly: true}
`;
const APPLIED = { appliedAt: '2030-01-01T00:00:00.000Z', appliedBy: 'newer' };
const KEY = newKey();

let registry: TestRegistry;
/** Applies what other processes did, as before one of them deletes bytes. */
let follow: () => Promise<void>;
beforeEach(async () => {
  registry = await openTestRegistry();
  const { parts } = registry;
  let follower: EventFollower | undefined;
  const last = await parts.store.lastEvent();
  const kept = await startFollowing(
    {
      start(apply) {
        follower = new EventFollower({ store: parts.store, apply }, last);
      },
      catchUp: async () => follower?.follow(),
    },
    {
      ...parts,
      processes: {
        beforeDrained(work) {
          follow = work;
        },
      },
      led: { methods: {}, status: () => undefined },
    },
  );
  await kept.stop();
});
afterEach(() => registry.close());

async function applyAccess(spec: string): Promise<void> {
  const { store } = registry.parts;
  await store.applyAccess({
    ...{ ...APPLIED, text: accessText(spec), expectedRevision: (await store.access())?.revision ?? 0 },
    event: { type: 'access.applied', at: APPLIED.appliedAt, by: 'newer' },
  });
}

async function applyPolicies(text: string): Promise<void> {
  const { store } = registry.parts;
  await store.applyPolicies({
    ...{ ...APPLIED, text, expectedRevision: (await store.policies())?.revision ?? 0 },
    event: { type: 'policy.applied', at: APPLIED.appliedAt, by: 'newer' },
  });
}

const put = (definition: typeof OWNED, authorization?: string) =>
  registry.send('PUT', releasePath(definition), definitionText(definition), authorization);

it('gives nobody a right back that ended in an Access document which only newer processes read', async () => {
  for (const one of [OWNED, ROBOTS]) expect((await put(one)).status).toBe(201);
  const groups = [OWNED.group, ROBOTS.group];
  const { secret } = await registry.token({ name: 'robot', scopes: ['read', 'publish', 'yank'], groups });
  const robot = `Bearer ${secret}`;
  const tries = () =>
    Promise.all(
      [OWNED, ROBOTS].flatMap((one) => [
        put({ ...one, release: '1.1.0' }, robot),
        registry.send('POST', `${releasePath(one)}/yank`, { reason: 'x' }, robot),
      ]),
    );
  const read = async (authorization: string) =>
    (await registry.request(releasePath(OWNED), { headers: { Authorization: authorization } })).status;
  await applyAccess(SPEC);
  await follow();
  expect((await tries()).map(({ status }) => status)).toEqual([403, 403, 403, 200]);
  expect(await read(robot)).toBe(200);
  await applyAccess(`newField: [x]\n${SPEC}`);
  await follow();
  const refused = await tries();
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  expect(refused[0]!.body.detail).toContain('newer version of krmhub');
  for (const { body } of refused) expect(body.hint).toContain('that applied the Access document');
  expect([await read(robot), await read(await registry.bearer())]).toEqual([404, 200]);
});

it('follows the other events while it cannot read a document, which it logs once', async () => {
  const { newestSnapshots, trust, access } = registry.parts;
  await applyPolicies(policy([KEY]));
  await follow();
  expect(trust.keys).toHaveLength(1);
  expect((await put(ROBOTS)).status).toBe(201);
  await registry.waitForCatalogs();
  newestSnapshots.clear();
  await applyAccess('newField: [x]');
  await applyPolicies(policy([KEY]).replace('spec:', 'spec:\n  newField: [x]'));
  await follow();
  expect(newestSnapshots.known('default')?.functions).toBe(1);
  expect([trust.keys, access.rules.isUnreadable]).toEqual([[], true]);
  // No release is judged by policies that it does not know.
  expect((await put(OWNED)).body.detail).toContain('cannot read the stored signing policies');
  // Nobody replaces what this version does not know.
  for (const [target, text] of [
    ['/api/v1/policies', policy([KEY])],
    ['/api/v1/policies?remove=true', ''],
    ['/api/v1/access', accessText('')],
  ] as const) {
    const { status, body } = await registry.send('PUT', target, text);
    expect([target, status, body.hint]).toEqual([target, 422, expect.stringContaining('newer version')]);
  }
  expect((await registry.parts.store.policies())?.text).toContain('newField');
  await applyAccess('newerField: [x]');
  await follow();
  const logged = (what: string) =>
    registry.logged.filter((line) => line.includes(`this version of krmhub cannot read ${what}`)).length;
  expect([logged('the Access document'), logged('the signing policies')]).toEqual([1, 1]);
  await applyAccess('');
  await applyPolicies(policy([KEY]));
  await follow();
  expect([trust.keys.length, access.rules.isUnreadable]).toEqual([1, false]);
  expect((await put(OWNED)).status).toBe(201);
});
