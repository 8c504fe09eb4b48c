import { TOKEN_SCOPES } from '@krmhub/api/token-scopes';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCIM_ROUTES } from '../../apps/registry/src/scim/scim-routes.js';
import { ScimClient } from '../../apps/registry/src/testing/scim-client.js';
import type { TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { GUARDED_ROUTES } from './guarded-routes.js';

/** Every route of SCIM × every kind of token, and the token of a directory × every protected operation. */

let registry: TestRegistry;
beforeAll(async () => {
  ({ registry } = await ScimClient.open());
});
afterAll(() => registry.close());

const ID = '00000000-0000-4000-8000-000000000000';
let count = 0;

async function statusOf(
  { method, path }: { method: string; path: string },
  authorization: string | undefined,
): Promise<number> {
  count += 1;
  const hasBody = ['post', 'put', 'patch'].includes(method);
  const response = await registry.request(path.replace('{id}', ID), {
    method: method.toUpperCase(),
    headers: {
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      ...(hasBody ? { 'Content-Type': 'application/scim+json' } : {}),
    },
    ...(hasBody ? { body: JSON.stringify({ userName: `u${count}`, displayName: `g${count}` }) } : {}),
  });
  await response.text();
  return response.status;
}

const bearer = async (wanted: Parameters<TestRegistry['token']>[0]) =>
  `Bearer ${(await registry.token(wanted)).secret}`;

it('lets only tokens for directories manage users', async () => {
  const others = TOKEN_SCOPES.filter((scope) => scope !== 'scim');
  const expired = await bearer({ scopes: ['scim'], expiresInDays: 1 });
  const revoked = await registry.token({ scopes: ['scim'] });
  const administrator = await registry.bearer();
  await registry.send('DELETE', `/api/v1/tokens/${revoked.id}`);
  const refused: [string | undefined, number][] = [
    [undefined, 401],
    ['Bearer krmhub_x', 401],
    [`Bearer ${revoked.secret}`, 401],
    [administrator, 403],
    [await bearer({ scopes: others }), 403],
    [await bearer({ scopes: ['scim'], groups: ['example.com'] }), 403],
  ];
  for (const scope of others) refused.push([await bearer({ scopes: [scope] }), 403]);
  for (const [name, route] of Object.entries(SCIM_ROUTES)) {
    for (const [authorization, status] of refused) {
      expect([name, await statusOf(route, authorization)]).toEqual([name, status]);
    }
    const allowed = await statusOf(route, expired);
    expect([name, [200, 201, 400, 404].includes(allowed)]).toEqual([name, true]);
  }
  registry.advance(2 * 86_400_000);
  expect(await statusOf(SCIM_ROUTES.scimUsers, expired)).toBe(401);
});

it('lets a token for a directory do nothing else', async () => {
  const authorization = await bearer({ scopes: ['scim'] });
  expect((await registry.publish({ kind: 'SetLabels', release: '1.0.0' })).status).toBe(201);
  for (const [name, route] of Object.entries(GUARDED_ROUTES)) {
    if (route.needs === 'none' || name === 'whoami') continue;
    const body = route.body?.(1);
    const response = await registry.request(route.target(1, ID), {
      method: route.method,
      headers: {
        Authorization: authorization,
        ...(route.type === undefined ? {} : { 'Content-Type': route.type }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const problem = (await response.json()) as { code?: string };
    expect([name, response.status, problem.code]).toEqual([name, 403, 'forbidden']);
  }
  const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  groups: [{pattern: example.com, visibility: internal}]
`;
  expect((await registry.send('PUT', '/api/v1/access', access)).status).toBe(200);
  const path = '/api/v1/functions/example.com/SetLabels';
  const inside = await bearer({ scopes: ['audit'] });
  expect((await registry.send('GET', path, undefined, inside)).status).toBe(200);
  expect((await registry.send('GET', path, undefined, authorization)).status).toBe(404);
});

it('creates tokens for directories that have no other scope, and no team', async () => {
  const create = (body: object) => registry.send('POST', '/api/v1/tokens', { name: 'directory', ...body });
  expect((await create({ scopes: ['scim'] })).status).toBe(201);
  for (const body of [
    { scopes: ['scim', 'read'] },
    { scopes: ['scim', 'admin'] },
    { scopes: ['scim'], groups: ['example.com'] },
    { scopes: ['scim'], repositories: ['team/*'] },
    { scopes: ['scim'], team: 'platform' },
  ]) {
    expect([body, (await create(body)).body.code]).toEqual([body, 'invalid-request']);
  }
});
