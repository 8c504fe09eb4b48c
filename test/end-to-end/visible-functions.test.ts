import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serve } from '@hono/node-server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { applyAccess, HIDDEN_SPEC, teamBearer } from '../../apps/registry/src/testing/access.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { krmhubHere } from '../run-here.js';

/** A registry with functions and catalogs that only some may read, and the command line of those, and of others. */

const root = mkdtempSync(path.join(tmpdir(), 'krmhub-visible-'));
let registry: TestRegistry;
let server: ReturnType<typeof serve>;
let url: string;
const tokens: Record<string, string> = {};
let home: string;

beforeAll(async () => {
  registry = await openTestRegistry();
  for (const group of ['open.example.com', 'inside.example.com', 'secret.example.com'])
    await registry.publish({ group, kind: 'SetLabels', release: '1.0.0' });
  for (const name of ['inner', 'vault']) {
    const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${name}}\nspec:\n  sources: [{name: ours, functions: {}}]\n`;
    await registry.send('PUT', `/api/v1/catalogs/${name}`, recipe);
  }
  await registry.waitForCatalogs();
  await applyAccess(registry, HIDDEN_SPEC);
  for (const team of ['ops', 'apps']) {
    tokens[team] = (await teamBearer(registry, team)).replace('Bearer ', '');
  }
  server = serve({ fetch: registry.app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise((resolve) => server.on('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await registry.close();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  home = mkdtempSync(path.join(root, 'user-'));
});

type Reader = 'nobody' | 'ops' | 'apps';
const READERS: Reader[] = ['nobody', 'apps', 'ops'];

/** Who may read what; everyone may read what is open. */
const VISIBLE: Record<Reader, string[]> = {
  nobody: ['open'],
  apps: ['open', 'inside'],
  ops: ['open', 'inside', 'secret'],
};
const CATALOGS: Record<Reader, string[]> = {
  nobody: ['default'],
  apps: ['default', 'inner'],
  ops: ['default', 'inner', 'vault'],
};

const run = (reader: Reader, args: readonly string[], env: Record<string, string> = {}) => {
  const own = reader === 'nobody' ? {} : { KRMHUB_TOKEN: tokens[reader]! };
  const options = { KRMHUB_REGISTRY: url, KRMHUB_CACHE: path.join(home, 'cache'), ...own, ...env };
  return krmhubHere(args, { cwd: home, env: options });
};

describe.each(READERS)('%s', (reader) => {
  it('finds and lists what it may read', async () => {
    const found = await run(reader, ['search', '-o', 'json']);
    const groups = [...found.stdout.matchAll(/"group": "(\w+)\.example\.com"/g)].map(([, group]) => group);
    expect([...new Set(groups)].sort()).toEqual([...VISIBLE[reader]].sort());
    const listed = await run(reader, ['catalog', 'list', '-o', 'json']);
    const names = [...listed.stdout.matchAll(/"name": "(default|inner|vault)"/g)].map(([, name]) => name);
    expect([...new Set(names)].sort()).toEqual(CATALOGS[reader]);
  });

  it.each(['open', 'inside', 'secret'])(
    'shows and pulls the function of %s, or does not find it',
    async (name) => {
      const mayRead = VISIBLE[reader].includes(name);
      const fn = `${name}.example.com/SetLabels`;
      for (const args of [
        ['show', fn],
        ['releases', fn],
        ['pull', `${fn}@1.0.0`, '--out', `out-${name}`],
      ]) {
        const { code, stderr } = await run(reader, args);
        expect([args, code === 0, stderr]).toEqual([args, mayRead, stderr]);
        if (!mayRead) expect([3, 6]).toContain(code);
      }
    },
  );

  it.each([
    ['default', 'open'],
    ['inner', 'inside'],
    ['vault', 'secret'],
  ])(
    'resolves through the catalog %s, whose parts are from one cache of all readers',
    async (catalog, name) => {
      const mayRead = CATALOGS[reader].includes(catalog);
      const cache = { KRMHUB_CACHE: path.join(root, 'cache') };
      for (const at of [`${url}/catalogs/${catalog}`, `${url}/catalogs/${catalog}/catalog.json`]) {
        const args = ['resolve', `${name}.example.com/v1`, 'SetLabels', '-c', at, '--runtime', 'container'];
        const { code, stderr } = await run(reader, args, cache);
        expect([args, code === 0, stderr]).toEqual([args, mayRead, stderr]);
        const offline = await run(reader, [...args, '--offline'], cache);
        expect([args, offline.code === 0, offline.stderr]).toEqual([args, mayRead, offline.stderr]);
      }
    },
  );
});

it('reads a catalog with the token in .netrc', async () => {
  const text = `machine 127.0.0.1 login anybody password ${tokens.ops}\n`;
  writeFileSync(path.join(home, '.netrc'), text, { mode: 0o600 });
  const args = ['resolve', 'secret.example.com/v1', 'SetLabels', '-c', `${url}/catalogs/vault`];
  const { code, stderr } = await run('nobody', args);
  expect([code, stderr]).toEqual([0, stderr]);
});
