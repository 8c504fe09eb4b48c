import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { OwnerList } from '@krmhub/api/owner-model';
import { proofText } from '@krmhub/catalog';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accessText } from '../../apps/registry/src/testing/access.js';
import { type NameServer, startNameServer } from '../../apps/registry/src/testing/name-server.js';
import { definitionText, releasePath } from '../../apps/registry/src/testing/test-registry.js';
import { replicasMissing } from '../replicas/missing.js';
import type { RunningRegistry } from '../running.js';
import { ask, sharedSettings, useServers } from './servers.js';

const PUBLIC_URL = 'http://registry.example';
const PATIENCE = { timeout: 60_000, interval: 20 };
const ROUNDS = 6;
const TEAMS = ['red', 'blue'];
const accessOf = (teams: readonly string[], groups = '') =>
  accessText(`teams: ${JSON.stringify(teams.map((name) => ({ name })))}\ngroups: [${groups}]`);

describe.skipIf(replicasMissing)('owners of groups in two processes (needs PostgreSQL, S3)', () => {
  const servers = useServers({ postgres: true, s3: true });
  let names: NameServer;
  let one: RunningRegistry;
  let two: RunningRegistry;
  let tokens: Record<string, string> = {};
  beforeAll(async () => {
    names = await startNameServer();
    const settings = {
      ...(await sharedSettings(servers, 'owners')),
      KRMHUB_KEYS: servers.at('keys'),
      KRMHUB_PUBLIC_URL: PUBLIC_URL,
      KRMHUB_DNS_SERVERS: names.address,
    };
    one = await servers.start(servers.at('one'), settings);
    mkdirSync(servers.at('two'), { mode: 0o700 });
    writeFileSync(path.join(servers.at('two'), 'admin.token'), one.token, { mode: 0o600 });
    two = await servers.start(servers.at('two'), settings);
  });
  afterAll(() => names.close());

  const send = (to: RunningRegistry, method: string, target: string, body?: object, token = to.token) =>
    ask(to, target, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const apply = async (to: RunningRegistry, text: string) => {
    const headers = { 'content-type': 'application/yaml' };
    return (await ask(to, '/api/v1/access', { method: 'PUT', headers, body: text })).status;
  };
  /** Has both teams, each with a token. Tokens end with their team. */
  beforeEach(async () => {
    expect(await apply(one, accessOf(TEAMS))).toBe(200);
    tokens = {};
    for (const team of TEAMS) {
      const wanted = { name: `of ${team}`, scopes: ['publish', 'yank'], team };
      const created = await send(one, 'POST', '/api/v1/tokens', wanted);
      expect(created.status).toBe(201);
      tokens[team] = ((await created.json()) as { token: string }).token;
    }
  });
  let number = 0;
  /** A new group, whose domain names these teams. */
  const provenGroup = (...teams: string[]) => {
    number += 1;
    const group = `group${number}.zone${number}.example.net`;
    prove(group, ...teams);
    return group;
  };
  const prove = (group: string, ...teams: string[]) =>
    names.records.set(
      `_krmhub.${group}`,
      teams.map((team) => proofText(PUBLIC_URL, team)),
    );
  const claim = async (to: RunningRegistry, group: string, team: string, by = team) =>
    (await send(to, 'POST', `/api/v1/owners/${group}/claim`, { team }, tokens[by])).status;
  const ownerOf = async (from: RunningRegistry, group: string) => {
    const { owners } = (await (await ask(from, '/api/v1/owners')).json()) as OwnerList;
    return owners.filter((owner) => owner.group === group).map(({ team, proof }) => `${team} ${proof}`);
  };
  const publish = async (to: RunningRegistry, group: string, team: string, release: string) => {
    const headers = { authorization: `Bearer ${tokens[team]}`, 'content-type': 'application/yaml' };
    const name = { group, kind: 'Fn', release };
    return (await ask(to, releasePath(name), { method: 'PUT', headers, body: definitionText(name) })).status;
  };
  /** Waits until both processes decide by the same owner, and returns it. */
  const agreed = async (group: string) => {
    await expect.poll(() => ownerOf(two, group), PATIENCE).toEqual(await ownerOf(one, group));
    return ownerOf(one, group);
  };

  it('are one team each, whichever claims first, and the other one cannot publish', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const group = provenGroup(...TEAMS);
      const statuses = await Promise.all([claim(one, group, 'red'), claim(two, group, 'blue')]);
      expect([...statuses].sort()).toEqual([200, 403]);
      const [winner, loser] = statuses[0] === 200 ? ['red', 'blue'] : ['blue', 'red'];
      expect(await agreed(group)).toEqual([`${winner} dns`]);
      await expect.poll(() => publish(one, group, loser!, `1.0.${round}`), PATIENCE).toBe(403);
      await expect.poll(() => publish(two, group, loser!, `1.1.${round}`), PATIENCE).toBe(403);
      expect(await publish(two, group, winner!, '2.0.0')).toBe(201);
    }
  });

  it('own groups below those of others if the domain says so, at the same time', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const group = provenGroup('red');
      const below = `below.${group}`;
      prove(below, 'blue');
      expect(await Promise.all([claim(one, group, 'red'), claim(two, below, 'blue')])).toEqual([200, 200]);
      expect([await agreed(group), await agreed(below)]).toEqual([['red dns'], ['blue dns']]);
      expect([await claim(two, below, 'red'), await claim(one, group, 'blue')]).toEqual([403, 403]);
    }
  });

  it('are those of the Access document, whatever is claimed while it is applied', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const group = provenGroup('red');
      const given = accessOf(TEAMS, `{pattern: ${group}, owner: blue}`);
      const [claimed, applied] = await Promise.all([claim(one, group, 'red'), apply(two, given)]);
      expect([applied, [200, 409].includes(claimed)]).toEqual([200, true]);
      expect(await agreed(group)).toEqual(['blue administrator']);
      expect(await claim(one, group, 'red')).toBe(409);
      await expect.poll(() => publish(two, group, 'red', '1.0.0'), PATIENCE).toBe(403);
    }
  });

  it('are no team that was removed while it claimed, and none of the same name later', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const group = provenGroup('red', 'blue');
      const [claimed, applied] = await Promise.all([
        claim(one, group, 'red'),
        apply(two, accessOf(['blue'])),
      ]);
      expect([applied, [200, 400, 401, 403].includes(claimed)]).toEqual([200, true]);
      expect(await agreed(group)).toEqual([]);
      expect(await apply(one, accessOf(TEAMS))).toBe(200);
      expect(await agreed(group)).toEqual([]);
      // Its tokens have ended too.
      expect(await claim(two, group, 'red')).toBe(401);
      expect(await claim(one, group, 'blue')).toBe(200);
      const wanted = { name: `again ${round}`, scopes: ['publish', 'yank'], team: 'red' };
      const created = await send(one, 'POST', '/api/v1/tokens', wanted);
      tokens.red = ((await created.json()) as { token: string }).token;
    }
  });

  it('are marked in both processes while their proof is missing', async () => {
    const group = provenGroup('red');
    expect(await claim(one, group, 'red')).toBe(200);
    const isMarked = async (from: RunningRegistry) => {
      const { owners } = (await (await ask(from, '/api/v1/owners')).json()) as OwnerList;
      return owners.some((owner) => owner.group === group && owner.missingSince !== undefined);
    };
    expect(await publish(one, group, 'red', '1.0.0')).toBe(201);
    const shown = async (from: RunningRegistry) =>
      (await (await ask(from, `/functions/${group}/Fn`)).text()).includes('proof missing');
    for (const isMissing of [true, false]) {
      prove(group, ...(isMissing ? [] : ['red']));
      const verify = `/api/v1/owners/${group}/verify`;
      expect((await send(one, 'POST', verify, undefined, tokens.red)).status).toBe(200);
      expect([await isMarked(one), await shown(one)]).toEqual([isMissing, isMissing]);
      await expect.poll(() => isMarked(two), PATIENCE).toBe(isMissing);
      await expect.poll(() => shown(two), PATIENCE).toBe(isMissing);
    }
  });

  it('are one team or none while a group is transferred, verified, and released at once', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const group = provenGroup('red');
      expect(await claim(one, group, 'red')).toBe(200);
      prove(group, 'blue');
      const api = `/api/v1/owners/${group}`;
      const [moved, verified, released] = await Promise.all([
        claim(two, group, 'blue', 'red'),
        send(one, 'POST', `${api}/verify`, undefined, tokens.red),
        send(round % 2 === 0 ? one : two, 'DELETE', api, undefined, tokens.red),
      ]);
      expect([200, 403]).toContain(moved);
      expect([200, 403, 404]).toContain(verified.status);
      expect([204, 403]).toContain(released.status);
      const owner = await agreed(group);
      expect([[], ['blue dns']]).toContainEqual(owner);
      // A release that succeeded before the transfer leaves a new claim of the team that the domain names.
      if (moved !== 200) expect(owner).toEqual([]);
      await expect
        .poll(() => publish(one, group, 'red', `1.0.${round}`), PATIENCE)
        .toBe(owner.length > 0 ? 403 : 201);
    }
  });
});
