import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AuditRow, CreatedToken, EventPage, Problem, TokenList } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import type { TokenScope } from '@krmhub/api/token-scopes';
import { createLog, type RunningRegistry, readConfig, startRegistry } from '@krmhub/registry';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findAttempt } from '../../apps/registry/src/http/auth/attempt.js';
import { newSecret } from '../../apps/registry/src/http/auth/tokens.js';
import { definitionText } from '../../apps/registry/src/testing/test-registry.js';
import { root } from '../running.js';
import { GUARDED_ROUTES, type GuardedRoute } from './guarded-routes.js';
import { HEADER_TRICKS, HOST_TRICKS, methodTricks, PATH_TRICKS } from './path-tricks.js';
import { type RawRequest, type RawResponse, sendRaw, withHeaders } from './raw-request.js';
import { type Role, tricksByRole, verdict } from './roles.js';

/**
 * Every protected operation × every kind of client × path spellings that are known to fool servers, as raw
 * bytes over a socket. The test decides again who may do what, from the table of routes and roles alone.
 */

const DAY = 86_400_000;

let folder: string;
let registry: RunningRegistry;
let port: number;
let root_: string;
let roles: Role[];
let count = 0;
let offset = 0;

async function api<T>(method: string, target: string, body?: object): Promise<T> {
  const response = await fetch(registry.url + target, {
    method,
    headers: { Authorization: `Bearer ${root_}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok, `${method} ${target}`).toBe(true);
  return (await response.json()) as T;
}

const created = (name: string, scopes: TokenScope[], groups = ['*'], expiresInDays = 90) =>
  api<CreatedToken>('POST', '/api/v1/tokens', { name, scopes, groups, expiresInDays });

/** Repeats a request until its response is 200, and returns the body. */
const respondsWith200 = (method: string, target: string) =>
  vi.waitFor(
    async () => {
      const headers = { Authorization: `Bearer ${root_}` };
      const response = await fetch(registry.url + target, { method, headers });
      const text = await response.text();
      expect(response.status, text).toBe(200);
      return text;
    },
    { timeout: 300_000, interval: 100 },
  );

/** A catalog with an upstream source; the upstream was synced. */
async function applyCollected(): Promise<void> {
  // While its first snapshot is built, the response is an error, and a source never has a copy of that.
  const catalog = await respondsWith200('GET', fillPath('catalogYaml', { name: 'default' }));
  await writeFile(path.join(folder, 'elsewhere.yaml'), catalog);
  const response = await fetch(registry.url + fillPath('catalog', { name: 'collected' }), {
    method: 'PUT',
    headers: { Authorization: `Bearer ${root_}`, 'Content-Type': 'application/yaml' },
    body: `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: collected}
spec: {sources: [{name: elsewhere, catalog: {url: 'file:elsewhere.yaml'}}]}
`,
  });
  expect(response.status, await response.text()).toBe(201);
  // A snapshot can be built before the source was synced.
  await respondsWith200('GET', fillPath('sourceCopy', { name: 'collected', source: 'elsewhere' }));
  await respondsWith200('POST', fillPath('cut', { name: 'collected' }));
  const deleted = await fetch(registry.url + fillPath('catalog', { name: 'deleted' }), {
    method: 'PUT',
    headers: { Authorization: `Bearer ${root_}`, 'Content-Type': 'application/yaml' },
    body: GUARDED_ROUTES.applyCatalog!.body!(0).replace('platform-0', 'deleted'),
  });
  expect(deleted.status).toBe(201);
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-authorization-'));
  const unlimited = {
    KRMHUB_REQUESTS_PER_MINUTE: '0',
    KRMHUB_WRITES_PER_MINUTE: '0',
    KRMHUB_FAILED_LOGINS_PER_MINUTE: '0',
  };
  registry = await startRegistry({
    config: readConfig({ ...unlimited, KRMHUB_SOURCE_FOLDER: folder }, { port: '0', data: folder }),
    log: createLog('silent', { write: () => undefined }),
    clock: () => new Date(Date.now() + offset),
  });
  port = Number(new URL(registry.url).port);
  root_ = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  for (const kind of ['SetLabels', 'TakeDown']) {
    const target = fillPath('release', { group: 'example.com', kind, release: '1.0.0' });
    const response = await fetch(registry.url + target, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${root_}`, 'Content-Type': 'application/yaml' },
      body: definitionText({ kind, release: '1.0.0' }),
    });
    expect(response.status).toBe(201);
  }
  await applyCollected();
  const role = async (
    name: string,
    scopes: TokenScope[],
    groups?: string[],
    alive: { expiresInDays?: number; end?: 'revoke' | 'leak' } = {},
  ): Promise<Role> => {
    const { token, id } = await created(name, scopes, groups, alive.expiresInDays);
    if (alive.end === 'revoke') await api('DELETE', fillPath('token', { id }));
    if (alive.end === 'leak') {
      await fetch(registry.url + fillPath('reportLeak', {}), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ token }),
      });
    }
    const everywhere = groups === undefined;
    const here = everywhere || groups.some((glob) => ['example.com', '*ample.com'].includes(glob));
    const good = alive.end === undefined && alive.expiresInDays === undefined;
    const authorization = [`Bearer ${token}`];
    return { name, authorization, ...(good ? { token: { scopes, here, everywhere } } : {}) };
  };
  const all: TokenScope[] = ['publish', 'yank', 'admin'];
  const elsewhere = ['other.com', '*.example.com', 'example.com.*', 'xexample.com', 'example'];
  roles = [
    { name: 'nobody', authorization: [] },
    { name: 'an unknown token', authorization: [`Bearer ${newSecret()}`] },
    {
      name: 'a malformed token',
      authorization: [`Bearer ${root_.slice(0, -1)}${root_.endsWith('0') ? '1' : '0'}`],
    },
    { name: 'a truncated token', authorization: [`Bearer ${root_.slice(0, -1)}`] },
    { name: 'a token in upper case', authorization: [`Bearer ${root_.toUpperCase()}`] },
    { name: 'an empty token', authorization: ['Bearer '] },
    { name: 'a password', authorization: [`Basic ${btoa(`admin:${root_}`)}`] },
    { name: 'two tokens, the right one last', authorization: [`Bearer ${newSecret()}`, `Bearer ${root_}`] },
    { name: 'two tokens, the right one first', authorization: [`Bearer ${root_}`, `Bearer ${newSecret()}`] },
    { name: 'two tokens in one header', authorization: [`Bearer ${newSecret()}, Bearer ${root_}`] },
    await role('expired', all, undefined, { expiresInDays: 1 }),
    await role('revoked', all, undefined, { end: 'revoke' }),
    await role('leaked', all, undefined, { end: 'leak' }),
    await role('publish elsewhere', ['publish'], elsewhere),
    await role('yank elsewhere', ['yank'], elsewhere),
    await role('both elsewhere', ['publish', 'yank'], elsewhere),
    await role('publish here', ['publish'], ['example.com']),
    await role('publish by glob', ['publish'], ['*ample.com']),
    await role('yank here', ['yank'], ['example.com']),
    await role('both here', ['publish', 'yank'], ['example.com']),
    await role('publish everywhere', ['publish']),
    await role('yank everywhere', ['yank']),
    await role('audit everywhere', ['audit']),
    await role('publish and audit', ['publish', 'audit']),
    await role('admin alone', ['admin']),
    await role('everything', all),
  ];
  offset = 2 * DAY;
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});

async function requestOf(route: GuardedRoute, { authorization }: Role): Promise<RawRequest> {
  count += 1;
  const { id } = route.target(0, 'ID').includes('ID') ? await created('victim', ['publish']) : { id: '' };
  const body = route.body?.(count);
  return {
    method: route.method,
    target: route.target(count, id),
    headers: [
      ['Host', 'registry.test'],
      ...(route.type === undefined ? [] : [['Content-Type', route.type] as const]),
      ...authorization.map((value) => ['Authorization', value] as const),
    ],
    ...(body === undefined ? {} : { body }),
  };
}

/**
 * All state that a request could have changed. Builds follow changes asynchronously, and token use is
 * recorded.
 */
async function state(): Promise<string> {
  const events: EventPage['events'] = [];
  for (let after = 0; ; ) {
    const page = await api<EventPage>('GET', `/api/v1/events?after=${after}&limit=1000`);
    if (page.events.length === 0) break;
    events.push(...page.events);
    after = page.next;
  }
  const { tokens } = await api<TokenList>('GET', '/api/v1/tokens');
  const catalogs = await api<{ catalogs: { name: string; recipe: string }[] }>('GET', '/api/v1/catalogs');
  return JSON.stringify([
    events.filter(({ type }) => type !== 'catalog.cut'),
    tokens.map(({ lastUsedAt: _, ...token }) => token),
    catalogs.catalogs.map(({ name, recipe }) => [name, recipe]),
  ]);
}

/** Sends all requests, a few at a time; returns the unexpected responses. */
async function unexpectedResponses(
  requests: readonly { name: string; request: RawRequest }[],
  right: (answer: RawResponse) => boolean,
): Promise<string[]> {
  const wrong: string[] = [];
  for (let from = 0; from < requests.length; from += 16) {
    await Promise.all(
      requests.slice(from, from + 16).map(async ({ name, request }) => {
        const answer = await sendRaw(port, request);
        if (!right(answer))
          wrong.push(`${name}: ${request.method} ${request.target}: ${answer.head} ${answer.body}`);
      }),
    );
  }
  return wrong;
}

const refused = ({ status }: RawResponse) => status >= 400 && status < 500;
const rows = Object.entries(GUARDED_ROUTES) as [keyof typeof ROUTES, GuardedRoute][];
const changing = rows.filter(([, { method, needs }]) => method !== 'GET' && needs !== 'none');

describe('every protected operation', () => {
  it('has a row in the table', () => {
    const guarded = Object.entries(ROUTES).filter(
      ([, route]) => route.method !== 'get' || 'security' in route,
    );
    expect(rows.map(([name]) => name).sort()).toEqual(guarded.map(([name]) => name).sort());
    for (const [name, row] of rows) expect(row.method.toLowerCase(), name).toBe(ROUTES[name].method);
  });

  it.each(rows)('%s is allowed for permitted clients, and changes nothing for others', async (_, route) => {
    // Only of state that nothing has changed since; each request that revokes gets a new token.
    let known: string | undefined;
    for (const role of roles) {
      const expected = verdict(route, role);
      if (route.target(0, 'ID').includes('ID')) known = undefined;
      const request = await requestOf(route, role);
      known ??= await state();
      const answer = await sendRaw(port, request);
      if (expected === 'done') {
        const says = `${role.name}: ${answer.body}`;
        if (route.needsMore) expect([400, 404, 409, 410], says).toContain(answer.status);
        else expect(Math.trunc(answer.status / 100), says).toBe(2);
        known = undefined;
        continue;
      }
      expect([role.name, answer.status]).toEqual([role.name, expected]);
      const problem = JSON.parse(answer.body) as Problem;
      expect(problem.code).toBe(expected === 401 ? 'unauthorized' : 'forbidden');
      expect(/^www-authenticate: Bearer realm="krmhub"\r?$/im.test(answer.head)).toBe(expected === 401);
      for (const value of role.authorization) {
        const secret = value.replace(/^\w+ /, '');
        if (secret !== '') expect(answer.head + answer.body).not.toContain(secret);
      }
      expect(await state(), role.name).toBe(known);
    }
  });

  it.each(changing)('%s is protected in every spelling of its path', async (_, route) => {
    const tries: { name: string; request: RawRequest }[] = [];
    for (const { role, tricks } of tricksByRole(route, roles, PATH_TRICKS)) {
      const request = await requestOf(route, role);
      for (const trick of tricks) {
        tries.push({ name: `${role.name}, ${trick.name}`, request: trick.apply(request) });
      }
    }
    // Any valid token may do some.
    const clients = route.needs === 'any' ? 2 : 5;
    expect(tries.length).toBeGreaterThanOrEqual(clients * PATH_TRICKS.length);
    const before = await state();
    expect(await unexpectedResponses(tries, refused)).toEqual([]);
    expect(await state()).toBe(before);
  });

  it.each(changing)('%s is protected whatever the headers', async (_, route) => {
    const tries: { name: string; request: RawRequest }[] = [];
    for (const { role, tricks } of tricksByRole(route, roles, [...HEADER_TRICKS, ...HOST_TRICKS])) {
      const request = await requestOf(route, role);
      for (const trick of tricks) {
        tries.push({ name: `${role.name}, ${trick.name}`, request: trick.apply(request) });
      }
    }
    const before = await state();
    expect(await unexpectedResponses(tries, refused)).toEqual([]);
    expect(await state()).toBe(before);
  });

  it.each(changing)(
    '%s refuses other methods, even for an administrator with all scopes',
    async (_, route) => {
      const tries: { name: string; request: RawRequest }[] = [];
      for (const role of [roles[0]!, roles.at(-1)!]) {
        const request = await requestOf(route, role);
        for (const trick of methodTricks(request)) {
          tries.push({ name: `${role.name}, ${trick.name}`, request: trick.apply(request) });
        }
      }
      const before = await state();
      expect(await unexpectedResponses(tries, ({ status }) => status < 500)).toEqual([]);
      expect(await state()).toBe(before);
    },
  );

  it.each(rows)('%s never responds with 5xx, whatever the spelling', async (_, route) => {
    const everything = roles.at(-1)!;
    const request = await requestOf(route, everything);
    const tries = [...PATH_TRICKS, ...HEADER_TRICKS, ...HOST_TRICKS].map((trick) => ({
      name: trick.name,
      request: trick.apply(request),
    }));
    expect(await unexpectedResponses(tries, ({ status }) => status >= 200 && status < 500)).toEqual([]);
  });
});

describe('the audit log', () => {
  it('has a row of every operation that changed something, with its request, and of refused ones', async () => {
    const response = await fetch(`${registry.url}${fillPath('audit', {})}?format=jsonl`, {
      headers: { Authorization: `Bearer ${root_}` },
    });
    const log = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditRow);
    const params = { group: 'g', kind: 'k', release: 'r', name: 'n', source: 's', id: 'i' };
    for (const [name, { needsMore, isRead }] of changing) {
      if (isRead === true) continue;
      const action = findAttempt(ROUTES[name], params)?.action;
      const outcomes = log.filter((row) => row.action === action).map(({ outcome }) => outcome);
      if (needsMore !== true) expect(outcomes, name).toContain('done');
      expect(outcomes, name).toContain('refused');
    }
    const ofRequests = log.filter(({ actor }) => actor !== 'krmhub' && actor !== 'anonymous');
    const lacking = ofRequests.filter(
      ({ credential, address, requestId, detail }) =>
        credential === undefined ||
        (detail?.count === undefined && (address !== '127.0.0.1' || requestId === undefined)),
    );
    expect(lacking).toEqual([]);
    const byRegistry = log.filter(({ actor }) => actor === 'krmhub').map(({ action }) => action);
    expect(new Set(byRegistry)).toEqual(new Set(['key.add', 'catalog.apply', 'token.create']));
    expect(JSON.stringify(log)).not.toContain('krmhub_');
  });
});

describe('a token', () => {
  it.each(['bearer', 'BEARER', 'bEaReR'])('may have the name %s', async (scheme) => {
    const route = GUARDED_ROUTES.createToken!;
    for (const role of roles.filter(({ authorization }) => authorization.length === 1)) {
      const odd = role.authorization.map((value) => value.replace(/^Bearer/, scheme));
      const answer = await sendRaw(port, await requestOf(route, { ...role, authorization: odd }));
      const expected = verdict(route, role);
      if (expected === 'done') expect([role.name, answer.status]).toEqual([role.name, 201]);
      else expect([role.name, answer.status]).toEqual([role.name, expected]);
    }
  });

  it('is accepted only in Authorization, as a bearer token', async () => {
    const places: [string, string][][] = [
      [['Authorization', root_]],
      [['Authorization', `Token ${root_}`]],
      [['Authorization', `Bearer:${root_}`]],
      [['Authorization', `Bearer ${root_} extra`]],
      [['Authorization', `Bearer "${root_}"`]],
      [['Authorization', `Bearer token=${root_}`]],
      [['Authorization', `Basic ${btoa(`${root_}:`)}`]],
      [['Proxy-Authorization', `Bearer ${root_}`]],
      [['X-Authorization', `Bearer ${root_}`]],
      [['X-Forwarded-Authorization', `Bearer ${root_}`]],
      [['X-Auth-Token', root_]],
      [['Cookie', `token=${root_}; Authorization=Bearer ${root_}`]],
    ];
    const nobody = roles[0]!;
    const before = await state();
    for (const [, route] of changing) {
      const request = await requestOf(GUARDED_ROUTES.createToken!, nobody);
      const query = { ...request, target: `${request.target}?access_token=${root_}&token=${root_}` };
      const tries = [...places.map((headers) => withHeaders(request, ...headers)), query].map((one) => ({
        name: route.method,
        request: one,
      }));
      expect(await unexpectedResponses(tries, ({ status }) => status === 401 || status === 400)).toEqual([]);
    }
    expect(await state()).toBe(before);
  });

  it('stops working at once when it is revoked, reported or expired', async () => {
    const whoami = async (secret: string) => {
      const request = await requestOf(GUARDED_ROUTES.whoami!, {
        name: '',
        authorization: [`Bearer ${secret}`],
      });
      return (await sendRaw(port, request)).status;
    };
    const [revoked, leaked, ending] = [
      await created('revoked later', ['publish']),
      await created('leaked later', ['publish']),
      await created('ending', ['publish'], ['*'], 1),
    ];
    for (const { token } of [revoked, leaked, ending]) expect(await whoami(token)).toBe(200);
    await api('DELETE', fillPath('token', { id: revoked.id }));
    expect(await whoami(revoked.token)).toBe(401);
    await fetch(registry.url + fillPath('reportLeak', {}), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: leaked.token }),
    });
    expect(await whoami(leaked.token)).toBe(401);
    const end = Date.parse(ending.expiresAt ?? '');
    const now = offset;
    offset = end - Date.now() - 60_000;
    expect(await whoami(ending.token)).toBe(200);
    offset = end - Date.now();
    expect(await whoami(ending.token)).toBe(401);
    offset = now;
  });

  it('matches the regular expression for secret scanners', () => {
    const documented = /^\\b(krmhub_.*)\\b$/m.exec(
      readFileSync(path.join(root, 'docs/operate-tokens.md'), 'utf8'),
    )?.[1];
    const expression = new RegExp(`\\b${documented}\\b`, 'g');
    const secrets = [newSecret(), newSecret()];
    const text = `export KRMHUB_TOKEN=${secrets[0]}\ncurl -H "Authorization: Bearer ${secrets[1]}" x${newSecret()}`;
    expect(text.match(expression)).toEqual(secrets);
  });
});
