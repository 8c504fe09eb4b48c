import { bundleManifest, computeDigest, MEDIA_TYPES } from '@krmhub/oci';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { definitionArtifact, manifestDigest, testClient } from '../../apps/registry/src/testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  type TestRegistry,
} from '../../apps/registry/src/testing/test-registry.js';
import { GUARDED_ROUTES } from './guarded-routes.js';

/** A write can wait for long behind other changes of the same function: its token can be revoked meanwhile. */

const REPOSITORY = 'functions/example.com/setlabels';

let registry: TestRegistry;
let admin: string;
/** A token for one request; it is revoked when the request waits for a lock. */
let doomed: { id: string; secret: string };
/** Locks that requests waited for. */
let waits: number;

beforeEach(async () => {
  registry = await openTestRegistry();
  admin = (await registry.token({})).secret;
  for (const kind of ['SetLabels', 'TakeDown']) await registry.publish({ kind, release: '1.0.0' });
  await registry.waitForCatalogs();
  doomed = await registry.token({ name: 'doomed' });
  waits = 0;
  const { functionLocks: locks } = registry.parts;
  const run = locks.run.bind(locks);
  locks.run = async (of, recheck, work) => {
    waits += 1;
    // Another change has the lock first.
    const other = run(of, 'no token', async () => {
      const headers = { Authorization: `Bearer ${admin}` };
      const revoked = await registry.request(`/api/v1/tokens/${doomed.id}`, { method: 'DELETE', headers });
      expect(revoked.status).toBe(200);
    });
    const result = run(of, recheck, work);
    await other;
    return result;
  };
});
afterEach(() => registry.close());

async function expectRefusal(request: () => Promise<Response>): Promise<void> {
  const before = await registry.parts.store.lastEvent();
  const response = await request();
  expect(waits).toBe(1);
  expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('is revoked')]);
  expect(await registry.parts.store.lastEvent()).toBe(before);
}

const WAITING = [
  'publish',
  'attach',
  'applyPolicies',
  'applyAccess',
  'yank',
  'unyank',
  'deprecate',
  'undeprecate',
  'takedown',
] as const;

it.each(WAITING)('%s refuses a token that is revoked while it waits', async (name) => {
  const { method, target, body, type } = GUARDED_ROUTES[name]!;
  await expectRefusal(() =>
    registry.request(target(1, doomed.id), {
      method,
      body: body?.(1) ?? null,
      headers: { Authorization: `Bearer ${doomed.secret}`, 'Content-Type': type ?? '' },
    }),
  );
});

it('no other route of the table waits', async () => {
  for (const [name, { method, target, body, type }] of Object.entries(GUARDED_ROUTES)) {
    if (WAITING.some((one) => one === name)) continue;
    const headers = {
      Authorization: `Bearer ${admin}`,
      ...(type === undefined ? {} : { 'Content-Type': type }),
    };
    await registry.request(target(1, 'unknown'), { method, body: body?.(1) ?? null, headers });
    expect(waits, name).toBe(0);
  }
});

it('pushes and deletes of a function refuse it too', async () => {
  const text = definitionText({ kind: 'SetLabels', release: '2.0.0' });
  const artifact = definitionArtifact(text);
  const bundle = JSON.stringify({ mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json' });
  const stored = (await registry.parts.store.manifest(REPOSITORY, '1.0.0'))!;
  const pushed = bundleManifest({
    subject: { mediaType: stored.mediaType, digest: stored.digest, size: stored.size },
    bundle: { digest: computeDigest(Buffer.from(bundle)), size: bundle.length },
    predicateType: 'https://example.com/',
    created: '2030-01-02T03:04:05Z',
  });
  const client = testClient(
    () => registry,
    () => `Bearer ${doomed.secret}`,
  );
  for (const content of ['{}', text, bundle]) await client.blob(REPOSITORY, content);
  const requests = [
    () => client.put(REPOSITORY, '2.0.0', artifact),
    () =>
      client.put(REPOSITORY, pushed.digest, Buffer.from(pushed.bytes).toString(), {
        type: MEDIA_TYPES.image,
      }),
    () => client.request('DELETE', `${REPOSITORY}/manifests/${manifestDigest(artifact)}`),
  ];
  for (const request of requests) {
    await expectRefusal(request);
    doomed = await registry.token({ name: 'doomed' });
    waits = 0;
  }
});
