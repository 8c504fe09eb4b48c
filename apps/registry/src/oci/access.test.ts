import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSecret } from '../http/auth/tokens.js';
import { SERVER_LIMITS } from '../limits.js';
import { descriptor, imageManifest, manifestDigest, readError, testClient } from '../testing/oci.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const DAY = 86_400_000;
const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`;
const HINT =
  'Run `docker login` or `oras login` with any user name and a registry token as the password. An administrator creates tokens with `krmhub token create NAME --scope push`, or `--scope publish` for functions/ and scripts/.';

let registry: TestRegistry;
const client = testClient(
  () => registry,
  () => '',
);
beforeAll(async () => {
  registry = await openTestRegistry({ start: false });
});
afterAll(() => registry.close());

const ours = ['functions/a.com/x', 'functions/b.com/x', 'catalogs/x'];
const others = ['team/x', 'team/x/y', 'functionsx/y', 'other/x', 'scripts/b.com/x', 'scripts/a.com/x/y'];
const nothings = ['functions', 'functions/a.com', 'functions/a.com/x/y', 'catalogs', 'catalogs/x/y'];

interface Role {
  name: string;
  authorization: string;
  /** Repositories that the role may change; undefined for invalid credentials. */
  may?: readonly string[];
}

async function roles(): Promise<Role[]> {
  const secret = async (wanted: Parameters<TestRegistry['token']>[0]) =>
    (await registry.token(wanted)).secret;
  const revoked = await registry.token({});
  await registry.parts.store.revokeToken(revoked.id, new Date().toISOString());
  const expired = await secret({ expiresInDays: 1 });
  const publisher = await secret({ scopes: ['publish'], groups: ['a.com'] });
  const pusher = await secret({ scopes: ['push'], repositories: ['team/*', 'catalogs/x', 'functions/*'] });
  const everything = await secret({});
  registry.advance(2 * DAY);
  return [
    { name: 'nobody', authorization: '' },
    { name: 'empty Basic', authorization: basic('', '') },
    { name: 'a user without a password', authorization: basic('me', '') },
    { name: 'an unknown token', authorization: `Bearer ${newSecret()}` },
    { name: 'an unknown password', authorization: basic('me', newSecret()) },
    { name: 'a malformed token', authorization: basic('me', 'secret') },
    { name: 'another scheme', authorization: `Digest ${everything}` },
    { name: 'a token without a scheme', authorization: everything },
    { name: 'revoked', authorization: `Bearer ${revoked.secret}` },
    { name: 'expired', authorization: basic('me', expired) },
    { name: 'publisher of a.com', authorization: `Bearer ${publisher}`, may: ['functions/a.com/x'] },
    { name: 'pusher', authorization: basic('me', pusher), may: ['catalogs/x', 'team/x', 'team/x/y'] },
    {
      name: 'pusher of all',
      authorization: basic('', await secret({ scopes: ['push'] })),
      may: others,
    },
    { name: 'admin', authorization: `Bearer ${await secret({ scopes: ['admin', 'yank'] })}`, may: [] },
    { name: 'everything', authorization: basic('me', await secret({})), may: [...ours, ...others] },
  ];
}

const speaking = imageManifest([], { subject: descriptor('subject') });
const body = JSON.stringify(speaking);
const NOWHERE = crypto.randomUUID();
/**
 * Every request that changes a repository, and its status for an authorized client. Only what is put exists.
 */
const CHANGES: [method: string, path: string, done: number, body?: string][] = [
  ['POST', 'blobs/uploads/', 202],
  ['POST', `blobs/uploads/?digest=${sha256('x')}`, 201, 'x'],
  ['POST', `blobs/uploads/?mount=${sha256('nowhere')}`, 202],
  ['PATCH', `blobs/uploads/${NOWHERE}`, 404, 'x'],
  ['PUT', `blobs/uploads/${NOWHERE}?digest=${sha256('x')}`, 404, 'x'],
  ['GET', `blobs/uploads/${NOWHERE}`, 404],
  ['DELETE', `blobs/uploads/${NOWHERE}`, 404],
  ['PUT', `manifests/${manifestDigest(speaking)}`, 201, body],
  ['DELETE', `manifests/${sha256('nowhere')}`, 404],
  ['DELETE', `blobs/${sha256('nowhere')}`, 404],
];

const change = (method: string, target: string, authorization: string, content?: string) =>
  client.request(method, target, {
    authorization,
    ...(content === undefined ? {} : { body: content, type: speaking.mediaType }),
  });

describe('access to a repository', () => {
  it('lets authorized clients change it, with every method, and no one else', async () => {
    for (const { name, authorization, may } of await roles()) {
      for (const repository of [...ours, ...others]) {
        for (const [method, path, done, content] of CHANGES) {
          const response = await change(method, `${repository}/${path}`, authorization, content);
          const what = `${name}: ${method} ${repository}/${path}`;
          const expected = may === undefined ? 401 : may.includes(repository) ? done : 403;
          expect([what, response.status]).toEqual([what, expected]);
          const scope = `repository:${repository}:${method === 'DELETE' && !path.includes('uploads') ? 'delete' : 'pull,push'}`;
          expect(response.headers.get('www-authenticate')?.includes(`scope="${scope}"`) ?? false).toBe(
            // Refused clients that are authenticated get 403, whatever the scope.
            expected === 401 &&
              ['nobody', 'empty Basic', 'another scheme', 'a token without a scheme'].includes(name),
          );
          if (expected === 403) expect((await readError(response)).message).toContain('does not have the');
        }
      }
    }
  });

  it('refuses every write to a repository that is neither a function nor a catalog', async () => {
    for (const { name, authorization } of await roles()) {
      for (const repository of nothings) {
        for (const [method, path, , content] of CHANGES) {
          const { status } = await change(method, `${repository}/${path}`, authorization, content);
          expect([name, repository, method, path, status >= 400]).toEqual([
            name,
            repository,
            method,
            path,
            true,
          ]);
        }
        expect(await registry.parts.store.tags(repository, '', 1)).toBeUndefined();
      }
    }
  });

  it('lets everyone read, whatever their credentials', async () => {
    const { secret } = await registry.token({ scopes: ['push'] });
    await client.request('POST', `read/me/blobs/uploads/?digest=${sha256('x')}`, {
      authorization: `Bearer ${secret}`,
      body: 'x',
    });
    for (const { name, authorization } of await roles()) {
      for (const [method, path] of [
        ['GET', `blobs/${sha256('x')}`],
        ['HEAD', `blobs/${sha256('x')}`],
        ['GET', 'tags/list'],
        ['GET', `referrers/${sha256('x')}`],
      ] as const) {
        const { status } = await client.request(method, `read/me/${path}`, { authorization });
        expect([name, method, path, status]).toEqual([name, method, path, 200]);
      }
    }
  });

  it('reports which right the token lacks', async () => {
    const { secret } = await registry.token({
      scopes: ['push'],
      groups: ['a.com'],
      repositories: ['team/*'],
    });
    const lacking = async (target: string) =>
      (await readError(await change('POST', `${target}/blobs/uploads/`, `Bearer ${secret}`))).message;
    expect(await lacking('other/x')).toBe(
      'the token "tester" does not have the repository "other/x". An administrator can create another token with `krmhub token create NAME --scope push --repository other/x`.',
    );
    expect(await lacking('functions/a.com/x')).toContain('does not have the scope "publish"');
    expect(await lacking('functions')).toContain('the repository of a function is functions/GROUP/KIND');
  });
});

describe('the challenge', () => {
  const challenge = async (
    target: string,
    more: Parameters<typeof client.request>[2] = {},
    method = 'GET',
  ) => {
    const response = await client.request(method, target, more);
    expect(response.status).toBe(401);
    const header = response.headers.get('www-authenticate');
    const refused = await readError(response);
    expect([refused.code, refused.message.endsWith(HINT)]).toEqual(['UNAUTHORIZED', true]);
    return header;
  };
  const realm = 'Bearer realm="http://registry.test/v2/token",service="krmhub"';

  it('names the token endpoint and the scope', async () => {
    expect(await challenge('')).toBe(realm);
    expect(await challenge('team/x/blobs/uploads/', {}, 'POST')).toBe(
      `${realm},scope="repository:team/x:pull,push"`,
    );
    expect(await challenge(`team/x/manifests/${sha256('x')}`, {}, 'DELETE')).toBe(
      `${realm},scope="repository:team/x:delete"`,
    );
    expect(await challenge('', { authorization: 'Bearer x.y' })).toBe(`${realm},error="invalid_token"`);
    expect(await challenge('', { authorization: basic('me', newSecret()) })).toBe(
      `${realm},error="invalid_token"`,
    );
    expect(await challenge('', { authorization: 'Digest x' })).toBe(realm);
    expect(await challenge('token', { authorization: 'Bearer x.y' })).toBe(realm);
  });

  it.each([
    ['registry.example.com:5000', 'http://registry.example.com:5000/v2/token'],
    ['[::1]:80', 'http://[::1]:80/v2/token'],
    ['evil.com"/x', '/v2/token'],
    ['a b', '/v2/token'],
    ['user@host', '/v2/token'],
  ])('leads the host %s to %s', async (host, expected) => {
    expect(await challenge('', { headers: { Host: host } })).toBe(
      `Bearer realm="${expected}",service="krmhub"`,
    );
  });

  it('uses the public address if there is one', async () => {
    const other = await openTestRegistry({ start: false, config: { publicUrl: 'https://hub.example.com' } });
    const response = await other.request('/v2/', { headers: { Host: 'evil.com' } });
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer realm="https://hub.example.com/v2/token",service="krmhub"',
    );
    await other.close();
  });
});

describe('GET /v2/', () => {
  it('requires credentials, and accepts any valid ones', async () => {
    const { secret } = await registry.token({ scopes: ['yank'] });
    for (const authorization of [`Bearer ${secret}`, basic('x', secret), `bearer ${await accessToken('')}`]) {
      const response = await client.request('GET', '', { authorization });
      expect([response.status, await response.json()]).toEqual([200, {}]);
    }
  });
});

async function accessToken(authorization: string, ...scopes: string[]): Promise<string> {
  const query = scopes.map((scope) => `&scope=${encodeURIComponent(scope)}`).join('');
  const response = await client.request('GET', `token?service=krmhub${query}`, { authorization });
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  const { token, access_token, expires_in } = (await response.json()) as Record<string, string | number>;
  expect([access_token, expires_in]).toEqual([token, SERVER_LIMITS.accessTokenSeconds]);
  return String(token);
}

describe('an access token', () => {
  const requestStatus = async (token: string, target: string) =>
    (await change('POST', `${target}/blobs/uploads/`, `Bearer ${token}`)).status;

  it('grants the requested actions that the registry token permits', async () => {
    const { secret } = await registry.token({
      scopes: ['publish', 'push'],
      groups: ['a.com'],
      repositories: ['team/*'],
    });
    const wanted = ['team/x', 'other/x', 'functions/a.com/x', 'functions/b.com/x'];
    for (const scopes of [
      wanted.map((name) => `repository:${name}:pull,push`),
      [wanted.map((name) => `repository:${name}:push,pull`).join(' ')],
      wanted.map((name) => `repository:${name}:*`),
    ]) {
      const token = await accessToken(basic('me', secret), ...scopes);
      expect(await Promise.all(wanted.map((name) => requestStatus(token, name)))).toEqual([
        202, 403, 202, 403,
      ]);
      expect(await requestStatus(token, 'team/y')).toBe(401);
      const { access } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as {
        access: { actions: string[] }[];
      };
      expect(access.map(({ actions }) => actions.some((action) => action !== 'pull'))).toEqual([
        true,
        false,
        true,
        false,
      ]);
    }
  });

  it('cannot change anything if it is for pull or anonymous, and the response names the needed scope', async () => {
    const { secret } = await registry.token({ scopes: ['push'] });
    const tokens = [
      await accessToken(basic('me', secret), 'repository:team/x:pull'),
      await accessToken(basic('me', secret)),
      await accessToken(basic('me', secret), 'repository:team/x:delete'),
      await accessToken(basic('me', secret), 'registry:catalog:*', 'nonsense', 'repository:Team/x:push'),
      await accessToken('', 'repository:team/x:pull,push'),
      await accessToken(basic('', ''), 'repository:team/x:*'),
    ];
    for (const [at, token] of tokens.entries()) {
      const response = await change('POST', 'team/x/blobs/uploads/', `Bearer ${token}`);
      expect([at, response.status]).toEqual([at, 401]);
      const header = response.headers.get('www-authenticate')!;
      expect(header).toContain('scope="repository:team/x:pull,push"');
      expect(header.includes('error="insufficient_scope"')).toBe(at < 4);
      expect((await client.request('GET', '', { authorization: `Bearer ${token}` })).status).toBe(200);
    }
    const deletion = await accessToken(basic('me', secret), 'repository:team/x:delete');
    const deleted = await change('DELETE', `team/x/blobs/${sha256('none')}`, `Bearer ${deletion}`);
    expect(deleted.status).toBe(404);
  });

  it('expires after its lifetime, and with the registry token that it was issued for', async () => {
    const { secret, id } = await registry.token({ scopes: ['push'] });
    const make = () => accessToken(basic('me', secret), 'repository:team/x:push');
    const first = await make();
    registry.advance((SERVER_LIMITS.accessTokenSeconds - 2) * 1_000);
    expect(await requestStatus(first, 'team/x')).toBe(202);
    registry.advance(2_000);
    expect(await requestStatus(first, 'team/x')).toBe(401);
    expect((await client.request('GET', '', { authorization: `Bearer ${first}` })).status).toBe(401);
    const second = await make();
    expect(await requestStatus(second, 'team/x')).toBe(202);
    await registry.parts.store.revokeToken(id, registry.parts.clock().toISOString());
    expect(await requestStatus(second, 'team/x')).toBe(401);
    const ended = await registry.token({ scopes: ['push'], expiresInDays: 1 });
    registry.advance(DAY - 100_000);
    const late = await accessToken(basic('me', ended.secret), 'repository:team/x:push');
    expect(await requestStatus(late, 'team/x')).toBe(202);
    registry.advance(100_001);
    expect(await requestStatus(late, 'team/x')).toBe(401);
  });

  it('is refused if it was forged or changed', async () => {
    const { secret } = await registry.token({ scopes: ['push'] });
    const token = await accessToken(basic('me', secret), 'repository:team/x:pull');
    const [payload, signature] = token.split('.') as [string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const forged = (change: object) =>
      Buffer.from(JSON.stringify({ ...claims, ...change })).toString('base64url');
    const access = [{ repository: 'team/x', actions: ['pull', 'push'] }];
    const other = await openTestRegistry({ start: false });
    const foreign = await (await other.request('/v2/token')).json();
    await other.close();
    const tokens = [
      `${forged({ access })}.${signature}`,
      `${forged({ expires: 9e9 })}.${signature}`,
      `${payload}.`,
      payload,
      `.${signature}`,
      `${token}.`,
      `${token}.x`,
      `${payload}.${signature.slice(0, -2)}`,
      `${payload}.${'A'.repeat(signature.length)}`,
      (foreign as { token: string }).token,
      'null.null',
      '.',
    ];
    for (const one of tokens) {
      expect([one, await requestStatus(one, 'team/x')]).toEqual([one, 401]);
      expect((await client.request('GET', '', { authorization: `Bearer ${one}` })).status).toBe(401);
    }
  });

  it('covers several scopes, and only the first of too many', async () => {
    const { secret } = await registry.token({ scopes: ['push'] });
    const { maxTokenScopes } = SERVER_LIMITS;
    const scopes = (count: number) => Array.from({ length: count }, (_, at) => `repository:r/${at}:push`);
    const token = await accessToken(basic('me', secret), scopes(maxTokenScopes + 1).join(' '));
    expect(await requestStatus(token, `r/${maxTokenScopes - 1}`)).toBe(202);
    expect(await requestStatus(token, `r/${maxTokenScopes}`)).toBe(401);
  });

  it('is not issued for invalid credentials', async () => {
    for (const authorization of [basic('me', 'x'), basic('me', newSecret()), 'Basic x', `Bearer x.y`]) {
      const response = await client.request('GET', 'token?scope=repository:team/x:push', { authorization });
      expect([authorization, response.status]).toEqual([authorization, 401]);
    }
  });
});

describe('failed logins', () => {
  it('count for passwords and tokens alike, and known tokens still work', async () => {
    for (const target of ['token', '', 'team/x/blobs/uploads/']) {
      const other = await openTestRegistry({ start: false, config: { failedLoginsPerMinute: 3 } });
      const { secret } = await other.token({ scopes: ['push'] });
      const method = target.startsWith('team') ? 'POST' : 'GET';
      const ask = (authorization: string) =>
        other.request(`/v2/${target}`, { method, headers: { Authorization: authorization } });
      expect((await ask(basic('me', secret))).status).toBeLessThan(300);
      const statuses: number[] = [];
      for (const guess of [newSecret(), 'x', newSecret(), newSecret(), 'y'])
        statuses.push((await ask(basic('me', guess))).status);
      expect([target, statuses]).toEqual([target, [401, 401, 401, 429, 429]]);
      const refused = await ask(basic('me', newSecret()));
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await readError(refused)).toMatchObject({ status: 429, code: 'TOOMANYREQUESTS' });
      expect((await ask(basic('me', secret))).status).toBeLessThan(300);
      other.advance(61_000);
      expect((await ask(basic('me', newSecret()))).status).toBe(401);
      await other.close();
    }
  });
});
