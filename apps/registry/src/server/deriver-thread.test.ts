import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CONFIG_SCHEMA } from '../routes/functions.js';
import { dataPaths } from '../store/data-folder.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import type { Derive } from '../workers/derive/derivation.js';
import { type DeriverThread, deriverThread } from './deriver-thread.js';

let registry: TestRegistry;
let thread: DeriverThread;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  const { database, blobs, artifacts, profiles } = dataPaths(registry.folder);
  const input = {
    database: { file: database },
    blobSource: { folders: { blobs, artifacts } },
    profilesFolder: profiles,
    config: {},
  };
  const log = pino({ level: 'silent' });
  thread = deriverThread(input, { log, metrics: { countStatements: () => undefined } });
});
afterAll(async () => {
  await thread.close();
  await registry.close();
});

it('derives the same bytes in its thread, and passes on errors', async () => {
  const fn = await registry.parts.store.function('example.com', 'SetLabels');
  const { release, digest } = fn!.releases[0]!;
  const definition = { group: 'example.com', kind: 'SetLabels', release, digest };
  const schema = async (derive: Derive, version: string) =>
    new TextDecoder().decode(await derive(CONFIG_SCHEMA, { definition, version }));
  const here = await schema(registry.parts.derive, 'v1');
  expect(JSON.parse(here)).toHaveProperty('properties.kind.const', 'SetLabels');
  expect(await schema(thread.derive, 'v1')).toBe(here);
  await expect(schema(thread.derive, 'v7')).rejects.toThrow('has no version v7');
});
