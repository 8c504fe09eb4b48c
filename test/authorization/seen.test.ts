import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningRegistry, temporaryFolder } from '../running.js';
import { findLeaks } from './check-seen.js';
import type { Viewer } from './seen-viewers.js';
import { openWorld, type World } from './seen-world.js';

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

it('shows nobody what they may not see, and everybody what they may', async () => {
  const { wrong, cells } = await findLeaks(world, viewers);
  expect(wrong).toEqual([]);
  expect(cells).toBeGreaterThan(10_000);
});
