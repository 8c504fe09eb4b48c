import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { ApplyResult, CatalogDetail, Problem, SnapshotList } from '@krmhub/api/model';
import { DEFAULT_RECIPE_TEXT, RevisionConflict } from '@krmhub/catalog';
import { type Snapshot, type SnapshotReport, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkRegistry } from '../operate/check/check.js';
import type { RegistryStore } from '../store/registry-store.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestDefinition,
  type TestRegistry,
} from '../testing/test-registry.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const DEFAULT_YAML = '/catalogs/default/catalog.yaml';

function recipe(name: string, match: string, labels = ''): string {
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata:
  name: ${name}
${labels}spec:
  sources:
  - name: ours
    functions: {}
    match: [${match}]
`;
}

const apply = (name: string, text: string) =>
  registry.send<ApplyResult & Problem>('PUT', `/api/v1/catalogs/${name}`, text);
const post = (target: string, body?: object) => registry.send('POST', target, body);

async function read(target: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await registry.request(target, { headers, method });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

const text = async (target: string) => (await read(target)).bytes.toString();
const history = async (name = 'default') =>
  (JSON.parse(await text(`/catalogs/${name}/snapshots`)) as SnapshotList).snapshots;

describe('reading a catalog', () => {
  beforeEach(async () => {
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  });

  it('serves the bytes that the ETag names, in the requested coding', async () => {
    const plain = await read(DEFAULT_YAML);
    const digest = sha256(plain.bytes);
    expect(plain.headers.get('etag')).toBe(`"${digest}"`);
    expect(plain.headers.get('content-type')).toBe('application/yaml');
    expect(plain.headers.get('vary')).toBe('Accept-Encoding');
    expect(plain.headers.get('cache-control')).toBe('no-cache');
    const gzip = await read(DEFAULT_YAML, { 'Accept-Encoding': 'gzip' });
    expect(gzip.headers.get('etag')).toBe(`"${digest}-gzip"`);
    expect(gzip.headers.get('content-encoding')).toBe('gzip');
    expect(gunzipSync(gzip.bytes)).toEqual(plain.bytes);
    const br = await read(DEFAULT_YAML, { 'Accept-Encoding': 'gzip, br' });
    expect(br.headers.get('etag')).toBe(`"${digest}-br"`);
    expect(brotliDecompressSync(br.bytes)).toEqual(plain.bytes);
  });

  it('responds 304 to the ETag of any coding', async () => {
    const digest = sha256((await read(DEFAULT_YAML)).bytes);
    for (const tag of [`"${digest}"`, `"${digest}-gzip"`, `"x", W/"${digest}-br"`, '*']) {
      const { status, bytes } = await read(DEFAULT_YAML, { 'If-None-Match': tag, 'Accept-Encoding': 'gzip' });
      expect([status, bytes.byteLength], tag).toEqual([304, 0]);
    }
    const matched = await read(DEFAULT_YAML, { 'If-None-Match': `"${digest}-gzip"` });
    expect(matched.headers.get('etag')).toBe(`"${digest}-gzip"`);
    expect((await read(DEFAULT_YAML, { 'If-None-Match': `"${sha256('x')}"` })).status).toBe(200);
    await registry.publish({ kind: 'SetNames', release: '1.0.0' });
    expect((await read(DEFAULT_YAML, { 'If-None-Match': `"${digest}"` })).status).toBe(200);
  });

  it('links the newest and the fixed snapshot to each other', async () => {
    const newest = await read(DEFAULT_YAML);
    const [latest] = await history();
    const link = newest.headers.get('link') ?? '';
    const own = /^<([^>]+)>; rel="memento"/.exec(link)?.[1] ?? '';
    expect(own).toBe(`/catalogs/default/snapshots/${latest?.serial}/catalog.yaml`);
    const fixed = await read(own);
    expect(fixed.bytes).toEqual(newest.bytes);
    expect(fixed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(fixed.headers.get('link')).toContain(`<${DEFAULT_YAML}>; rel="latest-version"`);
    const byDigest = await read(`/catalogs/default/snapshots/${latest?.digest}/catalog.yaml`);
    expect(byDigest.bytes).toEqual(newest.bytes);
  });

  it('serves JSON, the kind of the schema, and one entry as its own catalog', async () => {
    const json = JSON.parse(await text('/catalogs/default/catalog.json'));
    expect(json).toMatchObject({ kind: 'Catalog', metadata: { name: 'default' } });
    expect(json.spec.krmFunctions).toHaveLength(1);
    expect(JSON.parse(await text('/catalogs/default/catalog.json?kind=KRMFunctionCatalog')).kind).toBe(
      'KRMFunctionCatalog',
    );
    const yaml = await text(`${DEFAULT_YAML}?kind=KRMFunctionCatalog`);
    expect(yaml).toContain('kind: KRMFunctionCatalog\n');
    await registry.publish({ kind: 'SetNames', release: '1.0.0' });
    const entry = await read('/catalogs/default/functions/example.com/SetNames.yaml');
    expect(entry.bytes.toString()).toContain('kind: SetNames');
    expect(entry.bytes.toString()).not.toContain('SetLabels');
    expect(entry.headers.get('etag')).toBe(`"${sha256(entry.bytes)}"`);
    expect((await read('/catalogs/default/functions/example.com/Nothing.yaml')).status).toBe(404);
    expect((await read('/catalogs/default/functions/example.com/SetNames')).status).toBe(404);
    expect((await read('/catalogs/default/functions/example.com/.yaml')).status).toBe(404);
  });

  it('responds 404 or 400 to unknown and invalid paths', async () => {
    for (const target of [
      '/catalogs/none/catalog.yaml',
      '/catalogs/none/snapshots',
      '/catalogs/default/snapshots/99/catalog.yaml',
      `/catalogs/default/snapshots/${sha256('x')}/snapshot.json`,
    ]) {
      expect((await read(target)).status, target).toBe(404);
    }
    for (const target of [
      '/catalogs/default/snapshots/0/catalog.yaml',
      '/catalogs/default/snapshots/-1/report.json',
      '/catalogs/default/snapshots/newest/catalog.yaml',
      '/catalogs/default/snapshots/99999999999999999999/catalog.yaml',
      `${DEFAULT_YAML}?kind=Deployment`,
      `${DEFAULT_YAML}?kind=Catalog&kind=Catalog`,
      '/catalogs/De_fault/catalog.yaml',
    ]) {
      expect((await read(target)).status, target).toBe(400);
    }
  });

  it('responds to HEAD like GET, without the bytes', async () => {
    const get = await read(DEFAULT_YAML);
    const head = await read(DEFAULT_YAML, {}, 'HEAD');
    expect([head.status, head.bytes.byteLength]).toEqual([200, 0]);
    for (const name of ['etag', 'content-type', 'link', 'content-length']) {
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    }
  });
});

describe('snapshots', () => {
  it('begin with an empty one, and a new one appears only when bytes change', async () => {
    await registry.waitForCatalogs();
    expect(await history()).toMatchObject([{ serial: 1, functions: 0 }]);
    expect(await text(DEFAULT_YAML)).toContain('krmFunctions: []');
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    // An older release of the same API version changes nothing.
    await registry.publish({ kind: 'SetLabels', release: '0.9.0' });
    await registry.waitForCatalogs();
    expect(await history()).toMatchObject([
      { serial: 2, functions: 1 },
      { serial: 1, functions: 0 },
    ]);
    expect((await post('/api/v1/catalogs/default/cut')).body).toMatchObject({
      newest: { serial: 2 },
    });
  });

  it('name the release that is selected where another one has the same bytes, and never a yanked one', async () => {
    const named = async () => {
      const [newest] = await history();
      const { entries } = JSON.parse(
        await text(`/catalogs/default/snapshots/${newest?.serial}/snapshot.json`),
      ) as Snapshot;
      return entries.flatMap(({ versions }) => versions.map(({ release }) => release));
    };
    const publishSame = (release: string) =>
      registry.send(
        'PUT',
        `${releasePath({ kind: 'SetLabels', release })}?wait=true`,
        definitionText({ kind: 'SetLabels', release: '1.0.0' }),
      );
    await publishSame('1.0.0');
    expect(await named()).toEqual(['1.0.0']);
    const before = (await read(DEFAULT_YAML)).bytes;
    await publishSame('1.1.0');
    expect(await named()).toEqual(['1.1.0']);
    expect((await read(DEFAULT_YAML)).bytes).toEqual(before);
    await post(`${releasePath({ kind: 'SetLabels', release: '1.1.0' })}/yank`, { reason: 'broken' });
    await registry.waitForCatalogs();
    expect(await named()).toEqual(['1.0.0']);
    expect((await checkRegistry(registry.folder, { startedAt: new Date() })).findings).toEqual([]);
  });

  it('name the sources of the recipe that was applied last', async () => {
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    const first = recipe('platform', '{group: example.com}');
    await apply('platform', first);
    await registry.waitForCatalogs();
    await apply('platform', first.replace('name: ours', 'name: mine'));
    await registry.waitForCatalogs();
    const [newest] = await history('platform');
    const snapshot = await text(`/catalogs/platform/snapshots/${newest?.serial}/snapshot.json`);
    expect((JSON.parse(snapshot) as Snapshot).entries[0]?.versions).toMatchObject([{ source: 'mine' }]);
  });

  it('describe their entries, the source of each, and the previous snapshot', async () => {
    await registry.publish({ kind: 'SetLabels', release: '1.0.0', versions: ['v1beta1'] });
    await registry.publish(
      { kind: 'SetLabels', release: '2.0.0', versions: ['v1'] },
      '?wait=true&allowBreaking=true',
    );
    const [newest, previous] = await history();
    const base = `/catalogs/default/snapshots/${newest?.serial}`;
    const snapshot = JSON.parse(await text(`${base}/snapshot.json`)) as Snapshot;
    expect(snapshot).toMatchObject({
      catalog: 'default',
      serial: newest?.serial,
      previous: previous?.digest,
    });
    expect(snapshot.digests['catalog.yaml']).toBe(newest?.digest);
    expect(snapshot.digests['catalog.json']).toBe(sha256((await read(`${base}/catalog.json`)).bytes));
    expect(snapshot.entries).toMatchObject([
      {
        kind: 'SetLabels',
        versions: [
          { name: 'v1', release: '2.0.0' },
          { name: 'v1beta1', release: '1.0.0' },
        ],
      },
    ]);
    await post(`${releasePath({ kind: 'SetLabels', release: '2.0.0' })}/yank`, { reason: 'broken' });
    await registry.waitForCatalogs();
    const [after] = await history();
    const report = JSON.parse(
      await text(`/catalogs/default/snapshots/${after?.serial}/report.json`),
    ) as SnapshotReport;
    expect(report.yanked).toMatchObject([{ kind: 'SetLabels', release: '2.0.0' }]);
    // What it names can become private later.
    const { headers } = await read(`/catalogs/default/snapshots/${after?.serial}/report.json`);
    expect(headers.get('cache-control')).toBe('no-cache');
  });

  it('serves old serials byte for byte', async () => {
    await apply('labelled', recipe('labelled', '{group: example.com}', '  labels: {team: "a"}\n'));
    await registry.waitForCatalogs();
    const seen = new Map<number, Buffer>();
    for (let index = 0; index < 6; index++) {
      if (index === 4)
        await apply('labelled', recipe('labelled', '{group: example.com}', '  labels: {team: "b"}\n'));
      await registry.publish({ kind: `Fn${index}`, release: '1.0.0' });
      await registry.waitForCatalogs();
      const [newest] = await history('labelled');
      seen.set(newest?.serial ?? 0, (await read('/catalogs/labelled/catalog.yaml')).bytes);
    }
    registry = await registry.reopen();
    const fresh = registry;
    for (const [serial, bytes] of seen) {
      const response = await fresh.request(`/catalogs/labelled/snapshots/${serial}/catalog.yaml`);
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes), `serial ${serial}`).toBe(true);
      const gzip = await fresh.request(`/catalogs/labelled/snapshots/${serial}/catalog.yaml`, {
        headers: { 'Accept-Encoding': 'gzip' },
      });
      const coded = Buffer.from(await gzip.arrayBuffer());
      const text = gzip.headers.get('content-encoding') === 'gzip' ? gunzipSync(coded) : coded;
      expect(text.equals(bytes)).toBe(true);
    }
  });

  it('have the same bytes on two registries that got the same releases in another order', async () => {
    const releases: TestDefinition[] = ['SetLabels', 'SetNames', 'AddOwner'].flatMap((kind) =>
      ['1.0.0', '1.1.0', '2.0.0-rc.1'].map((release, index) => ({
        kind,
        release,
        group: kind === 'AddOwner' ? 'banana.co' : 'example.com',
        versions: index === 0 ? ['v1beta1', 'v1'] : ['v1'],
      })),
    );
    const other = await openTestRegistry();
    for (const release of releases) await registry.publish(release, '?wait=true&allowBreaking=true');
    await Promise.all(releases.toReversed().map((release) => other.publish(release, '?allowBreaking=true')));
    await other.waitForCatalogs();
    for (const form of ['catalog.yaml', 'catalog.json', 'catalog.yaml?kind=KRMFunctionCatalog']) {
      const bytes = await (await other.request(`/catalogs/default/${form}`)).text();
      expect(bytes).toBe(await text(`/catalogs/default/${form}`));
    }
    await other.close();
  });
});

describe('recipes', () => {
  beforeEach(async () => {
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    await registry.publish({ kind: 'Peel', release: '1.0.0', group: 'banana.co' });
  });

  it('reports created, changed and unchanged recipes, and builds right away', async () => {
    const first = recipe('platform', '{group: example.com}');
    expect(await apply('platform', first)).toMatchObject({ status: 201, body: { outcome: 'created' } });
    expect(await apply('platform', first)).toMatchObject({ status: 200, body: { outcome: 'unchanged' } });
    await registry.waitForCatalogs();
    expect(await text('/catalogs/platform/catalog.yaml')).toContain('SetLabels');
    expect(await text('/catalogs/platform/catalog.yaml')).not.toContain('Peel');
    const second = recipe('platform', '{group: banana.co}');
    expect(await apply('platform', second)).toMatchObject({ status: 200, body: { outcome: 'changed' } });
    await post('/api/v1/catalogs/platform/cut');
    expect(await text('/catalogs/platform/catalog.yaml')).not.toContain('SetLabels');
    expect(await text('/catalogs/platform/catalog.yaml')).toContain('Peel');
    const detail = JSON.parse(await text('/api/v1/catalogs/platform')) as CatalogDetail;
    expect(detail).toMatchObject({
      name: 'platform',
      recipe: second,
      appliedBy: 'tester',
      newest: { serial: 2 },
    });
    const { body } = await registry.publish({ kind: 'Slice', release: '1.0.0', group: 'banana.co' });
    expect(body.catalogs.map(({ catalog }) => catalog).sort()).toEqual(['default', 'platform']);
  });

  it('makes a snapshot when only the labels change', async () => {
    await apply('platform', recipe('platform', '{group: example.com}'));
    await registry.waitForCatalogs();
    await apply('platform', recipe('platform', '{group: example.com}', '  labels: {team: "a"}\n'));
    await registry.waitForCatalogs();
    expect(await text('/catalogs/platform/catalog.yaml')).toContain('team: a');
    expect(await history('platform')).toHaveLength(2);
  });

  it('rejects invalid recipes, another name, and the name default', async () => {
    const broken = await apply('platform', 'kind: Recipe\n');
    expect(broken.status).toBe(422);
    expect(broken.body.diagnostics?.length).toBeGreaterThan(0);
    expect((await apply('other', recipe('platform', '{group: a.b}'))).status).toBe(422);
    expect((await apply('default', DEFAULT_RECIPE_TEXT)).status).toBe(409);
    const asText = await registry.request('/api/v1/catalogs/platform', {
      method: 'PUT',
      headers: { Authorization: await registry.bearer(), 'Content-Type': 'text/plain' },
      body: recipe('platform', '{group: a.b}'),
    });
    expect(asText.status).toBe(415);
    expect((await apply('platform', 'x'.repeat(300_000))).status).toBe(413);
    expect(JSON.parse(await text('/api/v1/catalogs')).catalogs).toHaveLength(1);
  });
});

describe('the snapshot builder', () => {
  function failing(method: keyof RegistryStore, fails: (argument: { catalog: string }) => Error | undefined) {
    return (store: RegistryStore): RegistryStore =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          if (name !== method) return value.bind(target);
          return (argument: { catalog: string }) => {
            const error = fails(argument);
            return error === undefined ? value.call(target, argument) : Promise.reject(error);
          };
        },
      });
  }

  it('builds the other catalogs when one fails, reports the failure, and retries', async () => {
    await registry.close();
    let broken = true;
    registry = await openTestRegistry({
      wrapStore: failing('commitSnapshot', ({ catalog }) =>
        broken && catalog === 'bad' ? new Error('disk gone') : undefined,
      ),
    });
    await apply('bad', recipe('bad', '{group: example.com}'));
    const { body } = await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    expect(body.catalogs.map(({ catalog }) => catalog)).toEqual(['default']);
    expect(registry.parts.snapshotBuilder.status().failing).toMatchObject([{ catalog: 'bad' }]);
    const ready = await registry.request('/readyz');
    expect([ready.status, await ready.text()]).toEqual([200, expect.stringContaining('bad')]);
    expect((await post('/api/v1/catalogs/bad/cut')).status).toBe(500);
    const early = await read('/catalogs/bad/catalog.yaml');
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
    broken = false;
    expect((await post('/api/v1/catalogs/bad/cut')).status).toBe(200);
    expect(registry.parts.snapshotBuilder.status().failing).toEqual([]);
  });

  it('plans a build again after a concurrent update', async () => {
    await registry.close();
    let conflicts = 2;
    registry = await openTestRegistry({
      wrapStore: failing('commitSnapshot', () => (conflicts-- > 0 ? new RevisionConflict() : undefined)),
    });
    await registry.waitForCatalogs();
    expect(await history()).toMatchObject([{ serial: 1 }]);
  });

  it('builds at its start what an earlier process left', async () => {
    await registry.parts.snapshotBuilder.stop();
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' }, '');
    registry = await registry.reopen();
    await registry.waitForCatalogs();
    expect(await text(DEFAULT_YAML)).toContain('SetLabels');
  });

  it('shares one build among releases that arrive meanwhile', async () => {
    await registry.waitForCatalogs();
    const kinds = Array.from({ length: 30 }, (_, index) => ({ kind: `Fn${index}`, release: '1.0.0' }));
    await Promise.all(kinds.map((one) => registry.publish(one)));
    const snapshots = await history();
    expect(snapshots[0]).toMatchObject({ functions: 30 });
    expect(snapshots.length).toBeLessThan(15);
  });
});
