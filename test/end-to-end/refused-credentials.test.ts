import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTest, type TestRegistry, testRegistry } from '../../apps/cli/src/testing/command-line.js';
import { writeKeyFiles } from '../../apps/cli/src/testing/key-files.js';
import { krmhubHere } from '../run-here.js';

/**
 * A user whose cache has everything that commands read of a private function: catalogs over HTTP and OCI, entries,
 * definitions, signatures, and scripts. Then the registry refuses it to them. After any one command was refused, nothing
 * of it is in the cache.
 */

const root = mkdtempSync(path.join(tmpdir(), 'krmhub-refused-'));
const FN = 'priv.example.com/AddSecret';
let registry: TestRegistry;
/** A folder and a cache as the token that was revoked left it, and as the one that may no longer read it did. */
const before = { revoked: path.join(root, 'revoked'), hidden: path.join(root, 'hidden') };
const tokens = { revoked: '', hidden: '' };

type Refused = keyof typeof before;

/** What kpt gives to a function. */
const INPUT = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig: {apiVersion: priv.example.com/v1alpha1, kind: AddSecret, metadata: {name: a}, owner: me}
items: []
`;

const run = (home: string, args: readonly string[], env: Record<string, string>) =>
  krmhubHere(args, {
    cwd: home,
    env: { KRMHUB_CACHE: path.join(home, 'cache'), KRMHUB_REGISTRY: registry.url, ...env },
  });

/** The same, some hours later. */
const runLater = (home: string, args: readonly string[], env: Record<string, string>, hours: number) =>
  runTest(args, {
    cwd: home,
    env: { HOME: home, KRMHUB_CACHE: path.join(home, 'cache'), KRMHUB_REGISTRY: registry.url, ...env },
    stdin: INPUT,
    now: () => new Date(Date.now() + hours * 3_600_000),
  });

async function done(...args: Parameters<typeof run>): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect([args[1], code, stderr]).toEqual([args[1], 0, stderr]);
  return stdout;
}

const catalog = () => `${registry.url}/catalogs/secret`;
const artifact = () => `oci://${new URL(registry.url).host}/catalogs/secret:latest`;
const RESOLVE = ['resolve', 'priv.example.com/v1alpha1', 'AddSecret', '-c'];
const LOCKED = ['--lock', 'package.lock'];
const render = () => ['fn', 'render', 'package', '-o', 'stdout', '-c', catalog(), ...LOCKED];

/** Commands that read again what the cache has. */
const READS: [string, () => string[]][] = [
  ['resolve', () => [...RESOLVE, catalog()]],
  ['resolve of a file', () => [...RESOLVE, `${catalog()}/catalog.json`]],
  ['resolve of an artifact', () => [...RESOLVE, artifact()]],
  ['explain', () => ['explain', 'app', '-c', catalog()]],
  ['lock', () => ['lock', 'app', '-c', catalog()]],
  ['lock --check', () => ['lock', 'package', '--check', '-c', catalog(), ...LOCKED]],
  ['outdated', () => ['outdated', 'app', '-c', catalog()]],
  ['fn render', render],
  ['fn eval', () => ['fn', 'eval', 'package', '--fn-config', 'package/config.yaml', '-c', catalog()]],
  ['kpt sync', () => ['kpt', 'sync', 'package', '-c', catalog()]],
  ['plugins install', () => ['plugins', 'install', '-c', catalog(), '--dir', 'plugins', '--force']],
];

/** Commands that read the same without the cache. */
const SAME: [string, () => string[]][] = [
  ['show', () => ['show', FN]],
  ['releases', () => ['releases', FN]],
  ['diff', () => ['diff', `${FN}@0.1.0`, `${FN}@0.1.0`]],
  ['catalog pull', () => ['catalog', 'pull', 'secret', '--out', 'catalog.yaml']],
  ['catalog show', () => ['catalog', 'show', 'secret']],
];

/** Commands that use the same token for something else. */
const OTHERS: [string, () => string[]][] = [
  ['pull', () => ['pull', `${FN}@0.1.0`, '--out', 'pulled']],
  ['pull of an artifact', () => ['pull', artifact().slice('oci://'.length), '--out', 'pulled']],
  ['search', () => ['search']],
  ['catalog list', () => ['catalog', 'list']],
  ['whoami', () => ['whoami']],
  ['yank', () => ['yank', `${FN}@0.1.0`, '--reason', 'x']],
  ['resolve of another catalog', () => [...RESOLVE, `oci://${new URL(registry.url).host}/catalogs/no:1`]],
];

/** What `kpt sync` writes to run the script. */
let script = '';

/** Files in the part of the cache that is for an actor. */
function privateFiles(home: string): string[] {
  const folder = path.join(home, 'cache/private');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)));
}

/** Files anywhere else that name the function. */
function sharedFiles(home: string): string[] {
  const cache = path.join(home, 'cache');
  return readdirSync(cache, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(path.join(cache, 'private')))
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter((file) =>
      /AddSecret|add-secret|priv\.example|holds a password/.test(readFileSync(file, 'latin1')),
    );
}

function writePackages(home: string): void {
  for (const folder of ['app', 'package']) {
    mkdirSync(path.join(home, folder), { recursive: true });
    const write = (name: string, text: string) => writeFileSync(path.join(home, folder, name), text);
    write('map.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
    write(
      'config.yaml',
      'apiVersion: priv.example.com/v1alpha1\nkind: AddSecret\nmetadata: {name: a}\nowner: me\n',
    );
  }
  writeFileSync(
    path.join(home, 'app/kustomization.yaml'),
    'resources: [map.yaml]\ntransformers: [config.yaml]\n',
  );
  writeFileSync(
    path.join(home, 'package/Kptfile'),
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\npipeline:\n  mutators:\n  - configPath: config.yaml\n',
  );
}

const access = (grants: string) => `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  teams: [{name: platform}, {name: shop}]
  groups: [{pattern: priv.example.com, owner: platform, visibility: private}]
  catalogs: [{pattern: secret, visibility: private}]
  grants: [${grants}]
`;
const READ = '{to: {team: shop}, may: [read], in: {group: priv.example.com}}';
const READ_CATALOG = '{to: {team: shop}, may: [read], in: {catalog: secret}}';

/** Makes the folder of a user who may read the function, and has run every command. */
async function fill(home: string, token: string): Promise<void> {
  const env = { KRMHUB_TOKEN: token };
  writePackages(home);
  await done(home, ['lock', 'package', '-c', catalog(), ...LOCKED], env);
  for (const [, args] of READS) await done(home, args(), env);
  await done(home, [...RESOLVE, artifact(), '--offline'], env);
  const kptfile = readFileSync(path.join(home, 'package/Kptfile'), 'utf8');
  script = /exec: krmhub kpt exec (\S+)/.exec(kptfile)?.[1] ?? '';
  // With what `kpt sync` wrote, the others would not ask the catalog.
  writePackages(home);
  cpSync(path.join(root, 'team.pub'), path.join(home, 'team.pub'));
  await done(home, ['trust', 'add', 'team', '--group', 'priv.example.com', '--key', 'team.pub'], env);
  for (const more of [[], ['--offline']])
    expect(await done(home, [...RESOLVE, catalog(), ...more], env)).toContain('signed by');
  await done(home, [...render(), '--frozen'], env);
}

const asAdmin = (args: readonly string[]) => done(root, args, { KRMHUB_TOKEN: registry.token });

async function apply(grants: string): Promise<void> {
  writeFileSync(path.join(root, 'access.yaml'), access(grants));
  await asAdmin(['access', 'apply', 'access.yaml', '--yes']);
}

beforeAll(async () => {
  registry = await testRegistry();
  await apply(`${READ}, ${READ_CATALOG}`);
  for (const name of ['revoked', 'hidden'] as const) {
    const args = ['token', 'create', name, '--team', 'shop', '--scope', 'read'];
    tokens[name] = (await asAdmin(args)).trim();
  }
  await asAdmin(['init', FN, '--runtime', 'starlark', '--out', 'fn']);
  const file = path.join(root, 'fn/definition.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('# CHANGE:', '#'));
  await asAdmin(['publish', 'fn/definition.yaml', '--release', '0.1.0', '--readme', 'fn/README.md']);
  await writeKeyFiles(root, 'team');
  await asAdmin(['sign', `${FN}@0.1.0`, '--key', 'team.key']);
  writeFileSync(
    path.join(root, 'recipe.yaml'),
    'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: secret}\nspec: {sources: [{name: ours, functions: {}}]}\n',
  );
  await asAdmin(['catalog', 'apply', 'recipe.yaml']);
  for (const name of ['revoked', 'hidden'] as const) await fill(before[name], tokens[name]);
  // Then it ends: for one token altogether, for the other one what it may read.
  await asAdmin(['token', 'revoke', 'revoked']);
  await apply('');
}, 180_000);
afterAll(async () => {
  await registry.close();
  rmSync(root, { recursive: true, force: true });
});

/** A copy of the folder of a user. */
function userOf(name: Refused): { home: string; env: Record<string, string> } {
  const home = mkdtempSync(path.join(root, 'user-'));
  cpSync(before[name], home, { recursive: true });
  return { home, env: { KRMHUB_TOKEN: tokens[name] } };
}

describe('what the cache has of a private function', () => {
  it.each(['revoked', 'hidden'] as const)('is all there before the token is %s', async (name) => {
    const { home, env } = userOf(name);
    const files = privateFiles(home);
    for (const kind of ['blobs/sha256', 'catalogs', 'evidence', 'seen'])
      expect([kind, files.some((file) => file.includes(`/${kind}/`))]).toEqual([kind, true]);
    expect(new Set(files.map((file) => file.split('/').slice(0, 2).join('/'))).size).toBe(1);
    expect(sharedFiles(home)).toEqual([]);
    await done(home, [...render(), '--frozen'], env);
  });

  it.each([...READS, ...SAME, ...OTHERS])(
    'is gone after %s was refused with a token that was revoked',
    async (_, args) => {
      const { home, env } = userOf('revoked');
      await run(home, args(), env);
      expect(privateFiles(home)).toEqual([]);
      expect(sharedFiles(home)).toEqual([]);
      // Also without the policy, which needs the signatures.
      const bare = { ...env, XDG_CONFIG_HOME: path.join(home, 'none') };
      for (const more of [
        [...RESOLVE, artifact(), '--offline'],
        [...render(), '--frozen'],
      ]) {
        const { code, stderr } = await run(home, more, bare);
        expect([more, code, stderr]).toEqual([more, 5, expect.stringContaining('is not in the cache')]);
      }
    },
  );

  it.each([...READS, ...SAME])(
    'is gone after %s was refused to a reader who may no longer read it',
    async (_, args) => {
      const { home, env } = userOf('hidden');
      const { code } = await run(home, args(), env);
      expect(code).not.toBe(0);
      expect(privateFiles(home)).toEqual([]);
      expect(sharedFiles(home)).toEqual([]);
    },
  );

  it.each(['revoked', 'hidden'] as const)(
    'is gone after `kpt exec` asked again for the script, after an hour, with a token that is %s',
    async (name) => {
      const { home, env } = userOf(name);
      const exec = async (hours: number) =>
        (await runLater(home, ['kpt', 'exec', script], env, hours)).exitCode;
      expect(await exec(0)).toBe(0);
      expect(await exec(2)).not.toBe(0);
      expect(privateFiles(home)).toEqual([]);
      expect(await exec(0)).not.toBe(0);
    },
  );

  it('stays after another thing was not found', async () => {
    const { home, env } = userOf('hidden');
    const files = privateFiles(home);
    for (const args of [
      ['show', 'priv.example.com/Other'],
      ['releases', 'example.com/AddSecret'],
      ['catalog', 'show', 'other'],
      ['resolve', 'example.com/v1', 'Other', '-c', `${registry.url}/catalogs/other`],
    ])
      expect([args, (await run(home, args, env)).code]).toEqual([args, 3]);
    expect(privateFiles(home)).toEqual(files);
  });
});

describe('what everyone shares', () => {
  const list = ['plugins', 'list', '--dir', 'plugins'];

  it('names no function of which a registry was asked whether it was taken down', async () => {
    for (const name of ['revoked', 'hidden'] as const) {
      const { home, env } = userOf(name);
      await runLater(home, list, env, 2);
      expect(sharedFiles(home)).toEqual([]);
    }
  });

  it('does not have the reason of a takedown that only some may read', async () => {
    await apply(`${READ}, ${READ_CATALOG}`);
    const home = mkdtempSync(path.join(root, 'user-'));
    const env = { KRMHUB_TOKEN: tokens.hidden };
    await done(home, ['plugins', 'install', '-c', catalog(), '--dir', 'plugins'], env);
    await asAdmin(['takedown', `${FN}@0.1.0`, '--reason', 'holds a password', '--yes']);
    // The second time from the cache.
    for (const hours of [2, 2.5]) {
      const io = await runLater(home, list, env, hours);
      expect([io.exitCode, io.err()]).toEqual([1, expect.stringContaining('holds a password')]);
    }
    expect(sharedFiles(home)).toEqual([]);
    const other = await runLater(home, list, {}, 2.5);
    expect([other.exitCode, other.err()]).toEqual([
      1,
      expect.stringContaining('only to users who may read the release'),
    ]);
    expect(other.err()).not.toContain('holds a password');
  });
});
