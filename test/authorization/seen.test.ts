import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningRegistry, temporaryFolder } from '../running.js';
import { findLeaks } from './check-seen.js';
import { ACCESS, namesWith } from './seen-names.js';
import type { Viewer } from './seen-viewers.js';
import { createToken, openWorld, send, type World } from './seen-world.js';

/**
 * Every read route × everybody × every visibility, over HTTP: one process with SQLite and, in the project `replicas`, two
 * with one PostgreSQL database, which take turns.
 */

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
let world: World;
let viewers: Viewer[];

beforeAll(async () => {
  ({ registry, world, viewers } = await openWorld(folder));
});
afterAll(async () => {
  await registry.stop();
  remove();
});

/** Requests in a row, which reach every process. */
const ROUNDS = 4;

it('shows nobody what they may not see, and everybody what they may', async () => {
  const { wrong, cells } = await findLeaks(world, viewers);
  expect(wrong).toEqual([]);
  expect(cells).toBeGreaterThan(10_000);
});

it('ends a right in every process, whatever the client has from before', async () => {
  const headersOf = (name: string) => viewers.find((viewer) => viewer.name === name)!.headers;
  const { group, kind, catalog, repository } = namesWith('y');
  const issued = await world.request(`/v2/token?service=krmhub&scope=repository:${repository}:pull`, {
    headers: headersOf('granted, as Basic'),
  });
  const { token } = (await issued.json()) as { token: string };
  const pulls = { Authorization: `Bearer ${token}` };
  const reads: [target: string, headers: Record<string, string>][] = [
    [`/api/v1/functions/${group}/${kind}`, headersOf('granted')],
    [`/catalogs/${catalog}/catalog.yaml`, headersOf('granted')],
    [`/catalogs/${catalog}/functions/${group}/${kind}.yaml`, headersOf('granted, as Basic')],
    [`/functions/${group}/${kind}`, headersOf('a session of granted')],
    [`/v2/${repository}/manifests/1`, pulls],
    [`/v2/functions/${group}/${kind.toLowerCase()}/manifests/1.1.0`, headersOf('granted')],
  ];
  const statuses = async (target: string, headers: Record<string, string>) => {
    const found = new Set<number>();
    for (let round = 0; round < ROUNDS; round++) {
      const response = await world.request(target, { headers });
      await response.body?.cancel();
      found.add(response.status);
    }
    return [...found];
  };
  const known = await Promise.all(
    reads.map(async ([target, headers]) => {
      const response = await world.request(target, { headers });
      await response.body?.cancel();
      expect([target, response.status]).toEqual([target, 200]);
      const tag = response.headers.get('etag');
      return { target, headers: { ...headers, ...(tag === null ? {} : { 'If-None-Match': tag }) } };
    }),
  );
  expect(known.filter(({ headers }) => 'If-None-Match' in headers).length).toBeGreaterThan(1);
  for (const { target, headers } of known) {
    const status = 'If-None-Match' in headers ? 304 : 200;
    expect([target, await statuses(target, headers)]).toEqual([target, [status]]);
  }
  const secret = await createToken(world, { name: 'leaver', scopes: ['read'], groups: [group] });
  const leaver = { Authorization: `Bearer ${secret}` };
  expect(await statuses(reads[0]![0], leaver)).toEqual([200]);

  await send(world, 'PUT', '/api/v1/access', ACCESS.replaceAll('to: {team: granted}', 'to: {team: others}'));
  for (const { target, headers } of known)
    await expect.poll(() => statuses(target, headers), { message: target }).toEqual([404]);
  const { tokens } = (await (
    await world.request('/api/v1/tokens', { headers: { Authorization: world.admin } })
  ).json()) as { tokens: { id: string; name: string }[] };
  await send(world, 'DELETE', `/api/v1/tokens/${tokens.find(({ name }) => name === 'leaver')!.id}`);
  expect(await statuses(reads[0]![0], leaver)).toEqual([404]);
});
