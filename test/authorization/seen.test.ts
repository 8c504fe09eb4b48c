import { afterAll, beforeAll, expect, it } from 'vitest';
import { hashSecret, newSecret } from '../../apps/registry/src/http/auth/tokens.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { findLeaks } from './check-seen.js';
import { fillWorld, type Viewer, type World } from './seen-world.js';

/** Every read route × everybody × every visibility, on SQLite; test/interop/seen.test.ts has PostgreSQL. */

let registry: TestRegistry;
let world: World;
let viewers: Viewer[];

beforeAll(async () => {
  registry = await openTestRegistry();
  world = {
    request: (target, init) => registry.request(target, init),
    admin: await registry.bearer(),
    async applyAccess(text) {
      const { store, access, clock } = registry.parts;
      const at = clock().toISOString();
      const event = { type: 'access.applied', at, by: 'test' } as const;
      const { revision } = (await store.access())!;
      await store.applyAccess({ text, appliedAt: at, appliedBy: 'test', expectedRevision: revision, event });
      await access.reload(store);
    },
    async createToken({ groups = ['*'], repositories = ['*'], ...wanted }) {
      const secret = newSecret();
      const [id, createdAt] = [wanted.name, registry.parts.clock().toISOString()];
      const token = { ...wanted, id, groups, repositories, createdAt, createdBy: 'test' };
      await registry.parts.store.createToken(token, hashSecret(secret));
      return secret;
    },
    settle: () => registry.waitForCatalogs(),
  };
  viewers = await fillWorld(world);
}, 300_000);
afterAll(() => registry.close());

it('shows nobody what they may not see, and everybody what they may', async () => {
  const { wrong, cells } = await findLeaks(world, viewers);
  expect(wrong).toEqual([]);
  expect(cells).toBeGreaterThan(2_000);
}, 600_000);
