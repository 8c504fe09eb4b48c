import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { serve } from '@hono/node-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { applyAccess, teamBearer } from '../../apps/registry/src/testing/access.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { finished, spawn } from '../processes.js';
import { cleanEnvironment, krmhub, temporaryFolder } from '../running.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/** Kustomizations with a script of a private function, by `krmhub build` and by kustomize with plugins. */

const { folder, remove } = temporaryFolder();
const reason = missingReason('kustomize');
let registry: TestRegistry;
let server: ReturnType<typeof serve>;
let url: string;
let token: string;

const RULES = `teams: [{name: ops}]
groups:
- {pattern: secret.example.com, owner: ops, visibility: private}
catalogs:
- {pattern: vault, visibility: private}
grants:
- {to: {team: ops}, may: [read], in: {catalog: vault}}
`;

beforeAll(async () => {
  if (reason !== undefined) return;
  registry = await openTestRegistry();
  server = serve({ fetch: registry.app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise((resolve) => server.on('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const admin = (await registry.bearer()).replace('Bearer ', '');
  const run = async (...args: string[]) => {
    const env = { KRMHUB_REGISTRY: url, KRMHUB_TOKEN: admin };
    const { code, stderr } = await krmhub(args, { cwd: folder, env });
    expect([args, code, stderr]).toEqual([args, 0, stderr]);
  };
  await run('init', 'secret.example.com/AddOwner', '--runtime', 'starlark', '--out', 'fn');
  const definition = path.join(folder, 'fn/definition.yaml');
  writeFileSync(definition, readFileSync(definition, 'utf8').replaceAll('# CHANGE:', '#'));
  await run('publish', 'fn/definition.yaml', '--release', '0.1.0');
  const recipe = path.join(folder, 'recipe.yaml');
  writeFileSync(
    recipe,
    'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: vault}\nspec:\n  sources: [{name: ours, functions: {}}]\n',
  );
  await run('catalog', 'apply', recipe);
  await registry.waitForCatalogs();
  await applyAccess(registry, RULES);
  token = (await teamBearer(registry, 'ops')).replace('Bearer ', '');
});
afterAll(async () => {
  if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  await registry?.close();
  remove();
});

/** A user with a kustomization, who may read the catalog or not. */
function user(known: boolean) {
  const home = mkdtempSync(path.join(folder, 'user-'));
  mkdirSync(path.join(home, 'app'));
  const write = (name: string, text: string) => writeFileSync(path.join(home, 'app', name), text);
  write('kustomization.yaml', 'resources: [map.yaml]\ntransformers: [owner.yaml]\n');
  write('map.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
  write(
    'owner.yaml',
    'apiVersion: secret.example.com/v1alpha1\nkind: AddOwner\nmetadata: {name: a}\nowner: platform\n',
  );
  const env = known ? { KRMHUB_REGISTRY: url, KRMHUB_TOKEN: token } : { KRMHUB_REGISTRY: url };
  return {
    krmhub: (...args: string[]) => krmhub(args, { cwd: home, env }),
    // As if the shell of the build had the token: plugins start krmhub.
    kustomize: (...args: string[]) => {
      const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
      return finished(spawn('kustomize', args, { cwd: home, env: cleanEnvironment(home, env), stdio }));
    },
    forget: () => rmSync(path.join(home, '.cache'), { recursive: true, force: true }),
  };
}

it.skipIf(reason !== undefined)(
  titleWithReason('builds with the token of the registry', reason),
  async () => {
    const stranger = await user(false).krmhub('build', 'app', '-c', `${url}/catalogs/vault`);
    expect([3, 6], stranger.stderr).toContain(stranger.code);
    const built = await user(true).krmhub('build', 'app', '-c', `${url}/catalogs/vault`);
    expect([built.code, built.stderr]).toEqual([0, built.stderr]);
    expect(built.stdout).toContain('platform');
  },
);

it.skipIf(reason !== undefined)(
  titleWithReason('runs plugins with the token of the registry', reason),
  async () => {
    const one = user(true);
    const installed = await one.krmhub('plugins', 'install', '-c', `${url}/catalogs/vault`);
    expect([installed.code, installed.stderr]).toEqual([0, installed.stderr]);
    const build = () => one.kustomize('build', 'app', '--enable-alpha-plugins');
    const first = await build();
    expect([first.code, first.stderr]).toEqual([0, first.stderr]);
    expect(first.stdout).toContain('platform');
    one.forget();
    const again = await build();
    expect([again.code, again.stdout]).toEqual([0, first.stdout]);
  },
);
