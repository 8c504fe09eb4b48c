import { isAtMostAsWide, VISIBILITIES } from '@krmhub/catalog';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestRegistry, releasePath, type TestRegistry } from '../testing/test-registry.js';

const functionOf = (visibility: string) => ({
  group: `${visibility}.example.com`,
  kind: 'SetLabels',
  release: '1.0.0',
});

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  for (const visibility of VISIBILITIES) await registry.publish(functionOf(visibility), '');
  const groups = VISIBILITIES.map((one) => `  - {pattern: ${one}.example.com, visibility: ${one}}\n`).join(
    '',
  );
  const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  groups:
${groups}`;
  expect((await registry.send('PUT', '/api/v1/access', access)).status).toBe(200);
});
afterAll(() => registry.close());

it.each(VISIBILITIES.flatMap((of) => VISIBILITIES.flatMap((by) => (of === by ? [] : [[of, by] as const]))))(
  'readers of what is %s are told of no replacement that is hidden from them: %s',
  async (of, by) => {
    const { group, kind } = functionOf(by);
    const target = `${releasePath(functionOf(of))}/deprecate`;
    const { status, body } = await registry.send('POST', target, { replacement: { group, kind } });
    const isTold = isAtMostAsWide(of, by);
    expect([status, body.detail ?? '']).toEqual([
      isTold ? 200 : 400,
      expect.stringContaining(isTold ? '' : `it is ${by}, and ${of}.example.com/SetLabels is ${of}`),
    ]);
  },
);
