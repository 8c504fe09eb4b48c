import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { driverFor } from '../apps/registry/src/store/sqlite/driver.js';
import { documentBlocks } from './document-blocks.js';
import { spawn, spawnSync } from './processes.js';
import { cleanEnvironment, listeningUrl, root, temporaryFolder } from './running.js';

/** The package, installed and used by the commands of docs/install.md, far from the checkout. */

const { folder, remove } = temporaryFolder();
const at = (name: string) => path.join(folder, name);
const installed = at('prefix/lib/node_modules');
const env = cleanEnvironment(folder, {
  npm_config_prefix: at('prefix'),
  // Only the package is fetched.
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_update_notifier: 'false',
  PATH: `${at('prefix/bin')}:${process.env.PATH}`,
});

const [install, complete, connect, write, publish, uninstall, ...unknown] = documentBlocks(
  'docs/install.md',
  'package',
) as [string, string, string, string, string, string];

function bash(script: string, extra: Record<string, string> = {}) {
  const own = `sudo() { "$@"; }\n${script.replaceAll('/usr/local', at('local'))}`;
  const run = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', own], {
    cwd: folder,
    env: { ...env, ...extra },
    encoding: 'utf8',
  });
  return { code: run.status, stdout: run.stdout, stderr: run.stderr };
}

beforeAll(() => {
  expect(unknown).toEqual([]);
  mkdirSync(at('build'));
  // `npm run package` writes to the checkout, where another run may be reading.
  const packed = spawnSync(process.execPath, [path.join(root, 'scripts/package.mjs'), at('build/image')], {
    encoding: 'utf8',
  });
  expect(packed.status, packed.stderr).toBe(0);
  const { code, stdout, stderr } = bash(install.replaceAll('http://localhost:8080/cli/', `${at('build')}/`));
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^0\.1\.0$/m);
});
afterAll(remove);

it('is small, has no dependencies, and compiles nothing', () => {
  expect(readdirSync(installed)).toEqual(['krmhub']);
  expect(readdirSync(path.join(installed, 'krmhub'))).not.toContain('node_modules');
  const archive = readdirSync(at('build')).filter((name) => name.endsWith('.tgz'));
  expect(archive).toEqual(['krmhub-0.1.0.tgz']);
  expect(statSync(at(`build/${archive[0]}`)).size).toBeLessThan(15_000_000);
});

it('completes commands in bash', () => {
  const { code, stdout, stderr } = bash(`${complete}\ncomplete -p krmhub`);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('krmhub');
});

it('says how to get SQLite, and only where it is needed', () => {
  const { code, stderr } = bash('krmhub serve --data data');
  expect([code, stderr.replace(/@1[23]/, '@N')]).toEqual([
    3,
    'error: SQLite is not installed, which a registry needs\n  hint: Run: npm install --global better-sqlite3@N\n',
  ]);
  expect(existsSync(at('data'))).toBe(false);
  const made = bash('krmhub keygen --out signer', { KRMHUB_KEY_PASSWORD: 'secret' });
  expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('wrote signer.pub')]);
  expect(filesThatNeedSqlite()).toEqual(NEED_SQLITE);
});

/** Files of the bundle that start on their own, and without SQLite fail at once. */
const NEED_SQLITE = [
  'back-up-registry',
  'check-data-folder',
  'checkpoint-thread',
  'derive-thread',
  'erase-thread',
  'followed-store',
  'migrate-registry',
  'move-registry',
  'operate',
  'refresh-thread',
  'registry-keys',
  'restore-registry',
  'search-thread',
  'serve-registry',
  'snapshot-thread',
];

function filesThatNeedSqlite(): string[] {
  const bundle = path.join(installed, 'krmhub/apps/cli/dist/bundle');
  const names = readdirSync(bundle).filter((name) => name.endsWith('.js'));
  const texts = new Map(names.map((name) => [name, readFileSync(path.join(bundle, name), 'utf8')]));
  const needing = new Set(names.filter((name) => texts.get(name)!.includes('SQLite is not installed')));
  expect(needing.size).toBe(1);
  const imports = (name: string) =>
    [...texts.get(name)!.matchAll(/(?:\bfrom|^import|;import|\nimport)\s*["']\.\/([^"']+)["']/g)].map(
      ([, imported]) => imported!,
    );
  const imported = new Map(names.map((name) => [name, imports(name)]));
  for (let before = 0; before < needing.size; ) {
    before = needing.size;
    for (const name of names) if (imported.get(name)!.some((one) => needing.has(one))) needing.add(name);
  }
  return [...needing]
    .filter((name) => !/^(?:chunk|shared)-/.test(name))
    .map((name) => name.replace(/(?:-[A-Z0-9]{8})?\.js$/, ''))
    .sort();
}

it('serves a registry where SQLite is beside it, to which a first function is published', async () => {
  // What npm would install from its registry.
  const { name: driver } = driverFor(process.versions.node);
  symlinkSync(path.join(root, 'node_modules', driver), path.join(installed, 'better-sqlite3'));
  const server = spawn('krmhub', ['serve', '--port', '0', '--data', at('data')], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(server, 'close');
  try {
    const url = await listeningUrl(server, closed);
    await expect.poll(() => existsSync(at('data/admin.token'))).toBe(true);
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200);
    const script = `export KRMHUB_TOKEN=$(cat data/admin.token)\n${connect}${write}${publish}`;
    const first = bash(script.replaceAll('http://localhost:8080', url));
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toContain('example.com/AddOwner');
    expect(first.stdout).toContain('+    example.com/owner: shop-team');
    // A registry that was installed packs itself to the same bytes.
    const served = await fetch(`${url}/cli/krmhub-0.1.0.tgz`);
    expect(served.headers.get('cache-control')).toContain('immutable');
    const packed = readFileSync(at('build/krmhub-0.1.0.tgz'));
    expect(Buffer.from(await served.arrayBuffer()).equals(packed)).toBe(true);
    const second = { npm_config_prefix: at('second') };
    const again = bash(install.replaceAll('http://localhost:8080', url), second);
    expect(again.code, again.stderr).toBe(0);
    expect(existsSync(at('second/bin/krmhub'))).toBe(true);
    const helper = bash('echo krm.example.com | docker-credential-krmhub get');
    expect(helper).toMatchObject({ code: 1, stdout: 'credentials not found in native keychain\n' });
    // Files of the package that only some commands read.
    expect((await fetch(`${url}/`)).status).toBe(200);
    expect((await fetch(`${url}/functions/example.com/AddOwner`)).status).toBe(200);
    mkdirSync(at('many'));
    copyFileSync(at('add-owner/main.star'), at('many/main.star'));
    for (let copy = 0; copy < 60; copy++)
      copyFileSync(at('add-owner/definition.yaml'), at(`many/${copy}.yaml`));
    expect(bash('krmhub lint many').code).toBe(0);
  } finally {
    server.kill('SIGINT');
    await closed;
  }
});

it('is removed without a trace', () => {
  const { code, stderr } = bash(uninstall);
  expect(code, stderr).toBe(0);
  expect(existsSync(path.join(installed, 'krmhub'))).toBe(false);
  expect(readdirSync(at('prefix/bin'))).toEqual([]);
});
