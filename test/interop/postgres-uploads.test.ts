import { cpSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, postgresMissing, startPostgres } from '../contracts/postgres.js';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { hasS3Server, S3_ENVIRONMENT, type S3Server, startS3Server } from './s3-server.js';

describe.skipIf(postgresMissing || !hasS3Server)('two processes (needs PostgreSQL and versitygw)', () => {
  const { folder, remove } = temporaryFolder();
  let database: PostgresServer;
  let server: S3Server;
  const running: RunningRegistry[] = [];
  beforeAll(async () => {
    [database, server] = [await startPostgres(), await startS3Server(folder)];
    const environment = {
      ...S3_ENVIRONMENT,
      KRMHUB_DATABASE_URL: await database.createDatabase(),
      KRMHUB_BLOB_URL: server.blobUrl('uploads'),
      KRMHUB_KEYS: path.join(folder, 'keys'),
    };
    running.push(await startRegistry(path.join(folder, 'one'), environment));
    // The token that the first process made.
    cpSync(path.join(folder, 'one', 'admin.token'), path.join(folder, 'two', 'admin.token'));
    running.push(await startRegistry(path.join(folder, 'two'), environment));
  });
  afterAll(async () => {
    for (const registry of running) await registry.stop();
    await server?.stop();
    await database?.stop();
    remove();
  });

  it('receive an upload together, and accept the access tokens of each other', async () => {
    const [one, two] = running as [RunningRegistry, RunningRegistry];
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
