import type { AuditPage, AuditRow } from '@krmhub/api/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newSecret } from '../http/auth/tokens.js';
import { SERVER_LIMITS } from '../limits.js';
import { applyAccess, HIDDEN_SPEC } from '../testing/access.js';
import { imageManifest, testClient } from '../testing/oci.js';
import { signedIn } from '../testing/operator-session.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';

const HOUR = 3_600_000;
const set = { kind: 'SetLabels', release: '1.0.0' };
const name = 'release/example.com/SetLabels@1.0.0';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

async function rows(query = ''): Promise<AuditRow[]> {
  const { status, body } = await registry.send<AuditPage>('GET', `/api/v1/audit${query}`);
  expect(status).toBe(200);
  return body.rows;
}

/** Sends a request from an address. */
async function sendFrom(address: string, secret: string | undefined, method = 'PUT'): Promise<number> {
  const headers = {
    'Content-Type': 'application/yaml',
    ...(secret === undefined ? {} : { Authorization: `Bearer ${secret}` }),
  };
  const body = method === 'GET' ? {} : { body: definitionText(set) };
  const target = method === 'GET' ? '/api/v1/tokens' : releasePath(set);
  const incoming = { socket: { remoteAddress: address }, headers };
  const init = { method, headers, ...body };
  return (await registry.app.request(`http://registry.test${target}`, init, { incoming })).status;
}

describe('the audit log', () => {
  it('is for tokens with the scope audit or admin', async () => {
    const status = async (authorization: string) =>
      (await registry.request('/api/v1/audit', { headers: { Authorization: authorization } })).status;
    const bearer = async (scopes: Parameters<TestRegistry['token']>[0]) =>
      `Bearer ${(await registry.token(scopes)).secret}`;
    expect((await registry.request('/api/v1/audit')).status).toBe(401);
    expect(await status(await bearer({ scopes: ['publish', 'yank', 'push'] }))).toBe(403);
    expect(await status(await bearer({ scopes: ['audit'], groups: ['example.com'] }))).toBe(403);
    for (const scope of ['audit', 'admin'] as const)
      expect(await status(await bearer({ scopes: [scope] }))).toBe(200);
  });

  it('has who did what from where, newest first, and no secret', async () => {
    const { secret, id } = await registry.token({ name: 'ci' });
    for (const status of [201, 200]) {
      const sent = await registry.send('PUT', releasePath(set), definitionText(set), `Bearer ${secret}`);
      expect(sent.status).toBe(status);
    }
    await registry.send('POST', `${releasePath(set)}/yank`, { reason: 'broken' });
    const [yanked, used, published] = (await rows()).filter(({ action }) => action !== 'token.create');
    expect(published).toMatchObject({
      ...{ actor: 'ci', credential: id, action: 'release.publish', object: name, outcome: 'done' },
      address: 'unknown',
    });
    expect(published?.requestId).toBeDefined();
    expect(used).toMatchObject({ actor: 'tester', action: 'token.use' });
    expect(yanked).toMatchObject({ actor: 'tester', action: 'release.yank', detail: { reason: 'broken' } });
    const all = await rows('?limit=1000');
    expect(all.filter(({ actor, action }) => actor === 'ci' && action === 'token.use')).toHaveLength(1);
    expect(all.at(-1)).toMatchObject({ sequence: 1, actor: 'krmhub', action: 'key.add' });
    expect(JSON.stringify(all)).not.toMatch(/krmhub_|[a-f0-9]{72}/);
  });

  it('is filtered, and exported as lines by Accept or format', async () => {
    await registry.publish(set);
    await registry.send('POST', `${releasePath(set)}/yank`, { reason: 'broken' });
    expect((await rows('?action=release.yank')).map(({ object }) => object)).toEqual([name]);
    expect((await rows('?object=release/example.com/&action=release')).map(({ action }) => action)).toEqual([
      'release.yank',
      'release.publish',
    ]);
    expect(await rows('?since=2999-01-01T00:00:00Z')).toEqual([]);
    const first = await registry.send<AuditPage>('GET', '/api/v1/audit?limit=2');
    const next = await registry.send<AuditPage>('GET', `/api/v1/audit?limit=2&before=${first.body.next}`);
    expect([...first.body.rows, ...next.body.rows]).toEqual(await rows('?limit=4'));
    for (const query of ['?since=yesterday', '?before=x', '?format=xml', '?outcome=maybe', '?object=']) {
      expect((await registry.send('GET', `/api/v1/audit${query}`)).status, query).toBe(400);
    }
    const all = await rows('?limit=1000');
    const lines = async (query: string, headers = {}) => {
      const authorized = { ...headers, Authorization: await registry.bearer() };
      const response = await registry.request(`/api/v1/audit${query}`, { headers: authorized });
      expect([response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([
        'application/x-ndjson',
        'no-store',
      ]);
      return (await response.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as AuditRow);
    };
    expect(await lines('?format=jsonl')).toEqual(all);
    expect(await lines('', { Accept: 'application/x-ndjson' })).toEqual(all);
  });

  it('has requested builds, pushes, and sessions of operators', async () => {
    await registry.waitForCatalogs();
    expect((await registry.send('POST', '/api/v1/catalogs/default/cut')).status).toBe(200);
    const client = testClient(() => registry);
    for (const blob of ['layer', '{}']) await client.blob('team/app', blob);
    expect((await client.put('team/app', 'v1', imageManifest(['layer']))).status).toBe(201);
    expect((await client.request('DELETE', 'team/app/manifests/v1')).status).toBe(202);
    const browser = await signedIn(registry);
    await browser.act('/sign-out');
    const found = (await rows()).filter(({ action }) => !action.startsWith('token.'));
    expect(found.slice(0, 5).map(({ action, object }) => `${action} ${object}`)).toEqual([
      'operator.sign-out operate',
      'operator.sign-in operate',
      'artifact.untag repository/team/app:v1',
      'artifact.push repository/team/app:v1',
      'catalog.build catalog/default',
    ]);
    for (const { credential, requestId } of found.slice(0, 5)) {
      expect([typeof credential, typeof requestId]).toEqual(['string', 'string']);
    }
  });
});

describe('a refused request', () => {
  it('of a known token has a row, and the request log names the token', async () => {
    const { secret, id } = await registry.token({ name: 'ci', scopes: ['yank'] });
    const revoked = await registry.token({ name: 'old' });
    await registry.parts.store.revokeToken(revoked.id, new Date().toISOString());
    expect(await sendFrom('192.0.2.7', secret)).toBe(403);
    expect(await sendFrom('192.0.2.7', secret, 'GET')).toBe(403);
    expect(await sendFrom('192.0.2.8', revoked.secret)).toBe(401);
    const refused = await rows('?outcome=refused');
    expect(refused).toMatchObject([
      { actor: 'old', credential: revoked.id, action: 'release.publish', address: '192.0.2.8' },
      { actor: 'ci', credential: id, action: 'request.refuse', object: 'GET /api/v1/tokens' },
      { actor: 'ci', action: 'release.publish', object: name, detail: { status: 403 } },
    ]);
    expect(refused[0]?.detail).toEqual({ status: 401, reason: 'the token "old" is revoked' });
    const logged = registry.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(logged.map(({ actor }) => actor?.name).slice(0, 3)).toEqual(['ci', 'ci', 'old']);
    expect(logged[0].actor).toEqual({ id, name: 'ci' });
  });

  it('that has a token in its path, or in a text, has a row without it', async () => {
    const { secret } = await registry.token({ name: 'ci', scopes: ['read'] });
    const other = newSecret();
    const refused = await registry.send(
      'DELETE',
      `/v2/team/x/manifests/${other}`,
      undefined,
      `Bearer ${secret}`,
    );
    expect(refused.status).toBe(403);
    await registry.publish(set);
    await registry.send('POST', `${releasePath(set)}/yank`, { reason: `it contains ${other}` });
    const all = await rows('?limit=1000');
    expect(all.map(({ object }) => object)).toContain('repository/team/x:krmhub_…');
    const yanked = all.find(({ action }) => action === 'release.yank');
    expect(yanked?.detail?.reason).toBe('it contains krmhub_…');
    expect(JSON.stringify(all)).not.toContain(other.slice(-64));
  });

  it('has a row if it changes what the token may not see, or what does not exist', async () => {
    await registry.publish({ ...set, group: 'secret.example.com' });
    const recipe = (catalog: string) =>
      `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${catalog}}\nspec:\n  sources: [{name: ours, functions: {}}]\n`;
    await registry.send('PUT', '/api/v1/catalogs/vault', recipe('vault'));
    await applyAccess(registry, HIDDEN_SPEC);
    const rights = { team: 'apps', repositories: ['catalogs/*'] };
    const { secret } = await registry.token({ name: 'ci', scopes: ['push', 'yank'], ...rights });
    const change = async (catalog: string, group: string, authorization?: string) => {
      const sent = [
        await registry.send('POST', `/v2/catalogs/${catalog}/blobs/uploads/`, undefined, authorization),
        await registry.send('DELETE', `/v2/catalogs/${catalog}/manifests/1`, undefined, authorization),
        await registry.send('POST', `${releasePath({ ...set, group })}/yank`, { reason: 'x' }, authorization),
      ];
      return sent.map(({ status }) => status);
    };
    const refused = async () =>
      (await rows('?outcome=refused')).map(({ action, object, detail }) => [action, object, detail?.status]);
    for (const [catalog, group] of [
      ['vault', 'secret.example.com'],
      ['absent', 'absent.example.com'],
    ] as const) {
      expect(await change(catalog, group, `Bearer ${secret}`)).toEqual([404, 404, 404]);
      expect((await refused()).slice(0, 3)).toEqual([
        ['release.yank', `release/${group}/SetLabels@1.0.0`, 404],
        ['artifact.untag', `repository/catalogs/${catalog}:1`, 404],
        ['artifact.push', `repository/catalogs/${catalog}`, 404],
      ]);
    }
    const before = await refused();
    expect(await change('absent', 'absent.example.com')).toEqual([404, 404, 404]);
    expect(await refused()).toEqual(before);
  });

  it('has no row if only the release of what the token may read is wrong', async () => {
    const [open, secret] = ['example.com', 'secret.example.com'];
    for (const group of [open, secret]) await registry.publish({ ...set, group });
    await applyAccess(registry, HIDDEN_SPEC);
    const browser = await signedIn(registry, { scopes: ['yank'], team: 'apps' });
    const yank = async (group: string) => {
      const target = `${releasePath({ ...set, group, release: '9.9.9' })}/yank`;
      const sent = await registry.send('POST', target, { reason: 'x' }, `Bearer ${browser.secret}`);
      const page = `/operate/releases/${group}/SetLabels/9.9.9`;
      return [sent.status, (await browser.act(page, { do: 'yank', reason: 'x' })).status];
    };
    const groups = [open, secret, 'absent.example.com'];
    for (const group of groups) expect(await yank(group), group).toEqual([404, 404]);
    const refused = (await rows('?outcome=refused')).map(({ object }) => object);
    expect(groups.map((group) => refused.filter((one) => one.includes(`/${group}/`)).length)).toEqual([
      0, 2, 2,
    ]);
  });

  it('of a token has a limited number of rows in an hour, then a count', async () => {
    const { secret } = await registry.token({ name: 'ci', scopes: ['yank'] });
    const limit = SERVER_LIMITS.recordedRefusalsPerHour;
    for (let count = 0; count < limit + 5; count += 1) await sendFrom('192.0.2.7', secret);
    expect(await rows('?outcome=refused')).toHaveLength(limit);
    registry.advance(HOUR);
    await sendFrom('192.0.2.7', secret);
    const [one, counted, ...others] = await rows('?outcome=refused');
    expect(others).toHaveLength(limit);
    expect(one).toMatchObject({ actor: 'ci', action: 'release.publish' });
    expect(counted).toMatchObject({ actor: 'ci', action: 'request.refuse', detail: { count: 5 } });
  });

  it('without a known token is counted by network, and so are networks above a limit', async () => {
    for (const address of [
      '192.0.2.7',
      '192.0.2.8',
      '198.51.100.1',
      '2001:db8:1:2::3',
      '2001:db8:1:ffff::3',
    ]) {
      expect(await sendFrom(address, undefined)).toBe(401);
      expect(await sendFrom(address, newSecret())).toBe(401);
      expect(await sendFrom(address, undefined, 'GET')).toBe(401);
    }
    const networks = SERVER_LIMITS.maxCountedRefusals + 10;
    for (let count = 0; count < networks; count += 1) {
      await sendFrom(`10.${Math.floor(count / 256)}.${count % 256}.1`, undefined);
    }
    expect(await rows('?outcome=refused')).toEqual([]);
    await registry.parts.refusals.stop();
    const refused = await rows('?outcome=refused&limit=1000');
    const counts = new Map(refused.map(({ address, detail }) => [address, detail?.count]));
    expect(counts.get('192.0.2.0/24')).toBe(4);
    expect(counts.get('198.51.100.0/24')).toBe(2);
    expect(counts.get('2001:db8:1::/48')).toBe(4);
    expect(refused).toHaveLength(SERVER_LIMITS.maxCountedRefusals + 1);
    expect(counts.get(undefined)).toBe(networks - (SERVER_LIMITS.maxCountedRefusals - 3));
    expect(new Set(refused.map(({ actor }) => actor))).toEqual(new Set(['anonymous']));
  });
});

describe('the keeper of the audit log', () => {
  it('deletes old rows, and logs the head', async () => {
    await registry.close();
    registry = await openTestRegistry({ config: { auditDays: 10 } });
    const { auditKeeper, store } = registry.parts;
    await rows();
    await auditKeeper.run();
    const before = await rows('?limit=1000');
    registry.advance(240 * HOUR + 1_000);
    await registry.send('GET', '/api/v1/whoami');
    await auditKeeper.run();
    const [pruned, ...others] = await rows('?limit=1000');
    const { sequence: through, hash } = before[0]!;
    expect(pruned).toMatchObject({ action: 'audit.prune', detail: { through, hash } });
    expect(others.map(({ action }) => action)).toEqual(['token.use']);
    const logged = registry.logged.map((line) => JSON.parse(line));
    const heads = logged.filter(({ msg }) => msg === 'head of the audit log');
    expect(heads).toMatchObject([before[0], await store.auditHead()].map((one) => ({ hash: one?.hash })));
  });
});
