import type { SnapshotList } from '@krmhub/api/model';
import type { SnapshotReport } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createStatement, newKey, policy, signedBy, type TestKey } from '../testing/signing.js';
import { openTestRegistry, type TestRegistry, type TestResponse } from '../testing/test-registry.js';

const KIND = 'SetLabels';
let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: trusted}
spec:
  sources: [{name: ours, functions: {}}]
  policy:
    requireSignature: {policies: true}
`;
  await done(registry.send('PUT', '/api/v1/catalogs/trusted', recipe));
});
afterEach(() => registry.close());

async function done(change: Promise<TestResponse<unknown>>): Promise<void> {
  const { status, body } = await change;
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  await registry.waitForCatalogs();
}

const applyPolicies = (text: string) => done(registry.send('PUT', '/api/v1/policies', text));

function bundle(key: TestKey, release: string): Promise<Uint8Array> {
  return signedBy(key, createStatement({ kind: KIND, release }));
}

async function publish(release: string, key?: TestKey): Promise<void> {
  const bundles = key === undefined ? [] : [await bundle(key, release)];
  await done(registry.publish({ kind: KIND, release }, '', { bundles }));
}

async function attach(release: string, key: TestKey): Promise<void> {
  await done(registry.attach({ kind: KIND, release }, await bundle(key, release)));
}

async function newest(catalog: string) {
  const response = await registry.request(`/catalogs/${catalog}/snapshots`);
  return ((await response.json()) as SnapshotList).snapshots[0]!;
}

async function report(): Promise<SnapshotReport> {
  const { serial } = await newest('trusted');
  const response = await registry.request(`/catalogs/trusted/snapshots/${serial}/report.json`);
  return (await response.json()) as SnapshotReport;
}

async function catalogText(): Promise<string> {
  return (await registry.request('/catalogs/trusted/catalog.yaml')).text();
}

describe('a catalog that follows the signing policies of the registry', () => {
  it('drops a release whose signer is no longer trusted, and takes the one before', async () => {
    const [old, stolen] = [newKey(), newKey()];
    await applyPolicies(policy([old, stolen]));
    await publish('1.0.0', old);
    await publish('1.1.0', stolen);
    expect(await catalogText()).toContain('1.1.0');
    await applyPolicies(`${policy([old])}  - key: ${JSON.stringify(stolen.pem)}\n    revoked: stolen\n`);
    expect(await catalogText()).not.toContain('1.1.0');
    expect((await report()).refused).toMatchObject([
      {
        release: '1.1.0',
        reasons: [
          {
            code: 'signature',
            message: expect.stringContaining('the policy team revokes this signer: stolen'),
          },
        ],
      },
    ]);
    await applyPolicies(policy([old, stolen]));
    expect(await catalogText()).toContain('1.1.0');
  });

  it('drops an unsigned release when a policy covers it, and takes it once it is signed', async () => {
    const key = newKey();
    await publish('1.0.0');
    expect(await catalogText()).toContain(KIND);
    await applyPolicies(policy([key]));
    expect(await catalogText()).not.toContain(KIND);
    await attach('1.0.0', key);
    expect(await catalogText()).toContain(KIND);
  });

  it('does not change other catalogs', async () => {
    await publish('1.0.0');
    const before = await newest('default');
    await applyPolicies(policy([newKey()]));
    expect(await newest('default')).toEqual(before);
    expect((await newest('trusted')).functions).toBe(0);
  });

  it('is built at once when policies are applied and when a release is signed', async () => {
    const key = newKey();
    await publish('1.0.0');
    const wake = vi.spyOn(registry.parts.snapshotBuilder, 'wake');
    vi.spyOn(registry, 'waitForCatalogs').mockResolvedValue();
    await applyPolicies(policy([key]));
    expect(wake).toHaveBeenCalled();
    wake.mockClear();
    await attach('1.0.0', key);
    expect(wake).toHaveBeenCalled();
  });
});
