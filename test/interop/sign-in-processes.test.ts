import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestProvider } from '../../apps/registry/src/testing/test-provider.js';
import { query } from '../contracts/postgres.js';
import { replicasMissing } from '../replicas/missing.js';
import { type RunningRegistry, root } from '../running.js';
import { ask, sharedSettings, useServers } from './servers.js';

const PUBLIC_URL = 'http://registry.example';
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: admins, members: [{ssoGroup: platform}]}]
  grants: [{to: {team: admins}, may: [admin], in: {group: "*"}}]
`;

/** Users of an identity provider, and processes of one registry; their clocks differ, because nobody waits for minutes. */
describe.skipIf(replicasMissing)('users of several processes (needs PostgreSQL, S3)', () => {
  const servers = useServers({ postgres: true, s3: true });
  let idp: TestProvider;
  let settings: Record<string, string>;
  let first: RunningRegistry;
  beforeAll(async () => {
    idp = await TestProvider.start({ redirectUri: `${PUBLIC_URL}/sign-in/callback`, isOffline: true });
    settings = {
      ...(await sharedSettings(servers, 'sign-in')),
      KRMHUB_KEYS: servers.at('keys'),
      KRMHUB_PUBLIC_URL: PUBLIC_URL,
      KRMHUB_OIDC_ISSUER: idp.issuer,
      KRMHUB_OIDC_CLIENT_ID: idp.client.client_id,
      KRMHUB_OIDC_CLIENT_SECRET: idp.client.client_secret,
      KRMHUB_OIDC_NAME: 'Test',
    };
    first = await servers.start(servers.at('first'), settings);
    const headers = { 'content-type': 'application/yaml' };
    expect((await ask(first, '/api/v1/access', { method: 'PUT', headers, body: ACCESS })).status).toBe(200);
  });
  afterAll(() => idp.close());

  /** Starts another process of the registry, whose clock is ahead. */
  const join = (name: string, minutes = 0) => {
    mkdirSync(servers.at(name), { mode: 0o700 });
    writeFileSync(path.join(servers.at(name), 'admin.token'), first.token, { mode: 0o600 });
    return servers.start(servers.at(name), {
      ...settings,
      NODE_OPTIONS: `--import=${path.join(root, 'test/replicas/other-clock.mjs')}`,
      TEST_CLOCK_MINUTES: String(minutes),
    });
  };

  const get = (registry: RunningRegistry, target: string, cookie: string) =>
    fetch(registry.url + target, { redirect: 'manual', headers: { Cookie: cookie, Accept: 'text/html' } });

  const post = (registry: RunningRegistry, target: string, cookie: string, fields: Record<string, string>) =>
    fetch(registry.url + target, {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: cookie, Origin: PUBLIC_URL },
      body: new URLSearchParams(fields),
    });

  /** Begins to sign in at one process, and finishes at another one. */
  async function signIn(begin: RunningRegistry, finish: RunningRegistry): Promise<string> {
    const left = await get(begin, '/sign-in/test/start', '');
    const flow = left.headers.getSetCookie()[0]!.split(';')[0]!;
    const back = await idp.signIn(left.headers.get('location')!);
    const landed = await get(finish, back.pathname + back.search, flow);
    expect(landed.status).toBe(200);
    return landed.headers
      .getSetCookie()
      .map((set) => set.split(';')[0]!)
      .find((set) => set.startsWith('krmhub-user='))!;
  }

  it('refresh a session once, whichever processes are asked, and never sign its user out', async () => {
    const second = await join('second');
    const cookie = await signIn(first, second);
    expect((await get(first, '/operate', cookie)).status).toBe(200);
    idp.grants.length = 0;
    for (const round of [1, 2, 3]) {
      const pair = await Promise.all([join(`a${round}`, 2 * round), join(`b${round}`, 2 * round)]);
      const asked = Array.from({ length: 20 }, (_, at) => get(pair[at % 2]!, '/operate/users', cookie));
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      expect(statuses).toEqual(Array(20).fill(200));
      expect(idp.grants).toEqual(Array(round).fill('refresh_token'));
      for (const one of pair) await servers.stop(one);
    }
    await servers.stop(second);
  });

  it('take away the rights of a group that the user left, in every process', async () => {
    const cookie = await signIn(first, first);
    expect((await get(first, '/operate/users', cookie)).status).toBe(200);
    idp.users.set('alice', { name: 'Alice', groups: [] });
    const next = await join('left', 10);
    expect((await get(next, '/operate/users', cookie)).status).toBe(403);
    expect((await get(first, '/operate/users', cookie)).status).toBe(403);
    await servers.stop(next);
    idp.users.set('alice', { name: 'Alice', groups: ['platform'] });
  });

  it('confirm personal tokens once a minute together, and take their rights away in every process', async () => {
    const cookie = await signIn(first, first);
    const formKey = /name="formKey" value="([^"]+)"/.exec(
      await (await get(first, '/operate', cookie)).text(),
    )?.[1];
    const asked = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const login = async (): Promise<string> => {
      const body = JSON.stringify({ client: 'laptop' });
      const { code, secret } = (await (
        await fetch(`${first.url}/api/v1/login/requests`, { ...asked, body })
      ).json()) as { code: string; secret: string };
      const allowed = { formKey: formKey!, code, answer: 'allow', days: '30', wide: 'on' };
      expect((await post(first, '/login/device', cookie, allowed)).status).toBe(303);
      const taken = await fetch(`${first.url}/api/v1/login/token`, {
        ...asked,
        body: JSON.stringify({ secret }),
      });
      return ((await taken.json()) as { token: string }).token;
    };
    const tokens = [await login(), await login()];
    expect((await post(first, '/sign-out', cookie, { formKey: formKey! })).status).toBe(200);
    // The scope admin needs the group.
    const users = (registry: RunningRegistry, token: string) =>
      fetch(`${registry.url}/api/v1/users`, { headers: { Authorization: `Bearer ${token}` } });
    idp.grants.length = 0;
    const expectAll = async (pair: RunningRegistry[], status: number) => {
      const all = Array.from({ length: 20 }, (_, at) => users(pair[at % 2]!, tokens[(at >> 1) % 2]!));
      expect((await Promise.all(all)).map((response) => response.status)).toEqual(Array(20).fill(status));
    };
    const rounds: [minutes: number, groups: string[] | undefined, status: number][] = [
      ...[2, 4].map((minutes): [number, string[], number] => [minutes, ['platform'], 200]),
      [6, [], 403],
      [8, ['platform'], 200],
      [10, undefined, 401],
      [12, ['platform'], 401],
    ];
    let refreshes = 0;
    for (const [minutes, groups, status] of rounds) {
      const pair = await Promise.all([join(`p${minutes}`, minutes), join(`q${minutes}`, minutes)]);
      if (groups === undefined) idp.users.delete('alice');
      else idp.users.set('alice', { name: 'Alice', groups });
      await expectAll(pair, status);
      if (minutes < 10) expect(idp.grants).toEqual(Array(++refreshes).fill('refresh_token'));
      for (const one of pair) await servers.stop(one);
    }
    expect(idp.grants.length - refreshes).toBeLessThanOrEqual(1);
    await expectAll([first, first], 401);
    idp.users.set('alice', { name: 'Alice', groups: ['platform'] });
  });

  it('end a session that was signed out or whose user was suspended in another process', async () => {
    const second = await join('third');
    const [one, two] = [await signIn(first, first), await signIn(second, first)];
    const keyOf = async (cookie: string) =>
      /name="formKey" value="([^"]+)"/.exec(await (await get(second, '/operate', cookie)).text())?.[1] ?? '';
    expect((await post(second, '/sign-out', one, { formKey: await keyOf(one) })).status).toBe(200);
    expect((await get(first, '/operate', one)).status).toBe(303);
    expect((await get(first, '/operate', two)).status).toBe(200);
    const token = await post(second, '/sign-in', '', { token: first.token });
    const admin = token.headers.getSetCookie()[0]!.split(';')[0]!;
    const [user] = await query<{ id: string }>(settings.KRMHUB_DATABASE_URL!, 'SELECT id FROM registry_user');
    const suspended = await post(second, `/operate/users/${user!.id}/suspend`, admin, {
      formKey: await keyOf(admin),
    });
    expect(suspended.status).toBe(303);
    expect((await get(first, '/operate', two)).status).toBe(303);
    await servers.stop(second);
  });

  it('leave nothing in the database with which anybody could be signed in', async () => {
    const url = settings.KRMHUB_DATABASE_URL!;
    const rows = await query<Record<string, unknown>>(url, 'SELECT * FROM operator_session');
    for (const table of ['registry_user', 'sign_in', 'token', 'login_request'])
      rows.push(...(await query<Record<string, unknown>>(url, `SELECT * FROM ${table}`)));
    const text = JSON.stringify(rows);
    expect(text).not.toMatch(/eyJ|krmhub_[0-9a-f]{8}/);
    expect(text).not.toContain(idp.client.client_secret);
  });
});
