import type { AccessResult } from '@krmhub/api/model';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { accessText } from '../testing/access.js';
import { signedIn } from '../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const HIDING = accessText('groups: [{pattern: a.example.com, visibility: private}]');

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
  await registry.publish({ group: 'a.example.com', kind: 'SetLabels', release: '1.0.0' });
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

const apply = (query = '') => registry.send<AccessResult>('PUT', `/api/v1/access${query}`, HIDING);

it('names the catalogs that are not built since, also if nothing changes, until they are', async () => {
  const { snapshotBuilder } = registry.parts;
  expect((await apply('?dryRun=true')).body).not.toHaveProperty('behind');
  const waited = vi.spyOn(snapshotBuilder, 'waitFor').mockResolvedValue(false);
  await snapshotBuilder.pause();
  expect((await apply()).body).toMatchObject({ outcome: 'changed', behind: ['default'], behindCount: 1 });
  expect((await apply()).body).toMatchObject({ outcome: 'unchanged', behind: ['default'], behindCount: 1 });
  // No publish waits for all of them.
  expect(waited.mock.calls.every(([{ inTurn }]) => inTurn === true)).toBe(true);
  const page = await (await signedIn(registry)).text('/operate/access?applied=true');
  expect(page).toContain('1 catalog may still have what is hidden now: default');
  waited.mockRestore();
  snapshotBuilder.resume();
  expect((await apply()).body).toMatchObject({ outcome: 'unchanged', behind: [], behindCount: 0 });
});

it('answers that the document is applied, whatever fails after that', async () => {
  const { store, snapshotBuilder, access } = registry.parts;
  const failed = async () => {
    throw new Error('the database is away');
  };
  vi.spyOn(snapshotBuilder, 'waitFor').mockImplementation(failed);
  vi.spyOn(store, 'catalogsBehindAccess').mockImplementation(failed);
  const { status, body } = await apply();
  expect([status, body.outcome, body.behind]).toEqual([200, 'changed', undefined]);
  expect(access.rules.hidesAnything).toBe(true);
});
