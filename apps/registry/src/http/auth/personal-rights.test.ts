import { actorName } from '@krmhub/catalog';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { imageManifest, manifestDigest, readError, testClient } from '../../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { userSignedIn } from '../../testing/user-session.js';
import { createToken } from './tokens.js';

const REPOSITORY = 'functions/example.com/setlabels';
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*.open.example.com"]
  teams:
  - {name: admins, members: [{ssoGroup: admins}]}
  - {name: labels, members: [{ssoGroup: labels}]}
  groups: [{pattern: example.com, owner: labels}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;

let registry: TestRegistry;
const client = testClient(() => registry);
beforeAll(async () => {
  registry = await openTestRegistry();
  expect(await registry.send('PUT', '/api/v1/access', ACCESS)).toMatchObject({ status: 200 });
});
afterAll(() => registry.close());

type User = Awaited<ReturnType<typeof userSignedIn>>['user'];
async function personal(user: User, name: string): Promise<string> {
  const scopes = ['publish', 'admin'] as const;
  const wanted = { name, scopes, groups: ['*'], repositories: ['*'], user };
  const { secret } = await createToken(registry.parts.store, wanted, { now: new Date(), by: 'Ada' });
  return `Bearer ${secret}`;
}

/** Says that a user is in these groups from now on. */
async function setGroups({ issuer, subject, name }: User, groups: string[]): Promise<void> {
  const at = registry.parts.clock().toISOString();
  await registry.parts.store.confirmUser({ issuer, subject, name, groups }, { at, isSignIn: true });
}

/** Pushes a manifest that refers to another one, and returns how to delete it. */
async function pushReferrer(layer: string, authorization: string) {
  await client.blob(REPOSITORY, '{}');
  await client.blob(REPOSITORY, layer);
  const digest = manifestDigest({ subject: layer });
  const subject = { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest, size: 100 };
  const manifest = imageManifest([layer], { subject });
  const pushed = await client.put(REPOSITORY, manifestDigest(manifest), manifest, { authorization });
  expect(pushed.status).toBe(201);
  return (by: string) =>
    client.request('DELETE', `${REPOSITORY}/manifests/${manifestDigest(manifest)}`, { authorization: by });
}

it('a user who lost the role has nothing of an administrator, whatever the scopes of the token are', async () => {
  const { user } = await userSignedIn(registry, { groups: ['admins', 'labels'] });
  const token = await personal(user, 'laptop');
  const publish = (group: string, authorization: string) => {
    const release = { group, kind: 'SetLabels', release: '1.0.0' };
    return registry.send('PUT', releasePath(release), definitionText(release), authorization);
  };
  const remove = await pushReferrer('of another token', await registry.bearer());
  expect(await publish('tools.open.example.com', token)).toMatchObject({ status: 201 });
  expect(await publish('toolz.open.example.com', token)).toMatchObject({ status: 201 });
  await setGroups(user, ['labels']);
  expect(await publish('paint.open.example.com', token)).toMatchObject({ status: 201 });
  expect(await publish('taint.open.example.com', token)).toMatchObject({ status: 403 });
  expect(await readError(await remove(token))).toMatchObject({
    message: expect.stringContaining('another token pushed'),
  });
  await setGroups(user, ['admins', 'labels']);
  expect((await remove(token)).status).toBe(202);
});

it('users delete the referrers that they pushed, and no others by the name of a token', async () => {
  const { user: ada } = await userSignedIn(registry, { name: 'Ada', groups: ['labels'] });
  const { user: eve } = await userSignedIn(registry, { name: 'Ada', groups: ['labels'] });
  const laptop = await personal(ada, 'laptop');
  const remove = await pushReferrer('of Ada', laptop);
  for (const name of ['laptop', actorName({ name: 'laptop', user: ada })]) {
    expect((await remove(await personal(eve, name))).status, name).toBe(403);
  }
  expect((await remove(laptop)).status).toBe(202);
});
