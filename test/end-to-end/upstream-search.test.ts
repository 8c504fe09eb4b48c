import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sampleDefinition } from '../contracts/sample-upstream.js';
import { krmhubHere } from '../run-here.js';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const GROUP = 'vendor.example.org';
const MANY = 1_200;

const { folder, remove } = temporaryFolder();
let vendor: Server;
let served: ReturnType<typeof sampleDefinition>[] = [];
let registry: RunningRegistry;
let client: RegistryClient;

beforeAll(async () => {
  vendor = createServer((_, response) => {
    const catalog = {
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'Catalog',
      metadata: { name: 'vendor' },
      spec: { krmFunctions: served },
    };
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(catalog));
  });
  await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve));
  registry = await startRegistry(path.join(folder, 'data'), { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
  client = new RegistryClient({ url: registry.url });
});
afterAll(async () => {
  await registry?.stop();
  vendor.close();
  remove();
});

const run = async (args: string[], stdin?: string) => {
  const { code, stdout, stderr } = await krmhubHere(args, {
    cwd: folder,
    env: registry.env,
    ...(stdin === undefined ? {} : { stdin }),
  });
  expect(code, stderr).toBe(0);
  return stdout;
};
const apply = (labels: string, match = '') =>
  run(
    ['catalog', 'apply', '-'],
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata:
  name: platform
  labels: {step: "${labels}"}
spec:
  sources:
  - name: vendor
    catalog: {url: "http://127.0.0.1:${(vendor.address() as AddressInfo).port}/catalog.json"}
${match}`,
  );
const total = async (query: Parameters<RegistryClient['search']>[0]) => (await client.search(query)).total;

it('finds the functions of a vendor while a snapshot contains them', async () => {
  served = Array.from({ length: MANY }, (_, at) =>
    sampleDefinition({ kind: `Many${at}`, tags: ['many', at % 2 === 0 ? 'even' : 'odd'] }),
  );
  await apply('one');
  await expect.poll(() => total({ tag: ['many'], catalog: ['platform'] }), { timeout: 300_000 }).toBe(MANY);
  expect(await total({ tag: ['even'], q: 'many' })).toBe(MANY / 2);
  const { items } = await client.search({ kind: ['Many7'] });
  expect(items).toMatchObject([{ group: GROUP, from: [{ catalog: 'platform', source: 'vendor' }] }]);
  expect(await client.function(GROUP, 'Many7')).toMatchObject({
    releases: [],
    entries: [
      {
        catalog: 'platform',
        serial: 1,
        definition: sampleDefinition({ kind: 'Many7', tags: ['many', 'odd'] }),
      },
    ],
  });
  expect(await run(['show', 'Many7'])).toContain('image v1.0.0  (from vendor in the catalog platform)');

  served = served.slice(0, 10);
  await apply('two');
  await expect.poll(() => total({ tag: ['many'] }), { timeout: 300_000 }).toBe(10);
  // Another process can be later.
  const all = async () => JSON.parse(await run(['search', '--all', '-o', 'json'])) as { total: number };
  await expect.poll(all, { timeout: 300_000 }).toMatchObject({ total: 10 });
});

it('finds the release that replaces it here, and the vendor after a takedown only if a match names its group', async () => {
  const text = path.join(fixtures, 'functions/set-namespace/1.4.2.yaml');
  const ours = readFileSync(text, 'utf8')
    .replace('group: functions.example.com', `group: ${GROUP}`)
    .replace('kind: SetNamespace', 'kind: MANY3');
  await run(['publish', '-', '--release', '1.0.0'], ours);
  expect((await client.search({ kind: ['many3'] })).items).toMatchObject([
    { kind: 'MANY3', release: '1.0.0' },
  ]);
  await run(['takedown', `${GROUP}/MANY3@1.0.0`, '--reason', 'ours was wrong', '--yes']);
  // A takedown must not give an attacker the name.
  await apply('three');
  expect((await client.search({ kind: ['many3'] })).items).toEqual([]);
  await apply('four', `    match: [{group: ${GROUP}}]\n`);
  await expect
    .poll(async () => (await client.search({ kind: ['many3'] })).items)
    .toMatchObject([{ kind: 'Many3', from: [{ catalog: 'platform', source: 'vendor' }] }]);
  await run(['fsck', '--data', path.join(folder, 'data')]);
});
