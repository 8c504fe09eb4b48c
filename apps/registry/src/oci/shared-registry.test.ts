import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkRegistry } from '../operate/check/check.js';
import { definitionArtifact, imageManifest, indexManifest, testClient } from '../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  type TestDefinition,
  type TestRegistry,
} from '../testing/test-registry.js';

/** Publishers that share a registry must not be able to harm each other with any permitted request. */

let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const requestStatus = async (target: string) =>
  (await client.request('GET', target, { authorization: '' })).status;

it('taking down a README leaves the same bytes of other publishers', async () => {
  const license = 'All rights reserved\n';
  const othersImage = await client.image('team/victim', 'v1', [license]);
  const definition: TestDefinition = { kind: 'Aimed', release: '1.0.0' };
  const text = definitionText(definition);
  const repository = 'functions/example.com/aimed';
  const layers = [await client.blob(repository, text), await client.blob(repository, license)];
  const put = await client.put(repository, '1.0.0', definitionArtifact(text, { readme: license }));
  expect(put.status, await put.text()).toBe(201);
  await registry.takeDown(definition);
  expect(await requestStatus(`${repository}/manifests/1.0.0`)).toBe(410);
  expect(await requestStatus(`team/victim/manifests/${othersImage}`)).toBe(200);
  expect(await requestStatus(`team/victim/manifests/v1`)).toBe(200);
  expect(await requestStatus(`team/victim/blobs/${layers[1]}`)).toBe(200);
});

it('the registry starts if the artifact of a release is gone after a takedown', async () => {
  const first: TestDefinition = { kind: 'First', release: '1.0.0' };
  const second: TestDefinition = { kind: 'Second', release: '1.0.0' };
  const [takenDown, remaining] = [definitionText(first), definitionText(second)];
  const config = 'the configuration';
  for (const [repository, readme] of [
    ['functions/example.com/second', takenDown],
    ['functions/example.com/first', config],
  ] as const) {
    const text = repository.endsWith('second') ? remaining : takenDown;
    for (const content of [text, readme, config]) await client.blob(repository, content);
    const put = await client.put(repository, '1.0.0', definitionArtifact(text, { readme }));
    expect(put.status, await put.text()).toBe(201);
  }
  await registry.takeDown(first);
  registry = await registry.reopen();
  expect(await requestStatus('functions/example.com/second/manifests/1.0.0')).toBe(200);
});

it('deleting a manifest from an index is not damage, and a backup still works', async () => {
  const child = imageManifest(['a layer']);
  const digest = await client.image('team/index', 'child', ['a layer']);
  expect((await client.put('team/index', 'v1', indexManifest([child]))).status).toBe(201);
  expect((await client.request('DELETE', `team/index/manifests/${digest}`)).status).toBe(202);
  const { healthy: whole, findings } = await checkRegistry(registry.folder, { startedAt: new Date() });
  expect([whole, findings.map(({ severity, message }) => `${severity}: ${message}`)]).toEqual([
    true,
    [`information: refers to ${digest}, which is missing in its repository`],
  ]);
});

it('concurrent uploads cannot exceed the quota of the repository', async () => {
  await registry.close();
  registry = await openTestRegistry({ config: { repositoryMebibytes: 1 } });
  const statuses = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const started = await client.request('POST', 'team/full/blobs/uploads/');
      const uploadPath = started.headers.get('location')!.slice('/v2/'.length);
      let sent = 0;
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          // Every upload starts before one of them is large.
          await new Promise((resolve) => setTimeout(resolve, 5));
          if (sent++ < 9) controller.enqueue(new Uint8Array(100_000));
          else controller.close();
        },
      });
      return (await client.request('PATCH', uploadPath, { body })).status;
    }),
  );
  expect(statuses.filter((status) => status === 202).length).toBeLessThanOrEqual(1);
  const unfinished = path.join(registry.folder, 'artifacts/unfinished');
  const sizes = await Promise.all(
    (await readdir(unfinished)).map(async (name) => (await stat(path.join(unfinished, name))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1_048_576);
});

it('only a token that names a catalog can push referrers of it', async () => {
  const speaking = imageManifest([], {
    subject: { mediaType: 'x', digest: `sha256:${'a'.repeat(64)}`, size: 1 },
  });
  const may = async (repositories: string[]) => {
    const { secret } = await registry.token({ scopes: ['push'], repositories });
    const put = await client.put('catalogs/default', `sha256-${'a'.repeat(64)}`, speaking, {
      authorization: `Bearer ${secret}`,
    });
    return put.status;
  };
  expect([await may(['*']), await may(['catalogs/other']), await may(['catalogs/*'])]).toEqual([
    403, 403, 201,
  ]);
});
