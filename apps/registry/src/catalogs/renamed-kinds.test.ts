import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fillPath } from '@krmhub/api/paths';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { openTestRegistry } from '../testing/test-registry.js';
import { catalogText } from '../testing/upstream-server.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-renamed-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('serves each function once after kinds changed their letter case, however many', async () => {
  const numbers = Array.from({ length: SERVER_LIMITS.buildBatch * 0.6 }, (_, index) => index);
  // One more name, so that pairs of names begin at odd and even positions.
  const kinds = (letter: string, text: string) =>
    ['Aa', ...numbers.map((one) => `X${letter}${one}`)].map((kind) => [kind, text]);
  const write = (entries: string[][]) =>
    writeFile(path.join(folder, 'theirs.yaml'), catalogText(Object.fromEntries(entries)));
  await write(kinds('a', 'before'));
  const registry = await openTestRegistry({ sources: { sourceFolder: folder } });
  try {
    const { secret } = await registry.token({});
    const call = async (method: string, target: string, body?: string) => {
      const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/yaml' };
      const response = await registry.request(target, { method, headers, ...(body && { body }) });
      expect(response.status, await response.clone().text()).toBeLessThan(300);
      return response.text();
    };
    await call(
      'PUT',
      fillPath('catalog', { name: 'ours' }),
      `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: theirs, catalog: {url: 'file:theirs.yaml'}}]}
`,
    );
    await call('POST', fillPath('cut', { name: 'ours' }));
    await write(kinds('A', 'after'));
    await call('POST', fillPath('refreshSource', { name: 'ours', source: 'theirs' }));
    await registry.waitForCatalogs();
    const text = await call('GET', '/catalogs/ours/catalog.yaml');
    const served = [...text.matchAll(/^\s+(?:kind|names: \{kind): (X\S+?)\}?$/gm)].map(([, kind]) => kind);
    expect(served.sort()).toEqual(numbers.map((one) => `XA${one}`).sort());
  } finally {
    await registry.close();
  }
});
