import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CreatedToken, Problem, Token, TokenList } from '@krmhub/api/model';
import type { TokenStore } from '@krmhub/catalog';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../store/registry-store.js';
import { openSqliteStore } from '../../store/sqlite/store.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { ensureAdminToken, hashSecret, newSecret } from './tokens.js';

const DAY = 86_400_000;
let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const set = { kind: 'SetLabels', release: '1.0.0' };

async function call(method: string, target: string, authorization?: string): Promise<Response> {
  return registry.request(target, {
    method,
    headers: {
      'Content-Type': 'application/yaml',
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    },
    ...(method === 'GET' ? {} : { body: definitionText(set) }),
  });
}

describe('authorization', () => {
  it('says which scope or group a token lacks', async () => {
    const lacking = async (target: string, wanted: Parameters<TestRegistry['token']>[0]) => {
      const { secret } = await registry.token(wanted);
      return ((await (await call('PUT', target, `Bearer ${secret}`)).json()) as Problem).detail;
    };
    const groups = ['other.com', '*.example.com'];
    expect(await lacking(releasePath(set), { scopes: ['yank'] })).toContain('the scope "publish"');
    expect(await lacking(releasePath(set), { scopes: ['publish'], groups })).toContain('"example.com"');
    expect(await lacking('/api/v1/catalogs/platform', { scopes: ['admin'], groups })).toContain(
      'every group',
    );
  });

  it.each([
    '/api/v1/functions/example.com%2F..%2Fother.com/SetLabels/releases/1.0.0',
    '/api/v1/functions/example.com%2fx/SetLabels/releases/1.0.0',
    '/api/v1/functions/example.com%252Fx/SetLabels/releases/1.0.0',
    '/api/v1/functions/EXAMPLE.com/SetLabels/releases/1.0.0',
    '/api/v1/functions/example.com%00/SetLabels/releases/1.0.0',
    '/api/v1/functions/example.com%0a/SetLabels/releases/1.0.0',
    '/api/v1/functions//SetLabels/releases/1.0.0',
    '/api/v1/functions/example.com//releases/1.0.0',
    '/api/v1//functions/example.com/SetLabels/releases/1.0.0',
    '/api/v1/functions/example.com/SetLabels/releases/1.0.0/',
    '/api/v1/functions/example.com/__proto__/releases/1.0.0',
    '/api/v1/functions/example.com/Set%20Labels/releases/1.0.0',
    '/api/v1/functions/example.com/SetLabels/releases/latest',
    '/api/v1/functions/example.com/SetLabels/releases/1.0.0%2fyank',
  ])('applies to every spelling of a path: %s', async (target) => {
    const { secret } = await registry.token({ scopes: ['publish'], groups: ['example.com', 'other.com'] });
    const response = await call('PUT', target, `Bearer ${secret}`);
    expect([400, 404]).toContain(response.status);
    expect((await registry.parts.store.search({ limit: 1 })).total).toBe(0);
  });

  it('permits publishing in the groups of the glob', async () => {
    const { secret } = await registry.token({ scopes: ['publish'], groups: ['example.*'] });
    expect((await call('PUT', releasePath(set), `bearer ${secret}`)).status).toBe(201);
  });

  it('reports why a token is refused, without showing it', async () => {
    const revoked = await registry.token({});
    await registry.parts.store.revokeToken(revoked.id, new Date().toISOString());
    const expiring = await registry.token({ expiresInDays: 1 });
    const reason = async (authorization: string) => {
      const response = await call('GET', '/api/v1/whoami', authorization);
      const text = await response.text();
      expect(response.status).toBe(401);
      expect(text).not.toContain(authorization.slice(7));
      return (JSON.parse(text) as Problem).detail;
    };
    expect(await reason(`Bearer ${revoked.secret}`)).toContain('revoked');
    registry.advance(DAY);
    expect(await reason(`Bearer ${expiring.secret}`)).toContain('expired');
    expect(await reason(`Bearer ${newSecret()}`)).toContain('unknown token');
    expect(await reason(`Bearer ${expiring.secret.slice(0, -1)}`)).toContain('malformed');
    expect(await reason('Basic dTpw')).toContain('expected `Bearer TOKEN`');
  });

  it('ignores tokens where none is needed', async () => {
    for (const target of ['/api/v1/functions', '/catalogs/default/snapshots', '/healthz']) {
      expect((await call('GET', target, 'Bearer nonsense')).status).toBe(200);
    }
  });

  it('keeps secrets out of the log', async () => {
    const { secret } = await registry.token({});
    await call('GET', '/api/v1/whoami', `Bearer ${secret}`);
    await call('PUT', releasePath(set), `Bearer ${secret}x`);
    // Also if a client writes it into a URL.
    await call('GET', `/${secret}`);
    await call('GET', `/api/v1/functions?q=${secret}`);
    expect(registry.logged.join('')).toContain('"path":"/krmhub_…"');
    expect(registry.logged.length).toBeGreaterThan(1);
    expect(registry.logged.join('')).not.toContain(secret);
  });

  it('records the last use, at most once a minute', async () => {
    const { secret } = await registry.token({});
    const used = async () => {
      await call('GET', '/api/v1/whoami', `Bearer ${secret}`);
      const record = await registry.parts.store.tokenByHash(hashSecret(secret));
      return record?.lastUsedAt;
    };
    const first = await used();
    expect(first).toBeDefined();
    registry.advance(30_000);
    expect(await used()).toBe(first);
    registry.advance(31_000);
    expect(await used()).not.toBe(first);
  });
});

describe('tokens', () => {
  const send = async (method: string, target: string, secret: string, body?: object) =>
    registry.request(target, {
      method,
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  it('have names that do not change a terminal or hide text', async () => {
    const { secret: admin } = await registry.token({});
    for (const name of ['a\nb', '\u001b[2J', '\u009b31m', 'a\u202eb', 'a\u200bb']) {
      const response = await send('POST', '/api/v1/tokens', admin, { name, scopes: ['publish'] });
      expect(response.status).toBe(400);
      expect(((await response.json()) as Problem).detail).toContain('name: contains a control character');
    }
    const named = await send('POST', '/api/v1/tokens', admin, { name: 'Büro 日本 CI', scopes: ['publish'] });
    expect(named.status).toBe(201);
  });

  it('are created, listed without secrets, used and revoked', async () => {
    const { secret: admin } = await registry.token({});
    const response = await send('POST', '/api/v1/tokens', admin, { name: 'ci', scopes: ['publish'] });
    expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const created = (await response.json()) as CreatedToken;
    expect(created).toMatchObject({ name: 'ci', groups: ['*'], createdBy: 'tester' });
    expect(Date.parse(created.expiresAt ?? '') - Date.parse(created.createdAt)).toBe(90 * DAY);
    const list = await (await send('GET', '/api/v1/tokens', admin)).text();
    expect((JSON.parse(list) as TokenList).tokens.map(({ id }) => id)).toContain(created.id);
    expect(list).not.toContain(created.token);
    expect((await send('GET', '/api/v1/whoami', created.token)).status).toBe(200);
    const revoked = (await (await send('DELETE', `/api/v1/tokens/${created.id}`, admin)).json()) as Token;
    expect(revoked.revokedAt).toBeDefined();
    expect((await send('GET', '/api/v1/whoami', created.token)).status).toBe(401);
    expect((await send('DELETE', '/api/v1/tokens/none', admin)).status).toBe(404);
  });

  it.each([
    {},
    { name: '', scopes: ['publish'] },
    { name: 'x', scopes: [] },
    { name: 'x', scopes: ['root'] },
    { name: 'x', scopes: ['publish'], groups: ['a b'] },
    { name: 'x', scopes: ['admin'], groups: ['example.com'] },
    { name: 'x', scopes: ['publish'], expiresInDays: 0 },
  ])('refuses %j', async (body) => {
    const { secret: admin } = await registry.token({});
    expect((await send('POST', '/api/v1/tokens', admin, body)).status).toBe(400);
  });
});

describe('a leaked token', () => {
  const report = (body: unknown) =>
    registry.request('/api/v1/tokens/report-leak', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const shownTo = async (response: Response) => {
    const headers = [...response.headers].filter(([name]) => name !== 'x-request-id');
    return { status: response.status, headers, text: await response.text() };
  };

  it('can be revoked by any client that has it, with a reason, and the first report counts', async () => {
    const leaked = await registry.token({ scopes: ['publish'] });
    expect((await report({ token: leaked.secret })).status).toBe(204);
    const stored = await registry.parts.store.tokenByHash(hashSecret(leaked.secret));
    expect(stored).toMatchObject({ id: leaked.id, revokedReason: 'reported as leaked' });
    expect((await call('PUT', releasePath(set), `Bearer ${leaked.secret}`)).status).toBe(401);
    registry.advance(DAY);
    await report({ token: leaked.secret });
    expect(await registry.parts.store.tokenByHash(hashSecret(leaked.secret))).toEqual(stored);
    const { secret: admin } = await registry.token({});
    const list = (await (await call('GET', '/api/v1/tokens', `Bearer ${admin}`)).json()) as TokenList;
    expect(list.tokens.find(({ id }) => id === leaked.id)?.revokedReason).toBe('reported as leaked');
    expect(registry.logged.join('')).toContain('reported as leaked');
    expect(registry.logged.join('')).not.toContain(leaked.secret);
  });

  it('gets the same response whether it is unknown, expired or revoked', async () => {
    const known = await registry.token({});
    const expired = await registry.token({ expiresInDays: 1 });
    registry.advance(2 * DAY);
    const responses = [];
    for (const token of [newSecret(), known.secret, known.secret, expired.secret, newSecret()]) {
      responses.push(await shownTo(await report({ token })));
    }
    for (const reply of responses) expect(reply).toEqual(responses[0]);
    expect(responses[0]).toMatchObject({ status: 204, text: '' });
  });

  it('leaves all other tokens valid', async () => {
    const leaked = await registry.token({});
    const other = await registry.token({});
    await report({ token: leaked.secret });
    expect((await call('GET', '/api/v1/whoami', `Bearer ${other.secret}`)).status).toBe(200);
  });

  it.each([{}, { token: 1 }, { token: '' }, { token: 'krmhub_x' }, { token: 'x'.repeat(201) }, []])(
    'cannot be reported with the body %j',
    async (body) => {
      expect((await report(body)).status).toBe(400);
    },
  );
});

describe('ensureAdminToken', () => {
  let folder: string;
  let file: string;
  let store: TokenStore & Pick<RegistryStore, 'close'>;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
    file = path.join(folder, 'admin.token');
    store = await openSqliteStore(path.join(folder, 'registry.db'));
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const now = new Date();
  const stored = async () => store.tokenByHash(hashSecret((await readFile(file, 'utf8')).trim()));

  it('writes a token once, readable only by its owner', async () => {
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome: 'created' });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await stored()).toMatchObject({
      scopes: ['read', 'publish', 'yank', 'push', 'audit', 'admin'],
      repositories: ['*'],
      groups: ['*'],
    });
    const text = await readFile(file, 'utf8');
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome: 'present' });
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it('writes one token if several processes start at the same time', async () => {
    const files = ['a', 'b', 'c'].map((name) => path.join(folder, name));
    const started = await Promise.all(files.map((one) => ensureAdminToken(store, one, now)));
    expect(started.map(({ outcome }) => outcome).sort()).toEqual(['created', 'present', 'present']);
    const written = files.filter((one) => existsSync(one));
    expect(written).toEqual([files[started.findIndex(({ outcome }) => outcome === 'created')]]);
    expect(await store.tokens()).toHaveLength(1);
  });

  it.each([
    ['before its token was stored', false, false, 'created'],
    ['after its token was stored', true, false, 'created'],
    ['while another process stored its token', false, true, 'present'],
  ] as const)('completes a start that was interrupted %s', async (_, isStored, others, outcome) => {
    const secret = newSecret();
    const hidden = path.join(folder, '.admin.token');
    await writeFile(hidden, `${secret}\n`, { mode: 0o600 });
    const token = { id: 'x', name: 'admin', scopes: ['admin' as const], groups: ['*'], repositories: ['*'] };
    const by = { createdAt: now.toISOString(), createdBy: 'krmhub' };
    if (isStored || others) {
      await store.createToken({ ...token, ...by }, hashSecret(isStored ? secret : newSecret()));
    }
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome });
    expect(existsSync(hidden)).toBe(false);
    expect(existsSync(file)).toBe(outcome === 'created');
    if (outcome === 'created') expect(await stored()).toMatchObject({ name: 'admin' });
    expect(await store.tokens()).toHaveLength(1);
  });

  it('leaves no file that is no token if the process ends before its token is stored', async () => {
    const ends: TokenStore = {
      ...store,
      createFirstToken: () => Promise.reject(new Error('killed')),
    };
    await expect(ensureAdminToken(ends, file, now)).rejects.toThrow('killed');
    expect(existsSync(file)).toBe(false);
    await ensureAdminToken(store, path.join(folder, 'other'), now);
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome: 'present' });
    expect(existsSync(file)).toBe(false);
  });

  it('keeps a file that several processes were given', async () => {
    const files = ['a', 'b'].map((name) => path.join(folder, name));
    const secret = newSecret();
    for (const one of files) await writeFile(one, secret);
    await Promise.all(files.map((one) => ensureAdminToken(store, one, now)));
    for (const one of files) expect(await readFile(one, 'utf8')).toBe(secret);
    expect(await store.tokens()).toHaveLength(1);
  });

  it('uses the token of a start that crashed before storing it', async () => {
    await writeFile(file, `${newSecret()}\n`);
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome: 'created' });
    expect(await stored()).toBeDefined();
  });

  it('writes another token if the file was emptied, and does not change the others', async () => {
    await ensureAdminToken(store, file, now);
    const first = await stored();
    await writeFile(file, '', { mode: 0o644 });
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome: 'created' });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const second = await stored();
    expect(second).toMatchObject({
      name: 'admin',
      scopes: ['read', 'publish', 'yank', 'push', 'audit', 'admin'],
      repositories: ['*'],
      groups: ['*'],
    });
    expect((await store.tokens()).map(({ id }) => id).sort()).toEqual([first!.id, second!.id].sort());
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome: 'present' });
  });

  it('never overwrites the file and never restores a revoked token', async () => {
    await ensureAdminToken(store, file, now);
    const text = await readFile(file, 'utf8');
    await store.revokeToken((await stored())?.id ?? '', now.toISOString());
    expect(await ensureAdminToken(store, file, now)).toEqual({
      outcome: 'blocked',
      reason: 'contains a token that is revoked',
    });
    expect(await readFile(file, 'utf8')).toBe(text);
    await rm(file);
    expect(await ensureAdminToken(store, file, now)).toEqual({ outcome: 'created' });
    await writeFile(file, 'notes');
    const all = await store.tokens();
    for (const { id } of all) await store.revokeToken(id, now.toISOString());
    expect(await ensureAdminToken(store, file, now)).toEqual({
      outcome: 'blocked',
      reason: 'does not contain a token',
    });
  });
});
