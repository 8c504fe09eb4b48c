import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Problem } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import { afterEach, describe, expect, it } from 'vitest';
import { TestBrowser } from '../../testing/operator-session.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { userSignedIn } from '../../testing/user-session.js';
import { RATE_LIMIT_CLASSES } from './request-limits.js';
import { newSecret } from './tokens.js';

let registry: TestRegistry;
afterEach(() => registry.close());

const set = { kind: 'SetLabels', release: '1.0.0' };

interface Sent {
  from?: string;
  forwarded?: string;
  method?: string;
  bearer?: string;
  body?: string;
  type?: string;
}

/** Sends a request as from a socket of that address. */
async function ask(target: string, sent: Sent = {}): Promise<Response> {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: sent.from ?? '203.0.113.1' });
  const incoming = new IncomingMessage(socket);
  if (sent.forwarded !== undefined) incoming.headers['x-forwarded-for'] = sent.forwarded;
  const headers: Record<string, string> = { 'Content-Type': sent.type ?? 'application/yaml' };
  if (sent.bearer !== undefined) headers.Authorization = `Bearer ${sent.bearer}`;
  const { method = 'GET', body } = sent;
  // The registry reads bodies from the socket.
  if (body !== undefined) incoming.push(body);
  incoming.push(null);
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  return registry.app.request(`http://registry.test${target}`, init, { incoming });
}

const bad = () => ({ headers: { Authorization: `Bearer ${newSecret()}` } });

async function statuses(count: number, send: () => Promise<Response>): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await send()).status);
  return found;
}

async function expectTooMany(response: Response, policy: string, perMinute: number): Promise<Problem> {
  expect(response.status).toBe(429);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('ratelimit-policy')).toBe(`"${policy}";q=${perMinute};w=60`);
  expect(response.headers.get('ratelimit')).toMatch(new RegExp(`^"${policy}";r=0;t=\\d+$`));
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const problem = (await response.json()) as Problem;
  expect(problem).toMatchObject({ status: 429, code: 'rate-limited', title: 'Too Many Requests' });
  expect(problem.hint).toContain(`${response.headers.get('retry-after')} second`);
  return problem;
}

describe('requests of one address', () => {
  it('are served up to the limit, refused beyond it, and served again later', async () => {
    registry = await openTestRegistry({ config: { requestsPerMinute: 4 } });
    const search = () => ask('/api/v1/functions');
    const first = await search();
    expect(first.headers.get('ratelimit-policy')).toBe('"requests";q=4;w=60');
    expect(first.headers.get('ratelimit')).toBe('"requests";r=3;t=15');
    expect(first.headers.get('access-control-expose-headers')).toContain('RateLimit');
    expect(await statuses(3, search)).toEqual([200, 200, 200]);
    await expectTooMany(await search(), 'requests', 4);
    expect((await ask('/api/v1/functions', { from: '203.0.113.2' })).status).toBe(200);
    registry.advance(16_000);
    expect(await statuses(2, search)).toEqual([200, 429]);
  });

  it('count by the /64 of an IPv6 address, and by the client behind a trusted proxy', async () => {
    registry = await openTestRegistry({ config: { requestsPerMinute: 1, trustedProxies: ['10.0.0.0/8'] } });
    const from = async (address: string, forwarded?: string) =>
      (await ask('/api/v1/events', { from: address, ...(forwarded === undefined ? {} : { forwarded }) }))
        .status;
    expect(await from('2001:db8:1:2::1')).toBe(200);
    expect(await from('2001:db8:1:2:ffff::9')).toBe(429);
    expect(await from('2001:db8:1:3::1')).toBe(200);
    expect(await from('10.0.0.1', '198.51.100.1')).toBe(200);
    expect(await from('10.0.0.1', '192.0.2.99, 198.51.100.1')).toBe(429);
    expect(await from('10.0.0.2', '198.51.100.2')).toBe(200);
    // A client that is not a trusted proxy cannot claim another address.
    expect(await from('203.0.113.5', '198.51.100.77')).toBe(200);
    expect(await from('203.0.113.5', '198.51.100.78')).toBe(429);
  });

  it('do not count if the response is stored bytes or the health of the process', async () => {
    registry = await openTestRegistry({ config: { requestsPerMinute: 1 } });
    await registry.publish(set);
    for (const target of [
      '/catalogs/default/catalog.yaml',
      '/catalogs/default/catalog.json',
      `${releasePath(set)}/definition.yaml`,
      '/openapi.json',
      '/healthz',
      '/readyz',
      '/metrics',
    ]) {
      expect(await statuses(3, () => ask(target)), target).toEqual([200, 200, 200]);
      expect((await ask(target)).headers.has('ratelimit')).toBe(false);
    }
  });

  it('are not limited if the setting is 0', async () => {
    registry = await openTestRegistry({ config: { requestsPerMinute: 0 } });
    const responses = await Promise.all(Array.from({ length: 200 }, () => ask('/api/v1/catalogs')));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('have a class for every route of the contract', () => {
    // What clients without a token do, and a read with a body.
    const isRead = new Set(['reportLeak', 'exchangeToken', 'requestLogin', 'loginToken', 'catalogReleases']);
    for (const [name, route] of Object.entries(ROUTES)) {
      const rateLimitClass = RATE_LIMIT_CLASSES[name as keyof typeof RATE_LIMIT_CLASSES];
      if (route.method !== 'get' && !isRead.has(name)) expect(rateLimitClass, name).toBe('write');
      else expect(rateLimitClass, name).not.toBe('write');
    }
  });
});

describe('writes of one token', () => {
  it('are accepted up to the limit and refused beyond it, before the body is read', async () => {
    registry = await openTestRegistry({ config: { writesPerMinute: 3 } });
    const [one, two] = [await registry.token({}), await registry.token({})];
    const publish = (bearer: string, release: string, from?: string) =>
      ask(releasePath({ ...set, release }), {
        method: 'PUT',
        bearer,
        body: definitionText(set),
        ...(from === undefined ? {} : { from }),
      });
    expect((await publish(one.secret, '1.0.0')).status).toBe(201);
    expect((await publish(one.secret, '1.0.0')).status).toBe(200);
    const third = await publish(one.secret, '1.0.1');
    expect([third.status, third.headers.get('ratelimit')]).toEqual([201, '"writes";r=0;t=60']);
    // The same token from another address shares the quota.
    await expectTooMany(await publish(one.secret, '1.0.2', '198.51.100.1'), 'writes', 3);
    expect((await ask(`${releasePath(set)}/yank`, { method: 'POST', bearer: one.secret })).status).toBe(429);
    expect((await registry.parts.store.function('example.com', 'SetLabels'))?.releases).toHaveLength(2);
    expect((await publish(two.secret, '1.0.2')).status).toBe(201);
    // Reading still works.
    expect((await ask('/api/v1/whoami', { bearer: one.secret })).status).toBe(200);
    registry.advance(20_000);
    expect((await publish(one.secret, '1.0.3')).status).toBe(201);
  });
});

describe('refused tokens of one address', () => {
  const whoami = (bearer: string, from?: string) =>
    ask('/api/v1/whoami', { bearer, ...(from === undefined ? {} : { from }) });

  it('are answered with 429 above the limit, and block no valid token behind the address', async () => {
    registry = await openTestRegistry({ config: { failedLoginsPerMinute: 3 } });
    const [known, fresh] = [await registry.token({}), await registry.token({})];
    expect((await whoami(known.secret)).status).toBe(200);
    expect(await statuses(3, () => whoami(newSecret()))).toEqual([401, 401, 401]);
    await expectTooMany(await whoami(newSecret()), 'failed-logins', 3);
    await expectTooMany(await whoami('nonsense'), 'failed-logins', 3);
    expect((await whoami(known.secret)).status).toBe(200);
    // This process has never seen it.
    expect((await whoami(fresh.secret)).status).toBe(200);
    expect((await whoami(newSecret(), '198.51.100.1')).status).toBe(401);
    await registry.parts.store.revokeToken(known.id, new Date().toISOString());
    expect((await whoami(known.secret)).status).toBe(429);
    registry.advance(20_000);
    expect((await whoami(known.secret)).status).toBe(401);
    expect((await whoami(known.secret)).status).toBe(429);
  });

  it('do not keep users behind it from signing in, nor what users type wrong', async () => {
    registry = await openTestRegistry({ config: { failedLoginsPerMinute: 1 } });
    const [ada, eve] = [await userSignedIn(registry), await userSignedIn(registry)];
    const { secret } = await registry.token({});
    expect(await statuses(2, () => registry.request('/api/v1/whoami', bad()))).toEqual([401, 429]);
    const wrong = '/login/device?code=0000-0000';
    expect(await statuses(2, () => eve.get(wrong))).toEqual([404, 429]);
    expect((await ada.get(wrong)).status).toBe(404);
    expect((await new TestBrowser(registry).signIn(newSecret())).status).toBe(429);
    expect((await new TestBrowser(registry).signIn(secret)).status).toBe(303);
  });

  it('do not let a user find a code with more guesses at once, and right codes do not count', async () => {
    registry = await openTestRegistry({ config: { failedLoginsPerMinute: 3 } });
    const ada = await userSignedIn(registry);
    const begun = await registry.send<{ code: string }>(
      'POST',
      '/api/v1/login/requests',
      { client: 'a' },
      '',
    );
    const type = async (code: string) => (await ada.get(`/login/device?code=${code}`)).status;
    const right = begun.body.code;
    for (let turn = 0; turn < 5; turn += 1) expect(await type(right)).toBe(200);
    const wrong = Array.from({ length: 20 }, () => type('0000-0000'));
    expect(await type(right)).toBe(429);
    expect((await Promise.all(wrong)).sort()).toEqual([...Array(3).fill(404), ...Array(17).fill(429)]);
    registry.advance(20_000);
    expect([await type(right), await type('0000-0000'), await type(right)]).toEqual([200, 404, 429]);
  });

  it('do not include requests without a token', async () => {
    registry = await openTestRegistry({ config: { failedLoginsPerMinute: 1 } });
    expect(await statuses(5, () => ask('/api/v1/whoami'))).toEqual(Array(5).fill(401));
    expect((await ask('/api/v1/whoami', { bearer: newSecret() })).status).toBe(401);
    expect((await ask('/api/v1/whoami', { bearer: newSecret() })).status).toBe(429);
  });
});

describe('reports of leaked tokens', () => {
  it('count as requests of their address', async () => {
    registry = await openTestRegistry({ config: { requestsPerMinute: 2 } });
    const report = () =>
      ask('/api/v1/tokens/report-leak', {
        method: 'POST',
        type: 'application/json',
        body: JSON.stringify({ token: newSecret() }),
      });
    expect(await statuses(3, report)).toEqual([204, 204, 429]);
  });
});
