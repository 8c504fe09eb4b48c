import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type SnapshotReport, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../store/registry-store.js';
import { accessText, applyAccess } from '../testing/access.js';
import { signedIn } from '../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { catalogText, startUpstream, type TestUpstream } from '../testing/upstream-server.js';

let upstream: TestUpstream;
let registry: TestRegistry;
let file: string;
/** Called once, right before the next recipe or Access document is stored, or a catalog is restored. */
let meanwhile: () => Promise<unknown>;
const nothing = async () => undefined;

function interrupted(store: RegistryStore): RegistryStore {
  const interrupt = async () => {
    const work = meanwhile;
    meanwhile = nothing;
    await work();
  };
  return {
    ...store,
    applyRecipe: (input) => interrupt().then(() => store.applyRecipe(input)),
    applyAccess: (change) => interrupt().then(() => store.applyAccess(change)),
    restoreCatalog: (input) => interrupt().then(() => store.restoreCatalog(input)),
  };
}

beforeEach(async () => {
  meanwhile = nothing;
  upstream = await startUpstream();
  upstream.files.set('/catalog.yaml', catalogText({ One: 'one' }));
  const empty = await openTestRegistry({ start: false });
  file = path.join(empty.folder, 'credentials.json');
  await writeFile(file, '{}', { mode: 0o600 });
  await empty.parts.close();
  registry = await openTestRegistry({
    folder: empty.folder,
    wrapStore: interrupted,
    sources: { sourceAddresses: ['127.0.0.1'], sourceCredentials: file },
  });
});
afterEach(async () => {
  await registry.close();
  await upstream.close();
});

const recipeText = (name: string, url: string) =>
  `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${name}}\nspec:\n  sources:\n  - {name: theirs, catalog: {url: "${url}"}}\n`;

async function apply(name: string, url: string) {
  const { status, body } = await registry.send('PUT', `/api/v1/catalogs/${name}`, recipeText(name, url));
  return [status, body.detail];
}

const addCredentials = () =>
  writeFile(
    file,
    JSON.stringify({
      [upstream.origin]: { token: 'x' },
      'https://ghcr.example': { token: 'y' },
      'http://plain.example': { token: 'z' },
    }),
  );

it('a source with credentials needs a catalog whose readers the Access document names', async () => {
  await addCredentials();
  const url = `${upstream.origin}/catalog.yaml`;
  const refusal = (name: string) => [
    409,
    `catalog ${name}: the registry has credentials for the source theirs, and the Access document does not say who may read the catalog`,
  ];
  expect(await apply('theirs', url)).toEqual(refusal('theirs'));
  expect(await apply('images', 'oci://GHCR.example:443/team/catalog:1')).toEqual(refusal('images'));
  expect(await apply('plain', 'http://plain.example:80/catalog.yaml')).toEqual(refusal('plain'));
  expect(await registry.parts.store.catalog('theirs')).toBeUndefined();
  expect(await apply('others', 'oci://other.example/team/catalog:1')).toEqual([201, undefined]);
  await applyAccess(
    registry,
    'catalogs: [{pattern: "their*", visibility: internal}, {pattern: images, visibility: public}]',
  );
  expect(await apply('theirs', url)).toEqual([201, undefined]);
  expect(await apply('images', 'oci://ghcr.example/team/catalog:1')).toEqual([201, undefined]);
});

it.each([
  // As a parser of URLs reads them, all are of one of two hosts that the registry has credentials for.
  ...['http:///HOST/c.yaml', 'http:////HOST/c.yaml', 'HTTP://HOST/c.yaml', 'http://@HOST/c.yaml'],
  ...['http://:@HOST/c.yaml', 'http://127.1:PORT/c.yaml', 'http://0x7f000001:PORT/c.yaml'],
  ...['http://%31%32%37.0.0.1:PORT/c.yaml', 'http://2130706433:PORT/c.yaml?a=://b'],
  ...['https:///ghcr.example/c.yaml', 'https://ghcr。example/c.yaml', 'https://GHCR.example.:443/c.yaml'],
  ...['git::http:/HOST/r.git//c.yaml', 'git::http:HOST/r.git//c.yaml', 'git::http:///HOST/r.git//c.yaml'],
  ...['git::https:/ghcr.example/r.git//c.yaml', 'git::https:ghcr.example/r.git//c.yaml?ref=v1'],
  ...['git::https://ghcr.example./r.git//c.yaml', 'git::HTTPS:GHCR.example.:443/r.git//c.yaml'],
  ...['git::https://@ghcr.example/r.git//c.yaml', 'oci://GHCR.EXAMPLE/team/catalog:1'],
])('a source with credentials is refused in any spelling: %s', async (spelling) => {
  await addCredentials();
  const { host, port } = new URL(upstream.origin);
  const url = spelling.replace('HOST', host).replace('PORT', port);
  expect(await apply('theirs', url)).toEqual([409, expect.stringContaining('credentials for the source')]);
});

it('a catalog that was applied before stays, with a warning in its report', async () => {
  const url = `${upstream.origin}/catalog.yaml`;
  expect(await apply('theirs', url)).toEqual([201, undefined]);
  await registry.send('POST', '/api/v1/catalogs/theirs/cut');
  await addCredentials();
  expect(await apply('theirs', url)).toEqual([200, undefined]);
  const warnings = async () => {
    const response = await registry.request('/api/v1/catalogs/theirs/report', {
      headers: { Authorization: await registry.bearer() },
    });
    return ((await response.json()) as SnapshotReport).sources?.map(({ state, warning }) => [state, warning]);
  };
  expect(await warnings()).toEqual([
    ['current', expect.stringContaining('the registry has credentials for the source theirs')],
  ]);
  expect((await registry.request('/catalogs/theirs/catalog.yaml')).status).toBe(200);
  await applyAccess(registry, 'catalogs: [{pattern: theirs, visibility: internal}]');
  expect(await warnings()).toEqual([['current', undefined]]);
  expect((await registry.request('/catalogs/theirs/catalog.yaml')).status).toBe(404);
});

it('the rule of a catalog with such a source cannot be dropped, only replaced by another one', async () => {
  const { store, access } = registry.parts;
  // What was fetched would be in the catalog for longer than in its recipe.
  upstream.files.clear();
  await applyAccess(registry, 'catalogs: [{pattern: "their*", visibility: internal}]');
  const url = `${upstream.origin}/catalog.yaml`;
  for (const name of ['theirs', 'other']) expect(await apply(name, url)).toEqual([201, undefined]);
  await addCredentials();
  const send = async (spec: string, query = '') => {
    const { status, body } = await registry.send('PUT', `/api/v1/access${query}`, accessText(spec));
    return [status, body.detail];
  };
  const stored = await store.access();
  const refused = [
    409,
    'catalog theirs: the registry has credentials for the source theirs, and the Access document does not say who may read the catalog',
  ];
  for (const query of ['?dryRun=true', '']) expect(await send('teams: [{name: a}]', query)).toEqual(refused);
  expect(await send('catalogs: [{pattern: they, visibility: private}]')).toEqual(refused);
  expect(await store.access()).toEqual(stored);
  expect(access.rules.namesCatalog('theirs')).toBe(true);
  const browser = await signedIn(registry);
  const form = { text: accessText('teams: []'), expected: sha256(stored!.text), do: 'check' };
  const page = await browser.act('/operate/access', form);
  expect([page.status, (await page.text()).includes('does not say who may read the catalog')]).toEqual([
    409,
    true,
  ]);
  // Who may read it is said, also if it is everybody. The other catalog had no rule before either.
  expect(await send('catalogs: [{pattern: "*s", visibility: public}]')).toEqual([200, undefined]);
  expect(await send('catalogs: [{pattern: theirs, visibility: private}]')).toEqual([200, undefined]);
  await registry.send(
    'PUT',
    '/api/v1/catalogs/theirs',
    recipeText('theirs', 'oci://other.example/team/catalog:1'),
  );
  expect(await send('teams: [{name: a}]')).toEqual([200, undefined]);
});

it('a deleted catalog with such a source is not restored without a rule', async () => {
  await applyAccess(registry, 'catalogs: [{pattern: theirs, visibility: internal}]');
  await addCredentials();
  expect(await apply('theirs', `${upstream.origin}/catalog.yaml`)).toEqual([201, undefined]);
  const deleted = await registry.send('POST', '/api/v1/catalogs/theirs/delete', { reason: 'as a test' });
  expect(Object.keys(deleted.body).sort()).toEqual(['at', 'by', 'name', 'reason', 'restorableUntil']);
  await applyAccess(registry, 'teams: []');
  const restore = async () => (await registry.send('POST', '/api/v1/catalogs/theirs/restore')).status;
  expect(await restore()).toBe(409);
  expect(await registry.parts.store.catalog('theirs')).toBeUndefined();
  await applyAccess(registry, 'catalogs: [{pattern: theirs, visibility: private}]');
  expect(await restore()).toBe(200);
});

describe('what was fetched with credentials', () => {
  const RULE = 'catalogs: [{pattern: theirs, visibility: internal}]';
  const refused = [
    409,
    'catalog theirs: it, or an older snapshot, has what the registry fetched from the source theirs with credentials, and the Access document does not say who may read the catalog',
  ];
  const drop = async () => {
    const { status, body } = await registry.send('PUT', '/api/v1/access', accessText('teams: [{name: a}]'));
    return [status, body.detail];
  };
  const read = async (path: string) => {
    const response = await registry.request(`/catalogs/theirs/${path}`);
    return [response.status, (await response.text()).includes('One')];
  };

  beforeEach(async () => {
    await addCredentials();
    await applyAccess(registry, RULE);
    expect(await apply('theirs', `${upstream.origin}/catalog.yaml`)).toEqual([201, undefined]);
    await registry.send('POST', '/api/v1/catalogs/theirs/cut');
  });

  it('is not shown to others while a recipe with another URL uses the copy', async () => {
    expect(await apply('theirs', 'oci://other.example/team/catalog:1')).toEqual([200, undefined]);
    await registry.send('POST', '/api/v1/catalogs/theirs/cut');
    expect(await drop()).toEqual(refused);
    expect(await read('catalog.yaml')).toEqual([404, false]);
  });

  it('is not shown to others in an older snapshot', async () => {
    const ours = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: theirs}\nspec:\n  sources: [{name: ours, functions: {}}]\n`;
    expect((await registry.send('PUT', '/api/v1/catalogs/theirs', ours)).status).toBe(200);
    await registry.send('POST', '/api/v1/catalogs/theirs/cut');
    expect(await drop()).toEqual(refused);
    await registry.send('POST', '/api/v1/catalogs/theirs/delete', { reason: 'as a test' });
    expect(await drop()).toEqual([200, undefined]);
    const restored = await registry.send('POST', '/api/v1/catalogs/theirs/restore');
    expect([restored.status, restored.body.detail]).toEqual(refused);
    expect((await read('snapshots/1/catalog.yaml'))[1]).toBe(false);
    // Who may read it is said, also if it is everybody.
    await applyAccess(registry, RULE.replace('internal', 'public'));
    expect((await registry.send('POST', '/api/v1/catalogs/theirs/restore')).status).toBe(200);
    expect(await read('snapshots/1/catalog.yaml')).toEqual([200, true]);
  });
});

describe('what was fetched with credentials, after the older snapshots were withdrawn', () => {
  const RULE = 'catalogs: [{pattern: theirs, visibility: internal}]';
  const RELEASE = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
  const refused = [409, expect.stringContaining('with credentials, and the Access document does not say')];
  const post = async (what: string, body?: object) => {
    const { status, body: answer } = await registry.send('POST', `/api/v1/catalogs/theirs/${what}`, body);
    return [status, answer.detail];
  };
  const drop = async () => {
    const { status, body } = await registry.send('PUT', '/api/v1/access', accessText('teams: [{name: a}]'));
    return [status, body.detail];
  };
  const move = async (url: string) => {
    const text = `${recipeText('theirs', url)}  - {name: ours, functions: {}}\n`;
    expect((await registry.send('PUT', '/api/v1/catalogs/theirs', text)).status).toBeLessThan(300);
  };
  const takeDown = async () => expect((await registry.takeDown(RELEASE)).status).toBeLessThan(300);
  const states = async () =>
    (await registry.parts.store.snapshots('theirs', 10)).map(
      ({ serial, withdrawn }) => `${serial} ${withdrawn === undefined ? 'kept' : 'withdrawn'}`,
    );
  let other: TestUpstream;

  beforeEach(async () => {
    other = await startUpstream();
    await addCredentials();
    await applyAccess(registry, RULE);
    await registry.publish(RELEASE);
    await move(`${upstream.origin}/catalog.yaml`);
    expect((await post('cut'))[0]).toBe(200);
    // A public address that does not work yet.
    await move(`${other.origin}/catalog.yaml`);
  });
  afterEach(() => other.close());

  it('does not come back with a deleted catalog', async () => {
    expect((await post('delete', { reason: 'as a test' }))[0]).toBe(200);
    await takeDown();
    expect(await states()).toEqual(['1 withdrawn']);
    expect(await drop()).toEqual([200, undefined]);
    expect(await post('restore')).toEqual(refused);
    expect(await registry.parts.store.catalog('theirs')).toBeUndefined();
    await applyAccess(registry, RULE);
    expect((await post('restore'))[0]).toBe(200);
  });

  it('is not shown to others in a snapshot of a recipe with another URL', async () => {
    await takeDown();
    await post('cut');
    expect(await states()).toEqual(['2 kept', '1 withdrawn']);
    const headers = { Authorization: await registry.bearer() };
    const report = await registry.request('/catalogs/theirs/snapshots/2/report.json', { headers });
    const [reported] = ((await report.json()) as SnapshotReport).sources!;
    expect(reported).toMatchObject({ source: 'theirs', url: `${other.origin}/catalog.yaml` });
    expect(reported).not.toHaveProperty('copyUrl');
    other.files.set('/catalog.yaml', catalogText({ Two: 'two' }));
    expect((await registry.send('POST', '/api/v1/catalogs/theirs/sources/theirs/refresh')).status).toBe(200);
    const [source] = await registry.parts.store.sources('theirs');
    expect(source?.copy).toBeDefined();
    expect(source?.copy?.formerUrl).toBeUndefined();
    expect(await states()).toEqual(['3 kept', '2 kept', '1 withdrawn']);
    expect(await drop()).toEqual(refused);
    const shown = await registry.request('/catalogs/theirs/snapshots/2/catalog.yaml');
    expect([shown.status, await shown.text()]).toEqual([404, expect.not.stringContaining('One')]);
  });
});

describe('a recipe with such a source, and the rule of its catalog', () => {
  const RULE = 'catalogs: [{pattern: theirs, visibility: internal}]';
  const refused = [409, expect.stringContaining('does not say who may read the catalog')];
  const namesCatalog = () => registry.parts.access.rules.namesCatalog('theirs');
  const stored = () => registry.parts.store.catalog('theirs');
  /** As another process that has not heard of it yet. */
  const storeAccess = async (spec: string) => {
    const { store } = registry.parts;
    const by = { at: '2030-01-01T00:00:00.000Z', by: 'admin' };
    await store.applyAccess({
      ...{ text: accessText(spec), appliedAt: by.at, appliedBy: by.by },
      expectedRevision: (await store.access())?.revision ?? 0,
      event: { type: 'access.applied', ...by },
    });
  };
  let url: string;

  beforeEach(async () => {
    url = `${upstream.origin}/catalog.yaml`;
    await addCredentials();
    await applyAccess(registry, RULE);
  });

  it('are not stored if the rule is dropped meanwhile', async () => {
    meanwhile = () => applyAccess(registry, 'teams: []');
    expect(await apply('theirs', url)).toEqual(refused);
    expect([await stored(), namesCatalog()]).toEqual([undefined, false]);
  });

  it('are not stored if another process has dropped the rule', async () => {
    await storeAccess('teams: []');
    expect(await apply('theirs', url)).toEqual(refused);
    expect(await stored()).toBeUndefined();
  });

  it('stay if the recipe is applied while the rule is dropped', async () => {
    meanwhile = () => apply('theirs', url);
    const dropped = await registry.send('PUT', '/api/v1/access', accessText('teams: []'));
    expect([dropped.status, (await stored())?.name, namesCatalog()]).toEqual([503, 'theirs', true]);
    expect((await registry.send('PUT', '/api/v1/access', accessText('teams: []'))).status).toBe(409);
  });

  it('are not restored if the rule is dropped meanwhile', async () => {
    expect(await apply('theirs', url)).toEqual([201, undefined]);
    await registry.send('POST', '/api/v1/catalogs/theirs/delete', { reason: 'as a test' });
    meanwhile = () => applyAccess(registry, 'teams: []');
    const restored = await registry.send('POST', '/api/v1/catalogs/theirs/restore');
    expect([restored.status, await stored()]).toEqual([503, undefined]);
  });

  it('stay if the catalog is restored while the rule is dropped', async () => {
    expect(await apply('theirs', url)).toEqual([201, undefined]);
    await registry.send('POST', '/api/v1/catalogs/theirs/delete', { reason: 'as a test' });
    meanwhile = () => registry.send('POST', '/api/v1/catalogs/theirs/restore');
    const dropped = await registry.send('PUT', '/api/v1/access', accessText('teams: []'));
    expect([dropped.status, (await stored())?.name, namesCatalog()]).toEqual([503, 'theirs', true]);
  });

  it('do not come back if the recipe was replaced meanwhile', async () => {
    await writeFile(file, '{}', { mode: 0o600 });
    await applyAccess(registry, 'teams: []');
    expect(await apply('theirs', url)).toEqual([201, undefined]);
    const other = 'oci://other.example/team/catalog:1';
    const { catalog } = registry.parts.store;
    let reads = 0;
    registry.parts.store.catalog = async (name) => {
      const found = await catalog(name);
      if (name === 'theirs' && reads++ === 0) expect(await apply('theirs', other)).toEqual([200, undefined]);
      return found;
    };
    await addCredentials();
    expect(await apply('theirs', url)).toEqual([200, undefined]);
    expect((await stored())?.recipe).toContain('oci://other.example');
  });
});
