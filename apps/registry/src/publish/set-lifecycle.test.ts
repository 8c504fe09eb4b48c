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

it('teams are told of no private replacement that is hidden from them', async () => {
  const own = await openTestRegistry();
  try {
    const named = (team: string) => ({ group: `${team}.example.com`, kind: 'SetLabels' });
    for (const team of ['red', 'blue', 'gray']) await own.publish({ ...named(team), release: '1.0.0' });
    const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: red}, {name: blue}, {name: gray}]
  groups:
  - {pattern: red.example.com, owner: red, visibility: private}
  - {pattern: blue.example.com, owner: blue, visibility: private}
  - {pattern: gray.example.com, owner: gray, visibility: private}
  grants:
  - {to: {team: red}, may: [read], in: {group: gray.example.com}}
`;
    expect((await own.send('PUT', '/api/v1/access', access)).status).toBe(200);
    const deprecate = (of: string, by: string) =>
      own.send('POST', `${releasePath({ ...named(of), release: '1.0.0' })}/deprecate`, {
        replacement: named(by),
      });
    const { status, body } = await deprecate('red', 'blue');
    expect([status, body.detail]).toEqual([400, expect.stringContaining('not every team that may read')]);
    // Red may read what gray may, and not the other way round.
    expect((await deprecate('gray', 'red')).status).toBe(400);
    expect((await deprecate('red', 'gray')).status).toBe(200);
  } finally {
    await own.close();
  }
});
