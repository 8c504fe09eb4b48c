import type { Release } from '@krmhub/api/model';
import { isAtMostAsWide, VISIBILITIES } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestRegistry, releasePath, type TestRegistry } from '../testing/test-registry.js';

const functionOf = (visibility: string) => ({
  group: `${visibility}.example.com`,
  kind: 'SetLabels',
  release: '1.0.0',
});

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry({
    // As if the catalog with this name had an upstream function.
    wrapStore: (store) => ({
      ...store,
      servedEntries: async (group, kind) => {
        const [, catalog] = /^only-in-(\w+)\.example\.net$/.exec(group) ?? [];
        const entry = { group, kind, serial: 1, versions: [], entry: sha256('') };
        return catalog === undefined ? store.servedEntries(group, kind) : [{ ...entry, catalog }];
      },
    }),
  });
  for (const visibility of VISIBILITIES) await registry.publish(functionOf(visibility), '');
  const groups = VISIBILITIES.map((one) => `  - {pattern: ${one}.example.com, visibility: ${one}}\n`).join(
    '',
  );
  const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  catalogs: [${VISIBILITIES.map((one) => `{pattern: ${one}, visibility: ${one}}`).join(', ')}]
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

it.each(VISIBILITIES.flatMap((of) => VISIBILITIES.map((by) => [of, by] as const)))(
  'readers of what is %s are told of no upstream function that is only in a catalog which is %s',
  async (of, by) => {
    const wanted = { group: `only-in-${by}.example.net`, kind: 'SetLabels' };
    const target = `${releasePath(functionOf(of))}/deprecate`;
    const { status, body } = await registry.send('POST', target, { replacement: wanted });
    const isTold = isAtMostAsWide(of, by);
    expect([status, body.detail ?? '']).toEqual([
      isTold ? 200 : 400,
      expect.stringContaining(
        isTold ? '' : `it is only in ${by} (${by}), and ${of}.example.com/SetLabels is`,
      ),
    ]);
  },
);

it('teams are told only of a private replacement that they may read', async () => {
  const own = await openTestRegistry();
  try {
    const named = (team: string) => ({ group: `${team}.example.com`, kind: 'SetLabels' });
    for (const team of ['red', 'blue']) await own.publish({ ...named(team), release: '1.0.0' });
    const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: red}, {name: blue}]
  groups:
  - {pattern: red.example.com, owner: red, visibility: private}
  - {pattern: blue.example.com, owner: blue, visibility: private}
  grants:
  - {to: {team: blue}, may: [read], in: {group: red.example.com}}
`;
    expect((await own.send('PUT', '/api/v1/access', access)).status).toBe(200);
    const path = releasePath({ ...named('red'), release: '1.0.0' });
    const replacement = named('blue');
    expect((await own.send('POST', `${path}/deprecate`, { replacement })).status).toBe(200);
    const told = async (team: string) => {
      const { secret } = await own.token({ name: team, scopes: ['read', 'yank'], team });
      const { body } = await own.send<Release>('GET', path, undefined, `Bearer ${secret}`);
      return [body.deprecated?.reason, body.deprecated?.replacement];
    };
    const all = ['use blue.example.com/SetLabels', replacement];
    expect([await told('red'), await told('blue')]).toEqual([['no reason is given', undefined], all]);
    // Whoever does not know it does not delete it with another change.
    const { secret } = await own.token({ name: 'yanker', scopes: ['yank'], team: 'red' });
    expect((await own.send('POST', `${path}/yank`, { reason: 'x' }, `Bearer ${secret}`)).status).toBe(200);
    expect(await told('blue')).toEqual(all);
  } finally {
    await own.close();
  }
});
