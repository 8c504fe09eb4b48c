import type { CatalogReleases, CatalogReleasesRequest, Problem } from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { changeKinds, compareCatalogs, oneVersion } from '@krmhub/catalog';
import type { FunctionDefinition } from '@krmhub/schema';
import { sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createStatement, newKey, policy, signedBy } from '../testing/signing.js';
import { definitionText, openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { catalogText, startUpstream } from '../testing/upstream-server.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry({ sources: { sourceAddresses: ['127.0.0.1'] } });
  await registry.waitForCatalogs();
});
afterEach(() => registry.close());

const SET_LABELS = { group: 'example.com', kind: 'SetLabels' };
type Asked = CatalogReleasesRequest['functions'][number];

const ask = (functions: Asked[], catalog = 'default') =>
  registry.send<CatalogReleases & Partial<Problem>>('POST', `/api/v1/catalogs/${catalog}/releases`, {
    functions,
  });
const changes = async (...compare: NonNullable<Asked['compare']>) =>
  (await ask([{ ...SET_LABELS, compare }])).body.functions[0]?.changes;

/** A definition with random fields, permissions, and an image of a random host. */
function randomText(random: Random, release: string): string {
  const fields = random.some(['one', 'two', 'three'], 0.6);
  const properties = fields
    .map((name) => `          ${name}: {type: string, description: A text.}\n`)
    .join('');
  const text = definitionText({ ...SET_LABELS, release, versions: random.pick([['v1'], ['v1', 'v2']]) })
    .replaceAll('        properties:\n', `        properties:\n${properties}`)
    .replaceAll('registry.example.com', random.pick(['registry.example.com', 'other.example.com']));
  return random.chance(0.4)
    ? text.replaceAll('        sha256', '        requireNetwork: true\n        sha256')
    : text;
}

describe('changes to newer releases', () => {
  it.each([1, 2, 3])('agree with the comparison of the definitions (seed %i)', async (seed) => {
    const random = new Random(seed);
    const releases = ['1.0.0', '1.1.0', '1.2.0', '2.0.0', '2.1.0'];
    const digests = new Map<string, string>();
    const definitions = new Map<string, FunctionDefinition>();
    for (const release of releases) {
      const text = randomText(random, release);
      const { status } = await registry.publish({ ...SET_LABELS, release }, '?wait=true&allowBreaking=true', {
        text,
      });
      expect(status).toBe(201);
      digests.set(release, sha256(text));
      const path = `/api/v1/functions/example.com/SetLabels/releases/${release}`;
      const { body } = await registry.send<{ definition: FunctionDefinition }>('GET', path);
      definitions.set(release, body.definition);
    }
    const kinds = (from: string, to: string) => {
      const [was, is] = [from, to].map((release) =>
        oneVersion(definitions.get(release)!, 'v1', { release, definition: sha256(digests.get(release)!) }),
      );
      return from === to ? [] : changeKinds(compareCatalogs(was!, is!));
    };
    for (const release of releases) {
      const from = digests.get(release)!;
      const found = await changes({ from, version: 'v1', range: '~1.1' });
      expect(found).toEqual([
        { from, version: 'v1', to: '2.1.0', kinds: kinds(release, '2.1.0') },
        { from, version: 'v1', to: '1.1.0', kinds: kinds(release, '1.1.0') },
      ]);
      // From the cache, and together with others.
      expect(await changes({ from, version: 'v1', range: '~1.1' }, { from, version: 'v1' })).toEqual([
        ...found!,
        found![0],
      ]);
    }
  });

  it('start from a definition or an image, and skip what is not known', async () => {
    for (const release of ['1.0.0', '1.1.0']) {
      const query = '?wait=true&allowBreaking=true';
      const text = definitionText({ ...SET_LABELS, release }).replace(' labels:', ` labels${release[2]}:`);
      await registry.publish({ ...SET_LABELS, release }, query, { text });
    }
    const image = 'registry.example.com/setlabels';
    const found = { version: 'v1', to: '1.1.0', kinds: ['breaking', 'new-field'] };
    const tag = `${image}:v1.0.0`;
    const digest = `${image}:v1.0.0@sha256:${'a'.repeat(64)}`;
    expect(await changes({ from: tag, version: 'v1' })).toEqual([{ from: tag, ...found }]);
    // Both releases have this digest: the newer one counts.
    expect(await changes({ from: digest, version: 'v1' })).toEqual([
      { from: digest, version: 'v1', to: '1.1.0', kinds: [] },
    ]);
    // An API version that it does not have.
    expect(await changes({ from: tag, version: 'v9' })).toBeUndefined();
    for (const from of ['x', sha256('x'), `${image}:v3`, `${image}@sha256:${'b'.repeat(64)}`, 'a b']) {
      expect(await changes({ from, version: 'v1', range: 'no range' })).toBeUndefined();
    }
  });

  it('name another signer', async () => {
    const keys = [newKey(), newKey()];
    expect((await registry.send('PUT', '/api/v1/policies', policy(keys))).status).toBe(200);
    for (const [at, release] of ['1.0.0', '1.1.0', '1.2.0'].entries()) {
      const definition = { ...SET_LABELS, release };
      const bundle = await signedBy(keys[at >> 1]!, createStatement(definition));
      const { status } = await registry.publish(definition, '?wait=true', { bundles: [bundle] });
      expect(status).toBe(201);
      const from = sha256(definitionText({ ...SET_LABELS, release: '1.0.0' }));
      const kinds = [[], ['patch'], ['other-signer']][at];
      expect(await changes({ from, version: 'v1' })).toMatchObject([{ to: release, kinds }]);
    }
  });

  it('are not told of functions that the reader may not see, and are bounded', async () => {
    await registry.publish({ ...SET_LABELS, release: '1.0.0' }, '?wait=true');
    const text = 'x'.repeat(REQUEST_LIMITS.maxHistoryTextLength);
    const one = { from: text, version: text, range: text };
    const refusal = async (compare: NonNullable<Asked['compare']>) => {
      const { status, body } = await ask([{ ...SET_LABELS, compare }]);
      return [status, body.detail];
    };
    const many = Array.from({ length: REQUEST_LIMITS.maxHistoryComparisons }, () => one);
    expect(await refusal(many)).toEqual([200, undefined]);
    expect(await refusal([...many, one])).toEqual([400, 'functions.0.compare: has more than 10 comparisons']);
    for (const name of ['from', 'version', 'range']) {
      expect((await refusal([{ ...one, [name]: `${text}x` }]))[0]).toBe(400);
    }
    const access = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {groups: [{pattern: example.com, visibility: private}]}
`;
    expect((await registry.send('PUT', '/api/v1/access', access)).status).toBe(200);
    const from = sha256(definitionText({ ...SET_LABELS, release: '1.0.0' }));
    const response = await registry.request('/api/v1/catalogs/default/releases', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ functions: [{ ...SET_LABELS, compare: [{ from, version: 'v1' }] }] }),
    });
    expect(await response.json()).toMatchObject({ functions: [] });
  });
});

describe('functions of upstream catalogs', () => {
  it('have no releases, but the definition of the newest snapshot', async () => {
    const upstream = await startUpstream();
    try {
      upstream.files.set('/catalog.yaml', catalogText({ Peel: 'Peels.' }));
      const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: mixed}
spec:
  sources:
  - name: ours
    functions: {}
  - name: theirs
    catalog: {url: "${upstream.origin}/catalog.yaml"}
`;
      expect((await registry.send('PUT', '/api/v1/catalogs/mixed', recipe)).status).toBe(201);
      await registry.publish({ ...SET_LABELS, release: '1.0.0' });
      await registry.waitForCatalogs();
      const peel = { group: 'up.example.com', kind: 'Peel' };
      await expect.poll(async () => (await ask([peel], 'mixed')).body.functions).toHaveLength(1);
      const { body } = await ask([SET_LABELS, peel, { ...peel, kind: 'None' }], 'mixed');
      expect(body.functions).toMatchObject([
        { ...SET_LABELS, releases: [{ release: '1.0.0' }] },
        { ...peel, releases: [], upstream: [{ version: 'v1', source: 'theirs' }] },
      ]);
      expect(body.functions[0]).not.toHaveProperty('upstream');
      const entry = await registry.request(`/catalogs/mixed/snapshots/${body.serial}/snapshot.json`);
      expect(await entry.text()).toContain(body.functions[1]!.upstream![0]!.definition);
      expect((await ask([peel])).body.functions).toEqual([]);
    } finally {
      await upstream.close();
    }
  });
});
