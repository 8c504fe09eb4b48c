import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, expect } from 'vitest';
import { type PostgresServer, startPostgres } from '../contracts/postgres.js';
import { definition, releasePath } from '../faults/workload.js';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { S3_ENVIRONMENT, type S3Server, startS3Server } from './s3-server.js';

/** The servers of a test file, and the registries in their own processes that its tests start. */
export interface Servers {
  folder: string;
  /** A path in the folder. */
  at(name: string): string;
  readonly postgres: PostgresServer;
  readonly s3: S3Server;
  start(data: string, settings?: Record<string, string>): Promise<RunningRegistry>;
  /** Expects an exit code of 0. */
  stop(registry: RunningRegistry): Promise<void>;
}

/** Starts the servers before the tests of a file, and ends them and the registries after the tests. */
export function useServers({ postgres = false, s3 = false } = {}): Servers {
  const { folder, remove } = temporaryFolder();
  const running = new Set<RunningRegistry>();
  let database: PostgresServer | undefined;
  let blobs: S3Server | undefined;
  beforeAll(async () => {
    if (postgres) database = await startPostgres();
    if (s3) blobs = await startS3Server(folder);
  });
  afterAll(async () => {
    for (const registry of running) await registry.stop();
    await blobs?.stop();
    await database?.stop();
    remove();
  });
  return {
    folder,
    at: (name) => path.join(folder, name),
    get postgres() {
      return database!;
    },
    get s3() {
      return blobs!;
    },
    async start(data, settings = {}) {
      const registry = await startRegistry(data, settings);
      running.add(registry);
      return registry;
    },
    async stop(registry) {
      running.delete(registry);
      expect(await registry.stop()).toBe(0);
    },
  };
}

/** Settings of a registry with a new database, and with blobs below a prefix. */
export async function sharedSettings(
  servers: Servers,
  prefix: string,
  endpoint?: string,
): Promise<Record<string, string>> {
  return {
    ...S3_ENVIRONMENT,
    KRMHUB_DATABASE_URL: await servers.postgres.createDatabase(),
    KRMHUB_BLOB_URL: servers.s3.blobUrl(prefix, endpoint),
  };
}

/** Sends a request as the administrator of a registry. */
export function ask(registry: RunningRegistry, target: string, init: RequestInit = {}): Promise<Response> {
  return fetch(registry.url + target, {
    ...init,
    headers: { authorization: `Bearer ${registry.token}`, ...init.headers },
  });
}

/** Publishes a release, and waits for its snapshot. `more` are lines after those of the definition. */
export function publish(
  registry: RunningRegistry,
  kind: string,
  release = '1.0.0',
  more = '',
): Promise<Response> {
  return ask(registry, `${releasePath({ kind, release })}?wait=true`, {
    method: 'PUT',
    body: definition(kind, release) + more,
    headers: { 'content-type': 'application/yaml' },
  });
}

/** Path of a pushed blob. */
export const blobPath = (bytes: Buffer) => `/v2/team/tools/blobs/${sha256(bytes)}`;

export function pushBlob(registry: RunningRegistry, bytes: Buffer): Promise<Response> {
  return ask(registry, `/v2/team/tools/blobs/uploads/?digest=${sha256(bytes)}`, {
    method: 'POST',
    body: new Uint8Array(bytes),
  });
}
