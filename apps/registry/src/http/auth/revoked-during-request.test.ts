import type { UserRecord } from '@krmhub/catalog';
import { MEDIA_TYPES } from '@krmhub/oci';
import { DOCUMENT_LIMITS, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyAccess, storeAccess } from '../../testing/access.js';
import { definitionArtifact, testClient } from '../../testing/oci.js';
import { TestBrowser } from '../../testing/operator-session.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { userSignedIn } from '../../testing/user-session.js';
import { createToken } from './tokens.js';

/** A token is checked before the body of a request, which a client can send as slowly as it likes. */

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const set = { kind: 'SetLabels', release: '1.0.0' };
const blob = 'a pushed blob';
const manifest = JSON.stringify({
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.index.v1+json',
  manifests: [],
});
const admin = JSON.stringify({ name: 'second', scopes: ['admin'], groups: ['*'], repositories: ['*'] });
const recipe =
  'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata:\n  name: platform\nspec: {}\n';

const WRITES = [
  ['a new token', 'POST', '/api/v1/tokens', 'application/json', admin],
  ['a release', 'PUT', releasePath(set), 'application/yaml', definitionText(set)],
  ['a recipe', 'PUT', '/api/v1/catalogs/platform', 'application/yaml', recipe],
  ['policies', 'PUT', '/api/v1/policies', 'application/yaml', 'policies: []\n'],
  ['a blob', 'POST', `/v2/team/app/blobs/uploads/?digest=${sha256(Buffer.from(blob))}`, 'text/plain', blob],
  ['a manifest', 'PUT', '/v2/team/app/manifests/1', 'application/vnd.oci.image.index.v1+json', manifest],
] as const;

describe('a token that is revoked while the body of a request arrives', () => {
  it.each(WRITES)('does not write %s', async (_, method, target, type, text) => {
    const { id, secret } = await registry.token({ repositories: ['team/*'] });
    const { secret: other } = await registry.token({ name: 'operator' });
    const before = await registry.parts.store.lastEvent();
    // The registry asks for it when it has checked the token.
    const body = new ReadableStream(
      {
        async pull(controller) {
          const headers = { Authorization: `Bearer ${other}` };
          const revoked = await registry.request(`/api/v1/tokens/${id}`, { method: 'DELETE', headers });
          expect(revoked.status).toBe(200);
          controller.enqueue(Buffer.from(text));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': type };
    const refused = await registry.request(target, { method, headers, body, duplex: 'half' } as RequestInit);
    expect(refused.status).toBe(401);
    expect(await refused.text()).toContain('is revoked');
    expect(await registry.parts.store.lastEvent()).toBe(before);
    expect((await registry.parts.store.tokens()).map(({ name }) => name)).not.toContain('second');
    expect(await registry.parts.store.repositories('', 10)).not.toContain('team/app');
  });
});

describe('a right that ends while the body of a request arrives', () => {
  const rules = (owner: string) => `teams: [{name: apps}, {name: ops}]
groups:
- {pattern: example.com, owner: ${owner}}
repositories:
- {pattern: "team/*", visibility: private}
grants:
- {to: {team: ${owner}}, may: [publish], in: {repository: "team/*"}}
`;
  const next = { ...set, release: '1.1.0' };

  it.each([
    ['publish', 'PUT', releasePath(next), 'application/yaml', definitionText(next)],
    ['yank', 'POST', `${releasePath(set)}/yank`, 'application/json', '{"reason":"wrong"}'],
    ['push', 'POST', `/v2/team/app/blobs/uploads/?digest=${sha256(Buffer.from(blob))}`, 'text/plain', blob],
  ] as const)('does not %s', async (_, method, target, type, text) => {
    await applyAccess(registry, rules('apps'));
    expect((await registry.publish(set)).status).toBe(201);
    const { secret } = await registry.token({ team: 'apps', scopes: ['publish', 'yank', 'push'] });
    let before: number | undefined;
    const body = new ReadableStream(
      {
        async pull(controller) {
          await applyAccess(registry, rules('ops'));
          before = await registry.parts.store.lastEvent();
          controller.enqueue(Buffer.from(text));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': type };
    const refused = await registry.request(target, { method, headers, body, duplex: 'half' } as RequestInit);
    expect(refused.status, await refused.text()).toBe(403);
    expect(await registry.parts.store.lastEvent()).toBe(before);
    expect(await registry.parts.store.repositories('', 10)).not.toContain('team/app');
  });

  it('does not yank by a form', async () => {
    await applyAccess(registry, rules('apps'));
    expect((await registry.publish(set)).status).toBe(201);
    const { secret } = await registry.token({ team: 'apps', scopes: ['publish', 'yank'] });
    const browser = new TestBrowser(registry);
    await browser.signIn(secret);
    const formKey = await browser.formKey();
    const body = new ReadableStream(
      {
        async pull(controller) {
          await applyAccess(registry, rules('ops'));
          controller.enqueue(
            Buffer.from(new URLSearchParams({ formKey, do: 'yank', reason: 'x' }).toString()),
          );
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      Origin: 'http://registry.test',
      Cookie: browser.cookie,
    };
    const target = `/operate/releases/example.com/${set.kind}/${set.release}`;
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    expect((await registry.request(target, init)).status).toBe(403);
    expect(
      (await registry.parts.store.release('example.com', set.kind, set.release))?.yanked,
    ).toBeUndefined();
  });
});

describe('a group that a user loses while the body of a request arrives', () => {
  const groups = ['admins', 'labels'];
  const publisher = {
    ...{ group: 'example.com', provider: 'github' },
    settings: { repository: 'example/functions', workflow: 'release.yml' },
  };
  const robot = { ...JSON.parse(admin), robot: true, expiresInDays: 30 };
  const typed = {
    ...{ target: 'example.com', provider: 'github', pins: '', issuer: '', keys: '' },
    settings: 'repository=example/functions\nworkflow=release.yml\n',
  };
  const typedRobot = {
    ...{ name: 'second', scopes: 'admin', groups: '*', repositories: '*' },
    ...{ expiresInDays: '30', robot: 'on' },
  };

  it.each([
    ['a trusted publisher', '/api/v1/trusted-publishers', publisher],
    ['a robot token', '/api/v1/tokens', robot],
    ['a trusted publisher, by a form', '/operate/publishers', typed],
    ['a robot token, by a form', '/operate/tokens/new', typedRobot],
  ])('does not make %s', async (_, target, wanted) => {
    await applyAccess(
      registry,
      `teams:
- {name: admins, members: [{ssoGroup: admins}]}
- {name: labels, members: [{ssoGroup: labels}]}
groups: [{pattern: example.com, owner: labels}]
grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`,
    );
    const isForm = target.startsWith('/operate/');
    const send = async (meanwhile: (user: UserRecord) => Promise<void>) => {
      const { store } = registry.parts;
      const browser = await userSignedIn(registry, { groups });
      const { user } = browser;
      const all = { groups: ['*'], repositories: ['*'], scopes: ['publish', 'admin'] as const };
      const by = { now: new Date(), by: 'Ada' };
      const { secret } = await createToken(store, { name: 'laptop', ...all, user }, by);
      const formKey = isForm ? await browser.formKey() : '';
      const body = new ReadableStream(
        {
          async pull(controller) {
            await meanwhile(user);
            const form = new URLSearchParams({ formKey, ...(wanted as Record<string, string>) });
            controller.enqueue(Buffer.from(isForm ? form.toString() : JSON.stringify(wanted)));
            controller.close();
          },
        },
        { highWaterMark: 0 },
      );
      const headers: Record<string, string> = isForm
        ? {
            'Content-Type': 'application/x-www-form-urlencoded',
            Origin: 'http://registry.test',
            Cookie: browser.cookie,
          }
        : { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
      const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
      const { status } = await registry.request(target, init);
      const made = (await store.tokens()).filter(({ name }) => name === 'second').length;
      return [status, made + (await store.trustedPublishers()).length];
    };
    const lost = await send(async ({ issuer, subject, name }) => {
      const at = registry.parts.clock().toISOString();
      const none = { issuer, subject, name, groups: [] };
      await registry.parts.store.confirmUser(none, { at, isSignIn: true });
    });
    expect(lost).toEqual([403, 0]);
    expect(await send(async () => undefined)).toEqual([isForm ? 303 : 201, 1]);
  });
});

/** A body that the registry asks for when it has checked the token. */
const lateBody = (content: string | Uint8Array, meanwhile: () => Promise<unknown>) =>
  new ReadableStream(
    {
      async pull(controller) {
        await meanwhile();
        controller.enqueue(Buffer.from(content));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );

it.each([
  ['PUT', releasePath(set), 'application/yaml', definitionText(set)],
  ...['functions', 'scripts'].map((folder) => [
    'POST',
    `/v2/${folder}/example.com/set-labels/blobs/uploads/?digest=${sha256(Buffer.from(blob))}`,
    'text/plain',
    blob,
  ]),
] as [string, string, string, string][])(
  '%s %s does not begin a group that is closed while the body arrives',
  async (method, target, type, text) => {
    const { secret } = await registry.token({ scopes: ['publish'] });
    const send = (meanwhile: () => Promise<unknown>) => {
      const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': type };
      const body = lateBody(text, meanwhile);
      return registry.request(target, { method, headers, body, duplex: 'half' } as RequestInit);
    };
    await storeAccess(registry, 'teams: []\n', ['example.com']);
    let before: number | undefined;
    const refused = await send(async () => {
      await storeAccess(registry, 'teams: []\n', []);
      before = await registry.parts.store.lastEvent();
    });
    expect(refused.status, await refused.text()).toBe(403);
    expect(await registry.parts.store.lastEvent()).toBe(before);
    expect(await registry.parts.store.repositories('', 10)).not.toContainEqual(
      expect.stringContaining('example.com'),
    );
    await storeAccess(registry, 'teams: []\n', ['example.com']);
    expect((await send(async () => undefined)).status).toBe(201);
  },
);

describe('an administrator who loses the role while the body of a request arrives', () => {
  const similar = { group: 'examp1e.com', kind: 'SetLabels', release: '1.0.0' };
  const large = 'x'.repeat(DOCUMENT_LIMITS.maxScriptBytes + 1);
  const inFunctions = 'functions/examp1e.com/setlabels';
  const index = 'application/vnd.oci.image.index.v1+json';
  const uploads = `/v2/scripts/dev.example.com/set-labels/blobs/uploads/?digest=${sha256(Buffer.from(large))}`;
  const artifact = JSON.stringify(definitionArtifact(definitionText(similar)));

  it.each([
    [
      'publishes to a similar group',
      'PUT',
      releasePath(similar),
      'application/yaml',
      definitionText(similar),
    ],
    ['pushes to a similar group', 'PUT', `/v2/${inFunctions}/manifests/1.0.0`, MEDIA_TYPES.image, artifact],
    ['pushes another artifact', 'PUT', '/v2/scripts/dev.example.com/set-labels/manifests/1', index, manifest],
    ['pushes a blob larger than a script', 'POST', uploads, 'application/octet-stream', large],
  ])('no longer %s', async (_, method, target, type, text) => {
    expect((await registry.publish(set)).status).toBe(201);
    await storeAccess(
      registry,
      `teams:
- {name: admins, members: [{ssoGroup: admins}]}
- {name: devs, members: [{ssoGroup: devs}]}
groups: [{pattern: dev.example.com, owner: devs}]
grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`,
    );
    const { store, clock } = registry.parts;
    const { user } = await userSignedIn(registry, { groups: ['admins', 'devs'] });
    const all = { groups: ['*'], repositories: ['*'], scopes: ['publish', 'push', 'admin'] as const };
    const { secret } = await createToken(
      store,
      { name: 'laptop', ...all, user },
      { now: clock(), by: 'Ada' },
    );
    const client = testClient(
      () => registry,
      () => `Bearer ${secret}`,
    );
    for (const content of ['{}', definitionText(similar)]) await client.blob(inFunctions, content);
    const send = (meanwhile: () => Promise<unknown>) => {
      const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': type };
      const body = lateBody(text, meanwhile);
      return registry.request(target, { method, headers, body, duplex: 'half' } as RequestInit);
    };
    const confirm = (groups: string[]) => {
      const { issuer, subject, name } = user;
      return store.confirmUser(
        { issuer, subject, name, groups },
        { at: clock().toISOString(), isSignIn: true },
      );
    };
    const refused = await send(() => confirm(['devs']));
    expect(refused.status, await refused.text()).toBe(403);
    expect(await store.function(similar.group, 'setlabels')).toBeUndefined();
    await confirm(['admins', 'devs']);
    expect((await send(async () => undefined)).status).toBe(201);
  });
});
