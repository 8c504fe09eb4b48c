import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FACET_NAMES } from '@krmhub/schema/facets';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestRegistry, testRegistry } from '../../apps/cli/src/testing/command-line.js';
import { writeKeyFiles } from '../../apps/cli/src/testing/key-files.js';
import { type RecordingProxy, recordingProxy } from '../../apps/cli/src/testing/recording-proxy.js';
import { krmhubHere } from '../run-here.js';

/**
 * A registry whose function and catalog are private, as its clients see it: a proxy answers 401 for the API and for
 * OCI, and 404 for files, to a reader without the token, whose lists are empty.
 */

const root = mkdtempSync(path.join(tmpdir(), 'krmhub-private-'));
let registry: TestRegistry;
let proxy: RecordingProxy;
/** What was sent a token that did not need it. */
const needless: string[] = [];
let home = root;

const isPrivate = (target: string) => /AddSecret|add-secret|\/catalogs\/default\b/i.test(target);
const isList = (target: string) =>
  /^\/api\/v1\/(?:functions|catalogs|sources|events|revocations)(?:\?|$)/.test(target);

/** Bearer tokens for OCI are those of the token service of the registry. */
function mayRead(authorization: string, target: string): boolean {
  const [scheme, value = ''] = authorization.split(' ');
  const secret = scheme === 'Basic' ? Buffer.from(value, 'base64').toString('utf8') : value;
  return secret.includes(registry.token) || (target.startsWith('/v2/') && !secret.includes('krmhub_'));
}

/** Answers in place of the registry what the reader of a request may not see. */
function hide({ url: target = '', method, headers }: IncomingMessage, response: ServerResponse): boolean {
  const { authorization } = headers;
  const send = (status: number, type: string, body: object) => {
    response.writeHead(status, { 'content-type': type, 'www-authenticate': 'Basic realm="krmhub"' });
    response.end(JSON.stringify(body));
    return true;
  };
  if (authorization !== undefined && mayRead(authorization, target)) {
    const isNeeded = isPrivate(target) || isList(target) || /^\/v2\/|\/whoami$/.test(target);
    if (method === 'GET' && !isNeeded) needless.push(target);
    return false;
  }
  if (isList(target)) {
    const facets = Object.fromEntries(FACET_NAMES.map((name) => [name, []]));
    const lists = { items: [], total: 0, facets, catalogs: [], sources: [] };
    return send(200, 'application/json', lists);
  }
  if (!isPrivate(target)) return false;
  if (target.startsWith('/v2/')) return send(401, 'application/json', { errors: [] });
  const [status, code] = target.startsWith('/api/') ? [401, 'unauthorized'] : [404, 'not-found'];
  return send(status as number, 'application/problem+json', { title: code, status, code, detail: 'no' });
}

const run = (args: readonly string[], options: { env?: Record<string, string>; stdin?: string } = {}) =>
  krmhubHere(args, {
    cwd: home,
    ...options,
    env: { KRMHUB_CACHE: path.join(home, 'cache'), KRMHUB_REGISTRY: proxy.url, ...options.env },
  });

async function done(args: readonly string[], options: Parameters<typeof run>[1] = {}): Promise<string> {
  const { code, stdout, stderr } = await run(args, options);
  expect([args, code, stderr]).toEqual([args, 0, stderr]);
  return stdout;
}

beforeAll(async () => {
  registry = await testRegistry();
  proxy = await recordingProxy(registry.url, { keepsHost: true });
  const options = { env: { KRMHUB_TOKEN: registry.token } };
  await done(['init', 'example.com/AddSecret', '--runtime', 'starlark', '--out', 'fn']);
  const definition = path.join(root, 'fn/definition.yaml');
  writeFileSync(definition, readFileSync(definition, 'utf8').replaceAll('# CHANGE:', '#'));
  const publish = ['publish', 'fn/definition.yaml', '--release', '0.1.0', '--readme', 'fn/README.md'];
  await done(publish, options);
  proxy.intercept = hide;
}, 120_000);
afterAll(async () => {
  proxy.close();
  await registry.close();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  home = mkdtempSync(path.join(root, 'user-'));
  needless.length = 0;
  for (const folder of ['app', 'package']) {
    mkdirSync(path.join(home, folder));
    write(`${folder}/map.yaml`, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
    write(
      `${folder}/config.yaml`,
      'apiVersion: example.com/v1alpha1\nkind: AddSecret\nmetadata: {name: a}\nowner: me\n',
    );
  }
  const source = `{name: theirs, catalog: {url: '${catalog()}/catalog.yaml'}}`;
  write(
    'recipe.yaml',
    `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ours}\nspec: {sources: [${source}]}\n`,
  );
  write('app/kustomization.yaml', 'resources: [map.yaml]\ntransformers: [config.yaml]\n');
  write(
    'package/Kptfile',
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\npipeline:\n  mutators:\n  - configPath: config.yaml\n',
  );
});

/** Files of the cache that have something private, outside of the parts of actors. */
function sharedFiles(): string[] {
  const cache = path.join(home, 'cache');
  if (!existsSync(cache)) return [];
  return readdirSync(cache, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter((file) => !file.startsWith(path.join(cache, 'private')))
    .filter((file) => isPrivate(readFileSync(file, 'utf8')))
    .map((file) => `${path.relative(cache, file)} ${readFileSync(file, 'utf8').slice(0, 300)}`);
}

const write = (name: string, text: string) => writeFileSync(path.join(home, name), text);
const login = () => done(['login'], { stdin: registry.token });
const catalog = () => `${proxy.url}/catalogs/default`;
const FN = 'example.com/AddSecret';
const READS: [string, () => string[]][] = [
  ['resolve', () => ['resolve', 'example.com/v1alpha1', 'AddSecret', '-c', catalog()]],
  [
    'resolve of a file',
    () => ['resolve', 'example.com/v1alpha1', 'AddSecret', '-c', `${catalog()}/catalog.json`],
  ],
  ['explain', () => ['explain', 'app', '-c', catalog()]],
  ['lock', () => ['lock', 'app', '-c', catalog()]],
  ['fn render', () => ['fn', 'render', 'package', '-c', catalog()]],
  ['fn eval', () => ['fn', 'eval', 'package', '--fn-config', 'package/config.yaml', '-c', catalog()]],
  ['kpt sync', () => ['kpt', 'sync', 'package', '-c', catalog()]],
  ['plugins install', () => ['plugins', 'install', '-c', catalog(), '--dir', 'plugins']],
  ['show', () => ['show', FN]],
  ['releases', () => ['releases', FN]],
  ['diff', () => ['diff', `${FN}@0.1.0`, `${FN}@0.1.0`]],
  ['pull', () => ['pull', `${FN}@0.1.0`, '--out', 'pulled']],
  ['catalog pull', () => ['catalog', 'pull', 'default', '--out', 'catalog.yaml']],
  ['catalog build', () => ['catalog', 'build', 'recipe.yaml', '--out', 'built']],
  ['catalog show', () => ['catalog', 'show', 'default']],
];

describe('a private function and its catalog', () => {
  it.each(READS)('are read with a token by %s, and not without', async (_, args) => {
    const refused = await run(args());
    expect([3, 4, 5, 6], refused.stderr).toContain(refused.code);
    await login();
    await done(args());
    expect(needless).toEqual([]);
    expect(sharedFiles()).toEqual([]);
  });

  it('are in the lists of those who may read them', async () => {
    for (const args of [['search'], ['catalog', 'list']])
      expect(await done(args)).not.toMatch(/AddSecret|default/);
    await login();
    expect(await done(['search'])).toContain('AddSecret');
    expect(await done(['catalog', 'list'])).toContain('default');
  });

  it('are not run from the cache of another actor, whatever the lock file pins', async () => {
    await login();
    const render = ['fn', 'render', 'package', '-c', catalog(), '--lock', 'krmhub.lock'];
    await done(['lock', 'package', '-c', catalog(), '--lock', 'krmhub.lock']);
    await done(render);
    await done([...render, '--frozen']);
    expect(sharedFiles()).toEqual([]);
    // Of its server, over HTTP and OCI.
    expect(readdirSync(path.join(home, 'cache/private'))).toHaveLength(1);
    // Another user of the machine account, with the same files, the same lock file, and the same cache.
    await done(['logout']);
    for (const env of [{}, { KRMHUB_TOKEN: `krmhub_${'0'.repeat(72)}` }]) {
      const frozen = await run([...render, '--frozen'], { env });
      expect([frozen.code, frozen.stderr]).toEqual([5, expect.stringContaining('is not in the cache')]);
      expect((await run(render, { env })).code).not.toBe(0);
    }
    await login();
    await done([...render, '--frozen']);
  });

  it('leave no name of theirs in what others read, also with the signers of their releases', async () => {
    await writeKeyFiles(home, 'team');
    const options = { env: { KRMHUB_TOKEN: registry.token } };
    await done(['sign', `${FN}@0.1.0`, '--key', 'team.key'], options);
    await login();
    await done(['trust', 'add', 'team', '--group', 'example.com', '--key', 'team.pub']);
    const args = ['resolve', 'example.com/v1alpha1', 'AddSecret', '-c', catalog()];
    for (const more of [[], ['--offline']]) expect(await done([...args, ...more])).toContain('signed by');
    expect(sharedFiles()).toEqual([]);
  });

  it('can be pinned, locked, and used with the lock file', async () => {
    await login();
    await done(['trust', 'add', catalog(), '--yes']);
    await done(['catalog', 'verify', 'default']);
    await done(['lock', 'app', '-c', catalog()]);
    expect(await done(['resolve', 'example.com/v1alpha1', 'AddSecret', '-c', catalog()])).toContain('script');
    expect(needless).toEqual([]);
  });
});
