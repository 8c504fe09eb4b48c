import { cpSync } from 'node:fs';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { replicasMissing } from '../replicas/missing.js';
import type { RunningRegistry } from '../running.js';
import { sharedSettings, useServers } from './servers.js';

describe.skipIf(replicasMissing)('two processes (needs PostgreSQL and versitygw)', () => {
  const servers = useServers({ postgres: true, s3: true });

  it('receive an upload together, and accept the access tokens of each other', async () => {
    const settings = { ...(await sharedSettings(servers, 'uploads')), KRMHUB_KEYS: servers.at('keys') };
    const one = await servers.start(servers.at('one'), settings);
    // The token that the first process made.
    cpSync(servers.at('one/admin.token'), servers.at('two/admin.token'));
    const two = await servers.start(servers.at('two'), settings);
    const scope = 'repository:team/tools:pull,push';
    const issued = await fetch(`${one.url}/v2/token?scope=${scope}`, {
      headers: { authorization: `Basic ${btoa(`x:${one.token}`)}` },
    });
    const { token } = (await issued.json()) as { token: string };
    const ask = (registry: RunningRegistry, method: string, target: string, body?: Uint8Array<ArrayBuffer>) =>
      fetch(registry.url + target, {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body }),
      });
    const large = new Uint8Array(9_000_000).fill(7);
    const started = await ask(one, 'POST', '/v2/team/tools/blobs/uploads/');
    const target = new URL(started.headers.get('location')!, one.url).pathname;
    const first = await ask(two, 'PATCH', target, large.subarray(0, 8_500_000));
    expect([first.status, first.headers.get('range')]).toEqual([202, '0-8499999']);
    const digest = sha256(large);
    const done = await ask(one, 'PUT', `${target}?digest=${digest}`, large.subarray(8_500_000));
    expect(done.status).toBe(201);
    const read = await fetch(`${two.url}/v2/team/tools/blobs/${digest}`);
    expect(sha256(new Uint8Array(await read.arrayBuffer()))).toBe(digest);
    expect((await ask(two, 'GET', target)).status).toBe(404);
  });
});
